/* SPDX-License-Identifier: Apache-2.0
 * The control nets for U-Nets (diffusers 0.42.1, models/controlnets/controlnet.py,
 * controlnet_union.py, controlnet_sparsectrl.py). */
#include "model/blocks_controlnet.h"

#include <stdio.h>

#include "model/blocks.h"
#include "model/blocks_vae.h"

static const char depth_key[] = "transformer_layers_per_block";
static const char motion_key[] = "temporal_transformer_layers_per_block";

/* ---- reading ---- */

/* What is falsy counts as no number of heads. */
static bool own_heads(struct nwi_config *c)
{
    struct nwi_config_ints heads;
    nwi_config_ints(c, "num_attention_heads", &heads);
    return heads.n > 0 && !(heads.scalar && heads.at[0] == 0);
}

static void read_cross(struct nwi_config *c, struct nwi_controlnet *net, int64_t cross)
{
    static const char key[] = "cross_attention_dim";
    struct nwi_config_ints *out = &net->levels.cross;
    if (net->motion) {
        nwi_unet_spread(c, key, cross, net->levels.n, false, out);
        return;
    }
    cross = nwi_config_int_or_null(c, key, cross);
    for (size_t i = 0; i < net->levels.n; i++)
        out->at[i] = cross;
    net->embeds.cross = cross;
}

bool nwi_controlnet_read(struct nwi_config *c, struct nwi_controlnet *net,
                         const int64_t *condition, int64_t cross)
{
    struct nwi_unet_levels *levels = &net->levels;
    bool motion = net->motion;
    if (!nwi_unet_read_levels(
            c, motion ? "CrossAttnDownBlockMotion" : "CrossAttnDownBlock2D",
            motion ? "DownBlockMotion" : "DownBlock2D", levels))
        return false;
    size_t n = levels->n;
    int64_t layers = nwi_config_count(c, "layers_per_block", 2);
    nwi_unet_spread(c, "attention_head_dim", 8, n, true, &levels->head_dims);
    nwi_unet_spread(c, own_heads(c) ? "num_attention_heads" : "attention_head_dim", 8,
                    n, false, &levels->heads);
    nwi_unet_spread(c, "only_cross_attention", 0, n, false, &levels->only_cross);
    read_cross(c, net, cross);
    for (size_t i = 0; i < n; i++)
        levels->layers.at[i] = layers;
    nwi_unet_read(c, &net->unet);
    net->unet.motion = motion;
    net->unet.time = 4 * levels->channels.at[0];
    net->embeds.time = net->unet.time;
    net->embeds.in = levels->channels.at[0];
    net->embeds.hid = NWI_NULL;
    nwi_vae_ints(c, "conditioning_embedding_out_channels", condition, 4,
                 &net->condition);
    return c->code == NW_OK;
}

/* ---- modules ---- */

void nwi_controlnet_conv_in(struct nwi_module *m, const struct nwi_controlnet *net)
{
    int64_t in = nwi_config_int(m->config, "in_channels", 4);
    nwi_conv2d(m, "conv_in", in, net->levels.channels.at[0], 3, true);
}

void nwi_controlnet_time(struct nwi_module *m, const struct nwi_controlnet *net)
{
    nwi_two_linears(m, "time_embedding", net->embeds.in, net->embeds.time,
                    net->embeds.time);
}

/* Twice: at the size it has, then to half of it. */
static void halving(struct nwi_module *m, size_t i, int64_t in, int64_t out)
{
    char name[40];
    (void)snprintf(name, sizeof name, "blocks.%zu", 2 * i);
    nwi_conv2d(m, name, in, in, 3, true);
    (void)snprintf(name, sizeof name, "blocks.%zu", 2 * i + 1);
    nwi_conv2d(m, name, in, out, 3, true);
}

