/* SPDX-License-Identifier: Apache-2.0
 * GlmModel (transformers 5.24,
 * models/glm/modeling_glm.py): CogView4's text encoder. */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_class glm = {
    .pad = 151329,
    .vocab = 151552,
    .dim = 4096,
    .inner = 13696,
    .layers = 40,
    .heads = 32,
    .kv_heads = 2,
    .head_dim = 128,
    .bias = NWI_LLM_ASKED_QKV_BIAS,
    .biased = true,
    .fused_mlp = true,
    .rotary = 0.5,
};

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &glm);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &glm, "");
}

const struct nwi_architecture nwi_arch_glm_model = {
    .klass = "GlmModel",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "glm",
};
