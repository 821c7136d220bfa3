/* SPDX-License-Identifier: Apache-2.0
 * Decoder language models as transformers 5.24 builds them: Llama, Mistral, Qwen, Gemma,
 * GLM, SmolLM. They differ in norms, biases and defaults, which a table of each class
 * says. */
#ifndef NWI_BLOCKS_LLM_H
#define NWI_BLOCKS_LLM_H

#include "model/config.h"
#include "model/module.h"
#include "source/header.h"

enum nwi_llm_bias {
    NWI_LLM_NO_BIAS,
    NWI_LLM_QKV_BIAS,       /* of queries, keys and values */
    NWI_LLM_ASKED_BIAS,     /* "attention_bias": of all four projections */
    NWI_LLM_ASKED_QKV_BIAS, /* "attention_bias": of queries, keys and values */
};

/* A width whose models do not have the head size that the others of its class have. */
struct nwi_llm_head {
    int64_t dim;
    int64_t head_dim;
};

/* A class: what its config defaults to, and what its layers look like. */
struct nwi_llm_class {
    int64_t vocab;
    int64_t dim;
    int64_t inner; /* of the MLPs */
    int64_t layers;
    int64_t heads;
    int64_t kv_heads; /* 0: heads */
    int64_t head_dim; /* 0: dim / heads */
    int64_t pad;      /* default of "pad_token_id"; NWI_NULL: null */
    bool kv_null;     /* "num_key_value_heads" may be null: heads */
    bool divides;     /* heads have to divide the width */
    bool no_head_dim; /* there is no "head_dim" */
    bool tied;        /* default of "tie_word_embeddings" */
    enum nwi_llm_bias bias;
    bool biased;     /* default of "attention_bias" */
    bool mlp_bias;   /* knows "mlp_bias" */
    bool fused_mlp;  /* gate_up_proj */
    bool qk_norm;    /* queries and keys are normalised per head */
    bool four_norms; /* around attention and MLP, not before them alone */
    bool gemma;      /* norms start at zero, embeddings are scaled */
    bool two_ropes;  /* sliding and full attention turn at speeds of their own */
    double rotary;   /* default share of a head that is turned; 0: all */
    const struct nwi_llm_head *odd_heads; /* ends in zeros; may be NULL */
};

/* A class with a config read. */
struct nwi_llm {
    const struct nwi_llm_class *klass;
    int64_t vocab;
    int64_t dim;
    int64_t inner;
    int64_t layers;
    int64_t heads;
    int64_t kv_heads;
    int64_t head_dim;
    bool qkv_bias;
    bool o_bias;
    bool mlp_bias;
    int64_t turned;      /* of head_dim */
    int64_t full_turned; /* the same of full attention, where there are two_ropes */
    bool slides;         /* two_ropes: which of them */
    bool full;
};

void nwi_llm_read(struct nwi_config *c, const struct nwi_llm_class *klass,
                  struct nwi_llm *out);

/* embed_tokens, layers, norm, rotary_emb: into the module one is in. */
void nwi_llm_body(struct nwi_module *m, const struct nwi_llm *llm);
/* Its parts, for those that put them together otherwise. */
void nwi_llm_tokens(struct nwi_module *m, const struct nwi_llm *llm);
void nwi_llm_norm(struct nwi_module *m, const struct nwi_llm *llm, const char *name,
                  int64_t dim);
void nwi_llm_attention(struct nwi_module *m, const struct nwi_llm *llm);
void nwi_llm_mlp(struct nwi_module *m, const struct nwi_llm *llm);
void nwi_llm_rotary(struct nwi_module *m, const struct nwi_llm *llm);
/* The frequencies of a rotary embedding over `turned` channels, in the module `name`. */
void nwi_rotary(struct nwi_module *m, const char *name, int64_t turned);
/* lm_head, which shares the table at `tokens` if tied. */
void nwi_llm_lm_head(struct nwi_module *m, const struct nwi_llm *llm, bool tied,
                     const char *tokens);

/* XModel and XForCausalLM. */
void nwi_llm_model(struct nwi_module *m, struct nwi_config *c,
                   const struct nwi_llm_class *klass);
void nwi_llm_causal(struct nwi_module *m, struct nwi_config *c,
                    const struct nwi_llm_class *klass);

/* From the tensors under `at` ("", "model."). Heads are told by their norms, or else by the
 * config, if what it says fits; or else they have the size that the class's models have. */
void nwi_llm_derive(struct nwi_config *c, const struct nwi_header *h,
                    const struct nwi_llm_class *klass, const char *at);
/* The same and the tie, for XForCausalLM. */
void nwi_llm_causal_derive(struct nwi_config *c, const struct nwi_header *h,
                           const struct nwi_llm_class *klass);
/* A file without a head has it tied; with one, it may be either. */
void nwi_llm_tie_derive(struct nwi_config *c, const struct nwi_header *h,
                        const char *tokens);

#endif
