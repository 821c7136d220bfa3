/* SPDX-License-Identifier: Apache-2.0
 * T5GemmaEncoderModel (transformers 5.24, models/t5gemma/modeling_t5gemma.py): text encoder
 * of Stable Audio 3. Gemma 2's layers under other names of norms, seeing both ways. */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_head odd_heads[] = {
    {512, 64}, {768, 64}, {1024, 64}, {2048, 64}, {0, 0}};

static const struct nwi_llm_class t5gemma = {
    .vocab = 256000,
    .dim = 2304,
    .inner = 9216,
    .layers = 26,
    .heads = 8,
    .kv_heads = 4,
    .head_dim = 256,
    .divides = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .gemma = true,
    .odd_heads = odd_heads,
};

static void layer(struct nwi_module *m, const struct nwi_llm *llm)
{
    nwi_llm_attention(m, llm);
    nwi_llm_norm(m, llm, "pre_self_attn_layernorm", llm->dim);
    nwi_llm_norm(m, llm, "post_self_attn_layernorm", llm->dim);
    nwi_llm_mlp(m, llm);
    nwi_llm_norm(m, llm, "pre_feedforward_layernorm", llm->dim);
    nwi_llm_norm(m, llm, "post_feedforward_layernorm", llm->dim);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const char *const plain[] = {"decoder", "vocab_size",
                                        "classifier_dropout_rate", NULL};
    struct nwi_config inner;
    struct nwi_llm llm;
    if (nwi_config_bool(c, "is_encoder_decoder", true))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the encoder alone needs \"is_encoder_decoder\": false");
    nwi_config_inner(c, "encoder", &inner);
    nwi_llm_read(&inner, &t5gemma, &llm);
    nwi_config_join(c, &inner);
    nwi_embedding(m, "encoder.embed_tokens", llm.vocab, llm.dim);
    nwi_llm_norm(m, &llm, "encoder.norm", llm.dim);
    for (int64_t i = 0; i < llm.layers; i++)
        NWI_BLOCK(m, "encoder.layers.%lld", (long long)i)
        {
            layer(m, &llm);
        }
    nwi_rotary(m, "encoder.rotary_emb", llm.turned);
    nwi_config_known(c, plain);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    struct nwi_config inner;
    nwi_config_inner(c, "encoder", &inner); /* heads are read there */
    nwi_llm_derive(&inner, h, &t5gemma, "encoder.");
    nwi_config_derive_inner(c, "encoder", &inner);
    nwi_config_derive_bool(c, "is_encoder_decoder", false);
}

const struct nwi_architecture nwi_arch_t5gemma_encoder_model = {
    .klass = "T5GemmaEncoderModel",
    .library = "transformers",
    .build = build,
    .derive = derive,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "t5gemma",
};
