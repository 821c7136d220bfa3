/* SPDX-License-Identifier: Apache-2.0
 * Stable Cascade (Stability AI), stages B and C: names of the original repository, and
 * of diffusers 0.42.1 (StableCascadeUNet). C names it clip_txt_pooled_mapper itself. */
#include "layout/family.h"

static const struct nwi_rule cascade_rows[] = {
    NWI_OP(SPLIT, "{^}.attn.in_proj_{a:weight|bias}", "{^}.to_{q,k,v}.{a:weight|bias}"),
    NWI_MAP("{^}.attn.out_proj.{p}", "{^}.to_out.0.{p}"),
    NWI_MAP("clip_mapper.{p}", "clip_txt_pooled_mapper.{p}"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules cascade_rules = {
    .rules = cascade_rows,
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
     NWI_WHEN("clip_txt_mapper.weight[0]=2048"), NULL,
     "stabilityai/stable-cascade-prior, prior"},
    {"c-lite", NWI_WHEN("clip_txt_mapper.weight[0]=1536"),
     NWI_WHEN("clip_txt_mapper.weight[0]=1536"), NULL,
     "stabilityai/stable-cascade-prior, prior_lite"},
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
     NULL, "stabilityai/stable-cascade, decoder"},
    {"b-lite", NWI_WHEN("down_blocks.1.0.channelwise.0.weight[-1]=576"),
     NWI_WHEN("down_blocks.1.0.channelwise.0.weight[-1]=576"), NULL,
     "stabilityai/stable-cascade, decoder_lite"},
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
