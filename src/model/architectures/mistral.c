/* SPDX-License-Identifier: Apache-2.0
 * MistralModel, MistralForCausalLM, Mistral3Model and Mistral3ForConditionalGeneration with
 * the image encoder of Pixtral (transformers 5.24, models/mistral, models/mistral3,
 * models/pixtral): FLUX.2's text encoder. */
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/blocks_vae.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_class mistral = {
    .vocab = 32000,
    .dim = 4096,
    .inner = 14336,
    .layers = 32,
    .heads = 32,
    .kv_heads = 8,
    .pad = NWI_NULL,
};

/* Mistral 3's language model where the config says nothing of it: Mistral Small. */
static const struct nwi_llm_class small = {
    .vocab = 131072,
    .dim = 5120,
    .inner = 32768,
    .layers = 40,
    .heads = 32,
    .kv_heads = 8,
    .head_dim = 128,
    .pad = NWI_NULL,
};

static const struct nwi_llm_class ministral = {
    .vocab = 131072,
    .dim = 4096,
    .inner = 14336,
    .layers = 34,
    .heads = 32,
    .kv_heads = 8,
    .head_dim = 128,
    .pad = 11,
};

static void build_text(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &mistral);
}

static void build_causal(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_causal(m, c, &mistral);
}

/* ---- the image encoder ---- */

struct pixtral {
    int64_t dim;
    int64_t inner; /* of the MLPs */
    int64_t layers;
    int64_t heads;
    int64_t patch;
};

static void image_layer(struct nwi_module *m, const struct pixtral *p)
{
    nwi_rms_norm(m, "attention_norm", p->dim);
    nwi_linear(m, "feed_forward.gate_proj", p->dim, p->inner, false);
    nwi_linear(m, "feed_forward.up_proj", p->dim, p->inner, false);
    nwi_linear(m, "feed_forward.down_proj", p->inner, p->dim, false);
    nwi_linear(m, "attention.k_proj", p->dim, p->dim, false);
    nwi_linear(m, "attention.v_proj", p->dim, p->dim, false);
    nwi_linear(m, "attention.q_proj", p->dim, p->dim, false);
    nwi_linear(m, "attention.o_proj", p->dim, p->dim, false);
    nwi_rms_norm(m, "ffn_norm", p->dim);
}

/* `own`: the config says something of it; without a word its patches are of 14 pixels. */
static int64_t image_tower(struct nwi_module *m, struct nwi_config *c, bool own)
{
    int64_t channels = nwi_config_int(c, "num_channels", 3);
    struct pixtral p = {
        .dim = nwi_config_int(c, "hidden_size", 1024),
        .inner = nwi_config_int(c, "intermediate_size", 4096),
        .layers = nwi_config_count(c, "num_hidden_layers", 24),
        .heads = nwi_config_int(c, "num_attention_heads", 16),
        .patch = nwi_config_int(c, "patch_size", own ? 16 : 14),
    };
    if (!nwi_config_is(c, "model_type", "pixtral", "pixtral"))
        nwi_config_fail(c, NW_E_UNSUPPORTED,
                        "this version knows \"vision_config\" of Mistral 3 as pixtral "
                        "only");
    if (p.heads <= 0) {
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"num_attention_heads\" of the config is %lld",
                        (long long)p.heads);
        return 0;
    }
    nwi_conv2d(m, "patch_conv", channels, p.dim, p.patch, false);
    nwi_rms_norm(m, "ln_pre", p.dim);
    for (int64_t i = 0; i < p.layers; i++)
        NWI_BLOCK(m, "transformer.layers.%lld", (long long)i)
        {
            image_layer(m, &p);
        }
    nwi_rotary(m, "patch_positional_embedding", p.dim / p.heads / 2);
    return p.dim;
}

/* How many layers' outputs the projector takes. */
static int64_t feature_layers(struct nwi_config *c)
{
    struct nwi_config_ints at;
    nwi_config_ints(c, "vision_feature_layer", &at);
    return at.given && !at.scalar ? (int64_t)at.n : 1;
}

static void projector(struct nwi_module *m, struct nwi_config *c, int64_t image,
                      int64_t text)
{
    int64_t merge = nwi_config_int(c, "spatial_merge_size", 2);
    bool bias = nwi_config_bool(c, "multimodal_projector_bias", false);
    int64_t features = feature_layers(c);
    NWI_IN(m, "multi_modal_projector")
    {
        nwi_rms_norm(m, "norm", image);
        nwi_linear(m, "patch_merger.merging_layer", image * merge * merge, image,
                   false);
        nwi_linear(m, "linear_1", image * features, text, bias);
        nwi_linear(m, "linear_2", text, text, bias);
    }
}

/* ---- the whole ---- */

