/* SPDX-License-Identifier: Apache-2.0
 * MiniMax-H3: names of the original repository, and of diffusers 0.42.1
 * (MiniMaxH3Transformer3DModel). Nothing in the file tells whether the rows of qkv are
 * stacked or interleaved by heads: --hint qkv_layout says it. D is the width of a
 * head. */
#include "layout/family.h"

#define MM_O "{m:token_refiner.blocks|blocks}.{i}."
#define MM_D "{m:token_refiner.refiner_blocks|transformer_blocks}.{i}."

static const struct nwi_rule_variable minimax_variables[] = {
    {'D', "blocks.0.attn.q_norm.weight[0]",
     "transformer_blocks.0.attn.norm_q.weight[0]"},
    {0},
};

static const struct nwi_rule_feature minimax_features[] = {
    {0, "$qkv_layout=interleaved"},
    {0},
};

static const struct nwi_rule minimax_rows[] = {
    NWI_DROP("rope.inv_freq", "computed by the model"),
    NWI_MAP("time_embedder.proj_{a:in|out}.{p}", "time_embedder.linear_{a:1|2}.{p}"),
    NWI_MAP("{a:video_patch|audio_patch}_proj.{p}", "{a:proj_in|audio_proj_in}.{p}"),
    NWI_MAP("condition_proj.{p}", "context_embedder.{p}"),
    NWI_MAP("final_layer.{a:norm|adaln_proj.linear|video_out|audio_out}.{p}",
            "{a:norm_out.norm|norm_out.linear|proj_out|audio_proj_out}.{p}"),
    NWI_MAP("token_refiner.final_norm.{p}", "token_refiner.final_norm.{p}"),
    {.original = MM_O "attn.qkv_proj.{p}",
     .diffusers = MM_D "attn.to_{q,k,v}.{p}",
     .op = NWI_RULE_HEADS,
     .sizes = "D",
     .need = 1},
    {.original = MM_O "attn.qkv_proj.{p}",
     .diffusers = MM_D "attn.to_{q,k,v}.{p}",
     .op = NWI_RULE_SPLIT,
     .need = 0,
     .deny = 1},
    NWI_MAP(MM_O "attn.{b:q|k}_norm.{p}", MM_D "attn.norm_{b:q|k}.{p}"),
    NWI_MAP(MM_O "attn.out_proj.{p}", MM_D "attn.to_out.0.{p}"),
    NWI_OP(SWAP, MM_O "mlp.fc1.{p}", MM_D "ff.net.0.proj.{p}"),
    NWI_MAP(MM_O "mlp.fc2.{p}", MM_D "ff.net.2.{p}"),
    NWI_MAP(MM_O "{b:norm1|norm2|adaln_proj.linear}.{p}",
            MM_D "{b:norm1|norm2|adaln_proj.linear}.{p}"),
    {0},
};

static const struct nwi_rules minimax_rules = {
    .variables = minimax_variables,
    .features = minimax_features,
    .rules = minimax_rows,
};

/* ---- MiniMax-H3 ---- */

static const struct nwi_signature minimax_h3_transformer_original[] = {
    NWI_WHEN("token_refiner.blocks.0.attn.qkv_proj.weight",
             "blocks.0.attn.qkv_proj.weight", "video_patch_proj.weight",
             "condition_proj.weight", "!adaln_t_table"),
    {NULL},
};

static const struct nwi_signature minimax_h3_transformer_diffusers[] = {
    NWI_WHEN("token_refiner.refiner_blocks.0.attn.to_q.weight",
             "transformer_blocks.0.attn.to_q.weight", "audio_proj_in.weight",
             "context_embedder.weight"),
    {NULL},
};

static const char *const minimax_h3_transformer_pipeline[] = {"vae", "text_encoder",
                                                              NULL};

const struct nwi_family nwi_family_minimax_h3_transformer = {
    .name = "minimax_h3",
    .title = "MiniMax-H3",
    .component = "transformer",
    .klass = "MiniMaxH3Transformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &minimax_rules,
    .original = minimax_h3_transformer_original,
    .diffusers = minimax_h3_transformer_diffusers,
    .preset = "{\"patch_size\": [1, 2, 2], \"rope_freq_dim\": 16}",
    .pipeline = minimax_h3_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- MiniMax-H3, pruned ---- */

/* A table instead of the layers that embed the time: no class has it. */
static const struct nwi_signature minimax_h3_pruned_original[] = {
    NWI_WHEN("token_refiner.blocks.0.attn.qkv_proj.weight",
             "blocks.0.attn.qkv_proj.weight", "video_patch_proj.weight",
             "condition_proj.weight", "adaln_t_table"),
    {NULL},
};

const struct nwi_family nwi_family_minimax_h3_pruned = {
    .name = "minimax_h3",
    .title = "MiniMax-H3, pruned",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = minimax_h3_pruned_original,
};
