/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKLMochi (diffusers 0.42.1, models/autoencoders/autoencoder_kl_mochi.py):
 * Mochi 1's causal video VAE. */
#include "model/architecture.h"
#include "model/blocks_vae.h"

#include <stdio.h>

struct mochi {
    struct nwi_config_ints layers; /* block_in, the levels, block_out */
    struct nwi_config_ints time;   /* temporal_expansions, by step between levels */
    struct nwi_config_ints space;  /* spatial_expansions */
    struct nwi_config_ints attention;
};

static void chunked_norm(struct nwi_module *m, const char *name, int64_t channels)
{
    NWI_IN(m, "%s", name)
    {
        nwi_vae_group_norm(m, "norm_layer", channels, 32);
    }
}

static void resnets(struct nwi_module *m, int64_t n, int64_t channels)
{
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "resnets.%lld", (long long)i)
        {
            chunked_norm(m, "norm1", channels);
            nwi_conv3d(m, "conv1.conv", channels, channels, 3, 3, 3, true);
            chunked_norm(m, "norm2", channels);
            nwi_conv3d(m, "conv2.conv", channels, channels, 3, 3, 3, true);
        }
}

/* Attention over time, heads of 32 channels; norms and attentions are two lists. */
static void attentions(struct nwi_module *m, int64_t n, int64_t channels)
{
    int64_t inner = channels / 32 * 32;
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "norms.%lld", (long long)i)
        {
            nwi_vae_group_norm(m, "norm_layer", channels, 32);
        }
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "attentions.%lld", (long long)i)
        {
            nwi_linear(m, "to_q", channels, inner, false);
            nwi_linear(m, "to_k", channels, inner, false);
            nwi_linear(m, "to_v", channels, inner, false);
            nwi_linear(m, "to_out.0", inner, channels, true);
        }
}

static void blocks(struct nwi_module *m, int64_t n, int64_t channels, bool attention)
{
    resnets(m, n, channels);
    attentions(m, attention ? n : 0, channels);
}

static void encoder(struct nwi_module *m, const struct mochi *mochi,
                    const struct nwi_config_ints *channels, int64_t in, int64_t out)
{
    size_t n = channels->n;
    const struct nwi_config_ints *layers = &mochi->layers;
    const struct nwi_config_ints *attention = &mochi->attention;
    nwi_linear(m, "proj_in", in, channels->at[0], true);
    NWI_IN(m, "block_in")
    {
        blocks(m, layers->at[0], channels->at[0], attention->at[0] != 0);
    }
    for (size_t i = 0; i + 1 < n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            nwi_conv3d(m, "conv_in.conv", channels->at[i], channels->at[i + 1],
                       mochi->time.at[i], mochi->space.at[i], mochi->space.at[i], true);
            blocks(m, layers->at[i + 1], channels->at[i + 1],
                   attention->at[i + 1] != 0);
        }
    NWI_IN(m, "block_out")
    {
        blocks(m, layers->at[layers->n - 1], channels->at[n - 1],
               attention->at[attention->n - 1] != 0);
    }
    chunked_norm(m, "norm_out", channels->at[n - 1]);
    nwi_linear(m, "proj_out", channels->at[n - 1], out, false);
}

static void decoder(struct nwi_module *m, const struct mochi *mochi,
                    const struct nwi_config_ints *channels, int64_t in, int64_t out)
{
    size_t n = channels->n;
    const struct nwi_config_ints *layers = &mochi->layers;
    nwi_conv3d(m, "conv_in", in, channels->at[n - 1], 1, 1, 1, true);
    NWI_IN(m, "block_in")
    {
        resnets(m, layers->at[layers->n - 1], channels->at[n - 1]);
    }
    for (size_t i = 0; i + 1 < n; i++)
        NWI_IN(m, "up_blocks.%zu", i)
        {
            int64_t time = mochi->time.at[mochi->time.n - 1 - i];
            int64_t space = mochi->space.at[mochi->space.n - 1 - i];
            resnets(m, layers->at[layers->n - 2 - i], channels->at[n - 1 - i]);
            nwi_linear(m, "proj", channels->at[n - 1 - i],
                       channels->at[n - 2 - i] * time * space * space, true);
        }
    NWI_IN(m, "block_out")
    {
        resnets(m, layers->at[0], channels->at[0]);
    }
    nwi_linear(m, "proj_out", channels->at[0], out, true);
}

