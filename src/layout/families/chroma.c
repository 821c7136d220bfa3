/* SPDX-License-Identifier: Apache-2.0
 * Chroma (lodestones): FLUX.1 without its modulation layers; names of the original
 * repository, and of diffusers 0.42.1 (ChromaTransformer2DModel). */
#include "layout/family.h"

static const struct nwi_rule_variable chroma_variables[] = {
    {'H', "img_in.weight[0]", "x_embedder.weight[0]"},
    {0},
};

static const struct nwi_rule chroma_rows[] = {
    NWI_MAP("distilled_guidance_layer.{a:in|out}_proj.{p}",
            "distilled_guidance_layer.{a:in|out}_proj.{p}"),
    NWI_MAP("distilled_guidance_layer.layers.{i}.{b:in|out}_layer.{p}",
            "distilled_guidance_layer.layers.{i}.linear_{b:1|2}.{p}"),
    NWI_MAP("distilled_guidance_layer.norms.{i}.{s:scale|weight}",
            "distilled_guidance_layer.norms.{i}.{s:weight|weight}"),
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
    {0},
};

static const struct nwi_rules chroma_rules = {
    .variables = chroma_variables,
    .rules = chroma_rows,
};

/* ---- Chroma ---- */

static const struct nwi_signature chroma_transformer_original[] = {
    NWI_WHEN("img_in.weight", "txt_in.weight", "double_blocks.0.img_attn.qkv.weight",
             "single_blocks.0.linear1.weight",
             "distilled_guidance_layer.in_proj.weight"),
    {NULL},
};

static const struct nwi_signature chroma_transformer_diffusers[] = {
    NWI_WHEN("distilled_guidance_layer.in_proj.weight",
             "transformer_blocks.0.attn.add_q_proj.weight", "x_embedder.weight",
             "context_embedder.weight", "!time_text_embed*"),
    {NULL},
};

static const char *const chroma_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_chroma_transformer = {
    .name = "chroma",
    .title = "Chroma",
    .component = "transformer",
    .klass = "ChromaTransformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &chroma_rules,
    .original = chroma_transformer_original,
    .diffusers = chroma_transformer_diffusers,
    .pipeline = chroma_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- Chroma Radiance ---- */

static const struct nwi_signature chroma_radiance_original[] = {
    NWI_WHEN("distilled_guidance_layer.in_proj.weight",
             "double_blocks.0.img_attn.qkv.weight", "single_blocks.0.linear1.weight",
             "nerf_blocks.0.param_generator.weight"),
    {NULL},
};

const struct nwi_family nwi_family_chroma_radiance = {
    .name = "chroma",
    .title = "Chroma Radiance",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = chroma_radiance_original,
};
