/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderDC (diffusers 0.42.1, models/autoencoders/autoencoder_dc.py; its attention:
 * models/attention_processor.py, its gated convolution:
 * models/transformers/sana_transformer.py): DC-AE, the deep compression autoencoder of Sana. */
#include <stdio.h>
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_vae.h"

#define RES "ResBlock"
#define VIT "EfficientViTBlock"

/* One half; lists from the image to the latents. */
struct half {
    struct nwi_config_ints channels;
    struct nwi_config_ints layers;
    struct nwi_config_texts types;
    struct nwi_config_texts norms;
    const struct nwi_json_value *scales; /* kernels of the attention, by level */
    int64_t head_dim;
    bool folds; /* size goes into channels and back: pixel (un)shuffle */
};

/* ---- modules ---- */

static void norm(struct nwi_module *m, const char *name, const char *type,
                 int64_t channels)
{
    if (type && strcmp(type, "batch_norm") == 0)
        nwi_vae_batch_norm(m, name, channels, true);
    else if (type && (strcmp(type, "rms_norm") == 0 || strcmp(type, "layer_norm") == 0))
        nwi_norm(m, name, channels);
    else
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "\"decoder_norm_types\" of the config: %.60s",
                        type ? type : "null");
}

static void res_block(struct nwi_module *m, const char *norm_type, int64_t channels)
{
    nwi_conv2d(m, "conv1", channels, channels, 3, true);
    nwi_conv2d(m, "conv2", channels, channels, 3, false);
    norm(m, "norm", norm_type, channels);
}

/* A view of queries, keys and values through a depthwise kernel. */
static void attention_scale(struct nwi_module *m, size_t i, int64_t inner,
                            int64_t head_dim, int64_t kernel)
{
    NWI_IN(m, "to_qkv_multiscale.%zu", i)
    {
        nwi_conv(m, "proj_in", NWI_DIMS(3 * inner, 1, kernel, kernel), false);
        nwi_conv(m, "proj_out", NWI_DIMS(3 * inner, head_dim, 1, 1), false);
    }
}

static int64_t kernel_of(struct nwi_config *c, const struct nwi_json_value *item)
{
    uint64_t kernel = 0;
    if (item->kind == NWI_JSON_IS_NUMBER &&
        nwi_json_u64(item->text, item->text_size, &kernel) && kernel <= 1024)
        return (int64_t)kernel;
    nwi_config_fail(c, NW_E_BAD_CONFIG, "a kernel of the config's qkv_multiscales");
    return 1;
}

/* Linear attention, then a gated convolution of four times the width. */
static void vit_block(struct nwi_module *m, const struct half *half, size_t level,
                      int64_t channels)
{
    const struct nwi_json_value *scales = half->scales->first;
    int64_t inner = channels / half->head_dim * half->head_dim;
    for (size_t i = 0; scales && i < level; i++)
        scales = scales->next;
    if (!scales || scales->kind != NWI_JSON_IS_ARRAY || scales->n_children > 64) {
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "the config's qkv_multiscales do not list level %zu", level);
        return;
    }
    if (inner <= 0 && scales->n_children > 0)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "the config has attention without heads");
    NWI_IN(m, "attn")
    {
        size_t i = 0;
        const struct nwi_json_value *item = scales->first;
        nwi_linear(m, "to_q", channels, inner, false);
        nwi_linear(m, "to_k", channels, inner, false);
        nwi_linear(m, "to_v", channels, inner, false);
        for (; item; item = item->next)
            attention_scale(m, i++, inner, half->head_dim, kernel_of(m->config, item));
        nwi_linear(m, "to_out", inner * (1 + (int64_t)i), channels, false);
        norm(m, "norm_out", half->norms.at[level], channels);
    }
    NWI_IN(m, "conv_out")
    {
        nwi_conv2d(m, "conv_inverted", channels, 8 * channels, 1, true);
        nwi_conv(m, "conv_depth", NWI_DIMS(8 * channels, 1, 3, 3), true);
        nwi_conv2d(m, "conv_point", 4 * channels, channels, 1, false);
        nwi_norm(m, "norm", channels);
    }
}

static void block(struct nwi_module *m, const struct half *half, size_t level)
{
    const char *type = half->types.at[level];
    int64_t channels = half->channels.at[level];
    if (!nwi_vae_need(m->config, "qkv_multiscales", half->scales->n_children,
                      level + 1))
        return;
    if (type && strcmp(type, VIT) == 0)
        vit_block(m, half, level, channels);
    else if (type && strcmp(type, RES) == 0)
        res_block(m, half->norms.at[level], channels);
    else
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "the config's block type %.60s is none of the class's",
                        type ? type : "null");
}

