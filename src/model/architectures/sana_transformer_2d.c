/* SPDX-License-Identifier: Apache-2.0
 * SanaTransformer2DModel (diffusers 0.42.1, models/transformers/sana_transformer.py): Sana
 * 0.6B, 1.6B, 4.8B and Sana Sprint. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"

struct sana {
    int64_t dim;
    int64_t heads;
    int64_t head_dim;
    int64_t cross_heads;
    int64_t cross_head_dim;
    int64_t cross_dim; /* NWI_NULL: no cross attention */
    int64_t inner;     /* of the feed forward */
    enum nwi_qk_norm qk_norm;
    bool bias;
    bool affine;
};

/* A gated feed forward by convolutions: wider, over neighbours, and back. */
static void feed_forward(struct nwi_module *m, int64_t dim, int64_t inner)
{
    NWI_IN(m, "ff")
    {
        nwi_conv2d(m, "conv_inverted", dim, 2 * inner, 1, true);
        nwi_conv2d(m, "conv_depth", 1, 2 * inner, 3, true);
        nwi_conv2d(m, "conv_point", inner, dim, 1, false);
    }
}

static void block(struct nwi_module *m, const struct sana *sana)
{
    struct nwi_attention cross = {.dim = sana->dim,
                                  .heads = sana->cross_heads,
                                  .head_dim = sana->cross_head_dim,
                                  .from = sana->cross_dim,
                                  .qk_norm = sana->qk_norm,
                                  .bias = true};
    nwi_parameter(m, "scale_shift_table", NWI_DIMS(6, sana->dim));
    nwi_attention(m, "attn1",
                  (struct nwi_attention){.dim = sana->dim,
                                         .heads = sana->heads,
                                         .head_dim = sana->head_dim,
                                         .qk_norm = sana->qk_norm,
                                         .bias = sana->bias});
    if (sana->cross_dim != NWI_NULL) {
        if (sana->affine)
            nwi_norm(m, "norm2", sana->dim);
        nwi_attention(m, "attn2", cross);
    }
    feed_forward(m, sana->dim, sana->inner);
}

static void time_embed(struct nwi_module *m, int64_t dim, bool guidance)
{
    NWI_IN(m, "time_embed")
    {
        if (guidance) {
            nwi_two_linears(m, "timestep_embedder", 256, dim, dim);
            nwi_two_linears(m, "guidance_embedder", 256, dim, dim);
        } else {
            nwi_two_linears(m, "emb.timestep_embedder", 256, dim, dim);
        }
        nwi_linear(m, "linear", dim, 6 * dim, true);
    }
}

/* The table of positions is computed, and only there if it is stretched. */
static void patch_embed(struct nwi_module *m, struct nwi_config *c, int64_t dim)
{
    int64_t in = nwi_config_int(c, "in_channels", 32);
    int64_t patch = nwi_config_int(c, "patch_size", 1);
    int64_t sample = nwi_config_int(c, "sample_size", 32);
    bool positions = nwi_config_has(c, "interpolation_scale");
    if (patch <= 0 || (positions && dim % 4 != 0)) {
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "patches of %lld, positions of %lld channels", (long long)patch,
                        (long long)dim);
        return;
    }
    int64_t grid = sample / patch;
    NWI_BLOCK(m, "patch_embed")
    {
        if (positions)
            nwi_scratch_buffer(m, "pos_embed", NWI_DIMS(1, grid * grid, dim));
        nwi_conv2d(m, "proj", in, dim, patch, true);
    }
}

static void read_cross(struct nwi_config *c, struct sana *sana)
{
    int64_t heads = nwi_config_int_or_null(c, "num_cross_attention_heads", 20);
    int64_t head_dim = nwi_config_int_or_null(c, "cross_attention_head_dim", 112);
    sana->cross_dim = nwi_config_int_or_null(c, "cross_attention_dim", 2240);
    if (sana->cross_dim == NWI_NULL)
        return;
    if (sana->cross_dim <= 0 || heads <= 0 || head_dim <= 0) {
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config has no heads for its cross attention");
        return;
    }
    sana->cross_heads = heads;
    sana->cross_head_dim = head_dim;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t in = nwi_config_int(c, "in_channels", 32);
    int64_t out = nwi_config_int_or_null(c, "out_channels", 32);
    int64_t patch = nwi_config_int(c, "patch_size", 1);
    int64_t n = nwi_config_count(c, "num_layers", 20);
    int64_t caption = nwi_config_int(c, "caption_channels", 2304);
    bool guidance = nwi_config_bool(c, "guidance_embeds", false);
    struct sana sana = {
        .heads = nwi_config_int(c, "num_attention_heads", 70),
        .head_dim = nwi_config_int(c, "attention_head_dim", 32),
        .qk_norm = nwi_qk_norm(c, "qk_norm", NULL),
        .bias = nwi_config_bool(c, "attention_bias", false),
        .affine = nwi_config_bool(c, "norm_elementwise_affine", false),
    };

    sana.dim = sana.heads * sana.head_dim;
    sana.inner = nwi_scaled(c, nwi_config_real(c, "mlp_ratio", 2.5), sana.dim);
    read_cross(c, &sana);
    if (out == NWI_NULL || out == 0)
        out = in;
    nwi_parameter(m, "scale_shift_table", NWI_DIMS(2, sana.dim));
    patch_embed(m, c, sana.dim);
    time_embed(m, sana.dim, guidance);
    nwi_two_linears(m, "caption_projection", caption, sana.dim, sana.dim);
    nwi_rms_norm(m, "caption_norm", sana.dim);
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, &sana);
        }
    NWI_BLOCK(m, "norm_out")
    {
        /* without weights of its own */
    }
    nwi_linear(m, "proj_out", sana.dim, patch * patch * out, true);
}

