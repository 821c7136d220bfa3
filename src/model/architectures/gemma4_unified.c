/* SPDX-License-Identifier: Apache-2.0
 * Gemma4UnifiedModel and Gemma4UnifiedForConditionalGeneration (transformers 5.24,
 * models/gemma4_unified): LTX-2.5's text encoder. Layers that look at everything have
 * heads of another size than those that look at a window. */
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_llm.h"
#include "model/blocks_vae.h"
#include "model/transformers_keys.h"

static const struct nwi_llm_class gemma4 = {
    .vocab = 262144,
    .dim = 2304,
    .inner = 9216,
    .layers = 30,
    .heads = 8,
    .kv_heads = 4,
    .head_dim = 256,
    .bias = NWI_LLM_ASKED_BIAS,
    .four_norms = true,
    .two_ropes = true,
};

struct gemma {
    struct nwi_llm llm; /* as windowed layers are */
    int64_t full_head_dim;
    int64_t full_kv_heads;
    int64_t own;      /* layers that have keys and values of their own */
    bool no_values;   /* full layers take their keys for values */
    bool double_wide; /* MLPs of layers without keys */
    bool full[NWI_CONFIG_DEPTH];
    struct nwi_config layers; /* per_layer_config */
    bool per_layer;           /* it counts, not the two sizes */
};

/* ---- configs ---- */

/* Every sixth layer and the last are full, unless the config lists them. */
static void read_types(struct nwi_config *c, struct gemma *g)
{
    struct nwi_config_texts types;
    int64_t n = g->llm.layers;
    nwi_config_texts(c, "layer_types", &types);
    if (types.given && (int64_t)types.n != n)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"layer_types\" of the config has %zu items for %lld layers",
                        types.n, (long long)n);
    for (int64_t i = 0; i < n && c->code == NW_OK; i++) {
        const char *type = types.given ? types.at[i] : NULL;
        g->full[i] = type ? strcmp(type, "full_attention") == 0 : (i + 1) % 6 == 0;
        g->full[i] |= i + 1 == n;
        g->llm.full |= g->full[i];
        g->llm.slides |= !g->full[i];
    }
}

/* Layers past `own` take keys and values from the last of their kind before it. */
static void check_shared(struct nwi_config *c, const struct gemma *g)
{
    bool full = false;
    bool slides = false;
    if (g->own == 0)
        return;
    for (int64_t i = 0; i < g->own && i < NWI_CONFIG_DEPTH; i++) {
        full |= g->full[i];
        slides |= !g->full[i];
    }
    if (g->own < 0 || g->own > g->llm.layers || full != g->llm.full ||
        slides != g->llm.slides)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"num_kv_shared_layers\" of the config leaves %lld of %lld "
                        "layers, not one of every kind",
                        (long long)g->own, (long long)g->llm.layers);
}

static void read_text(struct nwi_config *c, struct gemma *g)
{
    memset(g, 0, sizeof *g);
    nwi_llm_read(c, &gemma4, &g->llm);
    g->llm.full = g->llm.slides = false;
    read_types(c, g);
    g->no_values = nwi_config_bool(c, "attention_k_eq_v", false);
    g->double_wide = nwi_config_bool(c, "use_double_wide_mlp", false);
    g->own = g->llm.layers - nwi_config_int(c, "num_kv_shared_layers", 0);
    g->full_head_dim = nwi_config_int(c, "global_head_dim", 512);
    g->full_kv_heads =
        nwi_config_int_or_null(c, "num_global_key_value_heads", NWI_NULL);
    if (!g->no_values || g->full_kv_heads == NWI_NULL)
        g->full_kv_heads = g->llm.kv_heads;
    g->per_layer = nwi_config_has(c, "per_layer_config");
    nwi_config_inner(c, "per_layer_config", &g->layers);
    check_shared(c, g);
}

/* What layer i is. */
static struct nwi_llm read_layer(struct gemma *g, int64_t i)
{
    struct nwi_llm llm = g->llm;
    struct nwi_config own;
    const char *key = NULL;
    if (!g->per_layer && g->full[i]) {
        llm.head_dim = g->full_head_dim;
        llm.kv_heads = g->full_kv_heads;
    }
    if (g->per_layer)
        key = nwi_arena_printf(g->layers.arena, "%lld", (long long)i);
    if (!key)
        return llm;
    nwi_config_inner(&g->layers, key, &own);
    llm.head_dim = nwi_config_int(&own, "head_dim", llm.head_dim);
    llm.kv_heads = nwi_config_int(&own, "num_key_value_heads", llm.kv_heads);
    nwi_config_join(&g->layers, &own);
    return llm;
}

