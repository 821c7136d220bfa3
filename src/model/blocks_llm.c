/* SPDX-License-Identifier: Apache-2.0
 * Decoder language models (transformers 5.24, models/llama/modeling_llama.py and its
 * descendants). */
#include "model/blocks_llm.h"

#include <string.h>

#include "model/blocks_vae.h"
#include "netweight.h"

/* ---- configs ---- */

static int64_t read_kv_heads(struct nwi_config *c, const struct nwi_llm_class *klass,
                             int64_t heads)
{
    int64_t fallback = klass->kv_heads ? klass->kv_heads : NWI_NULL;
    if (!klass->kv_null)
        return nwi_config_int(c, "num_key_value_heads", klass->kv_heads);
    int64_t n = nwi_config_int_or_null(c, "num_key_value_heads", fallback);
    return n == NWI_NULL ? heads : n;
}

static int64_t read_head_dim(struct nwi_config *c, const struct nwi_llm_class *klass,
                             int64_t dim, int64_t heads)
{
    if (klass->head_dim)
        return nwi_config_int(c, "head_dim", klass->head_dim);
    int64_t n =
        klass->no_head_dim ? NWI_NULL : nwi_config_int_or_null(c, "head_dim", NWI_NULL);
    if (n != NWI_NULL)
        return n;
    return heads > 0 ? dim / heads : 0;
}

/* The row of the table that stands for nothing. */
static void check_padding(struct nwi_config *c, const struct nwi_llm *llm)
{
    int64_t pad = nwi_config_int_or_null(c, "pad_token_id", llm->klass->pad);
    if (pad != NWI_NULL && (pad >= llm->vocab || pad < -llm->vocab))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"pad_token_id\" of the config is %lld, \"vocab_size\" %lld",
                        (long long)pad, (long long)llm->vocab);
}

static void check_heads(struct nwi_config *c, const struct nwi_llm *llm)
{
    if (llm->heads <= 0 || llm->kv_heads <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config has %lld \"num_attention_heads\", %lld "
                        "\"num_key_value_heads\"",
                        (long long)llm->heads, (long long)llm->kv_heads);
    else if (llm->klass->divides && llm->dim % llm->heads != 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"hidden_size\" of the config (%lld) is no multiple of "
                        "\"num_attention_heads\" (%lld)",
                        (long long)llm->dim, (long long)llm->heads);
}

/* Which kinds of attention there are: every sixth layer is full unless the config lists
 * them. */
static void read_ropes(struct nwi_config *c, struct nwi_llm *llm)
{
    struct nwi_config_texts types;
    int64_t pattern = nwi_config_int(c, "sliding_window_pattern", 6);
    nwi_config_texts(c, "layer_types", &types);
    llm->full = !types.given && llm->layers >= pattern;
    llm->slides = !types.given && llm->layers > 0 && pattern != 1;
    for (size_t i = 0; i < types.n; i++) {
        bool full = types.at[i] && strcmp(types.at[i], "full_attention") == 0;
        llm->full |= full;
        llm->slides |= !full;
    }
}

void nwi_llm_read(struct nwi_config *c, const struct nwi_llm_class *klass,
                  struct nwi_llm *out)
{
    bool asked =
        klass->bias == NWI_LLM_ASKED_BIAS || klass->bias == NWI_LLM_ASKED_QKV_BIAS;
    bool biased = asked && nwi_config_bool(c, "attention_bias", klass->biased);
    double rotary = klass->rotary > 0 ? klass->rotary : 1;

    *out = (struct nwi_llm){
        .klass = klass,
        .vocab = nwi_config_int(c, "vocab_size", klass->vocab),
        .dim = nwi_config_int(c, "hidden_size", klass->dim),
        .inner = nwi_config_int(c, "intermediate_size", klass->inner),
        .layers = nwi_config_count(c, "num_hidden_layers", klass->layers),
        .heads = nwi_config_int(c, "num_attention_heads", klass->heads),
        .qkv_bias = biased || klass->bias == NWI_LLM_QKV_BIAS,
        .o_bias = biased && klass->bias == NWI_LLM_ASKED_BIAS,
        .mlp_bias = klass->mlp_bias && nwi_config_bool(c, "mlp_bias", false),
    };
    out->kv_heads = read_kv_heads(c, klass, out->heads);
    out->head_dim = read_head_dim(c, klass, out->dim, out->heads);
    out->turned = (int64_t)(rotary * (double)out->head_dim);
    out->full_turned = out->turned;
    if (klass->two_ropes)
        read_ropes(c, out);
    check_heads(c, out);
    check_padding(c, out);
}

/* ---- parts ---- */

