/* SPDX-License-Identifier: Apache-2.0
 * ClapModel and ClapTextModelWithProjection (transformers 5.24, models/clap/
 * modeling_clap.py): the text encoders of AudioLDM 2, MusicLDM and AudioLDM. The audio
 * tower is a Swin transformer over a spectrogram. */
#include "model/architecture.h"
#include "model/blocks_bert.h"
#include "model/blocks_dit.h"
#include "model/blocks_vae.h"
#include "model/transformers_keys.h"

#define STAGES_MOST 16 /* every stage doubles the width */

static const int64_t usual_depths[] = {2, 2, 6, 2};
static const int64_t usual_heads[] = {4, 8, 16, 32};
static const int64_t usual_patch[] = {4, 4};

/* ---- what the audio config says ---- */

struct audio {
    struct nwi_config_ints depths; /* blocks of each stage */
    struct nwi_config_ints heads;
    struct nwi_config_ints patch; /* 2 */
    int64_t width;                /* of the first stage */
    int64_t dim;                  /* what the projection takes */
    int64_t channels;
    int64_t mels;
    int64_t window;
    int64_t squeeze; /* of the fusion's inner channels */
    double ratio;    /* of the MLPs */
    bool qkv_bias;
    bool patch_norm;
    bool fuses;      /* long audio: a global and a local view */
    bool by_channel; /* of the fusion: views are stacked as channels */
};

static void check_audio(struct nwi_config *c, const struct audio *a)
{
    if (a->mels <= 0 || a->width < 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"num_mel_bins\" is %lld, \"patch_embeds_hidden_size\" %lld",
                        (long long)a->mels, (long long)a->width);
    if (a->depths.n == 0 || a->depths.n > STAGES_MOST || a->heads.n < a->depths.n)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "%zu \"depths\" with %zu \"num_attention_heads\"", a->depths.n,
                        a->heads.n);
    for (size_t i = 0; c->code == NW_OK && i < a->depths.n; i++) {
        if (a->depths.at[i] < 0 || a->depths.at[i] > NWI_CONFIG_DEPTH)
            nwi_config_fail(c, NW_E_BAD_CONFIG, "a stage of %lld blocks",
                            (long long)a->depths.at[i]);
        else if (a->heads.at[i] <= 0 || (a->width << i) % a->heads.at[i] != 0)
            nwi_config_fail(c, NW_E_BAD_CONFIG, "%lld heads do not divide stage %zu",
                            (long long)a->heads.at[i], i);
    }
    if (a->squeeze <= 0 && a->fuses)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"aff_block_r\" is %lld",
                        (long long)a->squeeze);
}

static void read_audio(struct nwi_config *c, struct audio *a)
{
    struct nwi_config_ints stride;
    a->width = nwi_config_int(c, "patch_embeds_hidden_size", 96);
    a->dim = nwi_config_int(c, "hidden_size", 768);
    a->channels = nwi_config_int(c, "patch_embed_input_channels", 1);
    a->mels = nwi_config_int(c, "num_mel_bins", 64);
    a->window = nwi_config_int(c, "window_size", 8);
    a->squeeze = nwi_config_int(c, "aff_block_r", 4);
    a->ratio = nwi_config_real(c, "mlp_ratio", 4.0);
    a->qkv_bias = nwi_config_bool(c, "qkv_bias", true);
    a->patch_norm = nwi_config_bool(c, "enable_patch_layer_norm", true);
    a->fuses = nwi_config_bool(c, "enable_fusion", false);
    a->by_channel = nwi_config_is(c, "fusion_type", NULL, "channel_map");
    nwi_config_ints_or(c, "depths", usual_depths, 4, &a->depths);
    nwi_config_ints_or(c, "num_attention_heads", usual_heads, 4, &a->heads);
    nwi_config_ints_or(c, "patch_size", usual_patch, 2, &a->patch);
    nwi_config_ints_or(c, "patch_stride", usual_patch, 2, &stride);
    nwi_config_spread(c, "patch_size", &a->patch, 2);
    nwi_config_spread(c, "patch_stride", &stride, 2);
    if (c->code == NW_OK && (stride.at[0] <= 0 || stride.at[1] <= 0))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"patch_stride\" is not above 0");
    check_audio(c, a);
}

/* ---- the audio tower ---- */

static void squeeze(struct nwi_module *m, const char *name, int64_t first,
                    const struct audio *a)
{
    static const char *const leaves[] = {"0", "1", "2", "3", "4", "5"};
    int64_t inner = a->width / a->squeeze;
    NWI_IN(m, "%s", name)
    {
        nwi_conv2d(m, leaves[first], a->width, inner, 1, true);
        nwi_vae_batch_norm(m, leaves[first + 1], inner, true);
        nwi_conv2d(m, leaves[first + 3], inner, a->width, 1, true);
        nwi_vae_batch_norm(m, leaves[first + 4], a->width, true);
    }
}

