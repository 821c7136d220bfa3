/* SPDX-License-Identifier: Apache-2.0
 * AnimateDiff motion modules and SparseCtrl: names of the original repository, and of
 * diffusers 0.42.1 (MotionAdapter, SparseControlNetModel). */
#include "layout/family.h"

static const struct nwi_rule animatediff_rows[] = {
    NWI_MAP("{^}.temporal_transformer.transformer_blocks.{k}.attention_blocks.0.pos_"
            "encoder.pe",
            "{^}.transformer_blocks.{k}.pos_embed.pe"),
    NWI_DROP("{^}.pos_encoder.pe", "the first of the block is the same"),
    NWI_MAP(
        "{^}.temporal_transformer.transformer_blocks.{k}.attention_blocks.{a:0|1}.{*}",
        "{^}.transformer_blocks.{k}.attn{a:1|2}.{*}"),
    NWI_MAP("{^}.temporal_transformer.transformer_blocks.{k}.norms.{a:0|1}.{p}",
            "{^}.transformer_blocks.{k}.norm{a:1|2}.{p}"),
    NWI_MAP("{^}.temporal_transformer.transformer_blocks.{k}.ff_norm.{p}",
            "{^}.transformer_blocks.{k}.norm3.{p}"),
    NWI_MAP("{^}.temporal_transformer.transformer_blocks.{k}.ff.{*}",
            "{^}.transformer_blocks.{k}.ff.{*}"),
    NWI_MAP("{^}.temporal_transformer.{a:norm|proj_in|proj_out}.{p}",
            "{^}.{a:norm|proj_in|proj_out}.{p}"),
    {0},
};

static const struct nwi_rules animatediff_rules = {
    .rules = animatediff_rows,
};

static const struct nwi_rule sparsectrl_rows[] = {
    NWI_MAP("{^}.temporal_transformer.transformer_blocks.{k}.attention_blocks.0.pos_"
            "encoder.pe",
            "{^}.transformer_blocks.{k}.pos_embed.pe"),
    NWI_DROP("{^}.pos_encoder.pe", "the first of the block is the same"),
    NWI_MAP(
        "{^}.temporal_transformer.transformer_blocks.{k}.attention_blocks.{a:0|1}.{*}",
        "{^}.transformer_blocks.{k}.attn{a:1|2}.{*}"),
    NWI_MAP("{^}.temporal_transformer.transformer_blocks.{k}.norms.{a:0|1}.{p}",
            "{^}.transformer_blocks.{k}.norm{a:1|2}.{p}"),
    NWI_MAP("{^}.temporal_transformer.transformer_blocks.{k}.ff_norm.{p}",
            "{^}.transformer_blocks.{k}.norm3.{p}"),
    NWI_MAP("{^}.temporal_transformer.transformer_blocks.{k}.ff.{*}",
            "{^}.transformer_blocks.{k}.ff.{*}"),
    NWI_MAP("{^}.temporal_transformer.{a:norm|proj_in|proj_out}.{p}",
            "{^}.{a:norm|proj_in|proj_out}.{p}"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules sparsectrl_rules = {
    .rules = sparsectrl_rows,
};

/* ---- AnimateDiff motion adapter ---- */

static const struct nwi_signature animatediff_adapter_original[] = {
    NWI_WHEN("down_blocks.0.motion_modules.0.temporal_transformer.transformer_blocks.0."
             "attention_blocks.0.to_q.weight",
             "!controlnet_cond_embedding*"),
    {NULL},
};

static const struct nwi_signature animatediff_adapter_diffusers[] = {
    NWI_WHEN("down_blocks.0.motion_modules.0.transformer_blocks.0.attn1.to_q.weight",
             "!controlnet_cond_embedding*"),
    {NULL},
};

static const struct nwi_variant animatediff_adapter_variants[] = {
    {"v1",
     NWI_WHEN("!mid_block.motion_modules*",
              "down_blocks.0.motion_modules.0.temporal_transformer.transformer_blocks."
              "0.attention_blocks.0.pos_encoder.pe[1]=24"),
     NWI_WHEN("!mid_block.motion_modules*", "up_blocks.3.motion_modules*",
              "down_blocks.0.motion_modules.0.transformer_blocks.0.pos_embed.pe[1]=24"),
     "{\"motion_max_seq_length\": 24}", "guoyww/animatediff-motion-adapter-v1-5"},
    {"v2", NWI_WHEN("mid_block.motion_modules*"), NWI_WHEN("mid_block.motion_modules*"),
     NULL, "guoyww/animatediff-motion-adapter-v1-5-2"},
    {"v3",
     NWI_WHEN("!mid_block.motion_modules*",
              "down_blocks.0.motion_modules.0.temporal_transformer.transformer_blocks."
              "0.attention_blocks.0.pos_encoder.pe[1]=32",
              "up_blocks.3.motion_modules*"),
     NWI_WHEN("!mid_block.motion_modules*", "up_blocks.3.motion_modules*"), NULL,
     "guoyww/animatediff-motion-adapter-v1-5-3"},
    {"sdxl-beta", NWI_WHEN("!up_blocks.3.motion_modules*"),
     NWI_WHEN("!up_blocks.3.motion_modules*"), NULL,
     "guoyww/animatediff-motion-adapter-sdxl-beta"},
    {0},
};

const struct nwi_family nwi_family_animatediff_adapter = {
    .name = "animatediff",
    .title = "AnimateDiff motion adapter",
    .component = "motion_adapter",
    .klass = "MotionAdapter",
    .kind = NWI_KIND_ADAPTER,
    .rules = &animatediff_rules,
    .original = animatediff_adapter_original,
    .diffusers = animatediff_adapter_diffusers,
    .variants = animatediff_adapter_variants,
};

/* ---- SparseCtrl ---- */

static const struct nwi_signature sparsectrl_original[] = {
    NWI_WHEN("down_blocks.0.motion_modules.0.temporal_transformer.transformer_blocks.0."
             "attention_blocks.0.to_q.weight",
             "controlnet_cond_embedding*"),
    {NULL},
};

static const struct nwi_signature sparsectrl_diffusers[] = {
    NWI_WHEN("down_blocks.0.motion_modules.0.transformer_blocks.0.attn1.to_q.weight",
             "controlnet_cond_embedding*"),
    {NULL},
};

static const struct nwi_variant sparsectrl_variants[] = {
    {"scribble", NWI_WHEN("controlnet_cond_embedding.conv_in.weight"),
     NWI_WHEN("controlnet_cond_embedding.conv_in.weight"),
     "{\"use_simplified_condition_embedding\": false}",
     "guoyww/animatediff-sparsectrl-scribble"},
    {"rgb", NWI_WHEN("controlnet_cond_embedding.weight"),
     NWI_WHEN("controlnet_cond_embedding.weight"),
     "{\"use_simplified_condition_embedding\": true}",
     "guoyww/animatediff-sparsectrl-rgb"},
    {0},
};

const struct nwi_family nwi_family_sparsectrl = {
    .name = "animatediff",
    .title = "SparseCtrl",
    .component = "controlnet",
    .klass = "SparseControlNetModel",
    .kind = NWI_KIND_CONTROLNET,
    .rules = &sparsectrl_rules,
    .original = sparsectrl_original,
    .diffusers = sparsectrl_diffusers,
    .variants = sparsectrl_variants,
};