/* ---- the language model ---- */

static void attention(struct nwi_module *m, const struct nwi_llm *llm, bool own,
                      bool values)
{
    int64_t wide = llm->heads * llm->head_dim;
    int64_t kv_wide = llm->kv_heads * llm->head_dim;
    NWI_IN(m, "self_attn")
    {
        nwi_linear(m, "q_proj", llm->dim, wide, llm->qkv_bias);
        nwi_rms_norm(m, "q_norm", llm->head_dim);
        if (own) {
            nwi_rms_norm(m, "k_norm", llm->head_dim);
            nwi_linear(m, "k_proj", llm->dim, kv_wide, llm->qkv_bias);
        }
        if (own && values)
            nwi_linear(m, "v_proj", llm->dim, kv_wide, llm->qkv_bias);
        nwi_linear(m, "o_proj", wide, llm->dim, llm->o_bias);
    }
}

static void layer(struct nwi_module *m, struct gemma *g, int64_t i)
{
    struct nwi_llm llm = read_layer(g, i);
    bool own = i < g->own;
    if (!own && g->double_wide)
        llm.inner *= 2;
    if (llm.kv_heads <= 0)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "the config gives layer %lld %lld heads of keys", (long long)i,
                        (long long)llm.kv_heads);
    nwi_want(m, "layer_scalar", NWI_DIMS(1), NW_BUFFER, NW_FILL_ONE, NW_DTYPE_AUTO);
    attention(m, &llm, own, !g->no_values || !g->full[i]);
    nwi_llm_mlp(m, &llm);
    nwi_rms_norm(m, "input_layernorm", llm.dim);
    nwi_rms_norm(m, "post_attention_layernorm", llm.dim);
    nwi_rms_norm(m, "pre_feedforward_layernorm", llm.dim);
    nwi_rms_norm(m, "post_feedforward_layernorm", llm.dim);
}

static void language_model(struct nwi_module *m, struct gemma *g)
{
    nwi_embedding(m, "embed_tokens", g->llm.vocab, g->llm.dim);
    nwi_scratch_buffer(m, "embed_tokens.embed_scale", NWI_SCALAR);
    for (int64_t i = 0; i < g->llm.layers; i++)
        NWI_BLOCK(m, "layers.%lld", (long long)i)
        {
            layer(m, g, i);
        }
    nwi_rms_norm(m, "norm", g->llm.dim);
    if (g->llm.layers > 0)
        g->llm.full_turned = read_layer(g, g->llm.layers - 1).head_dim;
    nwi_llm_rotary(m, &g->llm);
}

/* ---- what images and sounds come through ---- */

/* True if the config under `key` is there; `out` is it. */
static bool optional(struct nwi_config *c, const char *key, struct nwi_config *out)
{
    nwi_config_inner(c, key, out);
    return nwi_config_has(c, key) || out->derived;
}

static void embed_vision(struct nwi_module *m, struct nwi_config *c, int64_t text)
{
    int64_t side = nwi_config_int(c, "patch_size", 16) *
                   nwi_config_int(c, "pooling_kernel_size", 3);
    int64_t dim = nwi_config_int(c, "mm_embed_dim", 3840);
    int64_t positions = nwi_config_int(c, "mm_posemb_size", 1120);
    int64_t out = nwi_config_int(c, "output_proj_dims", 3840);
    if (side < 0 || side > (1 << 20)) {
        nwi_config_fail(c, NW_E_LIMIT, "the config makes patches %lld wide",
                        (long long)side);
        return;
    }
    NWI_IN(m, "embed_vision")
    {
        nwi_parameter(m, "pos_embedding", NWI_DIMS(positions, 2, dim));
        nwi_norm(m, "patch_ln1", side * side * 3);
        nwi_linear(m, "patch_dense", side * side * 3, dim, true);
        nwi_norm(m, "patch_ln2", dim);
        nwi_norm(m, "pos_norm", dim);
        nwi_linear(m, "multimodal_embedder.embedding_projection", out, text, false);
    }
}

static void both(struct nwi_module *m, struct nwi_config *c, struct gemma *g)
{
    struct nwi_config inner;
    nwi_config_inner(c, "text_config", &inner);
    read_text(&inner, g);
    NWI_IN(m, "language_model")
    {
        language_model(m, g);
    }
    nwi_config_join(c, &g->layers);
    nwi_config_join(c, &inner);
    if (optional(c, "vision_config", &inner))
        embed_vision(m, &inner, g->llm.dim);
    nwi_config_join(c, &inner);
    if (optional(c, "audio_config", &inner))
        nwi_linear(m, "embed_audio.embedding_projection",
                   nwi_config_int(&inner, "audio_embed_dim", 640), g->llm.dim, false);
    nwi_config_join(c, &inner);
}

