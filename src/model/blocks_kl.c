/* SPDX-License-Identifier: Apache-2.0
 * Encoder and Decoder of vae.py (diffusers 0.42.1, models/autoencoders/vae.py; its blocks:
 * models/unets/unet_2d_blocks.py, models/resnet.py). */
#include "model/blocks_kl.h"

#include <string.h>

/* ---- building ---- */

static void resnets(struct nwi_module *m, int64_t n, int64_t in, int64_t out,
                    int64_t groups)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i == 0 ? in : out;
        NWI_BLOCK(m, "resnets.%lld", (long long)i)
        {
            nwi_vae_group_norm(m, "norm1", from, groups);
            nwi_conv2d(m, "conv1", from, out, 3, true);
            nwi_vae_group_norm(m, "norm2", out, groups);
            nwi_conv2d(m, "conv2", out, out, 3, true);
            if (from != out)
                nwi_conv2d(m, "conv_shortcut", from, out, 1, true);
        }
    }
}

static void attentions(struct nwi_module *m, int64_t n, int64_t channels,
                       int64_t groups)
{
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "attentions.%lld", (long long)i)
        {
            nwi_vae_attention(m, channels, groups);
        }
}

static void mid_block(struct nwi_module *m, const struct nwi_kl *kl, int64_t channels)
{
    NWI_IN(m, "mid_block")
    {
        attentions(m, kl->mid_attention ? 1 : 0, channels, kl->groups);
        resnets(m, 2, channels, channels, kl->groups);
    }
}

/* Whether a block of that type has attention; types of other models are refused. */
static bool has_attention(struct nwi_module *m, const char *type, const char *plain,
                          const char *attention)
{
    if (type && strncmp(type, "UNetRes", 7) == 0)
        type += 7;
    if (type && strcmp(type, attention) == 0)
        return true;
    if (!type || strcmp(type, plain) != 0)
        nwi_config_fail(m->config, NW_E_UNSUPPORTED,
                        "this version builds no autoencoder block of the type %.60s",
                        type ? type : "null");
    return false;
}

void nwi_kl_encoder(struct nwi_module *m, const struct nwi_kl *kl, int64_t in,
                    int64_t out)
{
    size_t n = kl->channels.n;
    if (!nwi_vae_need(m->config, "block_out_channels", n, kl->types.n) ||
        !nwi_vae_need(m->config, "block_out_channels", n, 1))
        return;
    int64_t channels = kl->channels.at[0];
    nwi_conv2d(m, "conv_in", in, channels, 3, true);
    for (size_t i = 0; i < kl->types.n; i++) {
        bool attention = has_attention(m, kl->types.at[i], "DownEncoderBlock2D",
                                       "AttnDownEncoderBlock2D");
        int64_t from = channels;
        channels = kl->channels.at[i];
        NWI_IN(m, "down_blocks.%zu", i)
        {
            attentions(m, attention ? kl->layers : 0, channels, kl->groups);
            resnets(m, kl->layers, from, channels, kl->groups);
            if (i + 1 != n)
                nwi_conv2d(m, "downsamplers.0.conv", channels, channels, 3, true);
        }
    }
    channels = kl->channels.at[n - 1];
    mid_block(m, kl, channels);
    nwi_vae_group_norm(m, "conv_norm_out", channels, kl->groups);
    nwi_conv2d(m, "conv_out", channels, out, 3, true);
}

void nwi_kl_decoder(struct nwi_module *m, const struct nwi_kl *kl, int64_t in,
                    int64_t out)
{
    size_t n = kl->channels.n;
    if (!nwi_vae_need(m->config, "block_out_channels", n, kl->types.n) ||
        !nwi_vae_need(m->config, "block_out_channels", n, 1))
        return;
    int64_t channels = kl->channels.at[n - 1];
    nwi_conv2d(m, "conv_in", in, channels, 3, true);
    for (size_t i = 0; i < kl->types.n; i++) {
        bool attention = has_attention(m, kl->types.at[i], "UpDecoderBlock2D",
                                       "AttnUpDecoderBlock2D");
        int64_t from = channels;
        channels = kl->channels.at[n - 1 - i];
        NWI_IN(m, "up_blocks.%zu", i)
        {
            attentions(m, attention ? kl->layers + 1 : 0, channels, kl->groups);
            resnets(m, kl->layers + 1, from, channels, kl->groups);
            if (i + 1 != n)
                nwi_conv2d(m, "upsamplers.0.conv", channels, channels, 3, true);
        }
    }
    mid_block(m, kl, kl->channels.at[n - 1]);
    nwi_vae_group_norm(m, "conv_norm_out", kl->channels.at[0], kl->groups);
    nwi_conv2d(m, "conv_out", kl->channels.at[0], out, 3, true);
}

