/* SPDX-License-Identifier: Apache-2.0
 * GemmaModel and GemmaForCausalLM (transformers 5.24,
 * models/gemma/modeling_gemma.py): Lumina's text encoder. */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_class gemma = {
    .vocab = 256000,
    .dim = 3072,
    .inner = 24576,
    .layers = 28,
    .heads = 16,
    .kv_heads = 16,
    .head_dim = 256,
    .tied = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .gemma = true,
};

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &gemma);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &gemma, "");
}

static void build_causal(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_causal(m, c, &gemma);
}

static void derive_causal(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_causal_derive(c, h, &gemma);
}

const struct nwi_architecture nwi_arch_gemma_model = {
    .klass = "GemmaModel",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "gemma",
};

const struct nwi_architecture nwi_arch_gemma_for_causal_lm = {
    .klass = "GemmaForCausalLM",
    .library = "transformers",
    .build = build_causal,
    .derive = derive_causal,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};
