/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKLLTXVideo (diffusers 0.42.1, models/autoencoders/autoencoder_kl_ltx.py): the
 * VAE of LTX-Video 0.9.0, 0.9.1, 0.9.5 and 0.9.7. Up to 0.9.1 a level ends with a resnet
 * that widens; from 0.9.5 on its downsampler does that. */
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_ltx.h"

#define OLD "LTXVideoDownBlock3D"
#define NEW "LTXVideo095DownBlock3D"

static void down_block(struct nwi_module *m, const struct nwi_ltx_half *half,
                       const char *type, size_t i, struct nwi_ltx_resnet shape)
{
    bool old = type && strcmp(type, OLD) == 0;
    if (!old && (!type || strcmp(type, NEW) != 0))
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "\"down_block_types\" of the config: %.60s",
                        type ? type : "null");
    if (!old && half->scaling.at[i] &&
        !nwi_vae_need(m->config, "downsample_type", half->resample.n, i + 1))
        return;
    nwi_ltx_resnets(m, half->layers.at[i],
                    (struct nwi_ltx_resnet){.in = shape.in, .out = shape.in});
    if (half->scaling.at[i])
        nwi_ltx_downsampler(m, old ? "conv" : half->resample.at[i], shape.in,
                            shape.out);
    if (old && shape.in != shape.out)
        NWI_IN(m, "conv_out")
        {
            nwi_ltx_resnet(m, shape);
        }
}

static void encoder(struct nwi_module *m, const struct nwi_ltx_half *half,
                    const struct nwi_config_texts *types, int64_t in, int64_t out)
{
    const char *last = types->at[types->n - 1];
    bool is_new = last && strcmp(last, NEW) == 0;
    size_t n = half->channels.n - (is_new ? 1 : 0);
    if (!nwi_vae_need(m->config, "down_block_types", types->n, n) ||
        !nwi_ltx_check_layers(m->config, "layers_per_block", &half->layers,
                              n > 0 ? n : 1) ||
        !nwi_vae_need(m->config, "spatio_temporal_scaling", half->scaling.n, n))
        return;
    struct nwi_ltx_resnet shape = {.out = half->channels.at[0]};
    nwi_ltx_conv(m, "conv_in", in, shape.out);
    for (size_t i = 0; i < n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            bool wider = is_new || i + 1 < n;
            shape.in = shape.out;
            shape.out = half->channels.at[wider ? i + 1 : i];
            down_block(m, half, types->at[i], i, shape);
        }
    shape.in = shape.out;
    NWI_IN(m, "mid_block")
    {
        nwi_ltx_resnets(m, half->layers.at[half->layers.n - 1], shape);
    }
    nwi_ltx_conv(m, "conv_out", shape.out, out);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t channels[] = {128, 256, 512, 512};
    static const int64_t layers[] = {4, 3, 3, 3, 4};
    static const int64_t scaling[] = {1, 1, 1, 0};
    static const char *const old[] = {OLD, OLD, OLD, OLD};
    static const char *const conv[] = {"conv", "conv", "conv", "conv"};
    struct nwi_config_texts types;
    struct nwi_ltx_half down = {0};
    struct nwi_ltx_half up = {.channels = {.n = 4, .at = {128, 256, 512, 512}},
                              .layers = {.n = 5, .at = {4, 3, 3, 3, 4}},
                              .scaling = {.n = 4, .at = {1, 1, 1, 0}},
                              .noise = {.n = 5},
                              .factor = {.n = 4, .at = {1, 1, 1, 1}}};
    int64_t latent = nwi_config_int(c, "latent_channels", 128);
    int64_t patch = nwi_config_int(c, "patch_size", 4);
    int64_t in = nwi_config_int(c, "in_channels", 3) * patch * patch;
    int64_t out = nwi_config_int(c, "out_channels", 3) * patch * patch;
    nwi_vae_ints(c, "block_out_channels", channels, 4, &down.channels);
    nwi_vae_ints(c, "layers_per_block", layers, 5, &down.layers);
    nwi_vae_flags(c, "spatio_temporal_scaling", scaling, 4, false, &down.scaling);
    nwi_config_texts_or(c, "down_block_types", old, 4, &types);
    nwi_config_texts_or(c, "downsample_type", conv, 4, &down.resample);
    nwi_ltx_read_decoder(c, &up);
    if (!nwi_vae_need(c, "block_out_channels", down.channels.n, 1) ||
        !nwi_vae_need(c, "down_block_types", types.n, 1))
        return;

    nwi_vae_latent_statistics(m, latent);
    NWI_IN(m, "encoder")
    {
        encoder(m, &down, &types, in, latent + 1);
    }
    NWI_IN(m, "decoder")
    {
        nwi_ltx_decoder(m, &up, latent, out);
    }
}

/* ---- deriving ---- */

/* Whether down blocks are of the newer type: they have downsamplers that narrow, or widen
 * without a resnet of their own. */
static bool tells_new(const struct nwi_header *h, size_t n, const int64_t *widths)
{
    for (size_t i = 0; i < n; i++) {
        if (nwi_vae_has(h, "encoder.down_blocks.%zu.downsamplers.0.conv.conv.weight",
                        i) ||
            (widths[i] != widths[i + 1] &&
             !nwi_vae_has(h, "encoder.down_blocks.%zu.conv_out.conv1.conv.weight", i)))
            return true;
    }
    return false;
}

static void derive_encoder(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t widths[NWI_CONFIG_LIST + 1];
    const char *types[NWI_CONFIG_LIST];
    size_t n = nwi_vae_levels(h, "encoder.down_blocks.");
    for (size_t i = 0; i < n; i++)
        widths[i] = nwi_ltx_down_input(h, i);
    widths[n] = nwi_header_dim(h, "encoder.conv_out.conv.weight", 1);
    if (n == 0 || widths[n] < 0)
        return;
    bool is_new = tells_new(h, n, widths);
    for (size_t i = 0; i < n; i++)
        types[i] = is_new ? NEW : OLD;
    nwi_config_derive_ints(c, "block_out_channels", widths, is_new ? n + 1 : n);
    nwi_config_derive_texts(c, "down_block_types", types, n);
    nwi_ltx_derive_downs(c, h, n, widths + 1);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_ltx_derive(c, h, false);
    derive_encoder(c, h);
}

static const char *const plain_keys[] = {"upsample_residual",
                                         "patch_size_t",
                                         "resnet_norm_eps",
                                         "scaling_factor",
                                         "encoder_causal",
                                         "decoder_causal",
                                         "spatial_compression_ratio",
                                         "temporal_compression_ratio",
                                         NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl_ltx_video = {
    .klass = "AutoencoderKLLTXVideo",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
