/* SPDX-License-Identifier: Apache-2.0
 * The causal video VAE of Wan and Qwen-Image (diffusers 0.42.1,
 * models/autoencoders/autoencoder_kl_wan.py, autoencoder_kl_qwenimage.py). */
#include "model/blocks_wan.h"

#include <string.h>

#include "base/number.h"

/* ---- modules ---- */

static void video_norm(struct nwi_module *m, const char *name, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter_filled(m, "gamma", NWI_DIMS(dim, 1, 1, 1), NW_FILL_ONE);
    }
}

static void resnet(struct nwi_module *m, int64_t in, int64_t out)
{
    video_norm(m, "norm1", in);
    nwi_conv3d(m, "conv1", in, out, 3, 3, 3, true);
    video_norm(m, "norm2", out);
    nwi_conv3d(m, "conv2", out, out, 3, 3, 3, true);
    if (in != out)
        nwi_conv3d(m, "conv_shortcut", in, out, 1, 1, 1, true);
}

static void resnets(struct nwi_module *m, int64_t n, int64_t in, int64_t out)
{
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "resnets.%lld", (long long)i)
        {
            resnet(m, i == 0 ? in : out, out);
        }
}

/* Attention within each frame. */
static void attention(struct nwi_module *m, int64_t dim)
{
    NWI_IN(m, "norm")
    {
        nwi_parameter_filled(m, "gamma", NWI_DIMS(dim, 1, 1), NW_FILL_ONE);
    }
    nwi_conv2d(m, "to_qkv", dim, 3 * dim, 1, true);
    nwi_conv2d(m, "proj", dim, dim, 1, true);
}

static void mid_block(struct nwi_module *m, int64_t dim)
{
    NWI_IN(m, "mid_block.attentions.0")
    {
        attention(m, dim);
    }
    NWI_IN(m, "mid_block")
    {
        resnets(m, 2, dim, dim);
    }
}

/* Changes the size of frames and, with `time` channels, how many there are. */
static void resample(struct nwi_module *m, int64_t dim, int64_t out, int64_t time)
{
    nwi_conv2d(m, "resample.1", dim, out, 3, true);
    if (time > 0)
        nwi_conv3d(m, "time_conv", dim, time, 3, 1, 1, true);
}

/* ---- encoder ---- */

static void down_level(struct nwi_module *m, int64_t layers, int64_t in, int64_t out,
                       bool down, bool time)
{
    resnets(m, layers, in, out);
    if (down)
        NWI_IN(m, "downsampler")
        {
            resample(m, out, out, time ? out : 0);
        }
}

/* Wan 2.1: blocks of all levels are one list. */
static void down_blocks_flat(struct nwi_module *m, const struct nwi_wan *wan, size_t i,
                             int64_t in, int64_t out, int64_t *at)
{
    for (int64_t j = 0; j < wan->layers; j++) {
        NWI_IN(m, "down_blocks.%lld", (long long)(*at)++)
        {
            resnet(m, j == 0 ? in : out, out);
        }
        if (wan->attention[i])
            NWI_IN(m, "down_blocks.%lld", (long long)(*at)++)
            {
                attention(m, out);
            }
    }
    if (i + 1 < wan->mult.n)
        NWI_IN(m, "down_blocks.%lld", (long long)(*at)++)
        {
            resample(m, out, out, wan->temporal.at[i] ? out : 0);
        }
}

static void encoder(struct nwi_module *m, const struct nwi_wan *wan)
{
    size_t n = wan->mult.n;
    int64_t out = wan->dim;
    int64_t at = 0;
    nwi_conv3d(m, "conv_in", wan->in, wan->dim, 3, 3, 3, true);
    for (size_t i = 0; i < n; i++) {
        int64_t in = out;
        bool down = i + 1 < n;
        bool time = down && wan->temporal.at[i];
        out = wan->dim * wan->mult.at[i];
        if (!wan->residual) {
            down_blocks_flat(m, wan, i, in, out, &at);
            continue;
        }
        /* Its shortcut averages groups of channels. */
        (void)nwi_vae_divides(m->config, in * (down ? 4 : 1) * (time ? 2 : 1), out);
        NWI_IN(m, "down_blocks.%zu", i)
        {
            down_level(m, wan->layers, in, out, down, time);
        }
    }
    mid_block(m, out);
    video_norm(m, "norm_out", out);
    nwi_conv3d(m, "conv_out", out, 2 * wan->latent, 3, 3, 3, true);
}

/* ---- decoder ---- */

static void up_level(struct nwi_module *m, const struct nwi_wan *wan, int64_t in,
                     int64_t out, bool up, bool time)
{
    resnets(m, wan->layers + 1, in, out);
    if (up)
        NWI_IN(m, wan->residual ? "upsampler" : "upsamplers.0")
        {
            resample(m, out, wan->residual ? out : out / 2, time ? 2 * out : 0);
        }
}

static void decoder(struct nwi_module *m, const struct nwi_wan *wan)
{
    size_t n = wan->mult.n;
    int64_t out = wan->decoder_dim * wan->mult.at[n - 1];
    nwi_conv3d(m, "conv_in", wan->latent, out, 3, 3, 3, true);
    mid_block(m, out);
    for (size_t i = 0; i < n; i++) {
        int64_t in = i > 0 && !wan->residual ? out / 2 : out;
        bool up = i + 1 < n;
        bool time = up && wan->temporal.at[wan->temporal.n - 1 - i];
        out = wan->decoder_dim * wan->mult.at[n - 1 - i];
        if (wan->residual && up)
            (void)nwi_vae_divides(m->config, out * (time ? 8 : 4), in);
        NWI_IN(m, "up_blocks.%zu", i)
        {
            up_level(m, wan, in, out, up, time);
        }
    }
    video_norm(m, "norm_out", out);
    nwi_conv3d(m, "conv_out", out, wan->out, 3, 3, 3, true);
}

