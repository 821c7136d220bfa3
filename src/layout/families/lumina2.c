/* SPDX-License-Identifier: Apache-2.0
 * Lumina-Image 2.0 (Alpha-VLLM): names of the original repository, and of diffusers
 * 0.42.1 (Lumina2Transformer2DModel). Q is the width of the queries; keys and values
 * share the rest. */
#include "layout/family.h"

#define LB "{m:layers|noise_refiner|context_refiner}.{i}."

static const struct nwi_rule_variable lumina2_variables[] = {
    {'Q', "layers.0.attention.out.weight[1]", "layers.0.attn.to_q.weight[0]"},
    {0},
};

static const struct nwi_rule lumina2_rows[] = {
    NWI_DROP("norm_final.{p}", "the model has no such layer"),
    NWI_SPLIT_SIZES(LB "attention.qkv.{p}", LB "attn.to_{q,k,v}.{p}", "Q,*,*"),
    NWI_MAP(LB "attention.out.{p}", LB "attn.to_out.0.{p}"),
    NWI_MAP(LB "attention.{b:q|k}_norm.{p}", LB "attn.norm_{b:q|k}.{p}"),
    NWI_MAP(LB "feed_forward.w{b:1|2|3}.{p}", LB "feed_forward.linear_{b:1|2|3}.{p}"),
    NWI_MAP("context_refiner.{i}.attention_norm{b:1|2}.{p}",
            "context_refiner.{i}.norm{b:1|2}.{p}"),
    NWI_MAP("{m:layers|noise_refiner}.{i}.attention_norm{b:1|2}.{p}",
            "{m:layers|noise_refiner}.{i}.{b:norm1.norm|norm2}.{p}"),
    NWI_MAP(LB "ffn_norm{b:1|2}.{p}", LB "ffn_norm{b:1|2}.{p}"),
    NWI_MAP(LB "adaLN_modulation.1.{p}", LB "norm1.linear.{p}"),
    NWI_MAP("final_layer.{a:adaLN_modulation.1|linear}.{p}",
            "norm_out.{a:linear_1|linear_2}.{p}"),
    NWI_MAP("t_embedder.mlp.{a:0|2}.{p}",
            "time_caption_embed.timestep_embedder.linear_{a:1|2}.{p}"),
    NWI_MAP("cap_embedder.{*}", "time_caption_embed.caption_embedder.{*}"),
    NWI_MAP("x_embedder.{p}", "x_embedder.{p}"),
    {0},
};

static const struct nwi_rules lumina2_rules = {
    .variables = lumina2_variables,
    .rules = lumina2_rows,
};

/* ---- Lumina-Image 2.0 ---- */

static const struct nwi_signature lumina2_transformer_original[] = {
    NWI_WHEN("cap_embedder.0.weight", "layers.0.attention.qkv.weight",
             "layers.0.feed_forward.w1.weight", "x_embedder.weight",
             "layers.0.adaLN_modulation.1.weight"),
    {NULL},
};

static const struct nwi_signature lumina2_transformer_diffusers[] = {
    NWI_WHEN("time_caption_embed.caption_embedder.0.weight",
             "layers.0.attn.to_q.weight", "layers.0.norm1.linear.weight",
             "noise_refiner.0.attn.to_q.weight", "x_embedder.weight"),
    {NULL},
};

static const char *const lumina2_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_lumina2_transformer = {
    .name = "lumina2",
    .title = "Lumina-Image 2.0",
    .component = "transformer",
    .klass = "Lumina2Transformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &lumina2_rules,
    .original = lumina2_transformer_original,
    .diffusers = lumina2_transformer_diffusers,
    .preset = "{\"cap_feat_dim\": 2304}",
    .pipeline = lumina2_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};
