/* SPDX-License-Identifier: Apache-2.0
 * Stable Diffusion 3 and 3.5: names of the original repository, and of diffusers
 * 0.42.1 (SD3Transformer2DModel). The last block normalises its context another way. */
#include "layout/family.h"

static const struct nwi_rule_variable sd3_variables[] = {
    {'N', "#joint_blocks.", "#transformer_blocks."},
    {0},
};

static const struct nwi_rule sd3_rows[] = {
    NWI_MAP("pos_embed", "pos_embed.pos_embed"),
    NWI_MAP("x_embedder.proj.{p}", "pos_embed.proj.{p}"),
    NWI_MAP("{a:t|y}_embedder.mlp.{b:0|2}.{p}",
            "time_text_embed.{a:timestep|text}_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("context_embedder.{p}", "context_embedder.{p}"),
    NWI_OP(SPLIT, "joint_blocks.{i}.x_block.{a:attn|attn2}.qkv.{p}",
           "transformer_blocks.{i}.{a:attn|attn2}.to_{q,k,v}.{p}"),
    NWI_OP(SPLIT, "joint_blocks.{i}.context_block.attn.qkv.{p}",
           "transformer_blocks.{i}.attn.add_{q,k,v}_proj.{p}"),
    NWI_MAP("joint_blocks.{i}.x_block.{a:attn|attn2}.ln_{b:q|k}.{p}",
            "transformer_blocks.{i}.{a:attn|attn2}.norm_{b:q|k}.{p}"),
    NWI_MAP("joint_blocks.{i}.context_block.attn.ln_{b:q|k}.{p}",
            "transformer_blocks.{i}.attn.norm_added_{b:q|k}.{p}"),
    NWI_MAP("joint_blocks.{i}.x_block.{a:attn|attn2}.proj.{p}",
            "transformer_blocks.{i}.{a:attn|attn2}.to_out.0.{p}"),
    NWI_MAP("joint_blocks.{i}.context_block.attn.proj.{p}",
            "transformer_blocks.{i}.attn.to_add_out.{p}"),
    NWI_OP(SWAP, "joint_blocks.{N-1}.context_block.adaLN_modulation.1.{p}",
           "transformer_blocks.{N-1}.norm1_context.linear.{p}"),
    NWI_MAP("joint_blocks.{i}.{a:x|context}_block.adaLN_modulation.1.{p}",
            "transformer_blocks.{i}.norm1{a:|_context}.linear.{p}"),
    NWI_MAP("joint_blocks.{i}.{a:x|context}_block.mlp.fc{b:1|2}.{p}",
            "transformer_blocks.{i}.ff{a:|_context}.net.{b:0.proj|2}.{p}"),
    NWI_MAP("final_layer.linear.{p}", "proj_out.{p}"),
    NWI_OP(SWAP, "final_layer.adaLN_modulation.1.{p}", "norm_out.linear.{p}"),
    {0},
};

static const struct nwi_rules sd3_rules = {
    .variables = sd3_variables,
    .rules = sd3_rows,
};

/* ---- Stable Diffusion 3 ---- */

static const struct nwi_signature sd3_transformer_original[] = {
    NWI_WHEN("x_embedder.proj.weight", "joint_blocks.0.x_block.attn.qkv.weight",
             "joint_blocks.0.context_block.attn.qkv.weight", "context_embedder.weight",
             "t_embedder.mlp.0.weight"),
    {NULL},
};

static const struct nwi_signature sd3_transformer_diffusers[] = {
    NWI_WHEN("pos_embed.proj.weight", "context_embedder.weight",
             "transformer_blocks.0.norm1_context.linear.weight",
             "transformer_blocks.0.attn.add_q_proj.weight",
             "time_text_embed.text_embedder.linear_1.weight", "!controlnet_blocks*"),
    {NULL},
};

static const struct nwi_variant sd3_transformer_variants[] = {
    {"medium", NWI_WHEN("!joint_blocks.0.x_block.attn.ln_q.weight"),
     NWI_WHEN("!transformer_blocks.0.attn.norm_q.weight"), NULL,
     "stabilityai/stable-diffusion-3-medium"},
    {"3.5-medium", NWI_WHEN("joint_blocks.0.x_block.attn2.qkv.weight"),
     NWI_WHEN("transformer_blocks.0.attn2.to_q.weight"), NULL,
     "stabilityai/stable-diffusion-3.5-medium"},
    {"3.5-large",
     NWI_WHEN("joint_blocks.0.x_block.attn.ln_q.weight",
              "!joint_blocks.0.x_block.attn2.qkv.weight"),
     NWI_WHEN("transformer_blocks.0.attn.norm_q.weight",
              "!transformer_blocks.0.attn2.to_q.weight"),
     NULL, "stabilityai/stable-diffusion-3.5-large"},
    {0},
};

static const char *const sd3_transformer_pipeline[] = {
    "vae", "text_encoder", "text_encoder_2", "text_encoder_3", NULL};

static const struct nwi_original_part sd3_transformer_parts[] = {
    {"text_encoder", NULL, &nwi_family_clip_sd3, NULL},
    {0},
};

const struct nwi_family nwi_family_sd3_transformer = {
    .name = "sd3",
    .title = "Stable Diffusion 3",
    .component = "transformer",
    .klass = "SD3Transformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &sd3_rules,
    .original = sd3_transformer_original,
    .diffusers = sd3_transformer_diffusers,
    .variants = sd3_transformer_variants,
    .pipeline = sd3_transformer_pipeline,
    .parts = sd3_transformer_parts,
    .prefix = "model.diffusion_model.",
};
