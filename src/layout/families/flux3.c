/* SPDX-License-Identifier: Apache-2.0
 * FLUX.3 image (Black Forest Labs): names of the original repository, and of diffusers
 * 0.42.1 (Flux3Transformer2DModel). */
#include "layout/family.h"

#define F3_O                                                                           \
    "{n:q_proj.weight|k_proj.weight|v_proj.weight|attn_out.weight|norm.query_norm."    \
    "scale|norm.key_norm.scale|mlp_in.weight|mlp_out.weight}"
#define F3_D                                                                           \
    "{n:attn.to_q.weight|attn.to_k.weight|attn.to_v.weight|attn.to_out.0.weight|attn." \
    "norm_q.weight|attn.norm_k.weight|ff.linear_in.weight|ff.linear_out.weight}"

static const struct nwi_rule flux3_rows[] = {
    NWI_DROP("repa_projectors.{*}", "used in training only"),
    NWI_MAP("emb_in.{m:image_cond|image}.{p}", "x_embedders.{m:image_cond|image}.{p}"),
    NWI_MAP("txt_in.{p}", "context_embedder.{p}"),
    NWI_MAP("{a:time|ref_time}_in.{b:in|out}_layer.{p}",
            "{a:timestep|target_timestep}_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("{a:early|single}_stream_modulations.{m:image_cond|image|txt}.lin.{p}",
            "{a:early|single}_stream_modulations.{m:image_cond|image|txt}.linear.{p}"),
    NWI_MAP("content_mode_blocks.{m:image_cond|image}.{i}." F3_O,
            "mode_blocks.{m:image_cond|image}.{i}." F3_D),
    NWI_MAP("{a:txt_mode|single}_blocks.{i}." F3_O,
            "{a:txt_mode|single_transformer}_blocks.{i}." F3_D),
    NWI_MAP("final_layer.image.linear.{p}", "proj_out.{p}"),
    NWI_OP(SWAP, "final_layer.image.adaLN_modulation.1.{p}", "norm_out.linear.{p}"),
    {0},
};

static const struct nwi_rules flux3_rules = {
    .rules = flux3_rows,
};

/* ---- FLUX.3 ---- */

static const struct nwi_signature flux3_transformer_original[] = {
    NWI_WHEN("early_stream_modulations.image.lin.weight",
             "single_stream_modulations.image.lin.weight", "txt_in.weight",
             "emb_in.image.weight"),
    {NULL},
};

static const struct nwi_signature flux3_transformer_diffusers[] = {
    NWI_WHEN("early_stream_modulations.image.linear.weight",
             "single_stream_modulations.image.linear.weight",
             "x_embedders.image.weight", "context_embedder.weight"),
    {NULL},
};

static const struct nwi_variant flux3_transformer_variants[] = {
    {"image", NWI_WHEN("!ref_time_in.in_layer.weight"),
     NWI_WHEN("!target_timestep_embedder.linear_1.weight"), NULL,
     "black-forest-labs/flux-3-image-klein-base"},
    {"image-distilled", NWI_WHEN("ref_time_in.in_layer.weight"),
     NWI_WHEN("target_timestep_embedder.linear_1.weight"), NULL,
     "black-forest-labs/flux-3-image-klein"},
    {0},
};

static const char *const flux3_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_flux3_transformer = {
    .name = "flux3",
    .title = "FLUX.3",
    .component = "transformer",
    .klass = "Flux3Transformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &flux3_rules,
    .original = flux3_transformer_original,
    .diffusers = flux3_transformer_diffusers,
    .variants = flux3_transformer_variants,
    .pipeline = flux3_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};
