/* SPDX-License-Identifier: Apache-2.0
 * BertModel (transformers 5.24, models/bert/modeling_bert.py): Hunyuan-DiT's first text
 * encoder. */
#include "model/architecture.h"
#include "model/blocks_vae.h"
#include "model/transformers_keys.h"

static void embeddings(struct nwi_module *m, struct nwi_config *c, int64_t dim)
{
    int64_t vocab = nwi_config_int(c, "vocab_size", 30522);
    int64_t positions = nwi_config_int(c, "max_position_embeddings", 512);
    int64_t types = nwi_config_int(c, "type_vocab_size", 2);
    int64_t pad = nwi_config_int_or_null(c, "pad_token_id", 0);
    if (pad != NWI_NULL && (pad >= vocab || pad < -vocab))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"pad_token_id\" of the config is %lld, \"vocab_size\" %lld",
                        (long long)pad, (long long)vocab);
    NWI_BLOCK(m, "embeddings")
    {
        nwi_want(m, "position_ids", NWI_DIMS(1, positions), NW_NON_PERSISTENT,
                 NW_FILL_ARANGE, NW_I64);
        nwi_want(m, "token_type_ids", NWI_DIMS(1, positions), NW_NON_PERSISTENT,
                 NW_FILL_ZERO, NW_I64);
        nwi_embedding(m, "word_embeddings", vocab, dim);
        nwi_embedding(m, "position_embeddings", positions, dim);
        nwi_embedding(m, "token_type_embeddings", types, dim);
        nwi_norm(m, "LayerNorm", dim);
    }
}

static void attention(struct nwi_module *m, const char *name, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "self.query", dim, dim, true);
        nwi_linear(m, "self.key", dim, dim, true);
        nwi_linear(m, "self.value", dim, dim, true);
        nwi_linear(m, "output.dense", dim, dim, true);
        nwi_norm(m, "output.LayerNorm", dim);
    }
}

static void layers(struct nwi_module *m, int64_t n, int64_t dim, int64_t inner,
                   bool cross)
{
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "encoder.layer.%lld", (long long)i)
        {
            attention(m, "attention", dim);
            if (cross)
                attention(m, "crossattention", dim);
            nwi_linear(m, "intermediate.dense", dim, inner, true);
            nwi_linear(m, "output.dense", inner, dim, true);
            nwi_norm(m, "output.LayerNorm", dim);
        }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t dim = nwi_config_int(c, "hidden_size", 768);
    int64_t inner = nwi_config_int(c, "intermediate_size", 3072);
    int64_t n = nwi_config_count(c, "num_hidden_layers", 12);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 12);
    bool cross = nwi_config_bool(c, "add_cross_attention", false);
    if (n > 0 && (heads == 0 || dim % heads != 0))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"hidden_size\" of the config (%lld) is no multiple of "
                        "\"num_attention_heads\" (%lld)",
                        (long long)dim, (long long)heads);
    if (n > 0 && cross && !nwi_config_bool(c, "is_decoder", false))
        nwi_config_fail(
            c, NW_E_BAD_CONFIG,
            "the config has \"add_cross_attention\" without \"is_decoder\"");
    embeddings(m, c, dim);
    layers(m, n, dim, inner, cross);
    nwi_linear(m, "pooler.dense", dim, dim, true);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t vocab = nwi_header_dim(h, "embeddings.word_embeddings.weight", 0);
    int64_t dim = nwi_header_dim(h, "embeddings.word_embeddings.weight", 1);
    bool cross = nwi_header_any(h, "encoder.layer.0.crossattention.");
    if (dim <= 0)
        return;
    nwi_config_derive(c, "vocab_size", vocab);
    nwi_config_derive(c, "hidden_size", dim);
    nwi_config_derive(c, "num_attention_heads", dim % 64 == 0 ? dim / 64 : 1);
    nwi_config_derive(c, "max_position_embeddings",
                      nwi_header_dim(h, "embeddings.position_embeddings.weight", 0));
    nwi_config_derive(c, "type_vocab_size",
                      nwi_header_dim(h, "embeddings.token_type_embeddings.weight", 0));
    nwi_config_derive(c, "num_hidden_layers",
                      nwi_vae_run(h, "attention.self.query.weight", "encoder.layer"));
    nwi_config_derive(
        c, "intermediate_size",
        nwi_header_dim(h, "encoder.layer.0.intermediate.dense.weight", 0));
    nwi_config_derive_bool(c, "add_cross_attention", cross);
    if (cross)
        nwi_config_derive_bool(c, "is_decoder", true);
}

const struct nwi_architecture nwi_arch_bert_model = {
    .klass = "BertModel",
    .library = "transformers",
    .build = build,
    .derive = derive,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "bert",
};
