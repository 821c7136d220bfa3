/* SPDX-License-Identifier: Apache-2.0
 * Qwen2-VL, Qwen2.5-VL and Qwen3-VL, whole or without the head or as the text part alone
 * (transformers 5.24, models/qwen2_vl, models/qwen2_5_vl, models/qwen3_vl): text encoders
 * of Qwen-Image, HunyuanVideo 1.5, OmniGen 2, Kandinsky 5, Krea 2 and others. */
#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/blocks_vae.h"
#include "model/transformers_keys.h"

/* What an image encoder is made of; the three versions differ in more than numbers. */
enum version { QWEN2, QWEN2_5, QWEN3 };

struct qwen {
    enum version version;
    const struct nwi_llm_class *text;
};

static const struct nwi_llm_class text2 = {
    .vocab = 152064,
    .dim = 8192,
    .inner = 29568,
    .layers = 80,
    .heads = 64,
    .kv_heads = 8,
    .pad = NWI_NULL,
    .kv_null = true,
    .divides = true,
    .no_head_dim = true,
    .bias = NWI_LLM_QKV_BIAS,
};

static const struct nwi_llm_class text3 = {
    .vocab = 151936,
    .dim = 4096,
    .inner = 22016,
    .layers = 32,
    .heads = 32,
    .kv_heads = 32,
    .head_dim = 128,
    .pad = NWI_NULL,
    .kv_null = true,
    .bias = NWI_LLM_ASKED_BIAS,
    .qk_norm = true,
};

static const struct qwen qwen2 = {QWEN2, &text2};
static const struct qwen qwen2_5 = {QWEN2_5, &text2};
static const struct qwen qwen3 = {QWEN3, &text3};

/* ---- the image encoder ---- */

struct vision {
    enum version version;
    int64_t dim;
    int64_t inner; /* of the MLPs */
    int64_t depth;
    int64_t heads;
    int64_t merged; /* width of the patches that become one token, together */
    int64_t out;    /* width of the language model */
};

static struct vision read_vision(struct nwi_config *c, enum version version)
{
    bool qwen2_keys = version == QWEN2;
    int64_t merge = nwi_config_int(c, "spatial_merge_size", 2);
    struct vision v = {
        .version = version,
        .depth = nwi_config_count(c, "depth", version == QWEN3 ? 27 : 32),
        .heads = nwi_config_int(c, "num_heads", 16),
        .out = nwi_config_int(c, qwen2_keys ? "hidden_size" : "out_hidden_size", 3584),
    };
    if (qwen2_keys) {
        v.dim = nwi_config_int(c, "embed_dim", 1280);
        v.inner = v.dim * nwi_config_int(c, "mlp_ratio", 4);
    } else {
        v.dim = nwi_config_int(c, "hidden_size", version == QWEN3 ? 1152 : 3584);
        v.inner =
            nwi_config_int(c, "intermediate_size", version == QWEN3 ? 4304 : 3420);
    }
    v.merged = v.dim * merge * merge;
    if (v.heads <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"num_heads\" of the config is %lld",
                        (long long)v.heads);
    return v;
}

/* RMSNorm in Qwen2.5, LayerNorm in the others. */
static void vision_norm(struct nwi_module *m, const struct vision *v, const char *name,
                        int64_t dim)
{
    if (v->version == QWEN2_5)
        nwi_rms_norm(m, name, dim);
    else
        nwi_norm(m, name, dim);
}

static void vision_mlp(struct nwi_module *m, const struct vision *v)
{
    bool qwen3_names = v->version == QWEN3;
    if (v->version == QWEN2_5) {
        nwi_linear(m, "mlp.gate_proj", v->dim, v->inner, true);
        nwi_linear(m, "mlp.up_proj", v->dim, v->inner, true);
        nwi_linear(m, "mlp.down_proj", v->inner, v->dim, true);
        return;
    }
    nwi_linear(m, qwen3_names ? "mlp.linear_fc1" : "mlp.fc1", v->dim, v->inner, true);
    nwi_linear(m, qwen3_names ? "mlp.linear_fc2" : "mlp.fc2", v->inner, v->dim, true);
}

