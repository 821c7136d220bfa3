/* SPDX-License-Identifier: Apache-2.0
 * PixArtTransformer2DModel (diffusers 0.42.1, models/transformers/pixart_transformer_2d.py):
 * PixArt-alpha and PixArt-Sigma. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"
#include "model/blocks_patch.h"
#include "model/blocks_video.h"

struct pixart {
    int64_t dim;
    int64_t heads;
    int64_t head_dim;
    int64_t cross_dim; /* NWI_NULL: no cross attention */
    bool bias;
    bool gated;  /* the feed forward */
    bool affine; /* the norms */
    bool fuser;  /* a gated attention to objects, as in GLIGEN */
};

static void fuser(struct nwi_module *m, const struct pixart *pixart)
{
    int64_t dim = pixart->dim;
    nwi_parameter_filled(m, "alpha_attn", NWI_SCALAR, NW_FILL_ZERO);
    nwi_parameter_filled(m, "alpha_dense", NWI_SCALAR, NW_FILL_ZERO);
    nwi_linear(m, "linear", pixart->cross_dim, dim, true);
    nwi_attention(m, "attn",
                  (struct nwi_attention){.dim = dim,
                                         .heads = pixart->heads,
                                         .head_dim = pixart->head_dim});
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim, .gated = true});
    nwi_norm(m, "norm1", dim);
    nwi_norm(m, "norm2", dim);
}

static void block(struct nwi_module *m, const struct pixart *pixart)
{
    struct nwi_attention attention = {.dim = pixart->dim,
                                      .heads = pixart->heads,
                                      .head_dim = pixart->head_dim,
                                      .bias = pixart->bias};
    nwi_parameter(m, "scale_shift_table", NWI_DIMS(6, pixart->dim));
    if (pixart->affine)
        nwi_norm(m, "norm1", pixart->dim);
    nwi_attention(m, "attn1", attention);
    if (pixart->affine)
        nwi_norm(m, "norm2", pixart->dim);
    attention.from = pixart->cross_dim;
    if (pixart->cross_dim != NWI_NULL)
        nwi_attention(m, "attn2", attention);
    nwi_feed_forward(
        m, "ff", (struct nwi_feed_forward){.dim = pixart->dim, .gated = pixart->gated});
    if (pixart->fuser)
        NWI_IN(m, "fuser")
        {
            fuser(m, pixart);
        }
}

/* The timestep and, in PixArt-alpha's 1024 pixel model, the size and shape of the image;
 * `size`: sample_size. */
static void adaln_single(struct nwi_module *m, struct nwi_config *c, int64_t size,
                         int64_t dim)
{
    bool sizes = nwi_config_bool(c, "use_additional_conditions", size == 128);
    if (!nwi_config_has(c, "use_additional_conditions"))
        sizes = size == 128;
    NWI_IN(m, "adaln_single")
    {
        nwi_two_linears(m, "emb.timestep_embedder", 256, dim, dim);
        if (sizes) {
            nwi_two_linears(m, "emb.resolution_embedder", 256, dim / 3, dim / 3);
            nwi_two_linears(m, "emb.aspect_ratio_embedder", 256, dim / 3, dim / 3);
        }
        nwi_linear(m, "linear", dim, 6 * dim, true);
    }
}

