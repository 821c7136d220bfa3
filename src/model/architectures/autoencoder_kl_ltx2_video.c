/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKLLTX2Video (diffusers 0.42.1, models/autoencoders/autoencoder_kl_ltx2.py):
 * the video VAE of LTX-2 and 2.3. */
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_ltx.h"

static const char only[] = "LTX2VideoDownBlock3D"; /* type of down block */

static void encoder(struct nwi_module *m, const struct nwi_ltx_half *half, int64_t in,
                    int64_t latent)
{
    size_t n = half->channels.n;
    struct nwi_ltx_resnet shape = {.out = latent, .second = true};
    nwi_ltx_conv(m, "conv_in", in, latent);
    for (size_t i = 0; i < n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            int64_t before = shape.out;
            shape.in = before;
            nwi_ltx_resnets(m, half->layers.at[i], shape);
            shape.out = half->channels.at[i] != 0 ? half->channels.at[i] : before;
            if (half->scaling.at[i])
                nwi_ltx_downsampler(m, half->resample.at[i], before, shape.out);
        }
    shape.in = shape.out;
    NWI_IN(m, "mid_block")
    {
        nwi_ltx_resnets(m, half->layers.at[half->layers.n - 1], shape);
    }
    nwi_ltx_conv(m, "conv_out", shape.out, latent + 1);
}

/* The encoder's lists; false if they do not fit together. */
static bool read_encoder(struct nwi_config *c, struct nwi_ltx_half *half)
{
    static const int64_t channels[] = {256, 512, 1024, 2048};
    static const int64_t layers[] = {4, 6, 6, 2, 2};
    static const int64_t scaling[] = {1, 1, 1, 1};
    static const char *const types_default[] = {only, only, only, only};
    static const char *const kinds[] = {"spatial", "temporal", "spatiotemporal",
                                        "spatiotemporal"};
    struct nwi_config_texts types;
    nwi_vae_ints(c, "block_out_channels", channels, 4, &half->channels);
    nwi_vae_ints(c, "layers_per_block", layers, 5, &half->layers);
    nwi_vae_flags(c, "spatio_temporal_scaling", scaling, 4, true, &half->scaling);
    nwi_config_texts_or(c, "down_block_types", types_default, 4, &types);
    nwi_config_texts_or(c, "downsample_type", kinds, 4, &half->resample);
    size_t n = half->channels.n;
    if (!nwi_ltx_check_layers(c, "layers_per_block", &half->layers, n > 0 ? n : 1))
        return false;
    if (half->scaling.scalar)
        nwi_config_spread(c, "spatio_temporal_scaling", &half->scaling,
                          half->layers.n - 1);
    if (!nwi_vae_need(c, "spatio_temporal_scaling", half->scaling.n, n) ||
        !nwi_vae_need(c, "down_block_types", types.n, n) ||
        !nwi_vae_need(c, "downsample_type", half->resample.n, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!types.at[i] || strcmp(types.at[i], only) != 0)
            nwi_config_fail(c, NW_E_BAD_CONFIG,
                            "\"down_block_types\" of the config: %.60s",
                            types.at[i] ? types.at[i] : "null");
    }
    return true;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const char *const kinds[] = {"spatiotemporal", "spatiotemporal",
                                        "spatiotemporal"};
    struct nwi_ltx_half down = {0};
    struct nwi_ltx_half up = {.second = true,
                              .channels = {.n = 3, .at = {256, 512, 1024}},
                              .layers = {.n = 4, .at = {5, 5, 5, 5}},
                              .scaling = {.n = 3, .at = {1, 1, 1}},
                              .noise = {.n = 4},
                              .factor = {.n = 3, .at = {2, 2, 2}}};
    int64_t latent = nwi_config_int(c, "latent_channels", 128);
    int64_t patch = nwi_config_int(c, "patch_size", 4);
    int64_t in = nwi_config_int(c, "in_channels", 3) * patch * patch;
    int64_t out = nwi_config_int(c, "out_channels", 3) * patch * patch;
    nwi_config_texts_or(c, "upsample_type", kinds, 3, &up.resample);
    nwi_ltx_read_decoder(c, &up);
    if (!read_encoder(c, &down))
        return;

    nwi_vae_latent_statistics(m, latent);
    NWI_IN(m, "encoder")
    {
        encoder(m, &down, in, latent);
    }
    NWI_IN(m, "decoder")
    {
        nwi_ltx_decoder(m, &up, latent, out);
    }
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    const char *types[NWI_CONFIG_LIST];
    int64_t outputs[NWI_CONFIG_LIST];
    size_t n = nwi_vae_levels(h, "encoder.down_blocks.");
    nwi_ltx_derive(c, h, true);
    for (size_t i = 0; i < n; i++) {
        types[i] = only;
        outputs[i] = i + 1 < n ? nwi_ltx_down_input(h, i + 1)
                               : nwi_header_dim(h, "encoder.conv_out.conv.weight", 1);
    }
    if (n == 0)
        return;
    nwi_config_derive_ints(c, "block_out_channels", outputs, n);
    nwi_config_derive_texts(c, "down_block_types", types, n);
    nwi_ltx_derive_downs(c, h, n, outputs);
}

static const char *const plain_keys[] = {"upsample_residual",
                                         "patch_size_t",
                                         "resnet_norm_eps",
                                         "scaling_factor",
                                         "encoder_causal",
                                         "decoder_causal",
                                         "encoder_spatial_padding_mode",
                                         "decoder_spatial_padding_mode",
                                         "spatial_compression_ratio",
                                         "temporal_compression_ratio",
                                         NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl_ltx2_video = {
    .klass = "AutoencoderKLLTX2Video",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