static void build_model(struct nwi_module *m, struct nwi_config *c)
{
    struct gemma g;
    both(m, c, &g);
}

static void build_conditional(struct nwi_module *m, struct nwi_config *c)
{
    struct gemma g;
    NWI_IN(m, "model")
    {
        both(m, c, &g);
    }
    nwi_llm_lm_head(m, &g.llm, nwi_config_bool(c, "tie_word_embeddings", true),
                    "model.language_model.embed_tokens.weight");
}

/* ---- deriving ---- */

static int64_t layer_dim(const struct nwi_header *h, const char *at, int64_t i,
                         const char *name, int dim)
{
    return nwi_vae_dim(h, dim, "%slanguage_model.layers.%lld.%s.weight", at,
                       (long long)i, name);
}

/* What kinds of layers there are: the last is full, and so are those with heads of its
 * size; or, if all have the same, those without values. */
struct kinds {
    int64_t n;
    bool sized;       /* heads of two sizes */
    bool no_values;   /* full layers have none */
    int64_t full;     /* a full layer with keys; the last one if none has */
    int64_t windowed; /* a windowed one with keys; -1 */
};

static bool has_keys(const struct nwi_header *h, const char *at, int64_t i)
{
    return layer_dim(h, at, i, "self_attn.k_proj", 0) > 0;
}

static bool has_values(const struct nwi_header *h, const char *at, int64_t i)
{
    return layer_dim(h, at, i, "self_attn.v_proj", 0) >= 0;
}

static bool is_full(const struct kinds *kinds, const struct nwi_header *h,
                    const char *at, int64_t i)
{
    if (i + 1 == kinds->n)
        return true;
    if (kinds->sized)
        return layer_dim(h, at, i, "self_attn.q_norm", 0) ==
               layer_dim(h, at, kinds->n - 1, "self_attn.q_norm", 0);
    return has_keys(h, at, i) && !has_values(h, at, i);
}

static struct kinds find_kinds(const struct nwi_header *h, const char *at, int64_t n)
{
    struct kinds kinds = {.n = n, .full = n - 1, .windowed = -1};
    int64_t size = layer_dim(h, at, n - 1, "self_attn.q_norm", 0);
    for (int64_t i = 0; i < n; i++) {
        kinds.sized |= layer_dim(h, at, i, "self_attn.q_norm", 0) != size;
        kinds.no_values |= has_keys(h, at, i) && !has_values(h, at, i);
    }
    for (int64_t i = n; i-- > 0;) {
        if (!has_keys(h, at, i))
            continue;
        if (is_full(&kinds, h, at, i))
            kinds.full = i;
        else
            kinds.windowed = i;
    }
    return kinds;
}

static void derive_types(struct nwi_config *c, const struct nwi_header *h,
                         const char *at, const struct kinds *kinds)
{
    const char *types[NWI_CONFIG_LIST];
    if (kinds->n > (int64_t)NWI_CONFIG_LIST || (!kinds->sized && !kinds->no_values))
        return;
    for (int64_t i = 0; i < kinds->n; i++)
        types[i] = is_full(kinds, h, at, i) ? "full_attention" : "sliding_attention";
    nwi_config_derive_texts(c, "layer_types", types, (size_t)kinds->n);
}

static int64_t kv_heads(const struct nwi_header *h, const char *at, int64_t i)
{
    return nwi_vae_ratio(layer_dim(h, at, i, "self_attn.k_proj", 0),
                         layer_dim(h, at, i, "self_attn.q_norm", 0));
}

static void derive_heads(struct nwi_config *c, const struct nwi_header *h,
                         const char *at, int64_t n)
{
    struct kinds kinds = find_kinds(h, at, n);
    int64_t windowed = kinds.windowed;
    derive_types(c, h, at, &kinds);
    nwi_config_derive(c, "num_attention_heads",
                      nwi_vae_ratio(layer_dim(h, at, 0, "self_attn.q_proj", 0),
                                    layer_dim(h, at, 0, "self_attn.q_norm", 0)));
    nwi_config_derive(c, "global_head_dim",
                      layer_dim(h, at, n - 1, "self_attn.q_norm", 0));
    if (windowed >= 0)
        nwi_config_derive(c, "head_dim",
                          layer_dim(h, at, windowed, "self_attn.q_norm", 0));
    if (windowed >= 0 || !kinds.no_values)
        nwi_config_derive(c, "num_key_value_heads",
                          kv_heads(h, at, windowed >= 0 ? windowed : kinds.full));
    nwi_config_derive_bool(c, "attention_k_eq_v", kinds.no_values);
    if (kinds.no_values)
        nwi_config_derive(c, "num_global_key_value_heads", kv_heads(h, at, kinds.full));
}