void nwi_controlnet_condition(struct nwi_module *m, const struct nwi_controlnet *net,
                              int64_t in)
{
    const struct nwi_config_ints *channels = &net->condition;
    if (!nwi_vae_need(m->config, "conditioning_embedding_out_channels", channels->n, 1))
        return;
    NWI_IN(m, "controlnet_cond_embedding")
    {
        nwi_conv2d(m, "conv_in", in, channels->at[0], 3, true);
        for (size_t i = 0; i + 1 < channels->n; i++)
            halving(m, i, channels->at[i], channels->at[i + 1]);
        nwi_unet_zero_conv(m, "conv_out", channels->at[channels->n - 1],
                           net->levels.channels.at[0], 3);
    }
}

static void down_blocks(struct nwi_module *m, const struct nwi_controlnet *net)
{
    for (size_t i = 0; i < net->levels.n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            struct nwi_unet_level level = nwi_unet_down_level(&net->levels, i);
            level.depth = nwi_unet_item(m->config, depth_key, i, false);
            if (net->motion)
                level.motion_depth = nwi_unet_item(m->config, motion_key, i, false);
            nwi_unet_down(m, &net->unet, &level);
        }
}

static void zero_convs(struct nwi_module *m, int64_t *at, int64_t n, int64_t channels)
{
    for (int64_t i = 0; i < n; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "%lld", (long long)(*at)++);
        nwi_unet_zero_conv(m, name, channels, channels, 1);
    }
}

void nwi_controlnet_levels(struct nwi_module *m, const struct nwi_controlnet *net,
                           const char *middle, const struct nwi_json_value *depth)
{
    const struct nwi_unet_levels *levels = &net->levels;
    struct nwi_unet_level last = nwi_unet_down_level(levels, levels->n - 1);
    int64_t at = 0;
    down_blocks(m, net);
    NWI_IN(m, "controlnet_down_blocks")
    {
        zero_convs(m, &at, 1, levels->channels.at[0]);
        for (size_t i = 0; i < levels->n; i++)
            zero_convs(m, &at, levels->layers.at[i] + (i + 1 < levels->n),
                       levels->channels.at[i]);
    }
    nwi_unet_zero_conv(m, "controlnet_mid_block", last.out, last.out, 1);
    last.type = middle;
    last.only_cross = false;
    last.layers = 1;
    last.depth = depth ? depth : nwi_unet_item(m->config, depth_key, 0, true);
    NWI_IN(m, "mid_block")
    {
        nwi_unet_middle(m, &net->unet, &last);
    }
}

/* ---- deriving ---- */

static void derive_condition(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t channels[NWI_CONFIG_LIST];
    int64_t n = nwi_header_count(h, "controlnet_cond_embedding.blocks.") / 2 + 1;
    channels[0] = nwi_header_dim(h, "controlnet_cond_embedding.conv_in.weight", 0);
    if (channels[0] < 0 || n > (int64_t)NWI_CONFIG_LIST)
        return;
    for (int64_t i = 1; i < n; i++)
        channels[i] = nwi_vae_dim(h, 0, "controlnet_cond_embedding.blocks.%lld.weight",
                                  (long long)(2 * i - 1));
    nwi_config_derive_ints(c, "conditioning_embedding_out_channels", channels,
                           (size_t)n);
}

void nwi_controlnet_derive(struct nwi_config *c, const struct nwi_header *h,
                           bool motion)
{
    const struct nwi_unet_depths depths = {
        .list = "attentions",
        .key = depth_key,
        .middle = motion ? "transformer_layers_per_mid_block" : NULL};
    static const struct nwi_unet_depths motions = {.list = "motion_modules",
                                                   .key = motion_key};
    struct nwi_unet_told told = {.motion = motion, .cross_list = motion};
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "conv_in.weight", 1));
    nwi_unet_derive_levels(c, h, &told);
    nwi_unet_derive_depths(c, h, &told, &depths);
    if (motion)
        nwi_unet_derive_depths(c, h, &told, &motions);
    derive_condition(c, h);
}
