/* SPDX-License-Identifier: Apache-2.0
 * Gemma3TextModel, Gemma3ForCausalLM, Gemma3Model and Gemma3ForConditionalGeneration
 * (transformers 5.24, models/gemma3/modeling_gemma3.py): text encoders of LTX-2 and
 * Sana-WM. */
#include "model/architecture.h"
#include "model/blocks_clip.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_class gemma3 = {
    .vocab = 262208,
    .dim = 2304,
    .inner = 9216,
    .layers = 26,
    .heads = 8,
    .kv_heads = 4,
    .head_dim = 256,
    .divides = true,
    .tied = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .qk_norm = true,
    .four_norms = true,
    .gemma = true,
    .two_ropes = true,
};

static void build_text(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &gemma3);
}

static void build_causal(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_causal(m, c, &gemma3);
}

/* ---- with an image encoder ---- */

static void need_type(struct nwi_config *c, const char *part, const char *type)
{
    if (!nwi_config_is(c, "model_type", type, type))
        nwi_config_fail(c, NW_E_UNSUPPORTED,
                        "this version knows \"%s\" of Gemma 3 as %s only", part, type);
}

static void image_tower(struct nwi_module *m, struct nwi_config *c, int64_t *dim)
{
    need_type(c, "vision_config", "siglip_vision_model");
    NWI_IN(m, "vision_tower")
    {
        *dim = nwi_siglip_vision(m, c);
    }
}

/* The whole of Gemma3Model; says what the text part is. */
static void both(struct nwi_module *m, struct nwi_config *c, struct nwi_llm *llm)
{
    struct nwi_config text;
    struct nwi_config vision;
    int64_t dim = 0;
    nwi_config_inner(c, "text_config", &text);
    need_type(&text, "text_config", "gemma3_text");
    nwi_llm_read(&text, &gemma3, llm);
    nwi_config_join(c, &text);
    nwi_config_inner(c, "vision_config", &vision);
    image_tower(m, &vision, &dim);
    nwi_config_join(c, &vision);
    nwi_parameter_filled(m, "multi_modal_projector.mm_input_projection_weight",
                         NWI_DIMS(dim, llm->dim), NW_FILL_ZERO);
    nwi_llm_norm(m, llm, "multi_modal_projector.mm_soft_emb_norm", dim);
    NWI_IN(m, "language_model")
    {
        nwi_llm_body(m, llm);
    }
}

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_llm llm;
    both(m, c, &llm);
}

static void build_conditional(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_llm llm;
    NWI_IN(m, "model")
    {
        both(m, c, &llm);
    }
    nwi_llm_lm_head(m, &llm, nwi_config_bool(c, "tie_word_embeddings", true),
                    "model.language_model.embed_tokens.weight");
}

/* ---- deriving ---- */

static void derive_text(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &gemma3, "");
}

static void derive_causal(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_causal_derive(c, h, &gemma3);
}

static void derive_both(struct nwi_config *c, const struct nwi_header *h,
                        const char *language, const char *tower)
{
    struct nwi_config inner;
    nwi_config_inner(c, "text_config", &inner);
    nwi_llm_derive(&inner, h, &gemma3, language);
    nwi_config_derive_inner(c, "text_config", &inner);
    nwi_config_inner(c, "vision_config", &inner);
    nwi_siglip_vision_derive(&inner, h, tower);
    nwi_config_derive_inner(c, "vision_config", &inner);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, "language_model.", "vision_tower.");
}

static void derive_conditional(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, "model.language_model.", "model.vision_tower.");
    nwi_llm_tie_derive(c, h, "model.language_model.embed_tokens.weight");
}

const struct nwi_architecture nwi_arch_gemma3_text_model = {
    .klass = "Gemma3TextModel",
    .library = "transformers",
    .build = build_text,
    .derive = derive_text,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "gemma3_text",
};

const struct nwi_architecture nwi_arch_gemma3_for_causal_lm = {
    .klass = "Gemma3ForCausalLM",
    .library = "transformers",
    .build = build_causal,
    .derive = derive_causal,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_gemma3_model = {
    .klass = "Gemma3Model",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_gemma3_for_conditional_generation = {
    .klass = "Gemma3ForConditionalGeneration",
    .library = "transformers",
    .build = build_conditional,
    .derive = derive_conditional,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "gemma3",
};
