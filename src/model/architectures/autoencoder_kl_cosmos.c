/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKLCosmos (diffusers 0.42.1, models/autoencoders/autoencoder_kl_cosmos.py): the
 * tokenizer of Cosmos 1, which works on wavelet patches. */
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_vae.h"

struct cosmos {
    struct nwi_config_ints channels;
    struct nwi_config_ints attention; /* resolutions that have it */
    int64_t layers;
    int64_t resolution; /* of the patches */
    int64_t spatial;    /* levels that halve frames, patches aside */
    int64_t temporal;   /* levels that halve their number */
};

static void conv(struct nwi_module *m, const char *name, int64_t in, int64_t out)
{
    nwi_conv3d(m, name, in, out, 1, 1, 1, true);
}

/* Over space, then over time. */
static void split_conv(struct nwi_module *m, const char *name, int64_t in, int64_t out)
{
    NWI_IN(m, "%s", name)
    {
        nwi_conv3d(m, "conv_s", in, out, 1, 3, 3, true);
        nwi_conv3d(m, "conv_t", out, out, 3, 1, 1, true);
    }
}

static void resnet(struct nwi_module *m, int64_t in, int64_t out)
{
    nwi_norm(m, "norm1.norm", in);
    split_conv(m, "conv1", in, out);
    nwi_norm(m, "norm2.norm", out);
    split_conv(m, "conv2", out, out);
    if (in != out)
        conv(m, "conv_shortcut", in, out);
}

static void attentions(struct nwi_module *m, const char *list, int64_t n,
                       int64_t channels)
{
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "%s.%lld", list, (long long)i)
        {
            nwi_norm(m, "norm.norm", channels);
            conv(m, "to_q", channels, channels);
            conv(m, "to_k", channels, channels);
            conv(m, "to_v", channels, channels);
            conv(m, "to_out.0", channels, channels);
        }
}

/* Resnets, then attention over space after each of the first n, then over time. */
static void blocks(struct nwi_module *m, int64_t resnets, int64_t n, int64_t in,
                   int64_t out)
{
    for (int64_t i = 0; i < resnets; i++)
        NWI_IN(m, "resnets.%lld", (long long)i)
        {
            resnet(m, i == 0 ? in : out, out);
        }
    attentions(m, "attentions", n, out);
    attentions(m, "temp_attentions", n, out);
}

/* Changes the size: the encoder convolves over space first, the decoder over time. */
static void downsampler(struct nwi_module *m, int64_t channels, bool space, bool time)
{
    if (space)
        nwi_conv3d(m, "downsamplers.0.conv1", channels, channels, 1, 3, 3, true);
    if (time)
        nwi_conv3d(m, "downsamplers.0.conv2", channels, channels, 3, 1, 1, true);
    if (space || time)
        conv(m, "downsamplers.0.conv3", channels, channels);
}

static void upsampler(struct nwi_module *m, int64_t channels, bool space, bool time)
{
    if (time)
        nwi_conv3d(m, "upsamplers.0.conv1", channels, channels, 3, 1, 1, true);
    if (space)
        nwi_conv3d(m, "upsamplers.0.conv2", channels, channels, 1, 3, 3, true);
    if (space || time)
        conv(m, "upsamplers.0.conv3", channels, channels);
}

static bool time_up(size_t i, int64_t temporal)
{
    return i > 0 && (int64_t)i < temporal + 1;
}

static bool space_up(size_t i, int64_t spatial, int64_t temporal)
{
    return time_up(i, temporal) || ((int64_t)i < spatial && spatial > temporal);
}

/* The wavelets of patch_embed and unpatch_embed. */
static void wavelets(struct nwi_module *m, const char *name)
{
    NWI_IN(m, "%s", name)
    {
        nwi_scratch_buffer(m, "wavelets", NWI_DIMS(2));
        nwi_want(m, "_arange", NWI_DIMS(2), NW_NON_PERSISTENT, NW_FILL_ARANGE, NW_I64);
    }
}

