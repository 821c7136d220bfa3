/* SPDX-License-Identifier: Apache-2.0
 * MotifVideoTransformer3DModel (diffusers 0.42.1,
 * models/transformers/transformer_motif_video.py): Motif-Video. */
#include <stdio.h>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_dit.h"

enum norm { NORM_NONE, NORM_RMS, NORM_LAYER };

struct motif {
    int64_t dim;
    int64_t head_dim;
    int64_t inner; /* of the feed forward */
    enum norm norm;
};

static void projections(struct nwi_module *m, const struct motif *motif)
{
    static const char *const names[] = {"norm_q", "norm_k"};
    nwi_linear(m, "to_q", motif->dim, motif->dim, true);
    nwi_linear(m, "to_k", motif->dim, motif->dim, true);
    nwi_linear(m, "to_v", motif->dim, motif->dim, true);
    for (size_t i = 0; i < 2; i++) {
        if (motif->norm == NORM_RMS)
            nwi_rms_norm(m, names[i], motif->head_dim);
        else if (motif->norm == NORM_LAYER)
            nwi_norm(m, names[i], motif->head_dim);
    }
}

/* Attention of all that is seen to the text alone. */
static void cross_attention(struct nwi_module *m, const struct motif *motif)
{
    NWI_IN(m, "cross_attn")
    {
        projections(m, motif);
        nwi_linear(m, "to_out.0", motif->dim, motif->dim, true);
    }
}

static void double_block(struct nwi_module *m, const struct motif *motif, bool cross)
{
    int64_t dim = motif->dim;
    nwi_linear(m, "norm1.linear", dim, 6 * dim, true);
    nwi_linear(m, "norm1_context.linear", dim, 6 * dim, true);
    NWI_IN(m, "attn")
    {
        projections(m, motif);
        nwi_linear(m, "to_out.0", dim, dim, true);
        nwi_rms_norm(m, "norm_added_q", motif->head_dim);
        nwi_rms_norm(m, "norm_added_k", motif->head_dim);
        nwi_linear(m, "add_q_proj", dim, dim, true);
        nwi_linear(m, "add_k_proj", dim, dim, true);
        nwi_linear(m, "add_v_proj", dim, dim, true);
        nwi_linear(m, "to_add_out", dim, dim, true);
    }
    if (cross)
        cross_attention(m, motif);
    NWI_IN(m, "ff")
    {
        nwi_linear(m, "net.0.proj", dim, motif->inner, true);
        nwi_linear(m, "net.2", motif->inner, dim, true);
    }
    NWI_IN(m, "ff_context")
    {
        nwi_linear(m, "net.0.proj", dim, motif->inner, true);
        nwi_linear(m, "net.2", motif->inner, dim, true);
    }
}

static void single_block(struct nwi_module *m, const struct motif *motif, bool cross)
{
    int64_t dim = motif->dim;
    NWI_IN(m, "attn")
    {
        projections(m, motif);
    }
    if (cross)
        cross_attention(m, motif);
    nwi_linear(m, "norm.linear", dim, 3 * dim, true);
    nwi_linear(m, "proj_mlp", dim, motif->inner, true);
    nwi_linear(m, "proj_out", dim + motif->inner, dim, true);
}

/* The last of the single blocks (the decoder's) have no attention to the text. */
static void blocks(struct nwi_module *m, struct nwi_config *c,
                   const struct motif *motif)
{
    int64_t n_double = nwi_config_count(c, "num_layers", 20);
    int64_t n_single = nwi_config_count(c, "num_single_layers", 40);
    int64_t n_decoder = nwi_config_int(c, "num_decoder_layers", 0);
    bool cross_double = nwi_config_bool(c, "enable_text_cross_attention_dual", false);
    bool cross_single = nwi_config_bool(c, "enable_text_cross_attention_single", false);
    for (int64_t i = 0; i < n_double; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            double_block(m, motif, cross_double);
        }
    for (int64_t i = 0; i < n_single; i++)
        NWI_BLOCK(m, "single_transformer_blocks.%lld", (long long)i)
        {
            single_block(m, motif, cross_single && i < n_single - n_decoder);
        }
}

static void image_embedder(struct nwi_module *m, int64_t in, int64_t dim)
{
    NWI_IN(m, "image_embedder")
    {
        nwi_norm(m, "norm_in", in);
        nwi_linear(m, "linear_1", in, in, true);
        nwi_linear(m, "linear_2", in, dim, true);
        nwi_norm(m, "norm_out", dim);
    }
}

