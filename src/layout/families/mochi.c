/* SPDX-License-Identifier: Apache-2.0
 * Mochi 1 (Genmo): names of the original repository, and of diffusers 0.42.1
 * (MochiTransformer3DModel). N is the number of blocks; the last has no text branch. */
#include "layout/family.h"

static const struct nwi_rule_variable mochi_variables[] = {
    {'N', "#blocks.", "#transformer_blocks."},
    {0},
};

static const struct nwi_rule mochi_rows[] = {
    NWI_MAP("x_embedder.proj.{p}", "patch_embed.proj.{p}"),
    NWI_MAP("t_embedder.mlp.{a:0|2}.{p}",
            "time_embed.timestep_embedder.linear_{a:1|2}.{p}"),
    NWI_MAP("t5_y_embedder.{a:to_kv|to_q|to_out}.{p}",
            "time_embed.pooler.{a:to_kv|to_q|to_out}.{p}"),
    NWI_MAP("t5_yproj.{p}", "time_embed.caption_proj.{p}"),
    NWI_MAP("blocks.{N-1}.mod_y.{p}",
            "transformer_blocks.{N-1}.norm1_context.linear_1.{p}"),
    NWI_MAP("blocks.{i}.mod_{a:x|y}.{p}",
            "transformer_blocks.{i}.norm1{a:|_context}.linear.{p}"),
    NWI_OP(SPLIT, "blocks.{i}.attn.qkv_x.{p}",
           "transformer_blocks.{i}.attn1.to_{q,k,v}.{p}"),
    NWI_OP(SPLIT, "blocks.{i}.attn.qkv_y.{p}",
           "transformer_blocks.{i}.attn1.add_{q,k,v}_proj.{p}"),
    NWI_MAP("blocks.{i}.attn.{b:q|k}_norm_{a:x|y}.{p}",
            "transformer_blocks.{i}.attn1.norm_{a:|added_}{b:q|k}.{p}"),
    NWI_MAP("blocks.{i}.attn.proj_{a:x|y}.{p}",
            "transformer_blocks.{i}.attn1.{a:to_out.0|to_add_out}.{p}"),
    NWI_OP(SWAP, "blocks.{i}.mlp_{a:x|y}.w1.{p}",
           "transformer_blocks.{i}.ff{a:|_context}.net.0.proj.{p}"),
    NWI_MAP("blocks.{i}.mlp_{a:x|y}.w2.{p}",
            "transformer_blocks.{i}.ff{a:|_context}.net.2.{p}"),
    NWI_OP(SWAP, "final_layer.mod.{p}", "norm_out.linear.{p}"),
    NWI_MAP("final_layer.linear.{p}", "proj_out.{p}"),
    NWI_MAP("pos_frequencies", "pos_frequencies"),
    {0},
};

static const struct nwi_rules mochi_rules = {
    .variables = mochi_variables,
    .rules = mochi_rows,
};

/* ---- Mochi 1 ---- */

static const struct nwi_signature mochi_transformer_original[] = {
    NWI_WHEN("x_embedder.proj.weight", "blocks.0.attn.qkv_x.weight",
             "blocks.0.attn.qkv_y.weight", "t5_yproj.weight"),
    {NULL},
};

static const struct nwi_signature mochi_transformer_diffusers[] = {
    NWI_WHEN("patch_embed.proj.weight", "time_embed.pooler.to_kv.weight",
             "time_embed.caption_proj.weight",
             "transformer_blocks.0.attn1.add_q_proj.weight"),
    {NULL},
};

static const char *const mochi_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_mochi_transformer = {
    .name = "mochi",
    .title = "Mochi 1",
    .component = "transformer",
    .klass = "MochiTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &mochi_rules,
    .original = mochi_transformer_original,
    .diffusers = mochi_transformer_diffusers,
    .pipeline = mochi_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};
