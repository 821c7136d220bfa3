/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKLLTX2Audio (diffusers 0.42.1,
 * models/autoencoders/autoencoder_kl_ltx2_audio.py): the spectrogram VAE of LTX-2. */
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_vae.h"

struct audio {
    int64_t base;
    int64_t layers;     /* num_res_blocks */
    int64_t resolution; /* of the input; a level halves it */
    bool group_norm;    /* else norms without weights */
    bool mid_attention;
    struct nwi_config_ints mult;
    struct nwi_config_ints attention; /* resolutions that have it */
};

/* A causal convolution wraps the one that has the weights. */
static void causal_conv(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                        int64_t kernel)
{
    NWI_IN(m, "%s", name)
    {
        nwi_conv2d(m, "conv", in, out, kernel, true);
    }
}

static void norm(struct nwi_module *m, const struct audio *audio, const char *name,
                 int64_t channels)
{
    if (audio->group_norm)
        nwi_vae_group_norm(m, name, channels, 32);
}

static void resnet(struct nwi_module *m, const struct audio *audio, int64_t in,
                   int64_t out)
{
    norm(m, audio, "norm1", in);
    causal_conv(m, "conv1", in, out, 3);
    norm(m, audio, "norm2", out);
    causal_conv(m, "conv2", out, out, 3);
    if (in != out)
        causal_conv(m, "nin_shortcut", in, out, 1);
}

static void attention(struct nwi_module *m, const struct audio *audio, int64_t channels)
{
    norm(m, audio, "norm", channels);
    nwi_conv2d(m, "q", channels, channels, 1, true);
    nwi_conv2d(m, "k", channels, channels, 1, true);
    nwi_conv2d(m, "v", channels, channels, 1, true);
    nwi_conv2d(m, "proj_out", channels, channels, 1, true);
}

static void middle(struct nwi_module *m, const struct audio *audio, int64_t channels)
{
    NWI_IN(m, "mid.block_1")
    {
        resnet(m, audio, channels, channels);
    }
    if (audio->mid_attention)
        NWI_IN(m, "mid.attn_1")
        {
            attention(m, audio, channels);
        }
    NWI_IN(m, "mid.block_2")
    {
        resnet(m, audio, channels, channels);
    }
}

/* The n resnets of a level, and as many attentions where its resolution has them. */
static void level(struct nwi_module *m, const struct audio *audio, int64_t n,
                  int64_t in, int64_t out, int64_t resolution)
{
    for (int64_t j = 0; j < n; j++)
        NWI_IN(m, "block.%lld", (long long)j)
        {
            resnet(m, audio, j == 0 ? in : out, out);
        }
    for (int64_t j = 0; nwi_vae_lists(&audio->attention, resolution) && j < n; j++)
        NWI_IN(m, "attn.%lld", (long long)j)
        {
            attention(m, audio, out);
        }
}

static void encoder(struct nwi_module *m, const struct audio *audio, int64_t in,
                    int64_t out)
{
    size_t n = audio->mult.n;
    int64_t channels = audio->base;
    causal_conv(m, "conv_in", in, channels, 3);
    for (size_t i = 0; i < n; i++) {
        int64_t from = channels;
        if (audio->layers > 0)
            channels = audio->base * audio->mult.at[i];
        NWI_IN(m, "down.%zu", i)
        {
            level(m, audio, audio->layers, from, channels,
                  nwi_vae_halved(audio->resolution, i));
            if (i + 1 < n)
                nwi_conv2d(m, "downsample.conv", channels, channels, 3, true);
        }
    }
    middle(m, audio, channels);
    norm(m, audio, "norm_out", channels);
    causal_conv(m, "conv_out", channels, out, 3);
}

static void decoder(struct nwi_module *m, const struct audio *audio, int64_t in,
                    int64_t out)
{
    size_t n = audio->mult.n;
    int64_t start = nwi_vae_halved(audio->resolution, n - 1);
    causal_conv(m, "conv_in", in, audio->base * audio->mult.at[n - 1], 3);
    middle(m, audio, audio->base * audio->mult.at[n - 1]);
    for (size_t i = 0; i < n; i++) {
        int64_t from = audio->base * audio->mult.at[i + 1 < n ? i + 1 : i];
        int64_t channels = audio->base * audio->mult.at[i];
        size_t before = n - 1 - i;
        NWI_IN(m, "up.%zu", i)
        {
            level(m, audio, audio->layers + 1, from, channels,
                  before < 32 ? start * ((int64_t)1 << before) : 0);
            if (i > 0)
                causal_conv(m, "upsample.conv", channels, channels, 3);
        }
    }
    norm(m, audio, "norm_out", audio->base * audio->mult.at[0]);
    causal_conv(m, "conv_out", audio->base * audio->mult.at[0], out, 3);
}