static void patch_embed(struct nwi_module *m, const struct audio *a)
{
    int64_t views = a->fuses && a->by_channel ? 4 : 1;
    int64_t high = a->patch.at[0];
    int64_t wide = a->patch.at[1];
    NWI_IN(m, "patch_embed")
    {
        nwi_conv(m, "proj", NWI_DIMS(a->width, a->channels * views, high, wide), true);
        if (a->patch_norm)
            nwi_norm(m, "norm", a->width);
        if (a->fuses) {
            squeeze(m, "fusion_model.local_att", 0, a);
            squeeze(m, "fusion_model.global_att", 1, a); /* 0 is a pool */
            nwi_conv(m, "mel_conv2d", NWI_DIMS(a->width, a->channels, high, 3 * wide),
                     true);
        }
    }
}

static void attention(struct nwi_module *m, const struct audio *a, int64_t dim,
                      int64_t heads)
{
    int64_t span = 2 * a->window - 1;
    int64_t area = a->window * a->window;
    NWI_IN(m, "attention.self")
    {
        nwi_parameter_filled(m, "relative_position_bias_table",
                             NWI_DIMS(span * span, heads), NW_FILL_ZERO);
        nwi_want(m, "relative_position_index", NWI_DIMS(area, area), NW_BUFFER,
                 NW_FILL_NONE, NW_I64);
        nwi_linear(m, "query", dim, dim, a->qkv_bias);
        nwi_linear(m, "key", dim, dim, a->qkv_bias);
        nwi_linear(m, "value", dim, dim, a->qkv_bias);
    }
    nwi_linear(m, "attention.output.dense", dim, dim, true);
}

static void block(struct nwi_module *m, const struct audio *a, int64_t dim,
                  int64_t heads)
{
    int64_t inner = nwi_scaled(m->config, a->ratio, dim);
    nwi_norm(m, "layernorm_before", dim);
    attention(m, a, dim, heads);
    nwi_norm(m, "layernorm_after", dim);
    nwi_linear(m, "intermediate.dense", dim, inner, true);
    nwi_linear(m, "output.dense", inner, dim, true);
}

/* The blocks of a stage; behind them, but for the last stage, four neighbours become one
 * of twice the width. */
static void stage(struct nwi_module *m, const struct audio *a, size_t i)
{
    int64_t dim = a->width << i;
    for (int64_t k = 0; k < a->depths.at[i]; k++)
        NWI_IN(m, "layers.%zu.blocks.%lld", i, (long long)k)
        {
            block(m, a, dim, a->heads.at[i]);
        }
    if (i + 1 == a->depths.n)
        return;
    NWI_IN(m, "layers.%zu.downsample", i)
    {
        nwi_linear(m, "reduction", 4 * dim, 2 * dim, false);
        nwi_norm(m, "norm", 4 * dim);
    }
}

/* Returns what the projection takes. */
static int64_t audio_tower(struct nwi_module *m, struct nwi_config *c)
{
    struct audio a;
    read_audio(c, &a);
    nwi_config_join(m->config, c);
    if (m->config->code != NW_OK)
        return 0;
    NWI_IN(m, "audio_model.audio_encoder")
    {
        patch_embed(m, &a);
        for (size_t i = 0; i < a.depths.n; i++)
            stage(m, &a, i);
        nwi_vae_batch_norm(m, "batch_norm", a.mels, true);
        nwi_norm(m, "norm", a.width << (a.depths.n - 1));
    }
    return a.dim;
}

/* ---- the classes ---- */

/* Into the space that texts and sounds share. */
static void project(struct nwi_module *m, const char *name, int64_t dim,
                    int64_t projection)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear1", dim, projection, true);
        nwi_linear(m, "linear2", projection, projection, true);
    }
}

static void build_text(struct nwi_module *m, struct nwi_config *c)
{
    int64_t projection = nwi_config_int(c, "projection_dim", 512);
    int64_t dim = 0;
    NWI_IN(m, "text_model")
    {
        dim = nwi_bert_model(m, c, &nwi_clap_text);
    }
    project(m, "text_projection", dim, projection);
    nwi_config_known(c, nwi_transformers_keys);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t projection = nwi_config_int(c, "projection_dim", 512);
    struct nwi_config inner;
    int64_t dim = 0;
    nwi_parameter(m, "logit_scale_a", NWI_SCALAR);
    nwi_parameter(m, "logit_scale_t", NWI_SCALAR);
    nwi_config_inner(c, "text_config", &inner);
    NWI_IN(m, "text_model")
    {
        dim = nwi_bert_model(m, &inner, &nwi_clap_text);
    }
    nwi_config_join(c, &inner);
    project(m, "text_projection", dim, projection);
    nwi_config_inner(c, "audio_config", &inner);
    dim = audio_tower(m, &inner);
    project(m, "audio_projection", dim, projection);
    nwi_config_known(c, nwi_transformers_keys);
}

/* ---- deriving ---- */

#define ENCODER "audio_model.audio_encoder."

