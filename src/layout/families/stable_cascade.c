/* SPDX-License-Identifier: Apache-2.0
 * Stable Cascade (Stability AI), stages B and C: names of the original repository, and
 * of diffusers 0.42.1 (StableCascadeUNet). C names it clip_txt_pooled_mapper itself.
 * ComfyUI's files have q, k and v apart. */
#include "layout/family.h"

static const struct nwi_rule_feature cascade_features[] = {
    {0, "clip_txt_mapper.weight"}, /* stage C */
    {0},
};

static const struct nwi_rule cascade_rows[] = {
    NWI_OP(SPLIT, "{^}.attn.in_proj_{a:weight|bias}", "{^}.to_{q,k,v}.{a:weight|bias}"),
    NWI_MAP("{^}.attn.out_proj.{p}", "{^}.to_out.0.{p}"),
    {.original = "clip_mapper.{p}",
     .diffusers = "clip_txt_pooled_mapper.{p}",
     .deny = 1},
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules cascade_rules = {
    .features = cascade_features,
    .rules = cascade_rows,
};

static const struct nwi_rule cascade_comfy_rows[] = {
    NWI_MAP("{^}.attn.to_{a:q|k|v}.{p}", "{^}.to_{a:q|k|v}.{p}"),
    NWI_MAP("{^}.attn.out_proj.{p}", "{^}.to_out.0.{p}"),
    {.original = "clip_mapper.{p}",
     .diffusers = "clip_txt_pooled_mapper.{p}",
     .deny = 1},
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules cascade_comfy_rules = {
    .features = cascade_features,
    .rules = cascade_comfy_rows,
};

/* ---- Stable Cascade stage C ---- */

static const struct nwi_signature cascade_prior_original[] = {
    NWI_WHEN("clip_txt_mapper.weight", "clip_txt_pooled_mapper.weight",
             "embedding.1.weight", "down_blocks.0.2.attention.attn.in_proj_weight"),
    {NULL},
};

static const struct nwi_signature cascade_prior_diffusers[] = {
    NWI_WHEN("clip_txt_mapper.weight", "clip_txt_pooled_mapper.weight",
             "embedding.1.weight", "down_blocks.0.2.attention.to_q.weight"),
    {NULL},
};

static const struct nwi_variant cascade_prior_variants[] = {
    {"c", NWI_WHEN("clip_txt_mapper.weight[0]=2048"),
     NWI_WHEN("clip_txt_mapper.weight[0]=2048"),
     "{\"num_attention_heads\": [32, 32], \"switch_level\": [false]}",
     "stabilityai/stable-cascade-prior, prior/config.json"},
    {"c-lite", NWI_WHEN("clip_txt_mapper.weight[0]=1536"),
     NWI_WHEN("clip_txt_mapper.weight[0]=1536"),
     "{\"num_attention_heads\": [24, 24], \"switch_level\": [false]}",
     "stabilityai/stable-cascade-prior, prior_lite/config.json"},
    {0},
};

const struct nwi_family nwi_family_cascade_prior = {
    .name = "stable_cascade",
    .title = "Stable Cascade stage C",
    .component = "prior",
    .klass = "StableCascadeUNet",
    .kind = NWI_KIND_DENOISER,
    .rules = &cascade_rules,
    .original = cascade_prior_original,
    .diffusers = cascade_prior_diffusers,
    .variants = cascade_prior_variants,
};

/* ---- Stable Cascade stage B ---- */

static const struct nwi_signature cascade_decoder_original[] = {
    NWI_WHEN("effnet_mapper.0.weight", "pixels_mapper.0.weight", "clip_mapper.weight",
             "embedding.1.weight"),
    {NULL},
};

static const struct nwi_signature cascade_decoder_diffusers[] = {
    NWI_WHEN("effnet_mapper.0.weight", "pixels_mapper.0.weight",
             "clip_txt_pooled_mapper.weight", "embedding.1.weight"),
    {NULL},
};

static const struct nwi_variant cascade_decoder_variants[] = {
    {"b",
     NWI_WHEN("embedding.1.weight[0]=320",
              "down_blocks.1.0.channelwise.0.weight[-1]=640"),
     NWI_WHEN("embedding.1.weight[0]=320",
              "down_blocks.1.0.channelwise.0.weight[-1]=640"),
     "{\"num_attention_heads\": [0, 0, 20, 20], \"patch_size\": 2}",
     "stabilityai/stable-cascade, decoder/config.json"},
    {"b-lite", NWI_WHEN("down_blocks.1.0.channelwise.0.weight[-1]=576"),
     NWI_WHEN("down_blocks.1.0.channelwise.0.weight[-1]=576"),
     "{\"num_attention_heads\": [0, 9, 18, 18], \"patch_size\": 2}",
     "stabilityai/stable-cascade, decoder_lite/config.json"},
    {0},
};

const struct nwi_family nwi_family_cascade_decoder = {
    .name = "stable_cascade",
    .title = "Stable Cascade stage B",
    .component = "decoder",
    .klass = "StableCascadeUNet",
    .kind = NWI_KIND_DENOISER,
    .rules = &cascade_rules,
    .original = cascade_decoder_original,
    .diffusers = cascade_decoder_diffusers,
    .variants = cascade_decoder_variants,
};

/* ---- both in the names of ComfyUI ---- */

static const struct nwi_signature cascade_prior_comfy_original[] = {
    NWI_WHEN("clip_txt_mapper.weight", "clip_txt_pooled_mapper.weight",
             "embedding.1.weight", "down_blocks.0.2.attention.attn.to_q.weight"),
    {NULL},
};

const struct nwi_family nwi_family_cascade_prior_comfy = {
    .name = "stable_cascade",
    .title = "Stable Cascade stage C, names of ComfyUI",
    .component = "prior",
    .klass = "StableCascadeUNet",
    .kind = NWI_KIND_DENOISER,
    .rules = &cascade_comfy_rules,
    .original = cascade_prior_comfy_original,
    .variants = cascade_prior_variants,
};

static const struct nwi_signature cascade_decoder_comfy_original[] = {
    NWI_WHEN("effnet_mapper.0.weight", "pixels_mapper.0.weight", "clip_mapper.weight",
             "embedding.1.weight",
             ("down_blocks.1.2.attention.attn.to_q.weight|"
              "down_blocks.2.2.attention.attn.to_q.weight|"
              "down_blocks.3.2.attention.attn.to_q.weight")),
    {NULL},
};

const struct nwi_family nwi_family_cascade_decoder_comfy = {
    .name = "stable_cascade",
    .title = "Stable Cascade stage B, names of ComfyUI",
    .component = "decoder",
    .klass = "StableCascadeUNet",
    .kind = NWI_KIND_DENOISER,
    .rules = &cascade_comfy_rules,
    .original = cascade_decoder_comfy_original,
    .variants = cascade_decoder_variants,
};
