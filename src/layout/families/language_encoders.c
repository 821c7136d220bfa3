/* SPDX-License-Identifier: Apache-2.0
 * Language models as text encoders: their files hold the causal model, for which the
 * classes of transformers 5.24 that pipelines use have no "model." and no head. Gemma 2
 * (Lumina 2, Sana), Gemma 3's text (LTX-2), Qwen 3 (Z-Image, FLUX.2 klein), Qwen 2.5-VL
 * (Qwen-Image), whose names were others before transformers 4.52. */
#include "layout/family.h"

static const struct nwi_rule causal_rows[] = {
    NWI_DROP("lm_head.{p}", "the encoder has no head"),
    NWI_MAP("model.{*}", "{*}"),
    {0},
};

static const struct nwi_rules causal_rules = {
    .rules = causal_rows,
};

/* ---- Qwen 3 ---- */

static const struct nwi_signature qwen3_original[] = {
    NWI_WHEN("model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight",
             "model.norm.weight", "model.layers.0.mlp.gate_proj.weight",
             "model.layers.0.self_attn.q_norm.weight",
             "!model.layers.0.pre_feedforward_layernorm.weight", "!visual*"),
    {NULL},
};

static const struct nwi_signature qwen3_diffusers[] = {
    NWI_WHEN("layers.0.self_attn.q_proj.weight", "embed_tokens.weight", "norm.weight",
             "layers.0.mlp.gate_proj.weight", "layers.0.self_attn.q_norm.weight",
             "!layers.0.pre_feedforward_layernorm.weight", "!visual*"),
    {NULL},
};

const struct nwi_family nwi_family_qwen3 = {
    .name = "qwen3",
    .title = "Qwen 3 text encoder",
    .component = "text_encoder",
    .klass = "Qwen3Model",
    .kind = NWI_KIND_TEXT_ENCODER,
    .rules = &causal_rules,
    .original = qwen3_original,
    .diffusers = qwen3_diffusers,
    /* Qwen/Qwen3-4B, config.json */
    .preset = "{\"rope_theta\": 1000000, \"max_position_embeddings\": 40960}",
};

/* ---- Gemma 2 ---- */

static const struct nwi_signature gemma2_original[] = {
    NWI_WHEN("model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight",
             "model.norm.weight", "model.layers.0.mlp.gate_proj.weight",
             "model.layers.0.pre_feedforward_layernorm.weight",
             "!model.layers.0.self_attn.q_norm.weight"),
    {NULL},
};

static const struct nwi_signature gemma2_diffusers[] = {
    NWI_WHEN("layers.0.self_attn.q_proj.weight", "embed_tokens.weight", "norm.weight",
             "layers.0.mlp.gate_proj.weight",
             "layers.0.pre_feedforward_layernorm.weight",
             "!layers.0.self_attn.q_norm.weight"),
    {NULL},
};

const struct nwi_family nwi_family_gemma2 = {
    .name = "gemma2",
    .title = "Gemma 2 text encoder",
    .component = "text_encoder",
    .klass = "Gemma2Model",
    .kind = NWI_KIND_TEXT_ENCODER,
    .rules = &causal_rules,
    .original = gemma2_original,
    .diffusers = gemma2_diffusers,
};

/* ---- Gemma 3, its text alone ---- */

static const struct nwi_signature gemma3_text_original[] = {
    NWI_WHEN("model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight",
             "model.norm.weight", "model.layers.0.mlp.gate_proj.weight",
             "model.layers.0.pre_feedforward_layernorm.weight",
             "model.layers.0.self_attn.q_norm.weight", "!vision_*"),
    {NULL},
};

static const struct nwi_signature gemma3_text_diffusers[] = {
    NWI_WHEN("layers.0.self_attn.q_proj.weight", "embed_tokens.weight", "norm.weight",
             "layers.0.mlp.gate_proj.weight",
             "layers.0.pre_feedforward_layernorm.weight",
             "layers.0.self_attn.q_norm.weight", "!vision_*"),
    {NULL},
};

const struct nwi_family nwi_family_gemma3_text = {
    .name = "gemma3",
    .title = "Gemma 3 text encoder",
    .component = "text_encoder",
    .klass = "Gemma3TextModel",
    .kind = NWI_KIND_TEXT_ENCODER,
    .rules = &causal_rules,
    .original = gemma3_text_original,
    .diffusers = gemma3_text_diffusers,
};

/* ---- Qwen 2.5-VL ---- */

static const struct nwi_rule qwen2_5_vl_rows[] = {
    NWI_MAP("lm_head.{p}", "lm_head.{p}"),
    NWI_MAP("visual.{*}", "model.visual.{*}"),
    NWI_MAP("model.{*}", "model.language_model.{*}"),
    {0},
};

static const struct nwi_rules qwen2_5_vl_rules = {
    .rules = qwen2_5_vl_rows,
};

static const struct nwi_signature qwen2_5_vl_original[] = {
    NWI_WHEN("model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight",
             "model.layers.0.mlp.gate_proj.weight",
             "visual.blocks.0.mlp.gate_proj.weight", "visual.merger.ln_q.weight"),
    {NULL},
};

static const struct nwi_signature qwen2_5_vl_diffusers[] = {
    NWI_WHEN("model.language_model.layers.0.self_attn.q_proj.weight",
             "model.language_model.embed_tokens.weight",
             "model.visual.blocks.0.mlp.gate_proj.weight",
             "model.visual.merger.ln_q.weight"),
    {NULL},
};

const struct nwi_family nwi_family_qwen2_5_vl = {
    .name = "qwen2_5_vl",
    .title = "Qwen 2.5-VL text encoder",
    .component = "text_encoder",
    .klass = "Qwen2_5_VLForConditionalGeneration",
    .kind = NWI_KIND_TEXT_ENCODER,
    .rules = &qwen2_5_vl_rules,
    .original = qwen2_5_vl_original,
    .diffusers = qwen2_5_vl_diffusers,
};