/* What the language model is, after text_config. */
static const struct nwi_llm_class *language(struct nwi_config *c,
                                            struct nwi_config *text)
{
    const char *type = nwi_config_text(text, "model_type", "mistral");
    if (type && strcmp(type, "ministral3") == 0)
        return &ministral;
    if (type && strcmp(type, "mistral") == 0)
        return nwi_config_has(c, "text_config") ? &mistral : &small;
    nwi_config_fail(text, NW_E_UNSUPPORTED,
                    "this version knows \"text_config\" of Mistral 3 as mistral and "
                    "ministral3, not %.40s",
                    type ? type : "null");
    return &mistral;
}

static void both(struct nwi_module *m, struct nwi_config *c, struct nwi_llm *llm)
{
    struct nwi_config text;
    struct nwi_config vision;
    int64_t image = 0;
    nwi_config_inner(c, "text_config", &text);
    nwi_llm_read(&text, language(c, &text), llm);
    nwi_config_join(c, &text);
    nwi_config_inner(c, "vision_config", &vision);
    NWI_IN(m, "vision_tower")
    {
        image = image_tower(m, &vision, nwi_config_has(c, "vision_config"));
    }
    nwi_config_join(c, &vision);
    projector(m, c, image, llm->dim);
    size_t back = nwi_enter(m, "language_model");
    nwi_llm_body(m, llm);
    nwi_leave(m, back);
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
    nwi_llm_derive(c, h, &mistral, "");
}

static void derive_causal(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_causal_derive(c, h, &mistral);
}

static void derive_image(struct nwi_config *c, const struct nwi_header *h,
                         const char *at)
{
    int64_t dim = nwi_vae_dim(h, 0, "%svision_tower.patch_conv.weight", at);
    if (dim <= 0)
        return;
    nwi_config_derive(c, "hidden_size", dim);
    nwi_config_derive(c, "num_channels",
                      nwi_vae_dim(h, 1, "%svision_tower.patch_conv.weight", at));
    nwi_config_derive(c, "patch_size",
                      nwi_vae_dim(h, 2, "%svision_tower.patch_conv.weight", at));
    nwi_config_derive(c, "num_hidden_layers",
                      nwi_vae_run(h, "attention_norm.weight",
                                  "%svision_tower.transformer.layers", at));
    nwi_config_derive(
        c, "intermediate_size",
        nwi_vae_dim(h, 0,
                    "%svision_tower.transformer.layers.0.feed_forward.gate_proj.weight",
                    at));
}

static void derive_projector(struct nwi_config *c, const struct nwi_header *h,
                             const char *at)
{
    int64_t dim = nwi_vae_dim(h, 0, "%smulti_modal_projector.norm.weight", at);
    int64_t merged = nwi_vae_dim(
        h, 1, "%smulti_modal_projector.patch_merger.merging_layer.weight", at);
    int64_t taken = nwi_vae_dim(h, 1, "%smulti_modal_projector.linear_1.weight", at);
    int64_t n = nwi_vae_ratio(taken, dim);
    int64_t layers[NWI_CONFIG_LIST];
    int64_t merge = 1;
    if (dim <= 0)
        return;
    while (merge < NWI_CONFIG_DEPTH && merge * merge * dim < merged)
        merge++;
    if (merge * merge * dim == merged)
        nwi_config_derive(c, "spatial_merge_size", merge);
    nwi_config_derive_bool(c, "multimodal_projector_bias",
                           nwi_vae_has(h, "%smulti_modal_projector.linear_1.bias", at));
    for (int64_t i = 0; i < n && n < NWI_CONFIG_LIST; i++)
        layers[i] = i;
    if (n > 1 && n < NWI_CONFIG_LIST)
        nwi_config_derive_ints(c, "vision_feature_layer", layers, (size_t)n);
}

static void derive_both(struct nwi_config *c, const struct nwi_header *h,
                        const char *at)
{
    bool nested = at[0] != '\0';
    struct nwi_config inner;
    nwi_config_inner(c, "text_config", &inner);
    nwi_llm_derive(&inner, h, language(c, &inner),
                   nested ? "model.language_model." : "language_model.");
    nwi_config_derive_inner(c, "text_config", &inner);
    nwi_config_inner(c, "vision_config", &inner);
    derive_image(&inner, h, at);
    nwi_config_derive_inner(c, "vision_config", &inner);
    derive_projector(c, h, at);
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, "");
}

static void derive_conditional(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, "model.");
    nwi_llm_tie_derive(c, h, "model.language_model.embed_tokens.weight");
}

const struct nwi_architecture nwi_arch_mistral_model = {
    .klass = "MistralModel",
    .library = "transformers",
    .build = build_text,
    .derive = derive_text,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "mistral",
};

const struct nwi_architecture nwi_arch_mistral_for_causal_lm = {
    .klass = "MistralForCausalLM",
    .library = "transformers",
    .build = build_causal,
    .derive = derive_causal,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_mistral3_model = {
    .klass = "Mistral3Model",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_mistral3_for_conditional_generation = {
    .klass = "Mistral3ForConditionalGeneration",
    .library = "transformers",
    .build = build_conditional,
    .derive = derive_conditional,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "mistral3",
};