static void vision_block(struct nwi_module *m, const struct vision *v)
{
    vision_norm(m, v, "norm1", v->dim);
    vision_norm(m, v, "norm2", v->dim);
    nwi_linear(m, "attn.qkv", v->dim, 3 * v->dim, true);
    nwi_linear(m, "attn.proj", v->dim, v->dim, true);
    vision_mlp(m, v);
}

/* Neighbouring patches become one token. */
static void merger(struct nwi_module *m, const struct vision *v, int64_t normed)
{
    bool qwen3_names = v->version == QWEN3;
    vision_norm(m, v, qwen3_names ? "norm" : "ln_q", normed);
    nwi_linear(m, qwen3_names ? "linear_fc1" : "mlp.0", v->merged, v->merged, true);
    nwi_linear(m, qwen3_names ? "linear_fc2" : "mlp.2", v->merged, v->out, true);
}

static void patches(struct nwi_module *m, struct nwi_config *c, const struct vision *v)
{
    bool qwen3_class = v->version == QWEN3;
    int64_t channels = nwi_config_int(c, "in_channels", 3);
    int64_t patch = nwi_config_int(c, "patch_size", qwen3_class ? 16 : 14);
    int64_t frames = nwi_config_int(c, "temporal_patch_size", 2);
    nwi_conv3d(m, "patch_embed.proj", channels, v->dim, frames, patch, patch,
               qwen3_class);
    if (qwen3_class)
        nwi_embedding(m, "pos_embed",
                      nwi_config_int(c, "num_position_embeddings", 2304), v->dim);
    if (v->heads > 0)
        nwi_rotary(m, "rotary_pos_emb", v->dim / v->heads / 2);
}

/* What layers within the encoder tell goes to the language model past the others. */
static void deep_mergers(struct nwi_module *m, struct nwi_config *c,
                         const struct vision *v)
{
    static const int64_t usual[] = {8, 16, 24};
    struct nwi_config_ints at;
    nwi_vae_ints(c, "deepstack_visual_indexes", usual, 3, &at);
    if (nwi_config_raw(c, "deepstack_visual_indexes") && !at.given)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"deepstack_visual_indexes\" of the config is null");
    for (size_t i = 0; i < at.n; i++)
        NWI_IN(m, "deepstack_merger_list.%zu", i)
        {
            merger(m, v, v->merged);
        }
}

static void build_vision(struct nwi_module *m, struct nwi_config *c,
                         enum version version)
{
    struct vision v = read_vision(c, version);
    patches(m, c, &v);
    for (int64_t i = 0; i < v.depth; i++)
        NWI_BLOCK(m, "blocks.%lld", (long long)i)
        {
            vision_block(m, &v);
        }
    size_t back = nwi_enter(m, "merger");
    merger(m, &v, v.dim);
    nwi_leave(m, back);
    if (version == QWEN3)
        deep_mergers(m, c, &v);
}

/* ---- the whole ---- */

/* The configs of old files hold the language model's values beside vision_config. */
static bool is_flat(struct nwi_config *c, const struct qwen *qwen)
{
    return qwen->version != QWEN3 && !nwi_config_has(c, "text_config");
}

/* True if the text part alone says that the head shares the tokens' table. */
static bool read_text(struct nwi_config *c, const struct qwen *qwen,
                      struct nwi_llm *llm)
{
    struct nwi_config text;
    if (is_flat(c, qwen)) {
        nwi_llm_read(c, qwen->text, llm);
        return false;
    }
    nwi_config_inner(c, "text_config", &text);
    nwi_llm_read(&text, qwen->text, llm);
    bool tied =
        qwen->version != QWEN3 && nwi_config_bool(&text, "tie_word_embeddings", false);
    nwi_config_join(c, &text);
    return tied;
}

static void see(struct nwi_module *m, struct nwi_config *c, const struct qwen *qwen)
{
    struct nwi_config vision;
    nwi_config_inner(c, "vision_config", &vision);
    NWI_IN(m, "visual")
    {
        build_vision(m, &vision, qwen->version);
    }
    nwi_config_join(c, &vision);
}

static bool both(struct nwi_module *m, struct nwi_config *c, const struct qwen *qwen,
                 struct nwi_llm *llm)
{
    bool tied = read_text(c, qwen, llm);
    see(m, c, qwen);
    NWI_IN(m, "language_model")
    {
        nwi_llm_body(m, llm);
    }
    return tied;
}

