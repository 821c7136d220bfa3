/* SPDX-License-Identifier: Apache-2.0
 * Gemma2Model and Gemma2ForCausalLM (transformers 5.24,
 * models/gemma2/modeling_gemma2.py): text encoders of Lumina 2 and
 * Sana. */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_head odd_heads[] = {{4608, 128}, {0, 0}};

static const struct nwi_llm_class gemma2 = {
    .vocab = 256000,
    .dim = 2304,
    .inner = 9216,
    .layers = 26,
    .heads = 8,
    .kv_heads = 4,
    .head_dim = 256,
    .divides = true,
    .tied = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .four_norms = true,
    .gemma = true,
    .odd_heads = odd_heads,
};

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &gemma2);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &gemma2, "");
}

static void build_causal(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_causal(m, c, &gemma2);
}

static void derive_causal(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_causal_derive(c, h, &gemma2);
}

const struct nwi_architecture nwi_arch_gemma2_model = {
    .klass = "Gemma2Model",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "gemma2",
};

const struct nwi_architecture nwi_arch_gemma2_for_causal_lm = {
    .klass = "Gemma2ForCausalLM",
    .library = "transformers",
    .build = build_causal,
    .derive = derive_causal,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};