void nwi_llm_norm(struct nwi_module *m, const struct nwi_llm *llm, const char *name,
                  int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter_filled(m, "weight", NWI_DIMS(dim),
                             llm->klass->gemma ? NW_FILL_ZERO : NW_FILL_ONE);
    }
}

void nwi_llm_tokens(struct nwi_module *m, const struct nwi_llm *llm)
{
    nwi_embedding(m, "embed_tokens", llm->vocab, llm->dim);
    if (llm->klass->gemma)
        nwi_scratch_buffer(m, "embed_tokens.embed_scale", NWI_SCALAR);
}

void nwi_llm_attention(struct nwi_module *m, const struct nwi_llm *llm)
{
    int64_t wide = llm->heads * llm->head_dim;
    int64_t kv_wide = llm->kv_heads * llm->head_dim;
    NWI_IN(m, "self_attn")
    {
        nwi_linear(m, "q_proj", llm->dim, wide, llm->qkv_bias);
        nwi_linear(m, "k_proj", llm->dim, kv_wide, llm->qkv_bias);
        nwi_linear(m, "v_proj", llm->dim, kv_wide, llm->qkv_bias);
        nwi_linear(m, "o_proj", wide, llm->dim, llm->o_bias);
        if (llm->klass->qk_norm) {
            nwi_llm_norm(m, llm, "q_norm", llm->head_dim);
            nwi_llm_norm(m, llm, "k_norm", llm->head_dim);
        }
    }
}

void nwi_llm_mlp(struct nwi_module *m, const struct nwi_llm *llm)
{
    bool fused = llm->klass->fused_mlp;
    NWI_IN(m, "mlp")
    {
        nwi_linear(m, fused ? "gate_up_proj" : "gate_proj", llm->dim,
                   fused ? 2 * llm->inner : llm->inner, llm->mlp_bias);
        if (!fused)
            nwi_linear(m, "up_proj", llm->dim, llm->inner, llm->mlp_bias);
        nwi_linear(m, "down_proj", llm->inner, llm->dim, llm->mlp_bias);
    }
}

static void frequencies(struct nwi_module *m, const char *name, const char *original,
                        int64_t turned)
{
    nwi_scratch_buffer(m, name, NWI_DIMS((turned + 1) / 2));
    nwi_scratch_buffer(m, original, NWI_DIMS((turned + 1) / 2));
}

void nwi_rotary(struct nwi_module *m, const char *name, int64_t turned)
{
    NWI_IN(m, "%s", name)
    {
        frequencies(m, "inv_freq", "original_inv_freq", turned);
    }
}

void nwi_llm_rotary(struct nwi_module *m, const struct nwi_llm *llm)
{
    if (!llm->klass->two_ropes) {
        nwi_rotary(m, "rotary_emb", llm->turned);
        return;
    }
    NWI_IN(m, "rotary_emb")
    {
        if (llm->full)
            frequencies(m, "full_attention_inv_freq",
                        "full_attention_original_inv_freq", llm->full_turned);
        if (llm->slides)
            frequencies(m, "sliding_attention_inv_freq",
                        "sliding_attention_original_inv_freq", llm->turned);
    }
}

void nwi_llm_lm_head(struct nwi_module *m, const struct nwi_llm *llm, bool tied,
                     const char *tokens)
{
    if (tied)
        nwi_tied(m, "lm_head.weight", tokens);
    else
        nwi_linear(m, "lm_head", llm->dim, llm->vocab, false);
}

/* ---- models ---- */

static void layer(struct nwi_module *m, const struct nwi_llm *llm)
{
    nwi_llm_attention(m, llm);
    nwi_llm_mlp(m, llm);
    nwi_llm_norm(m, llm, "input_layernorm", llm->dim);
    nwi_llm_norm(m, llm, "post_attention_layernorm", llm->dim);
    if (!llm->klass->four_norms)
        return;
    nwi_llm_norm(m, llm, "pre_feedforward_layernorm", llm->dim);
    nwi_llm_norm(m, llm, "post_feedforward_layernorm", llm->dim);
}

void nwi_llm_body(struct nwi_module *m, const struct nwi_llm *llm)
{
    nwi_llm_tokens(m, llm);
    for (int64_t i = 0; i < llm->layers; i++)
        NWI_BLOCK(m, "layers.%lld", (long long)i)
        {
            layer(m, llm);
        }
    nwi_llm_norm(m, llm, "norm", llm->dim);
    nwi_llm_rotary(m, llm);
}

void nwi_llm_model(struct nwi_module *m, struct nwi_config *c,
                   const struct nwi_llm_class *klass)
{
    struct nwi_llm llm;
    nwi_llm_read(c, klass, &llm);
    nwi_llm_body(m, &llm);
}

