/* SPDX-License-Identifier: Apache-2.0
 * FLUX.1 (Black Forest Labs): names of the original repository, of ComfyUI files (prefix
 * model.diffusion_model., norms spelt .weight) and of diffusers 0.42.1. */
#include "layout/family.h"

static const struct nwi_rule_variable variables[] = {
    {'H', "img_in.weight[0]", "x_embedder.weight[0]"},
    {0},
};

static const struct nwi_rule rules[] = {
    NWI_MAP("{a:time|vector|guidance}_in.{b:in|out}_layer.{p}",
            "time_text_embed.{a:timestep|text|guidance}_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("double_blocks.{i}.{a:img|txt}_mod.lin.{p}",
            "transformer_blocks.{i}.norm1{a:|_context}.linear.{p}"),
    NWI_MAP("single_blocks.{i}.modulation.lin.{p}",
            "single_transformer_blocks.{i}.norm.linear.{p}"),
    NWI_MAP("{a:txt|img}_in.{p}", "{a:context_embedder|x_embedder}.{p}"),
    NWI_OP(SPLIT, "double_blocks.{i}.img_attn.qkv.{p}",
           "transformer_blocks.{i}.attn.to_{q,k,v}.{p}"),
    NWI_OP(SPLIT, "double_blocks.{i}.txt_attn.qkv.{p}",
           "transformer_blocks.{i}.attn.add_{q,k,v}_proj.{p}"),
    NWI_MAP(
        "double_blocks.{i}.{a:img|txt}_attn.norm.{b:query|key}_norm.{s:scale|weight}",
        "transformer_blocks.{i}.attn.norm_{a:|added_}{b:q|k}.{s:weight|weight}"),
    NWI_MAP("double_blocks.{i}.{a:img|txt}_mlp.{b:0|2}.{p}",
            "transformer_blocks.{i}.ff{a:|_context}.net.{b:0.proj|2}.{p}"),
    NWI_MAP("double_blocks.{i}.{a:img|txt}_attn.proj.{p}",
            "transformer_blocks.{i}.attn.{a:to_out.0|to_add_out}.{p}"),
    NWI_SPLIT_SIZES(
        "single_blocks.{i}.linear1.{p}",
        "single_transformer_blocks.{i}.{attn.to_q,attn.to_k,attn.to_v,proj_mlp}.{p}",
        "H,H,H,*"),
    NWI_MAP("single_blocks.{i}.norm.{b:query|key}_norm.{s:scale|weight}",
            "single_transformer_blocks.{i}.attn.norm_{b:q|k}.{s:weight|weight}"),
    NWI_MAP("single_blocks.{i}.linear2.{p}",
            "single_transformer_blocks.{i}.proj_out.{p}"),
    NWI_MAP("final_layer.linear.{p}", "proj_out.{p}"),
    NWI_OP(SWAP, "final_layer.adaLN_modulation.1.{p}", "norm_out.linear.{p}"),
    {0},
};

static const struct nwi_rules flux_rules = {.variables = variables, .rules = rules};

static const struct nwi_signature original[] = {
    NWI_WHEN("img_in.weight", "txt_in.weight", "vector_in.in_layer.weight",
             "double_blocks.0.img_attn.qkv.weight", "single_blocks.0.linear1.weight",
             "double_blocks.0.img_mod.lin.weight", "!controlnet_blocks*"),
    {NULL},
};

static const struct nwi_signature diffusers[] = {
    NWI_WHEN("x_embedder.weight", "context_embedder.weight",
             "time_text_embed.text_embedder.linear_1.weight",
             "transformer_blocks.0.attn.add_q_proj.weight",
             "single_transformer_blocks.0.proj_mlp.weight", "!controlnet_blocks*"),
    {NULL},
};

#define GUIDED_O "guidance_in.in_layer.weight"
#define GUIDED_D "time_text_embed.guidance_embedder.linear_1.weight"
static const struct nwi_variant variants[] = {
    {"schnell", NWI_WHEN("!" GUIDED_O, "img_in.weight[1]=64"),
     NWI_WHEN("!" GUIDED_D, "x_embedder.weight[1]=64"), NULL,
     "black-forest-labs/FLUX.1-schnell"},
    {"dev", NWI_WHEN(GUIDED_O, "img_in.weight[1]=64"),
     NWI_WHEN(GUIDED_D, "x_embedder.weight[1]=64"), NULL,
     "black-forest-labs/FLUX.1-dev"},
    {"canny-depth", NWI_WHEN(GUIDED_O, "img_in.weight[1]=128"),
     NWI_WHEN(GUIDED_D, "x_embedder.weight[1]=128"), NULL,
     "black-forest-labs/FLUX.1-Depth-dev"},
    {"fill", NWI_WHEN(GUIDED_O, "img_in.weight[1]=384"),
     NWI_WHEN(GUIDED_D, "x_embedder.weight[1]=384"), NULL,
     "black-forest-labs/FLUX.1-Fill-dev"},
    {0},
};

static const char *const pipeline[] = {"vae", "text_encoder", "text_encoder_2", NULL};

/* As ComfyUI saves them. */
static const struct nwi_original_part parts[] = {
    {"vae", NULL, NULL, "vae."},
    {"text_encoder", NULL, &nwi_family_clip_l, "text_encoders.clip_l.transformer."},
    {0},
};

const struct nwi_family nwi_family_flux_transformer = {
    .name = "flux",
    .title = "FLUX.1",
    .component = "transformer",
    .klass = "FluxTransformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &flux_rules,
    .original = original,
    .diffusers = diffusers,
    .variants = variants,
    .pipeline = pipeline,
    .parts = parts,
    .prefix = "model.diffusion_model.",
};