static void encoder(struct nwi_module *m, const struct cosmos *cosmos, int64_t in,
                    int64_t out)
{
    const struct nwi_config_ints *channels = &cosmos->channels;
    size_t n = channels->n - 1;
    wavelets(m, "patch_embed");
    split_conv(m, "conv_in", in, channels->at[0]);
    for (size_t i = 0; i < n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            bool attention = nwi_vae_lists(&cosmos->attention,
                                           nwi_vae_halved(cosmos->resolution, i));
            bool down = i + 1 < n;
            blocks(m, cosmos->layers, attention ? cosmos->layers : 0, channels->at[i],
                   channels->at[i + 1]);
            downsampler(m, channels->at[cosmos->layers > 0 ? i + 1 : i],
                        down && (int64_t)i < cosmos->spatial,
                        down && (int64_t)i < cosmos->temporal);
        }
    NWI_IN(m, "mid_block")
    {
        blocks(m, 2, 1, channels->at[n], channels->at[n]);
    }
    nwi_norm(m, "norm_out.norm", channels->at[n]);
    split_conv(m, "conv_out", channels->at[n], out);
}

static void decoder(struct nwi_module *m, const struct cosmos *cosmos, int64_t in,
                    int64_t out)
{
    const struct nwi_config_ints *channels = &cosmos->channels;
    size_t n = channels->n - 1;
    int64_t start = nwi_vae_halved(cosmos->resolution, n > 0 ? n - 1 : 0);
    split_conv(m, "conv_in", in, channels->at[n]);
    NWI_IN(m, "mid_block")
    {
        blocks(m, 2, 1, channels->at[n], channels->at[n]);
    }
    for (size_t i = 0; i < n; i++)
        NWI_IN(m, "up_blocks.%zu", i)
        {
            int64_t layers = cosmos->layers + 1;
            bool attention =
                i < 32 && nwi_vae_lists(&cosmos->attention, start * ((int64_t)1 << i));
            bool up = i + 1 < n;
            blocks(m, layers, attention ? layers : 0, channels->at[n - i],
                   channels->at[n - i - 1]);
            upsampler(m, channels->at[n - i - 1],
                      up && space_up(i, cosmos->spatial, cosmos->temporal),
                      up && time_up(i, cosmos->temporal));
        }
    nwi_norm(m, "norm_out.norm", channels->at[0]);
    split_conv(m, "conv_out", channels->at[0], out);
    wavelets(m, "unpatch_embed");
}

/* Everything but the channels; gives how many numbers a patch is. */
static int64_t read(struct nwi_config *c, struct cosmos *cosmos)
{
    static const int64_t attention[] = {32};
    const char *patches = nwi_config_text(c, "patch_type", "haar");
    int64_t patch = nwi_vae_positive(c, "patch_size", 4);
    int64_t halvings = nwi_vae_log2(c, "patch_size", patch);
    if (!patches || (strcmp(patches, "haar") != 0 && strcmp(patches, "rearrange") != 0))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"patch_type\" of the config: %.60s",
                        patches ? patches : "null");
    if (patch > 1024) {
        nwi_config_fail(c, NW_E_LIMIT, "\"patch_size\" of the config is above 1024");
        patch = 1;
    }
    cosmos->layers = nwi_config_count(c, "num_layers", 2);
    cosmos->resolution = nwi_config_int(c, "resolution", 1024) / patch;
    cosmos->spatial = nwi_vae_log2(c, "spatial_compression_ratio",
                                   nwi_config_int(c, "spatial_compression_ratio", 8)) -
                      halvings;
    cosmos->temporal =
        nwi_vae_log2(c, "temporal_compression_ratio",
                     nwi_config_int(c, "temporal_compression_ratio", 8)) -
        halvings;
    nwi_vae_ints(c, "attention_resolutions", attention, 1, &cosmos->attention);
    return patch * patch * patch;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t down[] = {128, 256, 512, 512};
    static const int64_t up[] = {256, 512, 512, 512};
    struct cosmos encodes;
    int64_t in = nwi_config_int(c, "in_channels", 3);
    int64_t out = nwi_config_int(c, "out_channels", 3);
    int64_t latent = nwi_config_int(c, "latent_channels", 16);
    int64_t volume = read(c, &encodes);
    struct cosmos decodes = encodes;
    nwi_vae_ints(c, "encoder_block_out_channels", down, 4, &encodes.channels);
    nwi_vae_ints(c, "decode_block_out_channels", up, 4, &decodes.channels);
    if (!nwi_vae_need(c, "encoder_block_out_channels", encodes.channels.n, 1) ||
        !nwi_vae_need(c, "decode_block_out_channels", decodes.channels.n, 1))
        return;

    NWI_IN(m, "encoder")
    {
        encoder(m, &encodes, in * volume, latent);
    }
    NWI_IN(m, "decoder")
    {
        decoder(m, &decodes, latent, out * volume);
    }
    conv(m, "quant_conv", latent, latent);
    conv(m, "post_quant_conv", latent, latent);
}

