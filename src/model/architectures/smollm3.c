/* SPDX-License-Identifier: Apache-2.0
 * SmolLM3Model and SmolLM3ForCausalLM (transformers 5.24,
 * models/smollm3/modeling_smollm3.py): Bria FIBO's text encoder. */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_class smollm3 = {
    .pad = 128004,
    .vocab = 128256,
    .dim = 2048,
    .inner = 11008,
    .layers = 36,
    .heads = 16,
    .kv_heads = 4,
    .kv_null = true,
    .tied = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .mlp_bias = true,
};

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &smollm3);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &smollm3, "");
}

static void build_causal(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_causal(m, c, &smollm3);
}

static void derive_causal(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_causal_derive(c, h, &smollm3);
}

const struct nwi_architecture nwi_arch_smollm3_model = {
    .klass = "SmolLM3Model",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "smollm3",
};

const struct nwi_architecture nwi_arch_smollm3_for_causal_lm = {
    .klass = "SmolLM3ForCausalLM",
    .library = "transformers",
    .build = build_causal,
    .derive = derive_causal,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};
