/* SPDX-License-Identifier: Apache-2.0
 * Cosmos (NVIDIA) 1.0, 2.0 and 2.5: names of the original repositories (prefix net.),
 * and of diffusers 0.42.1 (CosmosTransformer3DModel). */
#include "layout/family.h"

static const struct nwi_rule cosmos1_rows[] = {
    NWI_DROP("logvar.{*}", "training statistics"),
    NWI_DROP("pos_embedder.{*}", "computed by the model"),
    NWI_MAP("t_embedder.1.linear_{b:1|2}.{p}",
            "time_embed.t_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("affline_norm.{p}", "time_embed.norm.{p}"),
    NWI_MAP("x_embedder.proj.1.{p}", "patch_embed.proj.{p}"),
    NWI_MAP("extra_pos_embedder.{*}", "learnable_pos_embed.{*}"),
    NWI_MAP("blocks.block{i}.blocks.{c:0|1}.block.attn.{n:to_q.0|to_q.1|to_k.0|to_k.1|"
            "to_v.0|to_out.0}.{p}",
            "transformer_blocks.{i}.attn{c:1|2}.{n:to_q|norm_q|to_k|norm_k|to_v|to_out."
            "0}.{p}"),
    NWI_MAP("blocks.block{i}.blocks.2.block.layer{b:1|2}.{p}",
            "transformer_blocks.{i}.ff.net.{b:0.proj|2}.{p}"),
    NWI_MAP("blocks.block{i}.blocks.{c:0|1|2}.adaLN_modulation.{b:1|2}.{p}",
            "transformer_blocks.{i}.norm{c:1|2|3}.linear_{b:1|2}.{p}"),
    NWI_MAP("final_layer.adaLN_modulation.{b:1|2}.{p}", "norm_out.linear_{b:1|2}.{p}"),
    NWI_MAP("final_layer.linear.{p}", "proj_out.{p}"),
    {0},
};

static const struct nwi_rules cosmos1_rules = {
    .rules = cosmos1_rows,
};

static const struct nwi_rule cosmos2_rows[] = {
    NWI_DROP("accum_{*}", "training statistics"),
    NWI_DROP("pos_embedder.{*}", "computed by the model"),
    NWI_DROP("{^}._extra_state", "state of the training engine"),
    NWI_DROP("{^}_extra_state", "state of the training engine"),
    NWI_MAP("t_embedder.1.linear_{b:1|2}.{p}",
            "time_embed.t_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("t_embedding_norm.{p}", "time_embed.norm.{p}"),
    NWI_MAP("x_embedder.proj.1.{p}", "patch_embed.proj.{p}"),
    NWI_MAP("blocks.{i}.{c:self|cross}_attn.{n:q_proj|k_proj|v_proj|output_proj|q_norm|"
            "k_norm}.{p}",
            "transformer_blocks.{i}.attn{c:1|2}.{n:to_q|to_k|to_v|to_out.0|norm_q|norm_"
            "k}.{p}"),
    NWI_MAP("blocks.{i}.adaln_modulation_{c:self_attn|cross_attn|mlp}.{b:1|2}.{p}",
            "transformer_blocks.{i}.norm{c:1|2|3}.linear_{b:1|2}.{p}"),
    NWI_MAP("blocks.{i}.mlp.layer{b:1|2}.{p}",
            "transformer_blocks.{i}.ff.net.{b:0.proj|2}.{p}"),
    NWI_MAP("blocks.{i}.cross_attn.{n:q_img_norm|k_img_norm|q_img|k_img|v_img}.{p}",
            "transformer_blocks.{i}.attn2.{n:q_img_norm|k_img_norm|q_img|k_img|v_img}."
            "{p}"),
    NWI_MAP("{a:crossattn|img_context}_proj.0.{p}",
            "{a:crossattn|img_context}_proj.0.{p}"),
    NWI_MAP("final_layer.adaln_modulation.{b:1|2}.{p}", "norm_out.linear_{b:1|2}.{p}"),
    NWI_MAP("final_layer.linear.{p}", "proj_out.{p}"),
    {0},
};

static const struct nwi_rules cosmos2_rules = {
    .rules = cosmos2_rows,
};

/* ---- Cosmos 1.0 ---- */

static const struct nwi_signature cosmos1_transformer_original[] = {
    NWI_WHEN("x_embedder.proj.1.weight",
             "blocks.block0.blocks.0.block.attn.to_q.0.weight",
             "t_embedder.1.linear_1.weight", "affline_norm.weight"),
    {NULL},
};

static const struct nwi_signature cosmos1_transformer_diffusers[] = {
    NWI_WHEN("patch_embed.proj.weight", "time_embed.t_embedder.linear_1.weight",
             "transformer_blocks.0.attn1.to_q.weight",
             "transformer_blocks.0.norm1.linear_1.weight",
             "learnable_pos_embed.pos_emb_h"),
    {NULL},
};

static const struct nwi_variant cosmos1_transformer_variants[] = {
    {"7b-text2world",
     NWI_WHEN("x_embedder.proj.1.weight[0]=4096", "x_embedder.proj.1.weight[1]=68"),
     NWI_WHEN("patch_embed.proj.weight[0]=4096", "patch_embed.proj.weight[1]=68"),
     "{\"rope_scale\": [2.0, 1.0, 1.0]}", "nvidia/Cosmos-1.0-Diffusion-7B-Text2World"},
    {"7b-video2world",
     NWI_WHEN("x_embedder.proj.1.weight[0]=4096", "x_embedder.proj.1.weight[1]=72"),
     NWI_WHEN("patch_embed.proj.weight[0]=4096", "patch_embed.proj.weight[1]=72"),
     "{\"rope_scale\": [2.0, 1.0, 1.0]}", "nvidia/Cosmos-1.0-Diffusion-7B-Video2World"},
    {"14b-text2world",
     NWI_WHEN("x_embedder.proj.1.weight[0]=5120", "x_embedder.proj.1.weight[1]=68"),
     NWI_WHEN("patch_embed.proj.weight[0]=5120", "patch_embed.proj.weight[1]=68"),
     "{\"rope_scale\": [2.0, 2.0, 2.0]}", "nvidia/Cosmos-1.0-Diffusion-14B-Text2World"},
    {"14b-video2world",
     NWI_WHEN("x_embedder.proj.1.weight[0]=5120", "x_embedder.proj.1.weight[1]=72"),
     NWI_WHEN("patch_embed.proj.weight[0]=5120", "patch_embed.proj.weight[1]=72"),
     "{\"rope_scale\": [2.0, 2.0, 2.0]}",
     "nvidia/Cosmos-1.0-Diffusion-14B-Video2World"},
    {0},
};

static const char *const cosmos1_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_cosmos1_transformer = {
    .name = "cosmos",
    .title = "Cosmos 1.0",
    .component = "transformer",
    .klass = "CosmosTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &cosmos1_rules,
    .original = cosmos1_transformer_original,
    .diffusers = cosmos1_transformer_diffusers,
    .variants = cosmos1_transformer_variants,
    .preset = "{\"patch_size\": [1, 2, 2], \"concat_padding_mask\": true}",
    .pipeline = cosmos1_transformer_pipeline,
    .prefix = "net.",
};

/* ---- Cosmos 2 ---- */

static const struct nwi_signature cosmos2_transformer_original[] = {
    NWI_WHEN("x_embedder.proj.1.weight", "blocks.0.self_attn.q_proj.weight",
             "t_embedder.1.linear_1.weight", "t_embedding_norm.weight",
             "!llm_adapter*"),
    {NULL},
};

static const struct nwi_signature cosmos2_transformer_diffusers[] = {
    NWI_WHEN("patch_embed.proj.weight", "time_embed.t_embedder.linear_1.weight",
             "transformer_blocks.0.attn1.to_q.weight",
             "transformer_blocks.0.norm1.linear_1.weight",
             "!learnable_pos_embed.pos_emb_h"),
    {NULL},
};

static const struct nwi_variant cosmos2_transformer_variants[] = {
    {"2b-text2image",
     NWI_WHEN("x_embedder.proj.1.weight[0]=2048", "x_embedder.proj.1.weight[1]=68"),
     NWI_WHEN("patch_embed.proj.weight[0]=2048", "patch_embed.proj.weight[1]=68"),
     "{\"rope_scale\": [1.0, 4.0, 4.0]}", "nvidia/Cosmos-Predict2-2B-Text2Image"},
    {"14b-text2image",
     NWI_WHEN("x_embedder.proj.1.weight[0]=5120", "x_embedder.proj.1.weight[1]=68"),
     NWI_WHEN("patch_embed.proj.weight[0]=5120", "patch_embed.proj.weight[1]=68"),
     "{\"rope_scale\": [1.0, 4.0, 4.0]}", "nvidia/Cosmos-Predict2-14B-Text2Image"},
    {"2b-video2world",
     NWI_WHEN("x_embedder.proj.1.weight[0]=2048", "x_embedder.proj.1.weight[1]=72"),
     NWI_WHEN("patch_embed.proj.weight[0]=2048", "patch_embed.proj.weight[1]=72"),
     "{\"rope_scale\": [1.0, 3.0, 3.0]}", "nvidia/Cosmos-Predict2-2B-Video2World"},
    {"14b-video2world",
     NWI_WHEN("x_embedder.proj.1.weight[0]=5120", "x_embedder.proj.1.weight[1]=72"),
     NWI_WHEN("patch_embed.proj.weight[0]=5120", "patch_embed.proj.weight[1]=72"),
     "{\"rope_scale\": [0.8333333333333334, 2.0, 2.0]}",
     "nvidia/Cosmos-Predict2-14B-Video2World"},
    {"2.5-2b-predict",
     NWI_WHEN("x_embedder.proj.1.weight[0]=2048", "x_embedder.proj.1.weight[1]=72",
              "crossattn_proj.0.weight", "!img_context_proj.0.weight"),
     NWI_WHEN("patch_embed.proj.weight[0]=2048", "patch_embed.proj.weight[1]=72",
              "crossattn_proj.0.weight", "!img_context_proj.0.weight"),
     "{\"rope_scale\": [1.0, 3.0, 3.0]}", "nvidia/Cosmos-Predict2.5-2B"},
    {"2.5-14b-predict",
     NWI_WHEN("x_embedder.proj.1.weight[0]=5120", "x_embedder.proj.1.weight[1]=72",
              "crossattn_proj.0.weight", "!img_context_proj.0.weight"),
     NWI_WHEN("patch_embed.proj.weight[0]=5120", "patch_embed.proj.weight[1]=72",
              "crossattn_proj.0.weight", "!img_context_proj.0.weight"),
     "{\"rope_scale\": [1.0, 3.0, 3.0]}", "nvidia/Cosmos-Predict2.5-14B"},
    {"2.5-2b-transfer",
     NWI_WHEN("x_embedder.proj.1.weight[0]=2048", "x_embedder.proj.1.weight[1]=72",
              "crossattn_proj.0.weight", "img_context_proj.0.weight"),
     NWI_WHEN("patch_embed.proj.weight[0]=2048", "patch_embed.proj.weight[1]=72",
              "crossattn_proj.0.weight", "img_context_proj.0.weight"),
     "{\"rope_scale\": [1.0, 3.0, 3.0], \"controlnet_block_every_n\": 7}",
     "nvidia/Cosmos-Transfer2.5-2B"},
    {0},
};

static const char *const cosmos2_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_cosmos2_transformer = {
    .name = "cosmos",
    .title = "Cosmos 2 and 2.5",
    .component = "transformer",
    .klass = "CosmosTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &cosmos2_rules,
    .original = cosmos2_transformer_original,
    .diffusers = cosmos2_transformer_diffusers,
    .variants = cosmos2_transformer_variants,
    .preset = "{\"patch_size\": [1, 2, 2], \"concat_padding_mask\": true, "
              "\"extra_pos_embed_type\": null}",
    .pipeline = cosmos2_transformer_pipeline,
    .prefix = "net.",
};

/* ---- Anima ---- */

static const struct nwi_signature anima_transformer_original[] = {
    NWI_WHEN("x_embedder.proj.1.weight", "blocks.0.self_attn.q_proj.weight",
             "t_embedder.1.linear_1.weight", "t_embedding_norm.weight", "llm_adapter*"),
    {NULL},
};

const struct nwi_family nwi_family_anima_transformer = {
    .name = "anima",
    .title = "Anima",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = anima_transformer_original,
};
