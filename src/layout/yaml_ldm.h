/* SPDX-License-Identifier: Apache-2.0
 * The configs that Stable Diffusion's own repositories (latent-diffusion, generative-models,
 * ControlNet) describe their models with, told as diffusers' classes tell it.
 *
 * Values are those that diffusers' from_single_file(original_config=...) derives, with these
 * differences: sample_size comes from the document's image_size (diffusers takes it from the
 * kind of checkpoint) and is left out where there is none; num_head_channels also counts
 * without use_linear_in_transformer; the config of a VAE alone is accepted; U-Nets for
 * video are UNSUPPORTED (diffusers takes some for those of images); what is missing has the
 * default of latent-diffusion where diffusers breaks: transformer_depth 1, no context_dim. */
#ifndef NWI_YAML_LDM_H
#define NWI_YAML_LDM_H

#include "base/json.h"

/* For UNet2DConditionModel, AutoencoderKL and ControlNetModel: the class's name and values.
 * For CLIPTextModel and CLIPTextModelWithProjection, where the document names such an
 * encoder: an empty object, as it says nothing about it that the family does not.
 * BAD_CONFIG (no such part, a value that is missing or of another type), UNSUPPORTED (NULL
 * or another class, a U-Net for video), LIMIT, NOMEM. */
int nwi_yaml_ldm(const struct nwi_json_value *root, const char *klass,
                 struct nwi_arena *arena, struct nwi_json_value **out,
                 struct nw_error *err);

#endif
