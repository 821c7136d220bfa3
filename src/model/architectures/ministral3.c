/* SPDX-License-Identifier: Apache-2.0
 * Ministral3Model and Ministral3ForCausalLM (transformers 5.24,
 * models/ministral3/modeling_ministral3.py): Ernie-Image's prompt
 * enhancer. */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_class ministral3 = {
    .pad = 11,
    .vocab = 131072,
    .dim = 4096,
    .inner = 14336,
    .layers = 34,
    .heads = 32,
    .kv_heads = 8,
    .head_dim = 128,
};

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &ministral3);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &ministral3, "");
}

static void build_causal(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_causal(m, c, &ministral3);
}

static void derive_causal(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_causal_derive(c, h, &ministral3);
}

const struct nwi_architecture nwi_arch_ministral3_model = {
    .klass = "Ministral3Model",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "ministral3",
};

const struct nwi_architecture nwi_arch_ministral3_for_causal_lm = {
    .klass = "Ministral3ForCausalLM",
    .library = "transformers",
    .build = build_causal,
    .derive = derive_causal,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};
