/* SPDX-License-Identifier: Apache-2.0
 * AuraFlow (fal): names of the original repository, and of diffusers 0.42.1
 * (AuraFlowTransformer2DModel). */
#include "layout/family.h"

static const struct nwi_rule auraflow_rows[] = {
    NWI_MAP("register_tokens", "register_tokens"),
    NWI_MAP("positional_encoding", "pos_embed.pos_embed"),
    NWI_MAP("init_x_linear.{p}", "pos_embed.proj.{p}"),
    NWI_MAP("t_embedder.mlp.{a:0|2}.{p}", "time_step_proj.linear_{a:1|2}.{p}"),
    NWI_MAP("cond_seq_linear.{p}", "context_embedder.{p}"),
    NWI_MAP("double_layers.{i}.mlp{a:X|C}.{b:c_fc1|c_fc2|c_proj}.{p}",
            "joint_transformer_blocks.{i}.ff{a:|_context}.{b:linear_1|linear_2|out_"
            "projection}.{p}"),
    NWI_MAP("double_layers.{i}.mod{a:X|C}.1.{p}",
            "joint_transformer_blocks.{i}.norm1{a:|_context}.linear.{p}"),
    NWI_MAP("double_layers.{i}.attn.{a:w2q|w2k|w2v|w2o|w1q|w1k|w1v|w1o}.{p}",
            "joint_transformer_blocks.{i}.attn.{a:to_q|to_k|to_v|to_out.0|add_q_proj|"
            "add_k_proj|add_v_proj|to_add_out}.{p}"),
    NWI_MAP(
        "single_layers.{i}.mlp.{b:c_fc1|c_fc2|c_proj}.{p}",
        "single_transformer_blocks.{i}.ff.{b:linear_1|linear_2|out_projection}.{p}"),
    NWI_MAP("single_layers.{i}.modCX.1.{p}",
            "single_transformer_blocks.{i}.norm1.linear.{p}"),
    NWI_MAP("single_layers.{i}.attn.{a:w1q|w1k|w1v|w1o}.{p}",
            "single_transformer_blocks.{i}.attn.{a:to_q|to_k|to_v|to_out.0}.{p}"),
    NWI_MAP("final_linear.{p}", "proj_out.{p}"),
    NWI_OP(SWAP, "modF.1.{p}", "norm_out.linear.{p}"),
    {0},
};

static const struct nwi_rules auraflow_rules = {
    .rules = auraflow_rows,
};

/* ---- AuraFlow ---- */

static const struct nwi_signature auraflow_transformer_original[] = {
    NWI_WHEN("register_tokens", "positional_encoding", "init_x_linear.weight",
             "cond_seq_linear.weight", "t_embedder.mlp.0.weight"),
    {NULL},
};

static const struct nwi_signature auraflow_transformer_diffusers[] = {
    NWI_WHEN("register_tokens", "pos_embed.pos_embed", "pos_embed.proj.weight",
             "context_embedder.weight", "time_step_proj.linear_1.weight"),
    {NULL},
};

static const struct nwi_variant auraflow_transformer_variants[] = {
    {"0.1", NWI_WHEN("positional_encoding[1]=1024"),
     NWI_WHEN("pos_embed.pos_embed[1]=1024"), NULL, "fal/AuraFlow"},
    {"0.2-0.3", NWI_WHEN("positional_encoding[1]=9216"),
     NWI_WHEN("pos_embed.pos_embed[1]=9216"), NULL, "fal/AuraFlow-v0.3"},
    {0},
};

static const char *const auraflow_transformer_pipeline[] = {"vae", "text_encoder",
                                                            NULL};

const struct nwi_family nwi_family_auraflow_transformer = {
    .name = "auraflow",
    .title = "AuraFlow",
    .component = "transformer",
    .klass = "AuraFlowTransformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &auraflow_rules,
    .original = auraflow_transformer_original,
    .diffusers = auraflow_transformer_diffusers,
    .variants = auraflow_transformer_variants,
    .pipeline = auraflow_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};