void nwi_wan_build(struct nwi_module *m, const struct nwi_wan *wan)
{
    int64_t latent = wan->latent;
    NWI_IN(m, "encoder")
    {
        encoder(m, wan);
    }
    nwi_conv3d(m, "quant_conv", 2 * latent, 2 * latent, 1, 1, 1, true);
    nwi_conv3d(m, "post_quant_conv", latent, latent, 1, 1, 1, true);
    NWI_IN(m, "decoder")
    {
        decoder(m, wan);
    }
}

/* ---- reading ---- */

/* attn_scales lists the scales (1, 1/2, 1/4 ...) at which the encoder has attention. */
static void read_attention(struct nwi_config *c, struct nwi_wan *wan)
{
    const struct nwi_json_value *list = nwi_config_raw(c, "attn_scales");
    if (list && list->kind != NWI_JSON_IS_ARRAY) {
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"attn_scales\" of the config is not a list");
        return;
    }
    const struct nwi_json_value *item = list ? list->first : NULL;
    for (; item; item = item->next) {
        double wanted = 0;
        if (item->kind != NWI_JSON_IS_NUMBER || !nwi_parse_real(item->text, &wanted))
            continue;
        for (size_t i = 0; i < wan->mult.n; i++) {
            wan->attention[i] = wan->attention[i] || wanted == 1;
            wanted *= 2;
        }
    }
}

bool nwi_wan_read(struct nwi_config *c, struct nwi_wan *wan)
{
    static const int64_t mult[] = {1, 2, 4, 4};
    static const int64_t temporal[] = {0, 1, 1};
    *wan = (struct nwi_wan){.dim = nwi_config_int(c, "base_dim", 96),
                            .latent = nwi_config_int(c, "z_dim", 16),
                            .layers = nwi_config_count(c, "num_res_blocks", 2)};
    wan->decoder_dim = wan->dim;
    nwi_vae_ints(c, "dim_mult", mult, 4, &wan->mult);
    nwi_vae_flags(c, "temperal_downsample", temporal, 3, false, &wan->temporal);
    read_attention(c, wan);
    return nwi_vae_need(c, "dim_mult", wan->mult.n, 1) &&
           nwi_vae_need(c, "temperal_downsample", wan->temporal.n, wan->mult.n - 1);
}

/* ---- deriving ---- */

/* The levels' widths in the encoder, and which of them halve the frames; how many levels
 * end in a downsampling. A level is a block in Wan 2.2, else it ends at a resampling. */
static size_t read_downs(const struct nwi_header *h, int64_t *widths, bool *time)
{
    int64_t blocks = nwi_vae_layers(h, "encoder.down_blocks.");
    size_t n = 0;
    for (int64_t i = 0; i < blocks; i++) {
        long long at = (long long)i;
        const char *inner = "downsampler.";
        if (!nwi_vae_has(h, "encoder.down_blocks.%lld.downsampler.resample.1.weight",
                         at))
            inner = "";
        int64_t width = nwi_vae_dim(
            h, 0, "encoder.down_blocks.%lld.%sresample.1.weight", at, inner);
        if (width < 0)
            continue;
        if (n + 1 == NWI_CONFIG_LIST)
            return 0;
        widths[n] = width;
        time[n++] =
            nwi_vae_has(h, "encoder.down_blocks.%lld.%stime_conv.weight", at, inner);
    }
    return n;
}

static bool has_time_up(const struct nwi_header *h, size_t i)
{
    return nwi_vae_has(h, "decoder.up_blocks.%zu.upsampler.time_conv.weight", i) ||
           nwi_vae_has(h, "decoder.up_blocks.%zu.upsamplers.0.time_conv.weight", i);
}

static bool has_attention(const struct nwi_header *h)
{
    int64_t blocks = nwi_vae_layers(h, "encoder.down_blocks.");
    for (int64_t i = 0; i < blocks; i++) {
        if (nwi_vae_has(h, "encoder.down_blocks.%lld.to_qkv.weight", (long long)i))
            return true;
    }
    return false;
}

static void derive_levels(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t mult[NWI_CONFIG_LIST];
    bool time[NWI_CONFIG_LIST];
    int64_t base = nwi_header_dim(h, "encoder.conv_in.weight", 0);
    size_t n = read_downs(h, mult, time);
    bool same = true; /* the decoder undoes what the encoder does */
    mult[n] = nwi_header_dim(h, "encoder.conv_out.weight", 1);
    for (size_t i = 0; i <= n; i++)
        mult[i] = nwi_vae_ratio(mult[i], base);
    nwi_config_derive_ints(c, "dim_mult", mult, n + 1);
    for (size_t i = 0; i < n; i++)
        same = same && has_time_up(h, i) == time[n - 1 - i];
    if (same)
        nwi_vae_derive_bools(c, "temperal_downsample", time, n);
}

void nwi_wan_derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_config_derive(c, "base_dim", nwi_header_dim(h, "encoder.conv_in.weight", 0));
    nwi_config_derive(c, "z_dim", nwi_header_dim(h, "decoder.conv_in.weight", 1));
    nwi_config_derive(c, "num_res_blocks",
                      nwi_vae_run(h, "conv1.weight", "decoder.up_blocks.0.resnets") -
                          1);
    if (!nwi_header_has(h, "encoder.conv_in.weight"))
        return;
    derive_levels(c, h);
    if (!has_attention(h))
        nwi_config_derive_ints(c, "attn_scales", NULL, 0);
}
