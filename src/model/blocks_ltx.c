/* SPDX-License-Identifier: Apache-2.0
 * The video VAE of LTX-Video and LTX-2 (diffusers 0.42.1,
 * models/autoencoders/autoencoder_kl_ltx.py, autoencoder_kl_ltx2.py). */
#include "model/blocks_ltx.h"

#include <string.h>

#include "model/blocks.h"

/* ---- modules ---- */

void nwi_ltx_conv(struct nwi_module *m, const char *name, int64_t in, int64_t out)
{
    NWI_IN(m, "%s", name)
    {
        nwi_conv3d(m, "conv", in, out, 3, 3, 3, true);
    }
}

void nwi_ltx_resnet(struct nwi_module *m, struct nwi_ltx_resnet shape)
{
    if (shape.noise) {
        nwi_parameter_filled(m, "per_channel_scale1", NWI_DIMS(shape.in, 1, 1),
                             NW_FILL_ZERO);
        nwi_parameter_filled(m, "per_channel_scale2", NWI_DIMS(shape.in, 1, 1),
                             NW_FILL_ZERO);
    }
    if (shape.timestep)
        nwi_parameter(m, "scale_shift_table", NWI_DIMS(4, shape.in));
    nwi_ltx_conv(m, "conv1", shape.in, shape.out);
    nwi_ltx_conv(m, "conv2", shape.out, shape.out);
    if (shape.in == shape.out)
        return;
    nwi_norm(m, "norm3", shape.in);
    nwi_conv3d(m, shape.second ? "conv_shortcut" : "conv_shortcut.conv", shape.in,
               shape.out, 1, 1, 1, true);
}

void nwi_ltx_resnets(struct nwi_module *m, int64_t n, struct nwi_ltx_resnet shape)
{
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "resnets.%lld", (long long)i)
        {
            nwi_ltx_resnet(m, shape);
        }
}

int64_t nwi_ltx_volume(const char *kind)
{
    if (kind && strcmp(kind, "spatial") == 0)
        return 4;
    if (kind && strcmp(kind, "temporal") == 0)
        return 2;
    return kind && strcmp(kind, "spatiotemporal") == 0 ? 8 : 0;
}

void nwi_ltx_downsampler(struct nwi_module *m, const char *kind, int64_t in,
                         int64_t out)
{
    int64_t volume = nwi_ltx_volume(kind);
    if (kind && strcmp(kind, "conv") == 0)
        nwi_ltx_conv(m, "downsamplers.0", in, in);
    else if (volume > 0)
        nwi_ltx_conv(m, "downsamplers.0.conv", in, out / volume);
}

static void time_embedder(struct nwi_module *m, int64_t dim)
{
    nwi_two_linears(m, "time_embedder.timestep_embedder", 256, dim, dim);
}

/* ---- decoder ---- */

/* From the end of a list: the decoder walks its config backwards. */
static int64_t back(const struct nwi_config_ints *list, size_t i)
{
    return list->at[list->n - 1 - i];
}

static void up_block(struct nwi_module *m, const struct nwi_ltx_half *half, size_t i,
                     struct nwi_ltx_resnet shape)
{
    if (shape.timestep)
        time_embedder(m, 4 * shape.in);
    if (shape.in != shape.out)
        NWI_IN(m, "conv_in")
        {
            nwi_ltx_resnet(m, shape);
        }
    if (back(&half->scaling, i)) {
        /* The one list that the class does not turn round. */
        const char *kind = half->second ? half->resample.at[i] : "spatiotemporal";
        int64_t factor = back(&half->factor, i);
        int64_t volume = nwi_ltx_volume(kind);
        if (volume == 0)
            nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                            "\"upsample_type\" of the config: %.60s",
                            kind ? kind : "null");
        nwi_ltx_conv(m, "upsamplers.0.conv", shape.out * factor,
                     shape.out * factor * volume / factor);
    }
    shape.in = shape.out;
    nwi_ltx_resnets(m, back(&half->layers, i + 1), shape);
}