void nwi_llm_causal(struct nwi_module *m, struct nwi_config *c,
                    const struct nwi_llm_class *klass)
{
    struct nwi_llm llm;
    nwi_llm_read(c, klass, &llm);
    NWI_IN(m, "model")
    {
        nwi_llm_body(m, &llm);
    }
    nwi_llm_lm_head(m, &llm, nwi_config_bool(c, "tie_word_embeddings", klass->tied),
                    "model.embed_tokens.weight");
}

/* ---- deriving ---- */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b > 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The size of one head after what the config says; 0 if that does not fit. */
static int64_t said_head_dim(struct nwi_config *c, int64_t q, int64_t kv)
{
    int64_t heads = nwi_config_int_or_null(c, "num_attention_heads", NWI_NULL);
    if (heads <= 0 || q < heads || q % heads != 0 || kv % (q / heads) != 0)
        return 0;
    return q / heads;
}

/* The size of one head, where q and kv are those of all: what the class's models have, if
 * that fits, else the largest that does. */
static int64_t guess_head_dim(const struct nwi_llm_class *klass, int64_t dim, int64_t q,
                              int64_t kv)
{
    int64_t usual = klass->head_dim ? klass->head_dim : 128;
    for (const struct nwi_llm_head *odd = klass->odd_heads; odd && odd->dim; odd++) {
        if (odd->dim == dim)
            usual = odd->head_dim;
    }
    bool fits = q % usual == 0 && kv % usual == 0;
    if (fits && klass->divides)
        fits = dim % (q / usual) == 0;
    return fits ? usual : common_divisor(q, kv);
}

static void derive_heads(struct nwi_config *c, const struct nwi_header *h,
                         const struct nwi_llm_class *klass, const char *at)
{
    int64_t dim = nwi_vae_dim(h, 1, "%slayers.0.self_attn.q_proj.weight", at);
    int64_t q = nwi_vae_dim(h, 0, "%slayers.0.self_attn.q_proj.weight", at);
    int64_t kv = nwi_vae_dim(h, 0, "%slayers.0.self_attn.k_proj.weight", at);
    int64_t size = nwi_vae_dim(h, 0, "%slayers.0.self_attn.q_norm.weight", at);
    bool biased = nwi_vae_has(h, "%slayers.0.self_attn.k_proj.bias", at);
    if (q <= 0 || kv <= 0)
        return;
    if (size <= 0)
        size = said_head_dim(c, q, kv);
    if (size <= 0)
        size = guess_head_dim(klass, dim, q, kv);
    if (!klass->no_head_dim)
        nwi_config_derive(c, "head_dim", size);
    nwi_config_derive(c, "num_attention_heads", q / size);
    nwi_config_derive(c, "num_key_value_heads", kv / size);
    if (klass->bias == NWI_LLM_ASKED_BIAS || klass->bias == NWI_LLM_ASKED_QKV_BIAS)
        nwi_config_derive_bool(c, "attention_bias", biased);
    if (klass->mlp_bias)
        nwi_config_derive_bool(c, "mlp_bias",
                               nwi_vae_has(h, "%slayers.0.mlp.down_proj.bias", at));
}

void nwi_llm_derive(struct nwi_config *c, const struct nwi_header *h,
                    const struct nwi_llm_class *klass, const char *at)
{
    int64_t vocab = nwi_vae_dim(h, 0, "%sembed_tokens.weight", at);
    int64_t layers = nwi_vae_run(h, "self_attn.q_proj.weight", "%slayers", at);
    if (!nwi_vae_has(h, "%sembed_tokens.weight", at) && layers == 0)
        return;
    nwi_config_derive(c, "vocab_size", vocab);
    if (klass->pad != NWI_NULL && vocab >= 0 && klass->pad >= vocab &&
        !nwi_config_has(c, "pad_token_id"))
        nwi_config_derive_null(c, "pad_token_id");
    nwi_config_derive(c, "hidden_size", nwi_vae_dim(h, 0, "%snorm.weight", at));
    nwi_config_derive(c, "num_hidden_layers", layers);
    nwi_config_derive(c, "intermediate_size",
                      nwi_vae_dim(h, 1, "%slayers.0.mlp.down_proj.weight", at));
    derive_heads(c, h, klass, at);
}

void nwi_llm_tie_derive(struct nwi_config *c, const struct nwi_header *h,
                        const char *tokens)
{
    if (nwi_header_has(h, tokens) && !nwi_header_has(h, "lm_head.weight"))
        nwi_config_derive_bool(c, "tie_word_embeddings", true);
}

void nwi_llm_causal_derive(struct nwi_config *c, const struct nwi_header *h,
                           const struct nwi_llm_class *klass)
{
    nwi_llm_derive(c, h, klass, "model.");
    nwi_llm_tie_derive(c, h, "model.embed_tokens.weight");
}
