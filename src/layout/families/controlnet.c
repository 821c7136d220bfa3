/* SPDX-License-Identifier: Apache-2.0
 * ControlNets of Stable Diffusion 1, 2 and XL: names of the original repository, and
 * of diffusers 0.42.1 (ControlNetModel). The first half of the UNet, and zero-filled
 * convolutions. */
#include "layout/family.h"

#define RES_O                                                                          \
    "{a:in_layers.0|in_layers.2|emb_layers.1|out_layers.0|out_layers.3|skip_"          \
    "connection}.{p}"
#define RES_D "{a:norm1|conv1|time_emb_proj|norm2|conv2|conv_shortcut}.{p}"

static const struct nwi_rule_variable controlnet_variables[] = {
    {'S', "<input_blocks.{i}.0.op.weight", "#down_blocks.0.resnets.+1"},
    {0},
};

static const struct nwi_rule_feature controlnet_features[] = {
    /* label_emb.0 is that of unCLIP, not SDXL, where the first level has attention */
    {0, "input_blocks.1.1.proj_in.weight"},
    {0, "class_embedding.linear_1.weight"},
    {0},
};

static const struct nwi_rule controlnet_rows[] = {
    NWI_MAP("time_embed.{a:0|2}.{p}", "time_embedding.linear_{a:1|2}.{p}"),
    {.original = "label_emb.0.{a:0|2}.{p}",
     .diffusers = "add_embedding.linear_{a:1|2}.{p}",
     .deny = 1},
    {.original = "label_emb.0.{a:0|2}.{p}",
     .diffusers = "class_embedding.linear_{a:1|2}.{p}",
     .need = 1},
    NWI_MAP("input_hint_block.{a:0|14}.{p}",
            "controlnet_cond_embedding.{a:conv_in|conv_out}.{p}"),
    NWI_MAP("input_hint_block.{2+2*b}.{p}", "controlnet_cond_embedding.blocks.{b}.{p}"),
    NWI_MAP("zero_convs.{i}.0.{p}", "controlnet_down_blocks.{i}.{p}"),
    NWI_MAP("middle_block_out.0.{p}", "controlnet_mid_block.{p}"),
    NWI_MAP("input_blocks.0.0.{p}", "conv_in.{p}"),
    NWI_MAP("input_blocks.{S+b*S}.0.op.{p}", "down_blocks.{b}.downsamplers.0.conv.{p}"),
    NWI_MAP("input_blocks.{1+b*S+r}.0." RES_O, "down_blocks.{b}.resnets.{r}." RES_D),
    NWI_MAP("input_blocks.{1+b*S+r}.1.{*}", "down_blocks.{b}.attentions.{r}.{*}"),
    NWI_MAP("middle_block.{c:0|2}." RES_O, "mid_block.resnets.{c:0|1}." RES_D),
    NWI_MAP("middle_block.1.{*}", "mid_block.attentions.0.{*}"),
    {0},
};

static const struct nwi_rules controlnet_rules = {
    .variables = controlnet_variables,
    .features = controlnet_features,
    .rules = controlnet_rows,
};

/* ---- ControlNet ---- */

static const struct nwi_signature controlnet_original[] = {
    NWI_WHEN("zero_convs.0.0.weight", "input_hint_block.0.weight",
             "input_blocks.0.0.weight", "time_embed.0.weight",
             "middle_block_out.0.weight"),
    {NULL},
};

static const struct nwi_signature controlnet_diffusers[] = {
    NWI_WHEN("controlnet_cond_embedding.conv_in.weight",
             "controlnet_down_blocks.0.weight", "conv_in.weight",
             "down_blocks.0.resnets.0.conv1.weight", "!task_embedding",
             "!down_blocks.0.motion_modules*"),
    {NULL},
};