/* Blocks "BLOCK.AT", "BLOCK.AT+1" ... of a level. */
static void blocks(struct nwi_module *m, const struct half *half, size_t level,
                   int64_t at)
{
    for (int64_t j = 0; j < half->layers.at[level]; j++)
        NWI_IN(m, "%lld", (long long)(at + j))
        {
            block(m, half, level);
        }
}

/* A convolution beside a change of size, which folds four pixels into channels or back. */
static void down(struct nwi_module *m, const char *name, const struct half *half,
                 int64_t in, int64_t out)
{
    if (!half->folds || nwi_vae_divides(m->config, out, 4))
        nwi_conv2d(m, name, in, half->folds ? out / 4 : out, 3, true);
}

static void up(struct nwi_module *m, const char *name, const struct half *half,
               int64_t in, int64_t out)
{
    nwi_conv2d(m, name, in, half->folds ? 4 * out : out, 3, true);
}

/* ---- halves ---- */

static void encoder(struct nwi_module *m, const struct half *half, int64_t in,
                    int64_t latent)
{
    const int64_t *channels = half->channels.at;
    size_t n = half->channels.n;
    if (half->layers.at[0] > 0)
        nwi_conv2d(m, "conv_in", in, channels[0], 3, true);
    else
        down(m, "conv_in.conv", half, in, channels[1]);
    for (size_t i = 0; i < n && i < half->layers.n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            char name[40];
            int64_t layers = half->layers.at[i];
            blocks(m, half, i, 0);
            (void)snprintf(name, sizeof name, "%lld.conv", (long long)layers);
            if (i + 1 < n && layers > 0)
                down(m, name, half, channels[i], channels[i + 1]);
        }
    nwi_conv2d(m, "conv_out", channels[n - 1], latent, 3, true);
}

static void decoder(struct nwi_module *m, const struct half *half, int64_t out,
                    int64_t latent)
{
    const int64_t *channels = half->channels.at;
    size_t n = half->channels.n;
    int64_t last = channels[half->layers.at[0] > 0 ? 0 : 1];
    nwi_conv2d(m, "conv_in", latent, channels[n - 1], 3, true);
    for (size_t i = 0; i < n && i < half->layers.n; i++)
        NWI_IN(m, "up_blocks.%zu", i)
        {
            bool larger = i + 1 < n && half->layers.at[i] > 0;
            if (larger)
                up(m, "0.conv", half, channels[i + 1], channels[i]);
            blocks(m, half, i, larger ? 1 : 0);
        }
    nwi_norm(m, "norm_out", last);
    if (half->layers.at[0] > 0)
        nwi_conv2d(m, "conv_out", last, out, 3, true);
    else
        up(m, "conv_out.conv", half, last, out);
}

/* ---- reading ---- */

/* A list of texts, or one text for all n levels. */
static void read_texts(struct nwi_config *c, const char *key, const char *fallback,
                       size_t n, struct nwi_config_texts *out)
{
    const struct nwi_json_value *value = nwi_config_raw(c, key);
    if (value && value->kind == NWI_JSON_IS_ARRAY) {
        nwi_config_texts(c, key, out);
        return;
    }
    const char *text = nwi_config_text(c, key, fallback);
    *out = (struct nwi_config_texts){.n = n};
    for (size_t i = 0; i < n; i++)
        out->at[i] = text;
    if (!text)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is null", key);
}

/* Kernels of the attention by level; the default has one of 5 x 5 in the upper three of six
 * levels. Never NULL. */
static const struct nwi_json_value *read_scales(struct nwi_config *c, const char *key)
{
    static const struct nwi_json_value none = {.kind = NWI_JSON_IS_ARRAY};
    static const char text[] = "[[],[],[],[5],[5],[5]]";
    const struct nwi_json_value *value = nwi_config_raw(c, key);
    struct nwi_json_value *parsed = NULL;
    if (!value) {
        int code = nwi_json_parse(text, sizeof text - 1, 0, NW_E_BAD_CONFIG, c->arena,
                                  &parsed, c->err);
        c->code = c->code == NW_OK ? code : c->code;
        value = parsed;
    }
    if (value && value->kind == NWI_JSON_IS_ARRAY)
        return value;
    nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is not a list", key);
    return &none;
}

/* The keys of one half. */
struct keys {
    const char *channels;
    const char *layers;
    const char *types;
    const char *scales;
};
static const struct keys encoder_keys = {
    "encoder_block_out_channels", "encoder_layers_per_block", "encoder_block_types",
    "encoder_qkv_multiscales"};
static const struct keys decoder_keys = {
    "decoder_block_out_channels", "decoder_layers_per_block", "decoder_block_types",
    "decoder_qkv_multiscales"};

