/* SPDX-License-Identifier: Apache-2.0
 * T5GemmaEncoder, T5GemmaEncoderModel and T5Gemma2Encoder (transformers 5.24,
 * models/t5gemma, models/t5gemma2): text encoders of PRX, Stable Audio 3 and
 * Motif-Video. */
#include "model/architecture.h"
#include "model/blocks_clip.h"
#include "model/blocks_llm.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_head odd_heads[] = {
    {512, 64}, {768, 64}, {1024, 64}, {2048, 64}, {0, 0}};

static const struct nwi_llm_class t5gemma = {
    .vocab = 256000,
    .dim = 2304,
    .inner = 9216,
    .layers = 26,
    .heads = 8,
    .kv_heads = 4,
    .head_dim = 256,
    .divides = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .gemma = true,
    .odd_heads = odd_heads,
};

static const struct nwi_llm_class t5gemma2 = {
    .vocab = 262208,
    .dim = 2304,
    .inner = 9216,
    .layers = 26,
    .heads = 8,
    .kv_heads = 4,
    .head_dim = 256,
    .divides = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .qk_norm = true,
    .gemma = true,
    .two_ropes = true,
};

/* norm, layers, rotary_emb, in this order. */
static void stack(struct nwi_module *m, const struct nwi_llm *llm)
{
    nwi_llm_norm(m, llm, "norm", llm->dim);
    for (int64_t i = 0; i < llm->layers; i++)
        NWI_BLOCK(m, "layers.%lld", (long long)i)
        {
            nwi_llm_attention(m, llm);
            nwi_llm_norm(m, llm, "pre_self_attn_layernorm", llm->dim);
            nwi_llm_norm(m, llm, "post_self_attn_layernorm", llm->dim);
            nwi_llm_mlp(m, llm);
            nwi_llm_norm(m, llm, "pre_feedforward_layernorm", llm->dim);
            nwi_llm_norm(m, llm, "post_feedforward_layernorm", llm->dim);
        }
    nwi_llm_rotary(m, llm);
}

static void build_encoder(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_llm llm;
    nwi_llm_read(c, &t5gemma, &llm);
    nwi_embedding(m, "embed_tokens", llm.vocab, llm.dim);
    stack(m, &llm);
}

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    static const char *const plain[] = {"decoder", "vocab_size",
                                        "classifier_dropout_rate", NULL};
    struct nwi_config encoder;
    nwi_config_known(c, plain);
    if (nwi_config_bool(c, "is_encoder_decoder", true))
        nwi_config_fail(
            c, NW_E_BAD_CONFIG,
            "\"is_encoder_decoder\" of the config is true, which this class "
            "is not for");
    nwi_config_inner(c, "encoder", &encoder);
    NWI_IN(m, "encoder")
    {
        build_encoder(m, &encoder);
    }
    nwi_config_join(c, &encoder);
}

static void build_second(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_config inner;
    struct nwi_llm llm;
    int64_t dim = 0;
    nwi_config_inner(c, "text_config", &inner);
    nwi_llm_read(&inner, &t5gemma2, &llm);
    nwi_config_join(c, &inner);
    NWI_IN(m, "text_model")
    {
        nwi_embedding(m, "embed_tokens", llm.vocab, llm.dim);
        nwi_parameter_filled(m, "embed_tokens.eoi_embedding", NWI_DIMS(llm.dim),
                             NW_FILL_ZERO);
        nwi_scratch_buffer(m, "embed_tokens.embed_scale", NWI_SCALAR);
        stack(m, &llm);
    }
    nwi_config_inner(c, "vision_config", &inner);
    if (!nwi_config_is(&inner, "model_type", "siglip_vision_model",
                       "siglip_vision_model"))
        nwi_config_fail(&inner, NW_E_UNSUPPORTED,
                        "this version knows \"vision_config\" of T5Gemma 2 as "
                        "siglip_vision_model only");
    size_t back = nwi_enter(m, "vision_tower");
    dim = nwi_siglip_vision(m, &inner);
    nwi_leave(m, back);
    nwi_config_join(c, &inner);
    nwi_parameter_filled(m, "multi_modal_projector.mm_input_projection_weight",
                         NWI_DIMS(dim, llm.dim), NW_FILL_ZERO);
    nwi_llm_norm(m, &llm, "multi_modal_projector.mm_soft_emb_norm", dim);
}

/* ---- deriving ---- */

static void derive_encoder(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &t5gemma, "");
}

static void derive_model(struct nwi_config *c, const struct nwi_header *h)
{
    struct nwi_config encoder;
    nwi_config_inner(c, "encoder", &encoder);
    nwi_llm_derive(&encoder, h, &t5gemma, "encoder.");
    nwi_config_derive_inner(c, "encoder", &encoder);
    nwi_config_derive_bool(c, "is_encoder_decoder", false);
}

static void derive_second(struct nwi_config *c, const struct nwi_header *h)
{
    struct nwi_config inner;
    nwi_config_inner(c, "text_config", &inner);
    nwi_llm_derive(&inner, h, &t5gemma2, "text_model.");
    nwi_config_derive_inner(c, "text_config", &inner);
    nwi_config_inner(c, "vision_config", &inner);
    nwi_siglip_vision_derive(&inner, h, "vision_tower.");
    nwi_config_derive_inner(c, "vision_config", &inner);
}

const struct nwi_architecture nwi_arch_t5gemma_encoder = {
    .klass = "T5GemmaEncoder",
    .library = "transformers",
    .build = build_encoder,
    .derive = derive_encoder,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "t5_gemma_module",
};

const struct nwi_architecture nwi_arch_t5gemma_encoder_model = {
    .klass = "T5GemmaEncoderModel",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "t5gemma",
};

const struct nwi_architecture nwi_arch_t5gemma2_encoder = {
    .klass = "T5Gemma2Encoder",
    .library = "transformers",
    .build = build_second,
    .derive = derive_second,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "t5gemma2_encoder",
};