static struct motif read_motif(struct nwi_config *c)
{
    struct motif motif = {.head_dim = nwi_config_int(c, "attention_head_dim", 128)};
    motif.dim = motif.head_dim * nwi_config_int(c, "num_attention_heads", 24);
    motif.inner = nwi_scaled(c, nwi_config_real(c, "mlp_ratio", 4), motif.dim);
    if (nwi_config_is(c, "qk_norm", "rms_norm", "rms_norm"))
        motif.norm = NORM_RMS;
    else if (nwi_config_is(c, "qk_norm", "rms_norm", "layer_norm"))
        motif.norm = NORM_LAYER;
    if (!nwi_config_is(c, "norm_type", "layer_norm", "layer_norm"))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "norm_type can only be layer_norm");
    return motif;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct motif motif = read_motif(c);
    int64_t in = nwi_config_int(c, "in_channels", 33);
    int64_t out = nwi_config_int_or_null(c, "out_channels", 16);
    int64_t patch = nwi_config_int(c, "patch_size", 2);
    int64_t frames = nwi_config_int(c, "patch_size_t", 1);
    int64_t text = nwi_config_int(c, "text_embed_dim", 4096);
    int64_t image = nwi_config_int_or_null(c, "image_embed_dim", NWI_NULL);

    if (out == NWI_NULL || out == 0)
        out = in;
    NWI_BLOCK(m, "x_embedder")
    {
        nwi_conv3d(m, "proj", in, motif.dim, frames, patch, patch, true);
    }
    nwi_two_linears(m, "context_embedder", text, motif.dim, motif.dim);
    if (image != NWI_NULL)
        image_embedder(m, image, motif.dim);
    nwi_two_linears(m, "time_text_embed.timestep_embedder", 256, motif.dim, motif.dim);
    blocks(m, c, &motif);
    nwi_linear(m, "norm_out.linear", motif.dim, 2 * motif.dim, true);
    nwi_linear(m, "proj_out", motif.dim, nwi_product(c, patch, patch, frames, out),
               true);
}

/* ---- deriving ---- */

static void derive_patches(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t frames = nwi_header_dim(h, "x_embedder.proj.weight", 2);
    int64_t patch = nwi_header_dim(h, "x_embedder.proj.weight", 3);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "x_embedder.proj.weight", 1));
    nwi_config_derive(c, "patch_size", patch);
    nwi_config_derive(c, "patch_size_t", frames);
    if (patch > 0 && patch < 4096 && frames > 0 && frames < 4096)
        nwi_config_derive(c, "out_channels", nwi_quotient(out, patch * patch * frames));
}

/* How many single blocks, from the first on, attend to the text. */
static int64_t count_cross(const struct nwi_header *h)
{
    char name[80];
    int64_t n = 0;
    do {
        (void)snprintf(name, sizeof name,
                       "single_transformer_blocks.%lld.cross_attn.to_q.weight",
                       (long long)n);
    } while (nwi_header_has(h, name) && ++n);
    return n;
}

static void derive_cross(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t n_cross = count_cross(h);
    nwi_config_derive_bool(c, "enable_text_cross_attention_dual",
                           nwi_header_any(h, "transformer_blocks.0.cross_attn."));
    nwi_config_derive_bool(c, "enable_text_cross_attention_single", n_cross > 0);
    if (n_cross > 0)
        nwi_config_derive_layers(c, "num_decoder_layers",
                                 nwi_header_count(h, "single_transformer_blocks.") -
                                     n_cross);
}

/* From a double block, or a single one where there is none. */
static void derive_block(struct nwi_config *c, const struct nwi_header *h, int64_t dim)
{
    bool whole = nwi_header_any(h, "transformer_blocks.0.");
    int64_t inner =
        nwi_header_dim(h,
                       whole ? "transformer_blocks.0.ff.net.2.weight"
                             : "single_transformer_blocks.0.proj_mlp.weight",
                       whole ? 1 : 0);
    int64_t norm =
        nwi_header_dim(h,
                       whole ? "transformer_blocks.0.attn.norm_q.weight"
                             : "single_transformer_blocks.0.attn.norm_q.weight",
                       0);
    bool bias =
        nwi_header_has(h, whole ? "transformer_blocks.0.attn.norm_q.bias"
                                : "single_transformer_blocks.0.attn.norm_q.bias");
    int64_t added =
        nwi_header_dim(h, "transformer_blocks.0.attn.norm_added_q.weight", 0);
    int64_t head_dim = norm > 0 ? norm : added;
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(dim, head_dim));
    nwi_config_derive_ratio(c, "mlp_ratio", inner, dim);
    if (norm > 0)
        nwi_config_derive_text(c, "qk_norm", bias ? "layer_norm" : "rms_norm");
    else if (inner > 0)
        nwi_config_derive_null(c, "qk_norm");
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedder.proj.weight", 0);
    int64_t image = nwi_header_dim(h, "image_embedder.linear_1.weight", 1);
    derive_patches(c, h);
    derive_block(c, h, dim);
    derive_cross(c, h);
    nwi_config_derive_layers(c, "num_layers",
                             nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive_layers(c, "num_single_layers",
                             nwi_header_count(h, "single_transformer_blocks."));
    nwi_config_derive(c, "text_embed_dim",
                      nwi_header_dim(h, "context_embedder.linear_1.weight", 1));
    if (image > 0)
        nwi_config_derive(c, "image_embed_dim", image);
    else
        nwi_config_derive_null(c, "image_embed_dim");
}

static const char *const plain_keys[] = {"rope_theta", "rope_axes_dim", NULL};

const struct nwi_architecture nwi_arch_motif_video_transformer_3d = {
    .klass = "MotifVideoTransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
