/* SPDX-License-Identifier: Apache-2.0
 * The attention module that most transformers of diffusers share (diffusers 0.42.1, class
 * Attention of models/attention_processor.py). */
#ifndef NWI_BLOCKS_ATTENTION_H
#define NWI_BLOCKS_ATTENTION_H

#include "model/module.h"

/* How queries and keys are normalised before they meet. */
enum nwi_qk_norm {
    NWI_QK_NONE,      /* also those without weights: "l2", "fp32_layer_norm" */
    NWI_QK_RMS,       /* per head: weight [head_dim] */
    NWI_QK_LAYER,     /* per head: weight and bias */
    NWI_QK_RMS_ALL,   /* across heads: weight [heads * head_dim] */
    NWI_QK_LAYER_ALL, /* across heads: weight and bias */
};

/* The class's word for it under `key`; BAD_CONFIG for one it does not know. */
enum nwi_qk_norm nwi_qk_norm(struct nwi_config *config, const char *key,
                             const char *fallback);

struct nwi_attention {
    int64_t dim; /* of the queries, and of what comes out */
    int64_t heads;
    int64_t head_dim;
    int64_t kv_heads; /* 0: heads */
    int64_t from;     /* width of what keys and values are made of; 0: dim */
    int64_t added;    /* width of a second stream, 0: none */
    enum nwi_qk_norm qk_norm;
    bool bias;   /* of the projections to queries, keys and values */
    bool no_out; /* pre_only: nothing projects the result */
    bool no_out_bias;
    bool no_added_bias;  /* of the second stream's projections in */
    bool added_stays_in; /* context_pre_only: nothing projects the second stream's */
};
void nwi_attention(struct nwi_module *m, const char *name, struct nwi_attention shape);

#endif