static void build_model(struct nwi_module *m, struct nwi_config *c,
                        const struct qwen *qwen)
{
    struct nwi_llm llm;
    (void)both(m, c, qwen, &llm);
}

static void build_conditional(struct nwi_module *m, struct nwi_config *c,
                              const struct qwen *qwen)
{
    struct nwi_llm llm;
    bool tied = nwi_config_bool(c, "tie_word_embeddings", false);
    NWI_IN(m, "model")
    {
        tied |= both(m, c, qwen, &llm);
    }
    nwi_llm_lm_head(m, &llm, tied, "model.language_model.embed_tokens.weight");
}

/* ---- deriving ---- */

/* The layers at whose outputs the mergers stand: shapes tell how many there are. */
static void derive_deep_mergers(struct nwi_config *c, int64_t depth, int64_t n)
{
    int64_t at[NWI_CONFIG_LIST];
    if (n > (int64_t)NWI_CONFIG_LIST)
        return;
    for (int64_t i = 0; i < n; i++)
        at[i] = i;
    if (n == 3 && depth == 24)
        nwi_config_derive_ints(c, "deepstack_visual_indexes",
                               (const int64_t[]){5, 11, 17}, 3);
    else if (n == 3 && depth == 27)
        nwi_config_derive_ints(c, "deepstack_visual_indexes",
                               (const int64_t[]){8, 16, 24}, 3);
    else
        nwi_config_derive_ints(c, "deepstack_visual_indexes", at, (size_t)n);
}

static void derive_merge(struct nwi_config *c, int64_t dim, int64_t merged)
{
    int64_t merge = 1;
    while (dim > 0 && merge * merge * dim < merged && merge < NWI_CONFIG_DEPTH)
        merge++;
    if (dim > 0 && merge * merge * dim == merged)
        nwi_config_derive(c, "spatial_merge_size", merge);
}

static void derive_vision(struct nwi_config *c, const struct nwi_header *h,
                          enum version version, const char *at)
{
    static const char *const mlp[] = {"fc1", "gate_proj", "linear_fc1"};
    int64_t dim = nwi_vae_dim(h, 0, "%spatch_embed.proj.weight", at);
    int64_t inner = nwi_vae_dim(h, 0, "%sblocks.0.mlp.%s.weight", at, mlp[version]);
    int64_t depth = nwi_vae_run(h, "norm1.weight", "%sblocks", at);
    const char *first = version == QWEN3 ? "linear_fc1" : "mlp.0";
    const char *second = version == QWEN3 ? "linear_fc2" : "mlp.2";
    int64_t out = nwi_vae_dim(h, 0, "%smerger.%s.weight", at, second);
    if (dim <= 0)
        return;
    nwi_config_derive(c, "depth", depth);
    nwi_config_derive(c, version == QWEN2 ? "embed_dim" : "hidden_size", dim);
    nwi_config_derive(c, version == QWEN2 ? "hidden_size" : "out_hidden_size", out);
    if (version != QWEN2)
        nwi_config_derive(c, "intermediate_size", inner);
    else if (inner > 0 && inner % dim == 0)
        nwi_config_derive(c, "mlp_ratio", inner / dim);
    nwi_config_derive(c, "in_channels",
                      nwi_vae_dim(h, 1, "%spatch_embed.proj.weight", at));
    nwi_config_derive(c, "temporal_patch_size",
                      nwi_vae_dim(h, 2, "%spatch_embed.proj.weight", at));
    nwi_config_derive(c, "patch_size",
                      nwi_vae_dim(h, 3, "%spatch_embed.proj.weight", at));
    derive_merge(c, dim, nwi_vae_dim(h, 0, "%smerger.%s.weight", at, first));
    if (version != QWEN3)
        return;
    nwi_config_derive(c, "num_position_embeddings",
                      nwi_vae_dim(h, 0, "%spos_embed.weight", at));
    derive_deep_mergers(
        c, depth, nwi_vae_run(h, "linear_fc1.weight", "%sdeepstack_merger_list", at));
}

