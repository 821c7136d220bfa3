/* SPDX-License-Identifier: Apache-2.0
 * Facts: transformers 5.24, models/bert/modeling_bert.py, models/clap/modeling_clap.py. */
#include "model/blocks_bert.h"

#include "model/blocks_vae.h"
#include "netweight.h"

const struct nwi_bert_class nwi_bert = {
    .vocab = 30522, .positions = 512, .types = 2, .clap = false};
const struct nwi_bert_class nwi_clap_text = {
    .vocab = 50265, .positions = 514, .types = 1, .clap = true};

struct bert {
    int64_t dim;
    int64_t inner; /* of the MLPs */
    bool crosses;  /* a second attention, to another sequence */
};

/* ---- building ---- */

static void ids(struct nwi_module *m, int64_t n, bool stored)
{
    enum nw_wanted_kind kind = stored ? NW_BUFFER : NW_NON_PERSISTENT;
    nwi_want(m, "position_ids", NWI_DIMS(1, n), kind, NW_FILL_ARANGE, NW_I64);
    nwi_want(m, "token_type_ids", NWI_DIMS(1, n), kind, NW_FILL_ZERO, NW_I64);
}

static void embeddings(struct nwi_module *m, struct nwi_config *c,
                       const struct nwi_bert_class *klass, int64_t dim)
{
    int64_t vocab = nwi_config_int(c, "vocab_size", klass->vocab);
    int64_t types = nwi_config_int(c, "type_vocab_size", klass->types);
    int64_t n = nwi_config_int(c, "max_position_embeddings", klass->positions);
    ids(m, n, klass->clap);
    nwi_embedding(m, "word_embeddings", vocab, dim);
    if (!klass->clap)
        nwi_embedding(m, "position_embeddings", n, dim);
    nwi_embedding(m, "token_type_embeddings", types, dim);
    nwi_norm(m, "LayerNorm", dim);
    if (klass->clap)
        nwi_embedding(m, "position_embeddings", n, dim);
}

/* "NAME.dense" and "NAME.LayerNorm", which the input is added to before. */
static void output(struct nwi_module *m, const char *name, int64_t in, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "dense", in, dim, true);
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
        output(m, "output", dim, dim);
    }
}

static void layer(struct nwi_module *m, const struct bert *bert)
{
    attention(m, "attention", bert->dim);
    if (bert->crosses)
        attention(m, "crossattention", bert->dim);
    nwi_linear(m, "intermediate.dense", bert->dim, bert->inner, true);
    output(m, "output", bert->inner, bert->dim);
}

static void read(struct nwi_config *c, const struct nwi_bert_class *klass,
                 struct bert *out)
{
    int64_t heads = nwi_config_int(c, "num_attention_heads", 12);
    out->dim = nwi_config_int(c, "hidden_size", 768);
    out->inner = nwi_config_int(c, "intermediate_size", 3072);
    out->crosses = !klass->clap && nwi_config_bool(c, "add_cross_attention", false);
    bool free_heads = !klass->clap && nwi_config_has(c, "embedding_size");
    if (heads <= 0 || (out->dim % heads != 0 && !free_heads))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"hidden_size\" of the config (%lld) is no multiple of "
                        "\"num_attention_heads\" (%lld)",
                        (long long)out->dim, (long long)heads);
    else if (out->dim % heads != 0)
        nwi_config_fail(c, NW_E_UNSUPPORTED,
                        "\"embedding_size\" with heads that do not divide the width");
    if (out->crosses && !nwi_config_bool(c, "is_decoder", false))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"add_cross_attention\" needs \"is_decoder\"");
}

int64_t nwi_bert_model(struct nwi_module *m, struct nwi_config *c,
                       const struct nwi_bert_class *klass)
{
    struct bert bert;
    size_t back = 0;
    int64_t n = nwi_config_count(c, "num_hidden_layers", 12);
    read(c, klass, &bert);
    back = klass->clap ? nwi_enter(m, "embeddings") : nwi_enter_block(m, "embeddings");
    embeddings(m, c, klass, bert.dim);
    nwi_leave(m, back);
    for (int64_t i = 0; i < n; i++) {
        back = klass->clap ? nwi_enter(m, "encoder.layer.%lld", (long long)i)
                           : nwi_enter_block(m, "encoder.layer.%lld", (long long)i);
        layer(m, &bert);
        nwi_leave(m, back);
    }
    nwi_linear(m, "pooler.dense", bert.dim, bert.dim, true);
    return bert.dim;
}

/* ---- deriving ---- */

void nwi_bert_derive(struct nwi_config *c, const struct nwi_header *h, const char *at)
{
    int64_t dim = nwi_vae_dim(h, 1, "%sembeddings.word_embeddings.weight", at);
    int64_t n = 0;
    while (n < NWI_CONFIG_DEPTH &&
           nwi_vae_has(h, "%sencoder.layer.%lld.output.dense.weight", at, (long long)n))
        n++;
    nwi_config_derive(c, "vocab_size",
                      nwi_vae_dim(h, 0, "%sembeddings.word_embeddings.weight", at));
    nwi_config_derive(
        c, "type_vocab_size",
        nwi_vae_dim(h, 0, "%sembeddings.token_type_embeddings.weight", at));
    nwi_config_derive(c, "max_position_embeddings",
                      nwi_vae_dim(h, 0, "%sembeddings.position_embeddings.weight", at));
    nwi_config_derive(c, "hidden_size", dim);
    if (dim <= 0)
        return;
    /* Heads have to divide the width; of the published models each is 64 wide. */
    nwi_config_derive(c, "num_attention_heads", dim % 64 == 0 ? dim / 64 : 1);
    nwi_config_derive(c, "num_hidden_layers", n);
    nwi_config_derive(
        c, "intermediate_size",
        nwi_vae_dim(h, 0, "%sencoder.layer.0.intermediate.dense.weight", at));
    if (nwi_vae_has(h, "%sencoder.layer.0.crossattention.self.query.weight", at)) {
        nwi_config_derive_bool(c, "add_cross_attention", true);
        nwi_config_derive_bool(c, "is_decoder", true);
    }
}