/* Which kind of norm; GroupNorm goes only with convolutions that are not causal. */
static bool read_norm(struct nwi_config *c)
{
    static const char *const axes[] = {"none", "width", "height",
                                       "width-compatibility"};
    const char *axis = nwi_config_text(c, "causality_axis", "height");
    const char *kind = nwi_config_text(c, "norm_type", "pixel");
    bool good = false;
    for (size_t i = 0; axis && i < sizeof axes / sizeof *axes; i++)
        good = good || strcmp(axis, axes[i]) == 0;
    if (!good)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"causality_axis\" of the config: %.60s",
                        axis ? axis : "null");
    if (!kind || (strcmp(kind, "pixel") != 0 && strcmp(kind, "group") != 0))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"norm_type\" of the config: %.60s",
                        kind ? kind : "null");
    bool group = kind && strcmp(kind, "group") == 0;
    if (group && axis && strcmp(axis, "none") != 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"norm_type\" group needs \"causality_axis\" none");
    return group;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t none[] = {0};
    static const int64_t mult[] = {1, 2, 4};
    int64_t in = nwi_config_int(c, "in_channels", 2);
    int64_t out = nwi_config_int(c, "output_channels", 2);
    int64_t latent = nwi_config_int(c, "latent_channels", 8);
    bool double_z = nwi_config_bool(c, "double_z", true);
    struct audio audio = {.base = nwi_config_int(c, "base_channels", 128),
                          .layers = nwi_config_count(c, "num_res_blocks", 2),
                          .resolution = nwi_config_int(c, "resolution", 256),
                          .group_norm = read_norm(c),
                          .mid_attention =
                              nwi_config_bool(c, "mid_block_add_attention", false)};
    nwi_vae_ints(c, "ch_mult", mult, 3, &audio.mult);
    nwi_vae_ints(c, "attn_resolutions", none, 0, &audio.attention);
    if (!nwi_vae_need(c, "ch_mult", audio.mult.n, 1))
        return;

    nwi_vae_latent_statistics(m, audio.base);
    NWI_IN(m, "encoder")
    {
        encoder(m, &audio, in, double_z ? 2 * latent : latent);
    }
    NWI_IN(m, "decoder")
    {
        decoder(m, &audio, latent, out);
    }
}

/* ---- deriving ---- */

static void derive_levels(struct nwi_config *c, const struct nwi_header *h,
                          int64_t base)
{
    int64_t mult[NWI_CONFIG_LIST];
    bool attention = false;
    size_t n = nwi_vae_levels(h, "decoder.up.");
    for (size_t i = 0; i < n; i++) {
        mult[i] = nwi_vae_ratio(
            nwi_vae_dim(h, 0, "decoder.up.%zu.block.0.conv1.conv.weight", i), base);
        attention = attention || nwi_vae_has(h, "decoder.up.%zu.attn.0.q.weight", i) ||
                    nwi_vae_has(h, "encoder.down.%zu.attn.0.q.weight", i);
    }
    if (n == 0)
        return;
    nwi_config_derive_ints(c, "ch_mult", mult, n);
    if (!attention)
        nwi_config_derive_null(c, "attn_resolutions");
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t base = nwi_header_dim(h, "latents_mean", 0);
    int64_t latent = nwi_header_dim(h, "decoder.conv_in.conv.weight", 1);
    int64_t encoded = nwi_header_dim(h, "encoder.conv_out.conv.weight", 0);
    if (base < 0)
        base = nwi_header_dim(h, "encoder.conv_in.conv.weight", 0);
    nwi_config_derive(c, "base_channels", base);
    nwi_config_derive(c, "in_channels",
                      nwi_header_dim(h, "encoder.conv_in.conv.weight", 1));
    nwi_config_derive(c, "output_channels",
                      nwi_header_dim(h, "decoder.conv_out.conv.weight", 0));
    nwi_config_derive(c, "latent_channels", latent);
    if (latent > 0 && encoded > 0)
        nwi_config_derive_bool(c, "double_z",
                               encoded % 2 == 0 && encoded / 2 == latent);
    nwi_config_derive(c, "num_res_blocks",
                      nwi_vae_run(h, "conv1.conv.weight", "decoder.up.0.block") - 1);
    nwi_config_derive_bool(c, "mid_block_add_attention",
                           nwi_header_has(h, "decoder.mid.attn_1.q.weight"));
    bool group = nwi_header_has(h, "decoder.norm_out.weight");
    nwi_config_derive_text(c, "norm_type", group ? "group" : "pixel");
    if (group)
        nwi_config_derive_text(c, "causality_axis", "none");
    derive_levels(c, h, base);
}

static const char *const plain_keys[] = {"dropout",   "sample_rate", "mel_hop_length",
                                         "is_causal", "mel_bins",    NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl_ltx2_audio = {
    .klass = "AutoencoderKLLTX2Audio",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