static void derive_both(struct nwi_config *c, const struct nwi_header *h,
                        const struct qwen *qwen, const char *at)
{
    struct nwi_config inner;
    bool nested = at[0] != '\0';
    const char *language = nested ? "model.language_model." : "language_model.";
    if (is_flat(c, qwen)) {
        nwi_llm_derive(c, h, qwen->text, language);
    } else {
        nwi_config_inner(c, "text_config", &inner);
        nwi_llm_derive(&inner, h, qwen->text, language);
        nwi_config_derive_inner(c, "text_config", &inner);
    }
    nwi_config_inner(c, "vision_config", &inner);
    derive_vision(&inner, h, qwen->version, nested ? "model.visual." : "visual.");
    nwi_config_derive_inner(c, "vision_config", &inner);
    if (nested)
        nwi_llm_tie_derive(c, h, "model.language_model.embed_tokens.weight");
}

static void build_qwen2_model(struct nwi_module *m, struct nwi_config *c)
{
    build_model(m, c, &qwen2);
}

static void derive_qwen2_model(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, &qwen2, "");
}

static void build_qwen2_conditional(struct nwi_module *m, struct nwi_config *c)
{
    build_conditional(m, c, &qwen2);
}

static void derive_qwen2_conditional(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, &qwen2, "model.");
}

static void build_qwen2_5_model(struct nwi_module *m, struct nwi_config *c)
{
    build_model(m, c, &qwen2_5);
}

static void derive_qwen2_5_model(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, &qwen2_5, "");
}

static void build_qwen2_5_conditional(struct nwi_module *m, struct nwi_config *c)
{
    build_conditional(m, c, &qwen2_5);
}

static void derive_qwen2_5_conditional(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, &qwen2_5, "model.");
}

static void build_qwen3_model(struct nwi_module *m, struct nwi_config *c)
{
    build_model(m, c, &qwen3);
}

static void derive_qwen3_model(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, &qwen3, "");
}

static void build_qwen3_conditional(struct nwi_module *m, struct nwi_config *c)
{
    build_conditional(m, c, &qwen3);
}

static void derive_qwen3_conditional(struct nwi_config *c, const struct nwi_header *h)
{
    derive_both(c, h, &qwen3, "model.");
}

static void build_qwen2_5_text(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &text2);
}

static void derive_qwen2_5_text(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &text2, "");
}

static void build_qwen3_text(struct nwi_module *m, struct nwi_config *c)
{
    nwi_llm_model(m, c, &text3);
}

static void derive_qwen3_text(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_llm_derive(c, h, &text3, "");
}

const struct nwi_architecture nwi_arch_qwen2_vl_model = {
    .klass = "Qwen2VLModel",
    .library = "transformers",
    .build = build_qwen2_model,
    .derive = derive_qwen2_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_qwen2_vl_for_conditional_generation = {
    .klass = "Qwen2VLForConditionalGeneration",
    .library = "transformers",
    .build = build_qwen2_conditional,
    .derive = derive_qwen2_conditional,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "qwen2_vl",
};

const struct nwi_architecture nwi_arch_qwen2_5_vl_model = {
    .klass = "Qwen2_5_VLModel",
    .library = "transformers",
    .build = build_qwen2_5_model,
    .derive = derive_qwen2_5_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_qwen2_5_vl_for_conditional_generation = {
    .klass = "Qwen2_5_VLForConditionalGeneration",
    .library = "transformers",
    .build = build_qwen2_5_conditional,
    .derive = derive_qwen2_5_conditional,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "qwen2_5_vl",
};

const struct nwi_architecture nwi_arch_qwen3_vl_model = {
    .klass = "Qwen3VLModel",
    .library = "transformers",
    .build = build_qwen3_model,
    .derive = derive_qwen3_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_qwen3_vl_for_conditional_generation = {
    .klass = "Qwen3VLForConditionalGeneration",
    .library = "transformers",
    .build = build_qwen3_conditional,
    .derive = derive_qwen3_conditional,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "qwen3_vl",
};

const struct nwi_architecture nwi_arch_qwen2_5_vl_text_model = {
    .klass = "Qwen2_5_VLTextModel",
    .library = "transformers",
    .build = build_qwen2_5_text,
    .derive = derive_qwen2_5_text,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "qwen2_5_vl_text",
};

const struct nwi_architecture nwi_arch_qwen3_vl_text_model = {
    .klass = "Qwen3VLTextModel",
    .library = "transformers",
    .build = build_qwen3_text,
    .derive = derive_qwen3_text,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "qwen3_vl_text",
};
