/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKLHunyuanVideo (diffusers 0.42.1,
 * models/autoencoders/autoencoder_kl_hunyuan_video.py): HunyuanVideo's causal VAE. */
#include "model/architecture.h"
#include "model/blocks_vae.h"

#include <string.h>

struct hunyuan {
    struct nwi_config_ints channels;
    int64_t layers;
    int64_t groups;
    int64_t spatial; /* how often the size of frames is halved */
    bool mid_attention;
};

/* A causal convolution wraps the one that has the weights. */
static void causal_conv(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                        int64_t kernel)
{
    NWI_IN(m, "%s", name)
    {
        nwi_conv3d(m, "conv", in, out, kernel, kernel, kernel, true);
    }
}

static void resnets(struct nwi_module *m, int64_t n, int64_t in, int64_t out,
                    int64_t groups)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i == 0 ? in : out;
        NWI_IN(m, "resnets.%lld", (long long)i)
        {
            nwi_vae_group_norm(m, "norm1", from, groups);
            causal_conv(m, "conv1", from, out, 3);
            nwi_vae_group_norm(m, "norm2", out, groups);
            causal_conv(m, "conv2", out, out, 3);
            if (from != out)
                causal_conv(m, "conv_shortcut", from, out, 1);
        }
    }
}

static void mid_block(struct nwi_module *m, const struct hunyuan *hv, int64_t channels)
{
    if (hv->mid_attention)
        NWI_IN(m, "mid_block.attentions.0")
        {
            nwi_vae_attention(m, channels, hv->groups);
        }
    NWI_IN(m, "mid_block")
    {
        resnets(m, 2, channels, channels, hv->groups);
    }
}

/* Whether level i of n changes the size of frames, or (two levels before the last) how many
 * there are: with a temporal compression of 4, in both halves alike. */
static bool resamples(size_t i, size_t n, int64_t spatial)
{
    return (int64_t)i < spatial || (i + 3 >= n && i + 1 < n);
}

static void encoder(struct nwi_module *m, const struct hunyuan *hv, size_t blocks,
                    int64_t in, int64_t out)
{
    size_t n = hv->channels.n;
    int64_t channels = hv->channels.at[0];
    causal_conv(m, "conv_in", in, channels, 3);
    for (size_t i = 0; i < blocks; i++) {
        int64_t from = channels;
        channels = hv->channels.at[i];
        NWI_IN(m, "down_blocks.%zu", i)
        {
            resnets(m, hv->layers, from, channels, hv->groups);
            if (resamples(i, n, hv->spatial))
                causal_conv(m, "downsamplers.0.conv", channels, channels, 3);
        }
    }
    channels = hv->channels.at[n - 1];
    mid_block(m, hv, channels);
    nwi_vae_group_norm(m, "conv_norm_out", channels, hv->groups);
    causal_conv(m, "conv_out", channels, out, 3);
}

static void decoder(struct nwi_module *m, const struct hunyuan *hv, size_t blocks,
                    int64_t in, int64_t out)
{
    size_t n = hv->channels.n;
    int64_t channels = hv->channels.at[n - 1];
    causal_conv(m, "conv_in", in, channels, 3);
    for (size_t i = 0; i < blocks; i++) {
        int64_t from = channels;
        channels = hv->channels.at[n - 1 - i];
        NWI_IN(m, "up_blocks.%zu", i)
        {
            resnets(m, hv->layers + 1, from, channels, hv->groups);
            if (resamples(i, n, hv->spatial))
                causal_conv(m, "upsamplers.0.conv", channels, channels, 3);
        }
    }
    mid_block(m, hv, hv->channels.at[n - 1]);
    nwi_vae_group_norm(m, "conv_norm_out", hv->channels.at[0], hv->groups);
    causal_conv(m, "conv_out", hv->channels.at[0], out, 3);
}

