/* SPDX-License-Identifier: Apache-2.0
 * T5EncoderModel, MT5EncoderModel and UMT5EncoderModel (transformers 5.24, models/t5,
 * models/mt5, models/umt5): the long text encoder of SD3, FLUX.1, PixArt, Mochi, Wan; ByT5
 * is a T5EncoderModel too. */
#include <string.h>

#include "model/architecture.h"
#include "model/transformers_keys.h"

/* What the three classes default to. */
struct t5 {
    int64_t vocab;
    int64_t inner; /* of the MLPs */
    int64_t layers;
    int64_t heads;
    const char *feed_forward;
    bool
        every_bias; /* every layer has a table of relative positions, not the first alone */
};

static const struct t5 t5 = {32128, 2048, 6, 8, "relu", false};
static const struct t5 mt5 = {250112, 1024, 8, 6, "gated-gelu", false};
static const struct t5 umt5 = {250112, 1024, 8, 6, "gated-gelu", true};

/* "ACTIVATION" or "gated-ACTIVATION". */
static bool is_gated(struct nwi_config *c, const char *fallback)
{
    const char *text = nwi_config_text(c, "feed_forward_proj", fallback);
    const char *dash = text ? strchr(text, '-') : NULL;
    bool gated = dash && strncmp(text, "gated-", 6) == 0;
    if (!text || strcmp(text, "gated") == 0 ||
        (dash && (!gated || strchr(dash + 1, '-'))))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"feed_forward_proj\" of the config is \"%.40s\"",
                        text ? text : "null");
    return nwi_config_bool(c, "is_gated_act", gated);
}

struct stack {
    int64_t dim;
    int64_t heads;
    int64_t wide; /* of all heads together */
    int64_t buckets;
    int64_t inner;
    bool gated;
};

static void self_attention(struct nwi_module *m, const struct stack *s, bool biased)
{
    NWI_IN(m, "layer.0.SelfAttention")
    {
        nwi_linear(m, "q", s->dim, s->wide, false);
        nwi_linear(m, "k", s->dim, s->wide, false);
        nwi_linear(m, "v", s->dim, s->wide, false);
        nwi_linear(m, "o", s->wide, s->dim, false);
        if (biased)
            nwi_embedding(m, "relative_attention_bias", s->buckets, s->heads);
    }
    nwi_rms_norm(m, "layer.0.layer_norm", s->dim);
}

static void feed_forward(struct nwi_module *m, const struct stack *s)
{
    NWI_IN(m, "layer.1.DenseReluDense")
    {
        nwi_linear(m, s->gated ? "wi_0" : "wi", s->dim, s->inner, false);
        if (s->gated)
            nwi_linear(m, "wi_1", s->dim, s->inner, false);
        nwi_linear(m, "wo", s->inner, s->dim, false);
    }
    nwi_rms_norm(m, "layer.1.layer_norm", s->dim);
}

static void build_stack(struct nwi_module *m, struct nwi_config *c,
                        const struct t5 *fallback)
{
    int64_t vocab = nwi_config_int(c, "vocab_size", fallback->vocab);
    int64_t n = nwi_config_count(c, "num_layers", fallback->layers);
    struct stack s = {
        .dim = nwi_config_int(c, "d_model", 512),
        .heads = nwi_config_int(c, "num_heads", fallback->heads),
        .buckets = nwi_config_int(c, "relative_attention_num_buckets", 32),
        .inner = nwi_config_int(c, "d_ff", fallback->inner),
        .gated = is_gated(c, fallback->feed_forward),
    };
    s.wide = s.heads * nwi_config_int(c, "d_kv", 64);

    nwi_embedding(m, "shared", vocab, s.dim);
    nwi_tied(m, "encoder.embed_tokens.weight", "shared.weight");
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "encoder.block.%lld", (long long)i)
        {
            self_attention(m, &s, i == 0 || fallback->every_bias);
            feed_forward(m, &s);
        }
    nwi_rms_norm(m, "encoder.final_layer_norm", s.dim);
}

static void build_t5(struct nwi_module *m, struct nwi_config *c)
{
    build_stack(m, c, &t5);
}

static void build_mt5(struct nwi_module *m, struct nwi_config *c)
{
    build_stack(m, c, &mt5);
}

static void build_umt5(struct nwi_module *m, struct nwi_config *c)
{
    build_stack(m, c, &umt5);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    static const char table[] =
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight";
    const char *tokens = nwi_header_has(h, "shared.weight")
                             ? "shared.weight"
                             : "encoder.embed_tokens.weight";
    int64_t heads = nwi_header_dim(h, table, 1);
    int64_t wide =
        nwi_header_dim(h, "encoder.block.0.layer.0.SelfAttention.q.weight", 0);
    bool gated =
        nwi_header_has(h, "encoder.block.0.layer.1.DenseReluDense.wi_0.weight");
    nwi_config_derive(c, "vocab_size", nwi_header_dim(h, tokens, 0));
    nwi_config_derive(c, "d_model", nwi_header_dim(h, tokens, 1));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "encoder.block."));
    nwi_config_derive(c, "num_heads", heads);
    nwi_config_derive(c, "d_kv", heads > 0 && wide >= 0 ? wide / heads : -1);
    nwi_config_derive(c, "relative_attention_num_buckets", nwi_header_dim(h, table, 0));
    nwi_config_derive(
        c, "d_ff",
        nwi_header_dim(h, "encoder.block.0.layer.1.DenseReluDense.wo.weight", 1));
    if (!nwi_header_any(h, "encoder.block.0."))
        return;
    nwi_config_derive_text(c, "feed_forward_proj", gated ? "gated-gelu" : "relu");
    nwi_config_derive_bool(c, "is_gated_act", gated);
}

static const char *const keep_fp32[] = {"wo", NULL};

static const char *const harmless_t5[] = {"*decoder*", NULL};

static const struct nwi_key_alias aliases[] = {
    {"hidden_size", "d_model"},
    {"num_attention_heads", "num_heads"},
    {"num_hidden_layers", "num_layers"},
    {"head_dim", "d_kv"},
    {NULL, NULL},
};

const struct nwi_architecture nwi_arch_t5_encoder_model = {
    .klass = "T5EncoderModel",
    .library = "transformers",
    .build = build_t5,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .harmless = harmless_t5,
    .plain_keys = nwi_transformers_keys,
    .aliases = aliases,
    .model_type = "t5",
};

const struct nwi_architecture nwi_arch_mt5_encoder_model = {
    .klass = "MT5EncoderModel",
    .library = "transformers",
    .build = build_mt5,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .plain_keys = nwi_transformers_keys,
    .aliases = aliases,
    .model_type = "mt5",
};

const struct nwi_architecture nwi_arch_umt5_encoder_model = {
    .klass = "UMT5EncoderModel",
    .library = "transformers",
    .build = build_umt5,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .plain_keys = nwi_transformers_keys,
    .aliases = aliases,
    .model_type = "umt5",
};