/* False if the lists do not fit together. */
static bool read_half(struct nwi_config *c, const struct keys *keys,
                      const int64_t *layers, struct half *half)
{
    static const int64_t channels[] = {128, 256, 512, 512, 1024, 1024};
    nwi_vae_ints(c, keys->channels, channels, 6, &half->channels);
    nwi_vae_ints(c, keys->layers, layers, 6, &half->layers);
    read_texts(c, keys->types, RES, half->channels.n, &half->types);
    half->scales = read_scales(c, keys->scales);
    half->head_dim = nwi_vae_positive(c, "attention_head_dim", 32);
    for (size_t i = 0; i < half->layers.n; i++) {
        if (half->layers.at[i] > NWI_CONFIG_DEPTH)
            nwi_config_fail(c, NW_E_LIMIT, "\"%s\" of the config is above %d",
                            keys->layers, NWI_CONFIG_DEPTH);
    }
    return nwi_vae_need(c, keys->layers, half->layers.n, 1) &&
           nwi_vae_need(c, keys->channels, half->channels.n,
                        half->layers.at[0] > 0 ? 1 : 2);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t encoder_layers[] = {2, 2, 2, 3, 3, 3};
    static const int64_t decoder_layers[] = {3, 3, 3, 3, 3, 3};
    struct half encodes;
    struct half decodes;
    int64_t in = nwi_config_int(c, "in_channels", 3);
    int64_t latent = nwi_vae_positive(c, "latent_channels", 32);
    encodes.folds =
        nwi_config_is(c, "downsample_block_type", "pixel_unshuffle", "pixel_unshuffle");
    decodes.folds =
        !nwi_config_is(c, "upsample_block_type", "pixel_shuffle", "interpolate");
    nwi_vae_activation(c, "decoder_conv_act_fn", "relu");
    bool good = read_half(c, &encoder_keys, encoder_layers, &encodes);
    good = read_half(c, &decoder_keys, decoder_layers, &decodes) && good;
    if (!good)
        return;
    read_texts(c, "decoder_norm_types", "rms_norm", decodes.channels.n, &decodes.norms);
    encodes.norms = (struct nwi_config_texts){.n = encodes.channels.n};
    for (size_t i = 0; i < encodes.channels.n; i++)
        encodes.norms.at[i] = "rms_norm";

    NWI_IN(m, "encoder")
    {
        encoder(m, &encodes, in, latent);
    }
    NWI_IN(m, "decoder")
    {
        decoder(m, &decodes, in, latent);
    }
}

/* ---- deriving ---- */

/* What the blocks of one half tell, by level. */
struct told {
    int64_t channels[NWI_CONFIG_LIST];
    int64_t layers[NWI_CONFIG_LIST];
    const char *types[NWI_CONFIG_LIST];
    const char *norms[NWI_CONFIG_LIST];
};

/* One level, whose first block is "LIST.I.AT". Its width is -1 if it has no blocks. */
static void read_level(const struct nwi_header *h, const char *list, size_t i,
                       int64_t at, struct told *told)
{
    long long from = (long long)at;
    int64_t n = 0;
    bool vit = nwi_vae_has(h, "%s.%zu.%lld.attn.to_q.weight", list, i, from);
    const char *leaf = vit ? "attn.to_q.weight" : "conv1.weight";
    const char *norm_leaf = vit ? "attn.norm_out" : "norm";
    while (n < NWI_CONFIG_DEPTH &&
           nwi_vae_has(h, "%s.%zu.%lld.%s", list, i, from + (long long)n, leaf))
        n++;
    told->channels[i] = nwi_vae_dim(h, 1, "%s.%zu.%lld.%s", list, i, from, leaf);
    told->layers[i] = n;
    told->types[i] = vit ? VIT : RES;
    told->norms[i] =
        nwi_vae_has(h, "%s.%zu.%lld.%s.running_mean", list, i, from, norm_leaf)
            ? "batch_norm"
            : "rms_norm";
}

/* "[[],[5]]": the kernels of the first block of every level; NULL if they are too many. */
static const char *read_kernels(struct nwi_config *c, const struct nwi_header *h,
                                const char *list, size_t n, const int64_t *at)
{
    char text[2048] = "[";
    size_t size = 1;
    for (size_t i = 0; i < n; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%s[", i ? "," : "");
        for (size_t j = 0; j < 16; j++) {
            int64_t kernel = nwi_vae_dim(
                h, 2, "%s.%zu.%lld.attn.to_qkv_multiscale.%zu.proj_in.weight", list, i,
                (long long)at[i], j);
            if (kernel < 0 || kernel > 1024)
                break;
            size += (size_t)snprintf(text + size, sizeof text - size, "%s%d",
                                     j ? "," : "", (int)kernel);
        }
        if (size + 100 > sizeof text)
            return NULL;
        text[size++] = ']';
    }
    text[size++] = ']';
    return nwi_arena_copy(c->arena, text, size);
}

/* A level without blocks has no width of its own. The first one is taken for half of the next
 * one's, and as the next one in all else; others cannot be told. */
static bool fill_empty(struct told *told, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (told->channels[i] < 0)
            return false;
    }
    if (n > 1 && told->channels[0] < 0) {
        told->channels[0] = told->channels[1] / 2;
        told->types[0] = told->types[1];
        told->norms[0] = told->norms[1];
    }
    return n > 0 && told->channels[0] >= 0;
}