void nwi_kl_quant_convs(struct nwi_module *m, int64_t latent)
{
    if (nwi_config_bool(m->config, "use_quant_conv", true))
        nwi_conv2d(m, "quant_conv", 2 * latent, 2 * latent, 1, true);
    if (nwi_config_bool(m->config, "use_post_quant_conv", true))
        nwi_conv2d(m, "post_quant_conv", latent, latent, 1, true);
}

/* ---- reading ---- */

#define FOUR(type)                                                                     \
    {                                                                                  \
        type, type, type, type                                                         \
    }

void nwi_kl_read(struct nwi_config *c, const int64_t *channels, size_t n,
                 int64_t layers, struct nwi_kl *encoder, struct nwi_kl *decoder)
{
    static const char *const down[] = FOUR("DownEncoderBlock2D");
    static const char *const up[] = FOUR("UpDecoderBlock2D");
    *encoder = (struct nwi_kl){
        .layers = nwi_config_count(c, "layers_per_block", layers),
        .groups = nwi_config_int(c, "norm_num_groups", 32),
        .mid_attention = nwi_config_bool(c, "mid_block_add_attention", true)};
    nwi_vae_activation(c, "act_fn", "silu");
    nwi_vae_ints(c, "block_out_channels", channels, n, &encoder->channels);
    *decoder = *encoder;
    nwi_config_texts_or(c, "down_block_types", down, n, &encoder->types);
    nwi_config_texts_or(c, "up_block_types", up, n, &decoder->types);
}

/* ---- deriving ---- */

static void derive_types(struct nwi_config *c, const struct nwi_header *h, size_t n)
{
    const char *down[NWI_CONFIG_LIST];
    const char *up[NWI_CONFIG_LIST];
    for (size_t i = 0; i < n; i++) {
        bool in_down =
            nwi_vae_has(h, "encoder.down_blocks.%zu.attentions.0.to_q.weight", i);
        bool in_up =
            nwi_vae_has(h, "decoder.up_blocks.%zu.attentions.0.to_q.weight", i);
        down[i] = in_down ? "AttnDownEncoderBlock2D" : "DownEncoderBlock2D";
        up[i] = in_up ? "AttnUpDecoderBlock2D" : "UpDecoderBlock2D";
    }
    nwi_config_derive_texts(c, "down_block_types", down, n);
    nwi_config_derive_texts(c, "up_block_types", up, n);
}

static void encoder_channels(const struct nwi_header *h, size_t n, int64_t *channels)
{
    for (size_t i = 0; i < n; i++)
        channels[i] =
            nwi_vae_dim(h, 0, "encoder.down_blocks.%zu.downsamplers.0.conv.weight", i);
    channels[n - 1] = nwi_header_dim(h, "encoder.conv_out.weight", 1);
}

/* As the decoder has them, in the config's order. */
static void decoder_channels(const struct nwi_header *h, size_t n, int64_t *channels)
{
    for (size_t i = 0; i < n; i++)
        channels[n - 1 - i] =
            nwi_vae_dim(h, 0, "decoder.up_blocks.%zu.resnets.0.conv2.weight", i);
}

void nwi_kl_derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t channels[NWI_CONFIG_LIST];
    size_t n = nwi_vae_levels(h, "decoder.up_blocks.");
    int64_t layers = nwi_vae_run(h, "conv1.weight", "decoder.up_blocks.0.resnets") - 1;
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "encoder.conv_in.weight", 1));
    nwi_config_derive(c, "out_channels",
                      nwi_header_dim(h, "decoder.conv_out.weight", 0));
    nwi_config_derive(c, "latent_channels",
                      nwi_header_dim(h, "decoder.conv_in.weight", 1));
    nwi_config_derive_bool(
        c, "mid_block_add_attention",
        nwi_header_has(h, "decoder.mid_block.attentions.0.to_q.weight"));
    nwi_config_derive_bool(c, "use_quant_conv", nwi_header_has(h, "quant_conv.weight"));
    nwi_config_derive_bool(c, "use_post_quant_conv",
                           nwi_header_has(h, "post_quant_conv.weight"));
    nwi_config_derive(c, "layers_per_block", layers);
    if (n == 0)
        return;
    derive_types(c, h, n);
    decoder_channels(h, n, channels);
    nwi_config_derive_ints(c, "block_out_channels", channels, n);
    encoder_channels(h, n, channels);
    nwi_config_derive_ints(c, "block_out_channels", channels, n);
}

void nwi_kl_derive_decoder_channels(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t ours[NWI_CONFIG_LIST];
    int64_t theirs[NWI_CONFIG_LIST];
    size_t n = nwi_vae_levels(h, "decoder.up_blocks.");
    if (n == 0)
        return;
    decoder_channels(h, n, ours);
    encoder_channels(h, n, theirs);
    if (memcmp(ours, theirs, n * sizeof *ours) == 0)
        nwi_config_derive_null(c, "decoder_block_out_channels");
    else
        nwi_config_derive_ints(c, "decoder_block_out_channels", ours, n);
}
