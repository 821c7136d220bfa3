/* SPDX-License-Identifier: Apache-2.0
 * Sana (NVIDIA): names of the original repository, and of diffusers 0.42.1
 * (SanaTransformer2DModel), with the query and key norms of Sana 1.5 and Sprint. */
#include "layout/family.h"

/* Sprint is told how much guidance: its time embedder has another place then. */
#define GUIDED 1u
static const struct nwi_rule_feature sana_features[] = {
    {0, "cfg_embedder.mlp.0.weight|time_embed.guidance_embedder.linear_1.weight"},
    {0},
};

static const struct nwi_rule sana_rows[] = {
    NWI_DROP("logvar_linear.{p}", "training statistics"),
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
    {.original = "t_embedder.mlp.{a:0|2}.{p}",
     .diffusers = "time_embed.emb.timestep_embedder.linear_{a:1|2}.{p}",
     .deny = GUIDED},
    {.original = "t_embedder.mlp.{a:0|2}.{p}",
     .diffusers = "time_embed.timestep_embedder.linear_{a:1|2}.{p}",
     .need = GUIDED},
    NWI_MAP("cfg_embedder.mlp.{a:0|2}.{p}",
            "time_embed.guidance_embedder.linear_{a:1|2}.{p}"),
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
    .features = sana_features,
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

/* Only the original files have the positions that tell the size of the pictures. */
#define SANA_SOURCE "huggingface/diffusers, scripts/convert_sana_to_diffusers.py"
static const struct nwi_variant sana_transformer_variants[] = {
    {"512px",
     NWI_WHEN("pos_embed[1]=256", "!cfg_embedder*"),
     {NULL},
     "{\"sample_size\": 16}",
     SANA_SOURCE},
    {"1024px",
     NWI_WHEN("pos_embed[1]=1024", "!cfg_embedder*"),
     {NULL},
     NULL,
     SANA_SOURCE},
    {"2kpx",
     NWI_WHEN("pos_embed[1]=4096", "!cfg_embedder*"),
     {NULL},
     "{\"sample_size\": 64, \"interpolation_scale\": 1.0}",
     SANA_SOURCE},
    {"4kpx",
     NWI_WHEN("pos_embed[1]=16384", "!cfg_embedder*"),
     {NULL},
     "{\"sample_size\": 128, \"interpolation_scale\": 2.0}",
     SANA_SOURCE},
    {"sprint", NWI_WHEN("cfg_embedder.mlp.0.weight"),
     NWI_WHEN("time_embed.guidance_embedder.linear_1.weight"),
     "{\"timestep_scale\": 1000.0}",
     "Efficient-Large-Model/Sana_Sprint_1.6B_1024px_diffusers, "
     "transformer/config.json"},
    {0},
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
    .variants = sana_transformer_variants,
    .pipeline = sana_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};
