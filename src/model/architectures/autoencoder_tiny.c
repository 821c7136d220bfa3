/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderTiny (diffusers 0.42.1, models/autoencoders/autoencoder_tiny.py, vae.py):
 * TAESD and its kin. Both halves are one numbered list of layers. */
#include "model/architecture.h"
#include "model/blocks_vae.h"

#include <stdio.h>

/* Three convolutions around a residual; the same channels in and out. */
static void tiny_blocks(struct nwi_module *m, int64_t *layer, int64_t n,
                        int64_t channels)
{
    for (int64_t i = 0; i < n; i++, ++*layer)
        NWI_IN(m, "%lld", (long long)*layer)
        {
            nwi_conv2d(m, "conv.0", channels, channels, 3, true);
            nwi_conv2d(m, "conv.2", channels, channels, 3, true);
            nwi_conv2d(m, "conv.4", channels, channels, 3, true);
        }
}

static void layer_conv(struct nwi_module *m, int64_t *layer, int64_t in, int64_t out,
                       bool bias)
{
    NWI_IN(m, "%lld", (long long)*layer)
    {
        nwi_parameter(m, "weight", NWI_DIMS(out, in, 3, 3));
        if (bias)
            nwi_parameter(m, "bias", NWI_DIMS(out));
    }
    ++*layer;
}

static void encoder(struct nwi_module *m, const struct nwi_config_ints *channels,
                    const struct nwi_config_ints *blocks, int64_t in, int64_t latent)
{
    int64_t layer = 0;
    for (size_t i = 0; i < channels->n; i++) {
        int64_t here = channels->at[i];
        layer_conv(m, &layer, i == 0 ? in : here, here, i == 0);
        tiny_blocks(m, &layer, blocks->at[i], here);
    }
    layer_conv(m, &layer, channels->at[channels->n - 1], latent, true);
}

static void decoder(struct nwi_module *m, const struct nwi_config_ints *channels,
                    const struct nwi_config_ints *blocks, int64_t latent, int64_t out)
{
    int64_t layer = 0;
    layer_conv(m, &layer, latent, channels->at[0], true);
    layer++; /* the activation */
    for (size_t i = 0; i < channels->n; i++) {
        bool last = i + 1 == channels->n;
        int64_t here = channels->at[i];
        tiny_blocks(m, &layer, blocks->at[i], here);
        if (!last)
            layer++; /* the upsampling */
        layer_conv(m, &layer, here, last ? out : here, last);
    }
}

/* Channels and number of blocks of every stage of one half. */
static void read_stages(struct nwi_config *c, const char *channels_key,
                        const char *blocks_key, const int64_t *blocks_default,
                        struct nwi_config_ints *channels,
                        struct nwi_config_ints *blocks)
{
    static const int64_t wide[] = {64, 64, 64, 64};
    nwi_vae_ints(c, channels_key, wide, 4, channels);
    nwi_vae_ints(c, blocks_key, blocks_default, 4, blocks);
    if (channels->n != blocks->n || channels->n == 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"%s\" of the config has %zu items, \"%s\" has %zu",
                        channels_key, channels->n, blocks_key, blocks->n);
    for (size_t i = 0; i < blocks->n; i++) {
        if (blocks->at[i] > NWI_CONFIG_DEPTH)
            nwi_config_fail(c, NW_E_LIMIT, "\"%s\" of the config is too large",
                            blocks_key);
    }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t few_first[] = {1, 3, 3, 3};
    static const int64_t few_last[] = {3, 3, 3, 1};
    struct nwi_config_ints channels;
    struct nwi_config_ints blocks;
    int64_t in = nwi_config_int(c, "in_channels", 3);
    int64_t out = nwi_config_int(c, "out_channels", 3);
    int64_t latent = nwi_config_int(c, "latent_channels", 4);
    nwi_vae_activation(c, "act_fn", "relu");

    read_stages(c, "encoder_block_out_channels", "num_encoder_blocks", few_first,
                &channels, &blocks);
    if (channels.n == 0)
        return;
    NWI_IN(m, "encoder.layers")
    {
        encoder(m, &channels, &blocks, in, latent);
    }
    read_stages(c, "decoder_block_out_channels", "num_decoder_blocks", few_last,
                &channels, &blocks);
    if (channels.n == 0)
        return;
    NWI_IN(m, "decoder.layers")
    {
        decoder(m, &channels, &blocks, latent, out);
    }
}

/* A stage: in the encoder a convolution and the blocks after it, in the decoder one and the
 * blocks before it. `side` is the dimension of the convolution that the stage's width is. */
static void derive_half(struct nwi_config *c, const struct nwi_header *h,
                        const char *half, int side)
{
    bool encodes = side == 0;
    int64_t channels[NWI_CONFIG_LIST];
    int64_t blocks[NWI_CONFIG_LIST];
    char prefix[32];
    size_t n = 0;
    int64_t run = 0;
    (void)snprintf(prefix, sizeof prefix, "%s.layers.", half);
    int64_t layers = nwi_vae_layers(h, prefix);
    /* The encoder's last and the decoder's first convolution are no stage's. */
    for (int64_t i = encodes ? 0 : 1; i < layers; i++) {
        int64_t width = nwi_vae_dim(h, side, "%s%lld.weight", prefix, (long long)i);
        run += nwi_vae_has(h, "%s%lld.conv.0.weight", prefix, (long long)i);
        if (width < 0)
            continue;
        if (n == NWI_CONFIG_LIST)
            return;
        channels[n] = width;
        blocks[encodes && n > 0 ? n - 1 : n] = run;
        n++;
        run = 0;
    }
    if (encodes && n > 0)
        n--;
    nwi_config_derive_ints(
        c, encodes ? "encoder_block_out_channels" : "decoder_block_out_channels",
        channels, n);
    nwi_config_derive_ints(c, encodes ? "num_encoder_blocks" : "num_decoder_blocks",
                           blocks, n);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t last = nwi_header_count(h, "decoder.layers.") - 1;
    nwi_config_derive(c, "in_channels",
                      nwi_header_dim(h, "encoder.layers.0.weight", 1));
    nwi_config_derive(c, "latent_channels",
                      nwi_header_dim(h, "decoder.layers.0.weight", 1));
    nwi_config_derive(c, "out_channels",
                      nwi_vae_dim(h, 0, "decoder.layers.%lld.weight", (long long)last));
    if (nwi_header_any(h, "encoder.layers."))
        derive_half(c, h, "encoder", 0);
    if (last >= 0)
        derive_half(c, h, "decoder", 1);
}

static const char *const plain_keys[] = {"upsample_fn",
                                         "upsampling_scaling_factor",
                                         "latent_magnitude",
                                         "latent_shift",
                                         "force_upcast",
                                         "scaling_factor",
                                         "shift_factor",
                                         "block_out_channels", /* written, not read */
                                         NULL};

const struct nwi_architecture nwi_arch_autoencoder_tiny = {
    .klass = "AutoencoderTiny",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