/* Number of blocks of one half; there is one type. */
static size_t read_types(struct nwi_config *c, const char *key, const char *only,
                         size_t levels)
{
    const char *const four[] = {only, only, only, only};
    struct nwi_config_texts types;
    nwi_config_texts_or(c, key, four, 4, &types);
    for (size_t i = 0; i < types.n; i++) {
        if (!types.at[i] || strcmp(types.at[i], only) != 0)
            nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config: %.60s", key,
                            types.at[i] ? types.at[i] : "null");
    }
    return nwi_vae_need(c, "block_out_channels", levels, types.n) ? types.n : 0;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t channels[] = {128, 256, 512, 512};
    int64_t in = nwi_config_int(c, "in_channels", 3);
    int64_t out = nwi_config_int(c, "out_channels", 3);
    int64_t latent = nwi_config_int(c, "latent_channels", 16);
    struct hunyuan hv = {
        .layers = nwi_config_count(c, "layers_per_block", 2),
        .groups = nwi_config_int(c, "norm_num_groups", 32),
        .spatial = nwi_vae_log2(c, "spatial_compression_ratio",
                                nwi_config_int(c, "spatial_compression_ratio", 8)),
        .mid_attention = nwi_config_bool(c, "mid_block_add_attention", true)};
    nwi_vae_ints(c, "block_out_channels", channels, 4, &hv.channels);
    nwi_vae_activation(c, "act_fn", "silu");
    if (!nwi_vae_need(c, "block_out_channels", hv.channels.n, 1))
        return;
    size_t n_down =
        read_types(c, "down_block_types", "HunyuanVideoDownBlock3D", hv.channels.n);
    size_t n_up =
        read_types(c, "up_block_types", "HunyuanVideoUpBlock3D", hv.channels.n);
    if (nwi_config_int(c, "temporal_compression_ratio", 4) != 4)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the class has no other "
                        "\"temporal_compression_ratio\" than 4");

    NWI_IN(m, "encoder")
    {
        encoder(m, &hv, n_down, in, 2 * latent);
    }
    NWI_IN(m, "decoder")
    {
        decoder(m, &hv, n_up, latent, out);
    }
    nwi_conv3d(m, "quant_conv", 2 * latent, 2 * latent, 1, 1, 1, true);
    nwi_conv3d(m, "post_quant_conv", latent, latent, 1, 1, 1, true);
}

/* Three halvings of the size if that explains where there are upsamplers, else as few as
 * do. */
static void derive_spatial(struct nwi_config *c, const struct nwi_header *h, size_t n)
{
    static const int64_t tries[] = {3, 0, 1, 2, 4, 5, 6, 7, 8};
    for (size_t t = 0; t < sizeof tries / sizeof *tries; t++) {
        bool fits = true;
        for (size_t i = 0; i < n; i++)
            fits = fits && resamples(i, n, tries[t]) ==
                               nwi_vae_has(h,
                                           "decoder.up_blocks.%zu.upsamplers.0."
                                           "conv.conv.weight",
                                           i);
        if (!fits)
            continue;
        nwi_config_derive(c, "spatial_compression_ratio", (int64_t)1 << tries[t]);
        return;
    }
}

static void derive_levels(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t channels[NWI_CONFIG_LIST];
    const char *down[NWI_CONFIG_LIST];
    const char *up[NWI_CONFIG_LIST];
    size_t n = nwi_vae_levels(h, "decoder.up_blocks.");
    for (size_t i = 0; i < n; i++) {
        channels[n - 1 - i] =
            nwi_vae_dim(h, 0, "decoder.up_blocks.%zu.resnets.0.conv2.conv.weight", i);
        down[i] = "HunyuanVideoDownBlock3D";
        up[i] = "HunyuanVideoUpBlock3D";
    }
    if (n == 0)
        return;
    nwi_config_derive_ints(c, "block_out_channels", channels, n);
    nwi_config_derive_texts(c, "down_block_types", down, n);
    nwi_config_derive_texts(c, "up_block_types", up, n);
    derive_spatial(c, h, n);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_config_derive(c, "in_channels",
                      nwi_header_dim(h, "encoder.conv_in.conv.weight", 1));
    nwi_config_derive(c, "out_channels",
                      nwi_header_dim(h, "decoder.conv_out.conv.weight", 0));
    nwi_config_derive(c, "latent_channels",
                      nwi_header_dim(h, "decoder.conv_in.conv.weight", 1));
    nwi_config_derive_bool(
        c, "mid_block_add_attention",
        nwi_header_has(h, "decoder.mid_block.attentions.0.to_q.weight"));
    nwi_config_derive(
        c, "layers_per_block",
        nwi_vae_run(h, "conv1.conv.weight", "decoder.up_blocks.0.resnets") - 1);
    derive_levels(c, h);
}

static const char *const plain_keys[] = {"scaling_factor", NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl_hunyuan_video = {
    .klass = "AutoencoderKLHunyuanVideo",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