/* ---- deriving ---- */

/* Levels of the encoder that have that convolution in their downsampler. */
static int64_t count_downs(const struct nwi_header *h, const char *leaf)
{
    int64_t n = 0;
    while (n < (int64_t)NWI_CONFIG_LIST &&
           nwi_vae_has(h, "encoder.down_blocks.%lld.downsamplers.0.%s", (long long)n,
                       leaf))
        n++;
    return n;
}

/* How much is halved beside the patches, if that explains the decoder too. */
static void derive_compression(struct nwi_config *c, const struct nwi_header *h,
                               int64_t patch)
{
    int64_t spatial = count_downs(h, "conv1.weight");
    int64_t temporal = count_downs(h, "conv2.weight");
    size_t n = nwi_vae_levels(h, "decoder.up_blocks.");
    if (spatial > 16 || temporal > 16)
        return;
    for (size_t i = 0; i + 1 < n; i++) {
        bool space =
            nwi_vae_has(h, "decoder.up_blocks.%zu.upsamplers.0.conv2.weight", i);
        bool time =
            nwi_vae_has(h, "decoder.up_blocks.%zu.upsamplers.0.conv1.weight", i);
        if (space != space_up(i, spatial, temporal) || time != time_up(i, temporal))
            return;
    }
    nwi_config_derive(c, "spatial_compression_ratio", patch << spatial);
    nwi_config_derive(c, "temporal_compression_ratio", patch << temporal);
}

/* Only where 3 channels and a patch of a power of two explain the width: a patch counts in
 * the compression. */
static void derive_patch(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "encoder.conv_in.conv_s.weight", 1);
    int64_t out = nwi_header_dim(h, "decoder.conv_out.conv_s.weight", 0);
    for (int64_t patch = 1; patch <= 64; patch *= 2) {
        int64_t volume = patch * patch * patch;
        if (in != 3 * volume)
            continue;
        nwi_config_derive(c, "patch_size", patch);
        nwi_config_derive(c, "in_channels", 3);
        nwi_config_derive(c, "out_channels", nwi_vae_ratio(out, volume));
        derive_compression(c, h, patch);
    }
}

static void derive_channels(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t channels[NWI_CONFIG_LIST];
    size_t n = nwi_vae_levels(h, "encoder.down_blocks.");
    channels[0] = nwi_header_dim(h, "encoder.conv_in.conv_s.weight", 0);
    for (size_t i = 0; i < n; i++)
        channels[i + 1] = nwi_vae_dim(
            h, 0, "encoder.down_blocks.%zu.resnets.0.conv1.conv_s.weight", i);
    nwi_config_derive_ints(c, "encoder_block_out_channels", channels, n + 1);
    n = nwi_vae_levels(h, "decoder.up_blocks.");
    channels[n] = nwi_header_dim(h, "decoder.conv_in.conv_s.weight", 0);
    for (size_t i = 0; i < n; i++)
        channels[n - i - 1] =
            nwi_vae_dim(h, 0, "decoder.up_blocks.%zu.resnets.0.conv1.conv_s.weight", i);
    nwi_config_derive_ints(c, "decode_block_out_channels", channels, n + 1);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    const char *leaf = "conv1.conv_s.weight";
    int64_t layers = nwi_vae_run(h, leaf, "encoder.down_blocks.0.resnets");
    if (layers == 0)
        layers = nwi_vae_run(h, leaf, "decoder.up_blocks.0.resnets") - 1;
    nwi_config_derive(c, "latent_channels",
                      nwi_header_dim(h, "post_quant_conv.weight", 0));
    if (nwi_header_any(h, "encoder.down_blocks.0.") ||
        nwi_header_any(h, "decoder.up_blocks.0."))
        nwi_config_derive(c, "num_layers", layers);
    derive_patch(c, h);
    derive_channels(c, h);
}

static const char *const plain_keys[] = {"scaling_factor", "latents_mean",
                                         "latents_std", NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl_cosmos = {
    .klass = "AutoencoderKLCosmos",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