static void derive_text(struct nwi_config *c, const struct nwi_header *h,
                        const char *at)
{
    int64_t n =
        nwi_vae_run(h, "self_attn.q_proj.weight", "%slanguage_model.layers", at);
    int64_t own =
        nwi_vae_run(h, "self_attn.k_proj.weight", "%slanguage_model.layers", at);
    int64_t inner = layer_dim(h, at, 0, "mlp.down_proj", 1);
    int64_t last = layer_dim(h, at, n - 1, "mlp.down_proj", 1);
    nwi_config_derive(c, "vocab_size",
                      nwi_vae_dim(h, 0, "%slanguage_model.embed_tokens.weight", at));
    nwi_config_derive(c, "hidden_size",
                      nwi_vae_dim(h, 0, "%slanguage_model.norm.weight", at));
    nwi_config_derive(c, "num_hidden_layers", n);
    if (n == 0)
        return;
    nwi_config_derive(c, "intermediate_size", inner);
    nwi_config_derive_bool(
        c, "attention_bias",
        nwi_vae_has(h, "%slanguage_model.layers.0.self_attn.q_proj.bias", at));
    nwi_config_derive(c, "num_kv_shared_layers", n - own);
    nwi_config_derive_bool(c, "use_double_wide_mlp",
                           own > 0 && own < n && last != inner);
    derive_heads(c, h, at, n);
}

static void derive_vision(struct nwi_config *c, const struct nwi_header *h,
                          const char *at)
{
    int64_t patch = nwi_vae_dim(h, 0, "%sembed_vision.patch_ln1.weight", at);
    int64_t side = 1;
    while (side < NWI_CONFIG_DEPTH && side * side * 3 < patch)
        side++;
    if (side * side * 3 == patch) {
        nwi_config_derive(c, "patch_size", side % 3 == 0 ? side / 3 : side);
        nwi_config_derive(c, "pooling_kernel_size", side % 3 == 0 ? 3 : 1);
    }
    nwi_config_derive(c, "mm_posemb_size",
                      nwi_vae_dim(h, 0, "%sembed_vision.pos_embedding", at));
    nwi_config_derive(c, "mm_embed_dim",
                      nwi_vae_dim(h, 2, "%sembed_vision.pos_embedding", at));
    nwi_config_derive(
        c, "output_proj_dims",
        nwi_vae_dim(h, 1,
                    "%sembed_vision.multimodal_embedder.embedding_projection.weight",
                    at));
}

static void derive_both(struct nwi_config *c, const struct nwi_header *h,
                        const char *at)
{
    struct nwi_config inner;
    if (!nwi_vae_has(h, "%slanguage_model.embed_tokens.weight", at))
        return;
    nwi_config_inner(c, "text_config", &inner);
    derive_text(&inner, h, at);
    nwi_config_derive_inner(c, "text_config", &inner);
    nwi_config_inner(c, "vision_config", &inner);
    derive_vision(&inner, h, at);
    if (nwi_vae_has(h, "%sembed_vision.pos_embedding", at))
        nwi_config_derive_inner(c, "vision_config", &inner);
    else
        nwi_config_derive_null(c, "vision_config");
    nwi_config_inner(c, "audio_config", &inner);
    nwi_config_derive(
        &inner, "audio_embed_dim",
        nwi_vae_dim(h, 1, "%sembed_audio.embedding_projection.weight", at));
    if (nwi_vae_has(h, "%sembed_audio.embedding_projection.weight", at))
        nwi_config_derive_inner(c, "audio_config", &inner);
    else
        nwi_config_derive_null(c, "audio_config");
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

const struct nwi_architecture nwi_arch_gemma4_unified_model = {
    .klass = "Gemma4UnifiedModel",
    .library = "transformers",
    .build = build_model,
    .derive = derive_model,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_gemma4_unified_for_conditional_generation = {
    .klass = "Gemma4UnifiedForConditionalGeneration",
    .library = "transformers",
    .build = build_conditional,
    .derive = derive_conditional,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "gemma4_unified",
};