static bool check_decoder(struct nwi_config *c, const struct nwi_ltx_half *half)
{
    size_t n = half->channels.n;
    if (!nwi_vae_need(c, "decoder_block_out_channels", n, 1) ||
        !nwi_ltx_check_layers(c, "decoder_layers_per_block", &half->layers, n + 1) ||
        !nwi_vae_need(c, "decoder_inject_noise", half->noise.n, n + 1) ||
        !nwi_vae_need(c, "decoder_spatio_temporal_scaling", half->scaling.n, n) ||
        !nwi_vae_need(c, "upsample_factor", half->factor.n, n) ||
        (half->second && !nwi_vae_need(c, "upsample_type", half->resample.n, n)))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (half->factor.at[half->factor.n - 1 - i] < 1) {
            nwi_config_fail(c, NW_E_BAD_CONFIG,
                            "\"upsample_factor\" of the config is below 1");
            return false;
        }
    }
    return true;
}

void nwi_ltx_decoder(struct nwi_module *m, const struct nwi_ltx_half *half, int64_t in,
                     int64_t out)
{
    size_t n = half->channels.n;
    if (!check_decoder(m->config, half))
        return;
    struct nwi_ltx_resnet shape = {.timestep = half->timestep, .second = half->second};
    int64_t last = half->channels.at[0] / back(&half->factor, n - 1);
    if (half->timestep) {
        nwi_parameter(m, "timestep_scale_multiplier", NWI_SCALAR);
        nwi_parameter(m, "scale_shift_table", NWI_DIMS(2, last));
    }
    shape.in = shape.out = back(&half->channels, 0);
    nwi_ltx_conv(m, "conv_in", in, shape.out);
    NWI_IN(m, "mid_block")
    {
        shape.noise = back(&half->noise, 0) != 0;
        if (half->timestep)
            time_embedder(m, 4 * shape.in);
        nwi_ltx_resnets(m, back(&half->layers, 0), shape);
    }
    for (size_t i = 0; i < n; i++)
        NWI_IN(m, "up_blocks.%zu", i)
        {
            shape.in = shape.out / back(&half->factor, i);
            shape.out = back(&half->channels, i) / back(&half->factor, i);
            shape.noise = back(&half->noise, i + 1) != 0;
            up_block(m, half, i, shape);
        }
    nwi_ltx_conv(m, "conv_out", shape.out, out);
    if (half->timestep)
        time_embedder(m, 2 * last);
}

/* ---- reading ---- */

bool nwi_ltx_check_layers(struct nwi_config *c, const char *key,
                          const struct nwi_config_ints *layers, size_t n)
{
    for (size_t i = 0; i < layers->n; i++) {
        if (layers->at[i] > NWI_CONFIG_DEPTH)
            nwi_config_fail(c, NW_E_LIMIT, "\"%s\" of the config is above %d", key,
                            NWI_CONFIG_DEPTH);
    }
    return nwi_vae_need(c, key, layers->n, n);
}

/* A list in place of the class's own, which is in it. */
static void sizes_over(struct nwi_config *c, const char *key,
                       struct nwi_config_ints *list)
{
    struct nwi_config_ints own = *list;
    nwi_vae_ints(c, key, own.at, own.n, list);
}

static void flags_over(struct nwi_config *c, const char *key, bool single, size_t n,
                       struct nwi_config_ints *list)
{
    struct nwi_config_ints own = *list;
    nwi_vae_flags(c, key, own.at, own.n, single, list);
    if (list->scalar)
        nwi_config_spread(c, key, list, n);
}

void nwi_ltx_read_decoder(struct nwi_config *c, struct nwi_ltx_half *half)
{
    sizes_over(c, "decoder_block_out_channels", &half->channels);
    sizes_over(c, "decoder_layers_per_block", &half->layers);
    sizes_over(c, "upsample_factor", &half->factor);
    size_t n = half->layers.n > 0 ? half->layers.n : 1;
    flags_over(c, "decoder_spatio_temporal_scaling", half->second, n - 1,
               &half->scaling);
    flags_over(c, "decoder_inject_noise", half->second, n, &half->noise);
    half->timestep = nwi_config_bool(c, "timestep_conditioning", false);
}
