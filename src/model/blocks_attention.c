/* SPDX-License-Identifier: Apache-2.0
 * The attention module of diffusers 0.42.1 (models/attention_processor.py, Attention). */
#include "model/blocks_attention.h"

#include <string.h>

enum nwi_qk_norm nwi_qk_norm(struct nwi_config *config, const char *key,
                             const char *fallback)
{
    static const struct {
        const char *word;
        enum nwi_qk_norm norm;
    } words[] = {
        {"rms_norm", NWI_QK_RMS},
        {"layer_norm", NWI_QK_LAYER},
        {"rms_norm_across_heads", NWI_QK_RMS_ALL},
        {"layer_norm_across_heads", NWI_QK_LAYER_ALL},
        {"fp32_layer_norm", NWI_QK_NONE},
        {"l2", NWI_QK_NONE},
    };
    const char *word = nwi_config_text(config, key, fallback);
    if (!word)
        return NWI_QK_NONE;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i].word) == 0)
            return words[i].norm;
    }
    nwi_config_fail(config, NW_E_BAD_CONFIG,
                    "\"%s\" of the config is no normalisation: %.40s", key, word);
    return NWI_QK_NONE;
}

static void norm(struct nwi_module *m, const char *name, enum nwi_qk_norm kind,
                 int64_t head_dim, int64_t heads)
{
    switch (kind) {
    case NWI_QK_NONE:
        return;
    case NWI_QK_RMS:
        nwi_rms_norm(m, name, head_dim);
        return;
    case NWI_QK_LAYER:
        nwi_norm(m, name, head_dim);
        return;
    case NWI_QK_RMS_ALL:
        nwi_rms_norm(m, name, heads * head_dim);
        return;
    case NWI_QK_LAYER_ALL:
        nwi_norm(m, name, heads * head_dim);
        return;
    }
}

/* Across heads only the keys of the second stream are normalised. */
static void added_norms(struct nwi_module *m, const struct nwi_attention *shape,
                        int64_t kv_heads)
{
    enum nwi_qk_norm kind = shape->qk_norm;
    if (kind == NWI_QK_LAYER_ALL)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "layer norm across heads and a second stream");
    if (kind != NWI_QK_RMS_ALL)
        norm(m, "norm_added_q", kind, shape->head_dim, shape->heads);
    norm(m, "norm_added_k", kind, shape->head_dim, kv_heads);
}

void nwi_attention(struct nwi_module *m, const char *name, struct nwi_attention shape)
{
    int64_t kv_heads = shape.kv_heads ? shape.kv_heads : shape.heads;
    int64_t from = shape.from ? shape.from : shape.dim;
    int64_t inner = shape.heads * shape.head_dim;
    int64_t kv = kv_heads * shape.head_dim;
    bool added_out = shape.added && !shape.added_stays_in;
    NWI_IN(m, "%s", name)
    {
        norm(m, "norm_q", shape.qk_norm, shape.head_dim, shape.heads);
        norm(m, "norm_k", shape.qk_norm, shape.head_dim, kv_heads);
        nwi_linear(m, "to_q", shape.dim, inner, shape.bias);
        nwi_linear(m, "to_k", from, kv, shape.bias);
        nwi_linear(m, "to_v", from, kv, shape.bias);
        if (shape.added) {
            nwi_linear(m, "add_k_proj", shape.added, kv, !shape.no_added_bias);
            nwi_linear(m, "add_v_proj", shape.added, kv, !shape.no_added_bias);
            nwi_linear(m, "add_q_proj", shape.added, inner, !shape.no_added_bias);
        }
        if (!shape.no_out)
            nwi_linear(m, "to_out.0", inner, shape.dim, !shape.no_out_bias);
        if (added_out)
            nwi_linear(m, "to_add_out", inner, shape.dim, !shape.no_out_bias);
        if (shape.added)
            added_norms(m, &shape, kv_heads);
    }
}
