/* SPDX-License-Identifier: Apache-2.0
 * Qwen2Model and Qwen2ForCausalLM (transformers 5.24,
 * models/qwen2/modeling_qwen2.py). */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_head odd_heads[] = {{896, 64}, {0, 0}};

static const struct nwi_llm_class qwen2 = {
    .pad = NWI_NULL,
    .vocab = 151936,
    .dim = 4096,
    .inner = 22016,
    .layers = 32,
    .heads = 32,
    .kv_heads = 32,
    .kv_null = true,
    .bias = NWI_LLM_QKV_BIAS,
    .odd_heads = odd_heads,
};

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &qwen2);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &qwen2, "");
}

static void build_causal(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_causal(m, c, &qwen2);
}

static void derive_causal(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_causal_derive(c, h, &qwen2);
}

const struct nwi_architecture nwi_arch_qwen2_model = {
    .klass = "Qwen2Model",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "qwen2",
};

const struct nwi_architecture nwi_arch_qwen2_for_causal_lm = {
    .klass = "Qwen2ForCausalLM",
    .library = "transformers",
    .build = build_causal,
    .derive = derive_causal,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};