/* Depths and heads of the stages: as many as there are in a row that have blocks. */
static void derive_stages(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t depths[STAGES_MOST];
    int64_t heads[STAGES_MOST];
    size_t n = 0;
    for (; n < STAGES_MOST; n++) {
        heads[n] = nwi_vae_dim(h, 1,
                               ENCODER "layers.%zu.blocks.0.attention.self."
                                       "relative_position_bias_table",
                               n);
        if (heads[n] < 0)
            break;
        depths[n] = 0;
        while (depths[n] < NWI_CONFIG_DEPTH &&
               nwi_vae_has(h, ENCODER "layers.%zu.blocks.%lld.output.dense.weight", n,
                           (long long)depths[n]))
            depths[n]++;
    }
    if (n == 0)
        return;
    nwi_config_derive_ints(c, "depths", depths, n);
    nwi_config_derive_ints(c, "num_attention_heads", heads, n);
}

static void derive_blocks(struct nwi_config *c, const struct nwi_header *h)
{
    static const char table[] =
        ENCODER "layers.0.blocks.0.attention.self.relative_position_bias_table";
    static const char mlp[] = ENCODER "layers.0.blocks.0.intermediate.dense.weight";
    int64_t span = nwi_header_dim(h, table, 0);
    int64_t window = 1;
    while (window < NWI_CONFIG_DEPTH && (2 * window - 1) * (2 * window - 1) < span)
        window++;
    if (span > 0 && (2 * window - 1) * (2 * window - 1) == span)
        nwi_config_derive(c, "window_size", window);
    nwi_config_derive_ratio(c, "mlp_ratio", nwi_header_dim(h, mlp, 0),
                            nwi_header_dim(h, mlp, 1));
    if (span > 0)
        nwi_config_derive_bool(
            c, "qkv_bias",
            nwi_header_has(h, ENCODER "layers.0.blocks.0.attention.self.query.bias"));
}

static void derive_patches(struct nwi_config *c, const struct nwi_header *h)
{
    static const char proj[] = ENCODER "patch_embed.proj.weight";
    static const char local[] = ENCODER "patch_embed.mel_conv2d.weight";
    static const char fusion[] = ENCODER "patch_embed.fusion_model.local_att.0.weight";
    int64_t patch[] = {nwi_header_dim(h, proj, 2), nwi_header_dim(h, proj, 3)};
    int64_t in = nwi_header_dim(h, proj, 1);
    int64_t width = nwi_header_dim(h, proj, 0);
    bool fuses = nwi_header_has(h, local);
    if (width < 0)
        return;
    nwi_config_derive_ints(c, "patch_size", patch, 2);
    nwi_config_derive(c, "patch_embeds_hidden_size", width);
    nwi_config_derive_bool(c, "enable_patch_layer_norm",
                           nwi_header_has(h, ENCODER "patch_embed.norm.weight"));
    nwi_config_derive_bool(c, "enable_fusion", fuses);
    nwi_config_derive(c, "patch_embed_input_channels",
                      fuses ? nwi_header_dim(h, local, 1) : in);
    if (!fuses)
        return;
    nwi_config_derive(c, "aff_block_r",
                      nwi_quotient(width, nwi_header_dim(h, fusion, 0)));
    if (in == 4 * nwi_header_dim(h, local, 1) && in > 0)
        nwi_config_derive_text(c, "fusion_type", "channel_map");
}

static void derive_text(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_bert_derive(c, h, "text_model.");
    nwi_config_derive(c, "projection_dim",
                      nwi_header_dim(h, "text_projection.linear1.weight", 0));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    struct nwi_config inner;
    nwi_config_init(&inner, NULL, NULL, c->arena, c->err);
    nwi_bert_derive(&inner, h, "text_model.");
    nwi_config_derive_inner(c, "text_config", &inner);
    nwi_config_init(&inner, NULL, NULL, c->arena, c->err);
    derive_stages(&inner, h);
    derive_blocks(&inner, h);
    derive_patches(&inner, h);
    nwi_config_derive(&inner, "num_mel_bins",
                      nwi_header_dim(h, ENCODER "batch_norm.weight", 0));
    nwi_config_derive(&inner, "hidden_size",
                      nwi_header_dim(h, "audio_projection.linear1.weight", 1));
    nwi_config_derive_inner(c, "audio_config", &inner);
    nwi_config_derive(c, "projection_dim",
                      nwi_header_dim(h, "audio_projection.linear1.weight", 0));
}

static const char *const plain_keys[] = {"hidden_size", "num_hidden_layers",
                                         "projection_hidden_act", NULL};

const struct nwi_architecture nwi_arch_clap_model = {
    .klass = "ClapModel",
    .library = "transformers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
    .model_type = "clap",
};

const struct nwi_architecture nwi_arch_clap_text_model_with_projection = {
    .klass = "ClapTextModelWithProjection",
    .library = "transformers",
    .build = build_text,
    .derive = derive_text,
    .plain_keys = plain_keys,
    .model_type = "clap_text_model",
};
