/* SPDX-License-Identifier: Apache-2.0
 * Qwen-Image 2.1: the file of ComfyUI joins the gate and the projection of the feed-
 * forward; all else is named as in diffusers 0.42.1 (QwenImage21Transformer2DModel). */
#include "layout/family.h"

static const struct nwi_rule qwen21_rows[] = {
    NWI_OP(SPLIT, "transformer_blocks.{i}.img_mlp.gate_up.{p}",
           "transformer_blocks.{i}.img_mlp.{gate_layer,proj}.{p}"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules qwen21_rules = {
    .rules = qwen21_rows,
};

/* ---- Qwen-Image 2.1 ---- */

static const struct nwi_signature qwen_image_21_transformer_original[] = {
    NWI_WHEN("txt_in.text_norm.weight", "transformer_blocks.0.img_mlp.gate_up.weight",
             "img_in.weight"),
    {NULL},
};

static const struct nwi_signature qwen_image_21_transformer_diffusers[] = {
    NWI_WHEN("txt_in.text_norm.weight",
             "transformer_blocks.0.img_mlp.gate_layer.weight", "img_in.weight"),
    {NULL},
};

static const char *const qwen_image_21_transformer_pipeline[] = {"vae", "text_encoder",
                                                                 NULL};

const struct nwi_family nwi_family_qwen_image_21_transformer = {
    .name = "qwen_image",
    .title = "Qwen-Image 2.1",
    .component = "transformer",
    .klass = "QwenImage21Transformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &qwen21_rules,
    .original = qwen_image_21_transformer_original,
    .diffusers = qwen_image_21_transformer_diffusers,
    .pipeline = qwen_image_21_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};