/* What the norms of queries say: nothing without them, all of both attentions together if
 * they are across heads, a head's width if one of them is narrower than its attention. */
struct told {
    int64_t norm;
    int64_t cross_inner;
    int64_t cross_norm;
    bool per_head;
};

static struct told read_norms(const struct nwi_header *h, int64_t dim)
{
    struct told told = {
        .norm = nwi_header_dim(h, "transformer_blocks.0.attn1.norm_q.weight", 0),
        .cross_inner = nwi_header_dim(h, "transformer_blocks.0.attn2.to_q.weight", 0),
        .cross_norm = nwi_header_dim(h, "transformer_blocks.0.attn2.norm_q.weight", 0),
    };
    told.per_head = told.norm > 0 && told.norm < dim;
    if (told.cross_norm > 0 && told.cross_norm < told.cross_inner)
        told.per_head = true;
    return told;
}

/* Heads of `inner` channels: told by a norm per head, else `usual`, else a single one. */
static void derive_heads(struct nwi_config *c, const char *const keys[2], int64_t inner,
                         int64_t norm, int64_t usual)
{
    int64_t head_dim = norm > 0 ? norm : usual;
    if (inner <= 0)
        return;
    if (inner % head_dim != 0)
        head_dim = inner;
    nwi_config_derive(c, keys[0], inner / head_dim);
    nwi_config_derive(c, keys[1], head_dim);
}

static void derive_cross(struct nwi_config *c, const struct nwi_header *h,
                         const struct told *told)
{
    static const char *const keys[] = {"num_cross_attention_heads",
                                       "cross_attention_head_dim"};
    nwi_config_derive(c, "cross_attention_dim",
                      nwi_header_dim(h, "transformer_blocks.0.attn2.to_k.weight", 1));
    derive_heads(c, keys, told->cross_inner, told->per_head ? told->cross_norm : -1,
                 told->cross_inner == 1152 ? 72 : 112);
    if (told->cross_inner < 0 && nwi_header_any(h, "transformer_blocks.0."))
        nwi_config_derive_null(c, "cross_attention_dim");
}

static void derive_qk_norm(struct nwi_config *c, const struct nwi_header *h,
                           const struct told *told)
{
    bool bias = nwi_header_has(h, "transformer_blocks.0.attn1.norm_q.bias");
    if (told->norm < 0)
        nwi_config_derive_null(c, "qk_norm");
    else if (told->per_head)
        nwi_config_derive_text(c, "qk_norm", bias ? "layer_norm" : "rms_norm");
    else
        nwi_config_derive_text(
            c, "qk_norm", bias ? "layer_norm_across_heads" : "rms_norm_across_heads");
}

static void derive_block(struct nwi_config *c, const struct nwi_header *h, int64_t dim)
{
    static const char *const keys[] = {"num_attention_heads", "attention_head_dim"};
    struct told told = read_norms(h, dim);
    derive_heads(c, keys, dim, told.per_head ? told.norm : -1, 32);
    derive_qk_norm(c, h, &told);
    derive_cross(c, h, &told);
    nwi_config_derive_bool(c, "attention_bias",
                           nwi_header_has(h, "transformer_blocks.0.attn1.to_q.bias"));
    if (told.cross_inner > 0)
        nwi_config_derive_bool(c, "norm_elementwise_affine",
                               nwi_header_has(h, "transformer_blocks.0.norm2.weight"));
    nwi_config_derive_ratio(
        c, "mlp_ratio",
        nwi_header_dim(h, "transformer_blocks.0.ff.conv_point.weight", 1), dim);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "patch_embed.proj.weight", 0);
    int64_t patch = nwi_header_dim(h, "patch_embed.proj.weight", 2);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    nwi_config_derive(c, "in_channels",
                      nwi_header_dim(h, "patch_embed.proj.weight", 1));
    nwi_config_derive(c, "patch_size", patch);
    if (patch > 0 && patch < 4096)
        nwi_config_derive(c, "out_channels", nwi_quotient(out, patch * patch));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "caption_channels",
                      nwi_header_dim(h, "caption_projection.linear_1.weight", 1));
    nwi_config_derive_bool(c, "guidance_embeds",
                           nwi_header_any(h, "time_embed.guidance_embedder."));
    derive_block(c, h, dim);
}

static const char *const plain_keys[] = {"dropout", "norm_eps", "guidance_embeds_scale",
                                         "timestep_scale", NULL};

const struct nwi_architecture nwi_arch_sana_transformer_2d = {
    .klass = "SanaTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
