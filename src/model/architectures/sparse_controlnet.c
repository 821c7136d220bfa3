/* SPDX-License-Identifier: Apache-2.0
 * SparseControlNetModel (diffusers 0.42.1, models/controlnets/controlnet_sparsectrl.py): the
 * control nets of AnimateDiff, for single frames of a video. */
#include "model/architecture.h"
#include "model/blocks_controlnet.h"

static void read_motion(struct nwi_config *c, struct nwi_controlnet *net)
{
    net->unet.frames = nwi_config_count(c, "motion_max_seq_length", 32);
    nwi_unet_spread(c, "motion_num_attention_heads", 8, net->levels.n, true,
                    &net->levels.motion_heads);
}

static void condition(struct nwi_module *m, struct nwi_config *c,
                      const struct nwi_controlnet *net)
{
    int64_t in = nwi_config_int(c, "conditioning_channels", 4);
    if (nwi_config_bool(c, "concat_conditioning_mask", true))
        in++;
    if (nwi_config_bool(c, "use_simplified_condition_embedding", true))
        nwi_unet_zero_conv(m, "controlnet_cond_embedding", in, net->embeds.in, 3);
    else
        nwi_controlnet_condition(m, net, in);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t channels[] = {16, 32, 96, 256};
    struct nwi_controlnet net = {.motion = true};
    if (!nwi_controlnet_read(c, &net, channels, 768))
        return;
    read_motion(c, &net);
    nwi_controlnet_conv_in(m, &net);
    condition(m, c, &net);
    nwi_controlnet_time(m, &net);
    nwi_controlnet_levels(m, &net, "UNetMidBlock2DCrossAttn",
                          nwi_unet_middle_depth(c, "transformer_layers_per_mid_block",
                                                "transformer_layers_per_block"));
}

static void derive_condition(struct nwi_config *c, const struct nwi_header *h)
{
    bool mask = nwi_config_bool(c, "concat_conditioning_mask", true);
    int64_t in = nwi_header_dim(h, "controlnet_cond_embedding.weight", 1);
    bool simple = in >= 0;
    if (!simple)
        in = nwi_header_dim(h, "controlnet_cond_embedding.conv_in.weight", 1);
    if (in < 0)
        return;
    nwi_config_derive_bool(c, "use_simplified_condition_embedding", simple);
    nwi_config_derive(c, "conditioning_channels", in - mask);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_controlnet_derive(c, h, true);
    nwi_config_derive(
        c, "motion_max_seq_length",
        nwi_header_dim(
            h, "down_blocks.0.motion_modules.0.transformer_blocks.0.pos_embed.pe", 1));
    derive_condition(c, h);
}

static const char *const plain_keys[] = {"flip_sin_to_cos",
                                         "freq_shift",
                                         "downsample_padding",
                                         "mid_block_scale_factor",
                                         "norm_eps",
                                         "upcast_attention",
                                         "controlnet_conditioning_channel_order",
                                         "global_pool_conditions",
                                         NULL};

const struct nwi_architecture nwi_arch_sparse_controlnet = {
    .klass = "SparseControlNetModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
