/* SPDX-License-Identifier: Apache-2.0
 * Lumina2Transformer2DModel (diffusers 0.42.1, models/transformers/transformer_lumina2.py):
 * Lumina-Image 2.0 and models tuned from it. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"

#define CONDITION_MOST 1024 /* widest that time and norms are conditioned on */

struct lumina {
    int64_t dim;
    int64_t condition;
    int64_t heads;
    int64_t kv_heads; /* 0: heads */
    int64_t head_dim;
    int64_t inner; /* of the feed forward */
};

static void feed_forward(struct nwi_module *m, int64_t dim, int64_t inner)
{
    NWI_IN(m, "feed_forward")
    {
        nwi_linear(m, "linear_1", dim, inner, false);
        nwi_linear(m, "linear_2", inner, dim, false);
        nwi_linear(m, "linear_3", dim, inner, false);
    }
}

static void block(struct nwi_module *m, const struct lumina *lumina, bool modulation)
{
    nwi_attention(m, "attn",
                  (struct nwi_attention){.dim = lumina->dim,
                                         .heads = lumina->heads,
                                         .kv_heads = lumina->kv_heads,
                                         .head_dim = lumina->head_dim,
                                         .qk_norm = NWI_QK_RMS,
                                         .no_out_bias = true});
    feed_forward(m, lumina->dim, lumina->inner);
    if (modulation) {
        nwi_linear(m, "norm1.linear", lumina->condition, 4 * lumina->dim, true);
        nwi_rms_norm(m, "norm1.norm", lumina->dim);
    } else {
        nwi_rms_norm(m, "norm1", lumina->dim);
    }
    nwi_rms_norm(m, "ffn_norm1", lumina->dim);
    nwi_rms_norm(m, "norm2", lumina->dim);
    nwi_rms_norm(m, "ffn_norm2", lumina->dim);
}

static void blocks(struct nwi_module *m, const char *name, int64_t n,
                   const struct lumina *lumina, bool modulation)
{
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "%s.%lld", name, (long long)i)
        {
            block(m, lumina, modulation);
        }
}

/* 4 * dim, scaled if the config says so, up to a multiple of multiple_of. */
static int64_t read_inner(struct nwi_config *c, int64_t dim)
{
    int64_t multiple = nwi_config_int(c, "multiple_of", 256);
    int64_t inner = 4 * dim;
    if (nwi_config_has(c, "ffn_dim_multiplier"))
        inner = nwi_scaled(c, nwi_config_real(c, "ffn_dim_multiplier", 1), inner);
    if (multiple > 0)
        return (inner + multiple - 1) / multiple * multiple;
    nwi_config_fail(c, NW_E_BAD_CONFIG, "\"multiple_of\" of the config is %lld",
                    (long long)multiple);
    return 0;
}

static int64_t read_kv_heads(struct nwi_config *c)
{
    int64_t heads = nwi_config_int_or_null(c, "num_kv_heads", 8);
    if (heads == NWI_NULL)
        return 0;
    if (heads <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"num_kv_heads\" of the config is %lld",
                        (long long)heads);
    return heads;
}

