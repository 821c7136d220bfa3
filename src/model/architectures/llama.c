/* SPDX-License-Identifier: Apache-2.0
 * LlamaModel and LlamaForCausalLM (transformers 5.24,
 * models/llama/modeling_llama.py): text encoders of HunyuanVideo and
 * HiDream. */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_head odd_heads[] = {
    {576, 64}, {960, 64}, {2048, 64}, {0, 0}};

static const struct nwi_llm_class llama = {
    .pad = NWI_NULL,
    .vocab = 32000,
    .dim = 4096,
    .inner = 11008,
    .layers = 32,
    .heads = 32,
    .kv_null = true,
    .divides = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .mlp_bias = true,
    .odd_heads = odd_heads,
};

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &llama);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &llama, "");
}

static void build_causal(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_causal(m, c, &llama);
}

static void derive_causal(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_causal_derive(c, h, &llama);
}

const struct nwi_architecture nwi_arch_llama_model = {
    .klass = "LlamaModel",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "llama",
};

const struct nwi_architecture nwi_arch_llama_for_causal_lm = {
    .klass = "LlamaForCausalLM",
    .library = "transformers",
    .build = build_causal,
    .derive = derive_causal,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};