static const struct nwi_variant controlnet_variants[] = {
    {"sd1", NWI_WHEN("input_blocks.1.1.proj_in.weight[]=4"),
     NWI_WHEN("down_blocks.0.attentions.0.proj_in.weight[]=4"),
     "{\"attention_head_dim\": 8}", "lllyasviel/control_v11p_sd15_canny, config.json"},
    {"sd2", NWI_WHEN("input_blocks.1.1.proj_in.weight[]=2"),
     NWI_WHEN("down_blocks.0.attentions.0.proj_in.weight[]=2"),
     "{\"attention_head_dim\": [5, 10, 20, 20]}",
     "thibaud/controlnet-sd21-canny-diffusers, config.json"},
    {"sdxl", NWI_WHEN("label_emb.0.0.weight"),
     NWI_WHEN("add_embedding.linear_1.weight"),
     "{\"attention_head_dim\": [5, 10, 20], \"addition_embed_type\": \"text_time\", "
     "\"addition_time_embed_dim\": 256}",
     "diffusers/controlnet-canny-sdxl-1.0, config.json"},
    {0},
};

const struct nwi_family nwi_family_controlnet = {
    .name = "controlnet",
    .title = "ControlNet",
    .component = "controlnet",
    .klass = "ControlNetModel",
    .kind = NWI_KIND_CONTROLNET,
    .rules = &controlnet_rules,
    .original = controlnet_original,
    .diffusers = controlnet_diffusers,
    .variants = controlnet_variants,
    .prefix = "control_model.",
};

/* ---- ControlNet Union ---- */

static const struct nwi_signature controlnet_union_diffusers[] = {
    NWI_WHEN("controlnet_cond_embedding.conv_in.weight",
             "controlnet_down_blocks.0.weight", "conv_in.weight",
             "down_blocks.0.resnets.0.conv1.weight", "task_embedding",
             "control_add_embedding.linear_1.weight"),
    {NULL},
};

const struct nwi_family nwi_family_controlnet_union = {
    .name = "controlnet",
    .title = "ControlNet Union",
    .component = "controlnet",
    .klass = "ControlNetUnionModel",
    .kind = NWI_KIND_CONTROLNET,
    .diffusers = controlnet_union_diffusers,
    .preset = "{\"attention_head_dim\": [5, 10, 20]}",
};

/* ---- FLUX.1 ControlNet ---- */

static const struct nwi_signature controlnet_flux_diffusers[] = {
    NWI_WHEN("controlnet_x_embedder.weight", "controlnet_blocks.0.weight",
             "x_embedder.weight", "context_embedder.weight",
             "transformer_blocks.0.attn.add_q_proj.weight"),
    {NULL},
};

const struct nwi_family nwi_family_controlnet_flux = {
    .name = "controlnet",
    .title = "FLUX.1 ControlNet",
    .component = "controlnet",
    .klass = "FluxControlNetModel",
    .kind = NWI_KIND_CONTROLNET,
    .diffusers = controlnet_flux_diffusers,
};

/* ---- FLUX.1 ControlNet (XLabs) ---- */

static const struct nwi_signature controlnet_flux_xlabs_original[] = {
    NWI_WHEN("controlnet_blocks.0.weight", "input_hint_block.0.weight",
             "double_blocks.0.img_attn.qkv.weight", "pos_embed_input.weight"),
    {NULL},
};

const struct nwi_family nwi_family_controlnet_flux_xlabs = {
    .name = "controlnet",
    .title = "FLUX.1 ControlNet (XLabs)",
    .component = "controlnet",
    .kind = NWI_KIND_CONTROLNET,
    .original = controlnet_flux_xlabs_original,
};

/* ---- SD3 ControlNet ---- */

static const struct nwi_signature controlnet_sd3_diffusers[] = {
    NWI_WHEN("controlnet_blocks.0.weight", "pos_embed_input.proj.weight",
             "transformer_blocks.0.norm1.linear.weight",
             "time_text_embed.text_embedder.linear_1.weight"),
    {NULL},
};

const struct nwi_family nwi_family_controlnet_sd3 = {
    .name = "controlnet",
    .title = "SD3 ControlNet",
    .component = "controlnet",
    .klass = "SD3ControlNetModel",
    .kind = NWI_KIND_CONTROLNET,
    .diffusers = controlnet_sd3_diffusers,
};