static void derive_half(struct nwi_config *c, const struct nwi_header *h,
                        const char *list, const struct keys *keys, struct told *told)
{
    int64_t at[NWI_CONFIG_LIST];
    char prefix[40];
    (void)snprintf(prefix, sizeof prefix, "%s.", list);
    size_t n = nwi_vae_levels(h, prefix);
    for (size_t i = 0; i < n; i++) {
        at[i] = nwi_vae_has(h, "%s.%zu.0.conv.weight", list, i) ? 1 : 0;
        read_level(h, list, i, at[i], told);
    }
    told->channels[n] = -1;
    if (!fill_empty(told, n))
        return;
    nwi_config_derive_ints(c, keys->channels, told->channels, n);
    nwi_config_derive_ints(c, keys->layers, told->layers, n);
    nwi_config_derive_texts(c, keys->types, told->types, n);
    const char *kernels = read_kernels(c, h, list, n, at);
    if (kernels)
        nwi_vae_derive_json(c, keys->scales, kernels);
}

/* Types of norms: one word if all levels have the same. */
static void derive_norms(struct nwi_config *c, const struct told *told, size_t n)
{
    bool same = true;
    for (size_t i = 1; i < n; i++)
        same = same && told->norms[i] == told->norms[0];
    if (same && n > 0)
        nwi_config_derive_text(c, "decoder_norm_types", told->norms[0]);
    else
        nwi_config_derive_texts(c, "decoder_norm_types", told->norms, n);
}

static void derive_encoder(struct nwi_config *c, const struct nwi_header *h)
{
    struct told told = {0};
    derive_half(c, h, "encoder.down_blocks", &encoder_keys, &told);
    for (size_t i = 0; told.channels[0] >= 0 && told.channels[i + 1] >= 0; i++) {
        int64_t made = nwi_vae_dim(h, 0, "encoder.down_blocks.%zu.%lld.conv.weight", i,
                                   (long long)told.layers[i]);
        if (made < 0)
            continue;
        nwi_config_derive_text(c, "downsample_block_type",
                               made == told.channels[i + 1] ? "conv"
                                                            : "pixel_unshuffle");
        return;
    }
}

static void derive_decoder(struct nwi_config *c, const struct nwi_header *h)
{
    struct told told = {0};
    size_t n = nwi_vae_levels(h, "decoder.up_blocks.");
    derive_half(c, h, "decoder.up_blocks", &decoder_keys, &told);
    if (n == 0 || told.channels[0] < 0)
        return;
    derive_norms(c, &told, n);
    for (size_t i = 0; i < n; i++) {
        int64_t made = nwi_vae_dim(h, 0, "decoder.up_blocks.%zu.0.conv.weight", i);
        if (made < 0)
            continue;
        nwi_config_derive_text(c, "upsample_block_type",
                               made == told.channels[i] ? "interpolate"
                                                        : "pixel_shuffle");
        return;
    }
}

/* The channels of a head: of the first level that has several scales. */
static int64_t read_head_dim(const struct nwi_header *h)
{
    const char *leaf = "attn.to_qkv_multiscale.0.proj_out.weight";
    size_t n = nwi_vae_levels(h, "decoder.up_blocks.");
    int64_t dim = -1;
    for (size_t i = 0; i < n && dim < 0; i++) {
        dim = nwi_vae_dim(h, 1, "decoder.up_blocks.%zu.0.%s", i, leaf);
        if (dim < 0)
            dim = nwi_vae_dim(h, 1, "decoder.up_blocks.%zu.1.%s", i, leaf);
    }
    return dim;
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "encoder.conv_in.weight", 1);
    if (in < 0)
        in = nwi_header_dim(h, "encoder.conv_in.conv.weight", 1);
    nwi_config_derive(c, "in_channels", in);
    nwi_config_derive(c, "latent_channels",
                      nwi_header_dim(h, "decoder.conv_in.weight", 1));
    nwi_config_derive(c, "attention_head_dim", read_head_dim(h));
    derive_encoder(c, h);
    derive_decoder(c, h);
}

static const char *const plain_keys[] = {"decoder_act_fns", "encoder_out_shortcut",
                                         "decoder_in_shortcut", "scaling_factor", NULL};

const struct nwi_architecture nwi_arch_autoencoder_dc = {
    .klass = "AutoencoderDC",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
