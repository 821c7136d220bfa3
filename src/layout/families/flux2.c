/* SPDX-License-Identifier: Apache-2.0
 * FLUX.2 (Black Forest Labs): names of the original repository, and of diffusers
 * 0.42.1 (Flux2Transformer2DModel). */
#include "layout/family.h"

static const struct nwi_rule flux2_rows[] = {
    NWI_MAP("{a:txt|img}_in.{p}", "{a:context_embedder|x_embedder}.{p}"),
    NWI_MAP("{a:time|guidance}_in.{b:in|out}_layer.{p}",
            "time_guidance_embed.{a:timestep|guidance}_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("{a:double_stream_modulation_img|double_stream_modulation_txt|single_"
            "stream_modulation}.lin.{p}",
            "{a:double_stream_modulation_img|double_stream_modulation_txt|single_"
            "stream_modulation}.linear.{p}"),
    NWI_OP(SPLIT, "double_blocks.{i}.img_attn.qkv.{p}",
           "transformer_blocks.{i}.attn.to_{q,k,v}.{p}"),
    NWI_OP(SPLIT, "double_blocks.{i}.txt_attn.qkv.{p}",
           "transformer_blocks.{i}.attn.add_{q,k,v}_proj.{p}"),
    NWI_MAP(
        "double_blocks.{i}.{a:img|txt}_attn.norm.{b:query|key}_norm.{s:scale|weight}",
        "transformer_blocks.{i}.attn.norm_{a:|added_}{b:q|k}.{s:weight|weight}"),
    NWI_MAP("double_blocks.{i}.{a:img|txt}_attn.proj.{p}",
            "transformer_blocks.{i}.attn.{a:to_out.0|to_add_out}.{p}"),
    NWI_MAP("double_blocks.{i}.{a:img|txt}_mlp.{b:0|2}.{p}",
            "transformer_blocks.{i}.ff{a:|_context}.linear_{b:in|out}.{p}"),
    NWI_MAP("single_blocks.{i}.linear{b:1|2}.{p}",
            "single_transformer_blocks.{i}.attn.{b:to_qkv_mlp_proj|to_out}.{p}"),
    NWI_MAP("single_blocks.{i}.norm.{b:query|key}_norm.{s:scale|weight}",
            "single_transformer_blocks.{i}.attn.norm_{b:q|k}.{s:weight|weight}"),
    NWI_MAP("final_layer.linear.{p}", "proj_out.{p}"),
    NWI_OP(SWAP, "final_layer.adaLN_modulation.1.{p}", "norm_out.linear.{p}"),
    {0},
};

static const struct nwi_rules flux2_rules = {
    .rules = flux2_rows,
};

/* ---- FLUX.2 ---- */

static const struct nwi_signature flux2_transformer_original[] = {
    NWI_WHEN("img_in.weight", "txt_in.weight", "double_blocks.0.img_attn.qkv.weight",
             "single_blocks.0.linear1.weight", "single_stream_modulation.lin.weight",
             "double_stream_modulation_img.lin.weight", "!vector_in.in_layer.weight"),
    {NULL},
};

static const struct nwi_signature flux2_transformer_diffusers[] = {
    NWI_WHEN("single_stream_modulation.linear.weight",
             "double_stream_modulation_img.linear.weight", "x_embedder.weight",
             "context_embedder.weight",
             "time_guidance_embed.timestep_embedder.linear_1.weight"),
    {NULL},
};

static const struct nwi_variant flux2_transformer_variants[] = {
    {"dev", NWI_WHEN("guidance_in.in_layer.weight"),
     NWI_WHEN("time_guidance_embed.guidance_embedder.linear_1.weight"), NULL,
     "black-forest-labs/FLUX.2-dev"},
    {"klein-4b", NWI_WHEN("!guidance_in.in_layer.weight", "img_in.weight[0]=3072"),
     NWI_WHEN("!time_guidance_embed.guidance_embedder.linear_1.weight",
              "x_embedder.weight[0]=3072"),
     NULL, "black-forest-labs/FLUX.2-klein-4B"},
    {"klein-9b", NWI_WHEN("!guidance_in.in_layer.weight", "img_in.weight[0]=4096"),
     NWI_WHEN("!time_guidance_embed.guidance_embedder.linear_1.weight",
              "x_embedder.weight[0]=4096"),
     NULL, "black-forest-labs/FLUX.2-klein-9B"},
    {0},
};

static const char *const flux2_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_flux2_transformer = {
    .name = "flux2",
    .title = "FLUX.2",
    .component = "transformer",
    .klass = "Flux2Transformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &flux2_rules,
    .original = flux2_transformer_original,
    .diffusers = flux2_transformer_diffusers,
    .variants = flux2_transformer_variants,
    .pipeline = flux2_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};