/* Lists of the same meaning for every level; false if one is too short. */
static bool read(struct nwi_config *c, struct mochi *mochi, size_t levels)
{
    static const int64_t layers[] = {3, 3, 4, 6, 3};
    static const int64_t time[] = {1, 2, 3};
    static const int64_t space[] = {2, 2, 2};
    static const int64_t attention[] = {0, 1, 1, 1, 1};
    nwi_vae_ints(c, "layers_per_block", layers, 5, &mochi->layers);
    nwi_vae_ints(c, "temporal_expansions", time, 3, &mochi->time);
    nwi_vae_ints(c, "spatial_expansions", space, 3, &mochi->space);
    nwi_vae_flags(c, "add_attention_block", attention, 5, false, &mochi->attention);
    for (size_t i = 0; i < mochi->space.n || i < mochi->time.n; i++) {
        if (mochi->space.at[i] < 0 || mochi->time.at[i] < 0)
            nwi_config_fail(c, NW_E_BAD_CONFIG, "the config expands less than 0 times");
        if (mochi->space.at[i] > 1024 || mochi->time.at[i] > 1024)
            nwi_config_fail(c, NW_E_LIMIT, "the config expands more than 1024 times");
    }
    for (size_t i = 0; i < mochi->layers.n; i++) {
        if (mochi->layers.at[i] > NWI_CONFIG_DEPTH)
            nwi_config_fail(c, NW_E_LIMIT, "the config has more than %d layers",
                            NWI_CONFIG_DEPTH);
    }
    return c->code == NW_OK &&
           nwi_vae_need(c, "layers_per_block", mochi->layers.n, levels) &&
           nwi_vae_need(c, "add_attention_block", mochi->attention.n, levels) &&
           nwi_vae_need(c, "temporal_expansions", mochi->time.n, levels - 1) &&
           nwi_vae_need(c, "spatial_expansions", mochi->space.n, levels - 1);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t narrow[] = {64, 128, 256, 384};
    static const int64_t wide[] = {128, 256, 512, 768};
    struct nwi_config_ints encoder_channels;
    struct nwi_config_ints decoder_channels;
    struct mochi mochi;
    int64_t in = nwi_config_int(c, "in_channels", 15);
    int64_t out = nwi_config_int(c, "out_channels", 3);
    int64_t latent = nwi_config_int(c, "latent_channels", 12);
    nwi_vae_ints(c, "encoder_block_out_channels", narrow, 4, &encoder_channels);
    nwi_vae_ints(c, "decoder_block_out_channels", wide, 4, &decoder_channels);
    nwi_vae_activation(c, "act_fn", "silu");
    size_t levels = encoder_channels.n > decoder_channels.n ? encoder_channels.n
                                                            : decoder_channels.n;
    if (!nwi_vae_need(c, "encoder_block_out_channels", encoder_channels.n, 1) ||
        !nwi_vae_need(c, "decoder_block_out_channels", decoder_channels.n, 1) ||
        !read(c, &mochi, levels))
        return;

    NWI_IN(m, "encoder")
    {
        encoder(m, &mochi, &encoder_channels, in, 2 * latent);
    }
    NWI_IN(m, "decoder")
    {
        decoder(m, &mochi, &decoder_channels, latent, out);
    }
}

/* ---- deriving ---- */

/* The same of block_in, every down block, block_out: resnets, and if they have attention. */
static void derive_blocks(struct nwi_config *c, const struct nwi_header *h, size_t n)
{
    int64_t layers[NWI_CONFIG_LIST + 2];
    bool attention[NWI_CONFIG_LIST + 2];
    for (size_t i = 0; i < n + 2; i++) {
        char name[48];
        if (i == 0 || i == n + 1)
            (void)snprintf(name, sizeof name, "encoder.block_%s", i ? "out" : "in");
        else
            (void)snprintf(name, sizeof name, "encoder.down_blocks.%zu", i - 1);
        layers[i] = nwi_vae_run(h, "conv1.conv.weight", "%s.resnets", name);
        attention[i] = nwi_vae_has(h, "%s.attentions.0.to_q.weight", name);
    }
    nwi_config_derive_ints(c, "layers_per_block", layers, n + 2);
    nwi_vae_derive_bools(c, "add_attention_block", attention, n + 2);
}

static void derive_encoder(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t channels[NWI_CONFIG_LIST];
    int64_t time[NWI_CONFIG_LIST];
    int64_t space[NWI_CONFIG_LIST];
    size_t n = nwi_vae_levels(h, "encoder.down_blocks.");
    channels[0] = nwi_header_dim(h, "encoder.proj_in.weight", 0);
    if (channels[0] < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "encoder.down_blocks.%zu.conv_in.conv.weight",
                       i);
        channels[i + 1] = nwi_header_dim(h, name, 0);
        time[i] = nwi_header_dim(h, name, 2);
        space[i] = nwi_header_dim(h, name, 3);
    }
    nwi_config_derive_ints(c, "encoder_block_out_channels", channels, n + 1);
    nwi_config_derive_ints(c, "temporal_expansions", time, n);
    nwi_config_derive_ints(c, "spatial_expansions", space, n);
    derive_blocks(c, h, n);
}

static void derive_decoder(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t channels[NWI_CONFIG_LIST];
    size_t n = nwi_vae_levels(h, "decoder.up_blocks.");
    channels[0] = nwi_header_dim(h, "decoder.proj_out.weight", 1);
    for (size_t i = 0; i < n; i++)
        channels[n - i] = nwi_vae_dim(h, 1, "decoder.up_blocks.%zu.proj.weight", i);
    nwi_config_derive_ints(c, "decoder_block_out_channels", channels, n + 1);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "encoder.proj_in.weight", 1));
    nwi_config_derive(c, "out_channels",
                      nwi_header_dim(h, "decoder.proj_out.weight", 0));
    nwi_config_derive(c, "latent_channels",
                      nwi_header_dim(h, "decoder.conv_in.weight", 1));
    derive_encoder(c, h);
    derive_decoder(c, h);
}

static const char *const plain_keys[] = {"latents_mean", "latents_std",
                                         "scaling_factor", NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl_mochi = {
    .klass = "AutoencoderKLMochi",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
