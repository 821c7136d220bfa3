/* SPDX-License-Identifier: Apache-2.0
 * ControlNetModel (diffusers 0.42.1, models/controlnets/controlnet.py): control nets of
 * Stable Diffusion 1, 2 and XL. */
#include "model/architecture.h"
#include "model/blocks_controlnet.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t condition[] = {16, 32, 96, 256};
    struct nwi_controlnet net = {0};
    const char *middle =
        nwi_config_text(c, "mid_block_type", "UNetMidBlock2DCrossAttn");
    if (!nwi_controlnet_read(c, &net, condition, 1280))
        return;
    if (!nwi_config_is(c, "mid_block_type", middle, "UNetMidBlock2DCrossAttn") &&
        !nwi_config_is(c, "mid_block_type", middle, "UNetMidBlock2D"))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"mid_block_type\" of the config is none of the class's");
    nwi_controlnet_conv_in(m, &net);
    nwi_controlnet_time(m, &net);
    nwi_unet_text_projection(m, &net.embeds, false);
    nwi_unet_class_embedding(m, &net.embeds, false);
    nwi_unet_added_embedding(m, &net.embeds, false);
    nwi_controlnet_condition(m, &net, nwi_config_int(c, "conditioning_channels", 3));
    nwi_controlnet_levels(m, &net, middle, NULL);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    bool cross = nwi_header_any(h, "mid_block.attentions.");
    nwi_controlnet_derive(c, h, false);
    if (cross || nwi_header_any(h, "mid_block.resnets."))
        nwi_config_derive_text(c, "mid_block_type",
                               cross ? "UNetMidBlock2DCrossAttn" : "UNetMidBlock2D");
    nwi_unet_derive_embeddings(c, h, nwi_header_dim(h, "conv_in.weight", 0), false);
    nwi_config_derive(c, "conditioning_channels",
                      nwi_header_dim(h, "controlnet_cond_embedding.conv_in.weight", 1));
}

static const char *const plain_keys[] = {"flip_sin_to_cos",
                                         "freq_shift",
                                         "downsample_padding",
                                         "mid_block_scale_factor",
                                         "norm_eps",
                                         "addition_time_embed_dim",
                                         "upcast_attention",
                                         "controlnet_conditioning_channel_order",
                                         "global_pool_conditions",
                                         "addition_embed_type_num_heads",
                                         NULL};

const struct nwi_architecture nwi_arch_controlnet = {
    .klass = "ControlNetModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