static void read_axes(struct nwi_config *c)
{
    static const int64_t usual[] = {32, 32, 32};
    (void)nwi_rope_axes(c, (struct nwi_rope_axes){.key = "axes_dim_rope",
                                                  .fallback = usual,
                                                  .n_fallback = 3,
                                                  .even = true});
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_config_int(c, "patch_size", 2);
    int64_t in = nwi_config_int(c, "in_channels", 16);
    int64_t out = nwi_config_int_or_null(c, "out_channels", NWI_NULL);
    int64_t dim = nwi_config_int(c, "hidden_size", 2304);
    int64_t n = nwi_config_count(c, "num_layers", 26);
    int64_t n_refiner = nwi_config_count(c, "num_refiner_layers", 2);
    int64_t caption = nwi_config_int(c, "cap_feat_dim", 1024);
    struct lumina lumina = {
        .dim = dim,
        .condition = dim < CONDITION_MOST ? dim : CONDITION_MOST,
        .heads = nwi_config_int(c, "num_attention_heads", 24),
        .kv_heads = read_kv_heads(c),
        .inner = read_inner(c, dim),
    };

    read_axes(c);
    lumina.head_dim = nwi_per_head(c, dim, lumina.heads);
    if (out == NWI_NULL || out == 0)
        out = in;
    nwi_linear(m, "x_embedder", patch * patch * in, dim, true);
    NWI_IN(m, "time_caption_embed")
    {
        nwi_two_linears(m, "timestep_embedder", 256, lumina.condition,
                        lumina.condition);
        nwi_rms_norm(m, "caption_embedder.0", caption);
        nwi_linear(m, "caption_embedder.1", caption, dim, true);
    }
    blocks(m, "noise_refiner", n_refiner, &lumina, true);
    blocks(m, "context_refiner", n_refiner, &lumina, false);
    blocks(m, "layers", n, &lumina, true);
    NWI_IN(m, "norm_out")
    {
        nwi_linear(m, "linear_1", lumina.condition, dim, true);
        nwi_linear(m, "linear_2", dim, patch * patch * out, true);
    }
}

/* The feed forward's width: by the usual rounding, or by a multiplier without any. */
static void derive_inner(struct nwi_config *c, int64_t dim, int64_t inner)
{
    if (dim <= 0 || inner <= 0 || dim > INT64_MAX / 8)
        return;
    if ((4 * dim + 255) / 256 * 256 == inner) {
        nwi_config_derive(c, "multiple_of", 256);
        nwi_config_derive_null(c, "ffn_dim_multiplier");
        return;
    }
    nwi_config_derive(c, "multiple_of", 1);
    nwi_config_derive_ratio(c, "ffn_dim_multiplier", inner, 4 * dim);
}

static void derive_block(struct nwi_config *c, const struct nwi_header *h, int64_t dim)
{
    bool whole = nwi_header_has(h, "layers.0.attn.norm_q.weight");
    int64_t head_dim = nwi_header_dim(
        h, whole ? "layers.0.attn.norm_q.weight" : "noise_refiner.0.attn.norm_q.weight",
        0);
    int64_t inner =
        nwi_header_dim(h,
                       whole ? "layers.0.feed_forward.linear_1.weight"
                             : "noise_refiner.0.feed_forward.linear_1.weight",
                       0);
    int64_t q = nwi_header_dim(
        h, whole ? "layers.0.attn.to_q.weight" : "noise_refiner.0.attn.to_q.weight", 0);
    int64_t k = nwi_header_dim(
        h, whole ? "layers.0.attn.to_k.weight" : "noise_refiner.0.attn.to_k.weight", 0);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(q, head_dim));
    nwi_config_derive(c, "num_kv_heads", nwi_quotient(k, head_dim));
    derive_inner(c, dim, inner);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedder.weight", 0);
    int64_t in = nwi_header_dim(h, "x_embedder.weight", 1);
    int64_t out = nwi_header_dim(h, "norm_out.linear_2.weight", 0);
    int64_t patch = nwi_patch_of(in, out, 2);
    nwi_config_derive(c, "hidden_size", dim);
    nwi_config_derive(c, "patch_size", patch);
    nwi_config_derive(c, "in_channels", nwi_quotient(in, patch * patch));
    if (in == out)
        nwi_config_derive_null(c, "out_channels");
    else
        nwi_config_derive(c, "out_channels", nwi_quotient(out, patch * patch));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "layers."));
    nwi_config_derive(c, "num_refiner_layers", nwi_header_count(h, "noise_refiner."));
    nwi_config_derive(
        c, "cap_feat_dim",
        nwi_header_dim(h, "time_caption_embed.caption_embedder.1.weight", 1));
    derive_block(c, h, dim);
}

static const char *const plain_keys[] = {"sample_size", "norm_eps", "scaling_factor",
                                         "axes_lens", NULL};

const struct nwi_architecture nwi_arch_lumina2_transformer_2d = {
    .klass = "Lumina2Transformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
