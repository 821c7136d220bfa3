/* SPDX-License-Identifier: Apache-2.0
 * Z-Image (Tongyi-MAI) and its control nets: names of the original repository and of
 * ComfyUI, and of diffusers 0.42.1 (ZImageTransformer2DModel, ZImageControlNetModel). */
#include "layout/family.h"

static const struct nwi_rule z_image_rows[] = {
    NWI_DROP("norm_final.{p}", "the model has no such layer"),
    NWI_MAP("final_layer.{*}", "all_final_layer.2-1.{*}"),
    NWI_MAP("x_embedder.{p}", "all_x_embedder.2-1.{p}"),
    NWI_OP(SPLIT, "{^}.attention.qkv.{p}", "{^}.attention.to_{q,k,v}.{p}"),
    NWI_MAP("{^}.attention.out.{p}", "{^}.attention.to_out.0.{p}"),
    NWI_MAP("{^}.attention.{b:q|k}_norm.{p}", "{^}.attention.norm_{b:q|k}.{p}"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules z_image_rules = {
    .rules = z_image_rows,
};

/* ---- Z-Image ---- */

static const struct nwi_signature z_image_transformer_original[] = {
    NWI_WHEN("cap_embedder.0.weight", "layers.0.attention.qkv.weight",
             "layers.0.feed_forward.w1.weight", "x_embedder.weight",
             "layers.0.adaLN_modulation.0.weight"),
    {NULL},
};

static const struct nwi_signature z_image_transformer_diffusers[] = {
    NWI_WHEN("cap_embedder.0.weight", "layers.0.attention.to_q.weight",
             "all_x_embedder.2-1.weight", "layers.0.adaLN_modulation.0.weight"),
    {NULL},
};

static const char *const z_image_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_z_image_transformer = {
    .name = "z_image",
    .title = "Z-Image",
    .component = "transformer",
    .klass = "ZImageTransformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &z_image_rules,
    .original = z_image_transformer_original,
    .diffusers = z_image_transformer_diffusers,
    .pipeline = z_image_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- Z-Image ControlNet ---- */

static const struct nwi_signature z_image_controlnet_diffusers[] = {
    NWI_WHEN("control_layers.0.adaLN_modulation.0.weight",
             "control_all_x_embedder.2-1.weight", "!layers.0.attention.to_q.weight"),
    {NULL},
};

/* 1.0 refines noise with blocks of the common kind, 2.0 with its control layers, 2.1 with
 * control blocks of its own. */
static const struct nwi_variant z_image_controlnet_variants[] = {
    {"1.0",
     {NULL},
     NWI_WHEN("control_noise_refiner.0.attention.to_q.weight",
              "!control_noise_refiner.0.after_proj.weight"),
     NULL,
     "hlky/Z-Image-Turbo-Fun-Controlnet-Union"},
    {"2.0",
     {NULL},
     NWI_WHEN("!control_noise_refiner*"),
     "{\"control_refiner_layers_places\": [0, 1]}",
     "hlky/Z-Image-Turbo-Fun-Controlnet-Union-2.0"},
    {"2.1",
     {NULL},
     NWI_WHEN("control_noise_refiner.0.after_proj.weight"),
     "{\"control_refiner_layers_places\": [0, 1]}",
     "hlky/Z-Image-Turbo-Fun-Controlnet-Union-2.1"},
    {0},
};

const struct nwi_family nwi_family_z_image_controlnet = {
    .name = "z_image",
    .title = "Z-Image ControlNet",
    .component = "controlnet",
    .klass = "ZImageControlNetModel",
    .kind = NWI_KIND_CONTROLNET,
    .same_names = true,
    .diffusers = z_image_controlnet_diffusers,
    .variants = z_image_controlnet_variants,
};

/* ---- Z-Image ControlNet 2.0, as published ---- */

/* It has the blocks that 2.1 made use of, but not trained: what should take the state in
 * is all zero. */
static const struct nwi_rule z_image_controlnet_20_rows[] = {
    NWI_DROP("control_noise_refiner.{*}", "never trained, and used by no version"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules z_image_controlnet_20_rules = {
    .rules = z_image_controlnet_20_rows,
};

static const struct nwi_signature z_image_controlnet_20_original[] = {
    NWI_WHEN("control_layers.0.adaLN_modulation.0.weight",
             "control_all_x_embedder.2-1.weight", "!layers.0.attention.to_q.weight",
             "control_noise_refiner.0.after_proj.weight",
             "!~control_noise_refiner.0.before_proj.weight"),
    {NULL},
};

const struct nwi_family nwi_family_z_image_controlnet_20 = {
    .name = "z_image",
    .title = "Z-Image ControlNet 2.0, as published",
    .component = "controlnet",
    .klass = "ZImageControlNetModel",
    .kind = NWI_KIND_CONTROLNET,
    .rules = &z_image_controlnet_20_rules,
    .original = z_image_controlnet_20_original,
    .preset = "{\"control_refiner_layers_places\": [0, 1]}",
};
