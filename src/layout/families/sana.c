/* SPDX-License-Identifier: Apache-2.0
 * Sana (NVIDIA): names of the original repository, and of diffusers 0.42.1
 * (SanaTransformer2DModel), with the query and key norms of Sana 1.5 and Sprint. */
#include "layout/family.h"

static const struct nwi_rule sana_rows[] = {
    {.original = "pos_embed",
     .diffusers = "",
     .op = NWI_RULE_DROP,
     .back = NWI_DROP_NEEDED,
     .note = "computed by the model"},
    {.original = "y_embedder.y_embedding",
     .diffusers = "",
     .op = NWI_RULE_DROP,
     .back = NWI_DROP_NEEDED,
     .note = "the empty caption's embedding is no part of the model"},
    NWI_MAP("x_embedder.proj.{p}", "patch_embed.proj.{p}"),
    NWI_MAP("t_embedder.mlp.{a:0|2}.{p}",
            "time_embed.emb.timestep_embedder.linear_{a:1|2}.{p}"),
    NWI_MAP("t_block.1.{p}", "time_embed.linear.{p}"),
    NWI_MAP("y_embedder.y_proj.fc{a:1|2}.{p}", "caption_projection.linear_{a:1|2}.{p}"),
    NWI_MAP("attention_y_norm.{p}", "caption_norm.{p}"),
    NWI_MAP("blocks.{i}.scale_shift_table", "transformer_blocks.{i}.scale_shift_table"),
    NWI_OP(SPLIT, "blocks.{i}.attn.qkv.{p}",
           "transformer_blocks.{i}.attn1.to_{q,k,v}.{p}"),
    NWI_MAP("blocks.{i}.{m:attn|cross_attn}.proj.{p}",
            "transformer_blocks.{i}.{m:attn1|attn2}.to_out.0.{p}"),
    NWI_MAP("blocks.{i}.{m:attn|cross_attn}.{b:q|k}_norm.{p}",
            "transformer_blocks.{i}.{m:attn1|attn2}.norm_{b:q|k}.{p}"),
    NWI_MAP("blocks.{i}.cross_attn.q_linear.{p}",
            "transformer_blocks.{i}.attn2.to_q.{p}"),
    NWI_OP(SPLIT, "blocks.{i}.cross_attn.kv_linear.{p}",
           "transformer_blocks.{i}.attn2.to_{k,v}.{p}"),
    NWI_MAP("blocks.{i}.mlp.{a:inverted|depth|point}_conv.conv.{p}",
            "transformer_blocks.{i}.ff.conv_{a:inverted|depth|point}.{p}"),
    NWI_MAP("final_layer.linear.{p}", "proj_out.{p}"),
    NWI_MAP("final_layer.scale_shift_table", "scale_shift_table"),
    {0},
};

static const struct nwi_rules sana_rules = {
    .rules = sana_rows,
};

/* ---- Sana ---- */

static const struct nwi_signature sana_transformer_original[] = {
    NWI_WHEN("blocks.0.cross_attn.kv_linear.weight", "blocks.0.attn.qkv.weight",
             "x_embedder.proj.weight", "t_block.1.weight",
             "y_embedder.y_proj.fc1.weight", "blocks.0.mlp.inverted_conv.conv.weight"),
    {NULL},
};

static const struct nwi_signature sana_transformer_diffusers[] = {
    NWI_WHEN("patch_embed.proj.weight", "caption_projection.linear_1.weight",
             "transformer_blocks.0.ff.conv_inverted.weight",
             "transformer_blocks.0.attn2.to_q.weight", "time_embed.linear.weight"),
    {NULL},
};

static const char *const sana_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_sana_transformer = {
    .name = "sana",
    .title = "Sana",
    .component = "transformer",
    .klass = "SanaTransformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &sana_rules,
    .original = sana_transformer_original,
    .diffusers = sana_transformer_diffusers,
    .pipeline = sana_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};
