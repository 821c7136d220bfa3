/* SPDX-License-Identifier: Apache-2.0
 * Qwen3Model and Qwen3ForCausalLM (transformers 5.24,
 * models/qwen3/modeling_qwen3.py): text encoders of FLUX.2 klein,
 * Z-Image and Ovis-Image. */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_class qwen3 = {
    .pad = NWI_NULL,
    .vocab = 151936,
    .dim = 4096,
    .inner = 22016,
    .layers = 32,
    .heads = 32,
    .kv_heads = 32,
    .head_dim = 128,
    .kv_null = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .qk_norm = true,
};

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &qwen3);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &qwen3, "");
}

static void build_causal(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_causal(m, c, &qwen3);
}

static void derive_causal(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_causal_derive(c, h, &qwen3);
}

const struct nwi_architecture nwi_arch_qwen3_model = {
    .klass = "Qwen3Model",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "qwen3",
};

const struct nwi_architecture nwi_arch_qwen3_for_causal_lm = {
    .klass = "Qwen3ForCausalLM",
    .library = "transformers",
    .build = build_causal,
    .derive = derive_causal,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};