static void read_block(struct nwi_config *c, struct pixart *pixart)
{
    const char *norm = nwi_config_text(c, "norm_type", "ada_norm_single");
    pixart->heads = nwi_config_int(c, "num_attention_heads", 16);
    pixart->head_dim = nwi_config_int(c, "attention_head_dim", 72);
    pixart->dim = pixart->heads * pixart->head_dim;
    pixart->cross_dim = nwi_config_int_or_null(c, "cross_attention_dim", 1152);
    pixart->bias = nwi_config_bool(c, "attention_bias", true);
    pixart->gated = nwi_video_gated(c, "activation_fn", "gelu-approximate");
    pixart->affine = nwi_config_bool(c, "norm_elementwise_affine", false);
    pixart->fuser = nwi_config_is(c, "attention_type", "default", "gated") ||
                    nwi_config_is(c, "attention_type", "default", "gated-text-image");
    if (!nwi_config_is(c, "norm_type", "ada_norm_single", "ada_norm_single"))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "norms of type %.40s",
                        norm ? norm : "null");
    if (nwi_config_int_or_null(c, "num_embeds_ada_norm", 1000) == NWI_NULL)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"num_embeds_ada_norm\" is null");
    if (pixart->cross_dim == NWI_NULL ? pixart->fuser : pixart->cross_dim <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"cross_attention_dim\" of the config is no width");
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t in = nwi_config_int(c, "in_channels", 4);
    int64_t out = nwi_config_int_or_null(c, "out_channels", 8);
    int64_t n = nwi_config_count(c, "num_layers", 28);
    int64_t patch = nwi_config_int(c, "patch_size", 2);
    int64_t size = nwi_config_int(c, "sample_size", 128);
    int64_t caption = nwi_config_int_or_null(c, "caption_channels", NWI_NULL);
    struct pixart pixart;

    read_block(c, &pixart);
    if (out == NWI_NULL)
        out = in;
    nwi_parameter(m, "scale_shift_table", NWI_DIMS(2, pixart.dim));
    NWI_BLOCK(m, "pos_embed")
    {
        nwi_patch_embed(m, (struct nwi_patch_embed){.in = in,
                                                    .dim = pixart.dim,
                                                    .patch = patch,
                                                    .sample = size,
                                                    .positions = true});
    }
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, &pixart);
        }
    nwi_linear(m, "proj_out", pixart.dim, patch * patch * out, true);
    adaln_single(m, c, size, pixart.dim);
    if (caption != NWI_NULL)
        nwi_two_linears(m, "caption_projection", caption, pixart.dim, pixart.dim);
}

static void derive_block(struct nwi_config *c, const struct nwi_header *h)
{
    if (!nwi_header_has(h, "transformer_blocks.0.scale_shift_table"))
        return;
    nwi_config_derive_null(c, "cross_attention_dim");
    nwi_config_derive(c, "cross_attention_dim",
                      nwi_header_dim(h, "transformer_blocks.0.attn2.to_k.weight", 1));
    nwi_config_derive_bool(c, "attention_bias",
                           nwi_header_has(h, "transformer_blocks.0.attn1.to_q.bias"));
    nwi_config_derive_bool(c, "norm_elementwise_affine",
                           nwi_header_has(h, "transformer_blocks.0.norm1.weight"));
    nwi_config_derive_text(
        c, "attention_type",
        nwi_header_any(h, "transformer_blocks.0.fuser.") ? "gated" : "default");
    nwi_video_derive_gate(
        c, "activation_fn", "gelu-approximate",
        nwi_header_dim(h, "transformer_blocks.0.ff.net.0.proj.weight", 0),
        nwi_header_dim(h, "transformer_blocks.0.ff.net.2.weight", 1));
}

static void derive_ends(struct nwi_config *c, const struct nwi_header *h)
{
    if (!nwi_header_has(h, "adaln_single.linear.weight"))
        return;
    nwi_config_derive_bool(c, "use_additional_conditions",
                           nwi_header_any(h, "adaln_single.emb.resolution_embedder."));
    nwi_config_derive_null(c, "caption_channels");
    nwi_config_derive(c, "caption_channels",
                      nwi_header_dim(h, "caption_projection.linear_1.weight", 1));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t patch = nwi_header_dim(h, "pos_embed.proj.weight", 2);
    nwi_derive_heads(c, nwi_header_dim(h, "pos_embed.proj.weight", 0), 72);
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "pos_embed.proj.weight", 1));
    nwi_config_derive(c, "patch_size", patch);
    if (patch > 0 && patch < INT32_MAX)
        nwi_config_derive(
            c, "out_channels",
            nwi_quotient(nwi_header_dim(h, "proj_out.weight", 0), patch * patch));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    derive_block(c, h);
    derive_ends(c, h);
}

static const char *const plain_keys[] = {
    "dropout",  "norm_num_groups",     "upcast_attention",
    "norm_eps", "interpolation_scale", NULL};

const struct nwi_architecture nwi_arch_pixart_transformer_2d = {
    .klass = "PixArtTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
