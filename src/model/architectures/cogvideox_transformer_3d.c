/* SPDX-License-Identifier: Apache-2.0
 * CogVideoXTransformer3DModel (diffusers 0.42.1,
 * models/transformers/cogvideox_transformer_3d.py): CogVideoX 2B, 5B and 1.5. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"

struct cog {
    int64_t dim;
    int64_t heads;
    int64_t head_dim;
    int64_t time;
    int64_t patch;
    int64_t patch_frames; /* NWI_NULL: frames are not put together */
    bool bias;
    bool affine;
    bool gated;
};

static void adaptive_norm(struct nwi_module *m, const char *name, const struct cog *cog)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear", cog->time, 6 * cog->dim, true);
        if (cog->affine)
            nwi_norm(m, "norm", cog->dim);
    }
}

static void block(struct nwi_module *m, const struct cog *cog)
{
    adaptive_norm(m, "norm1", cog);
    nwi_attention(m, "attn1",
                  (struct nwi_attention){.dim = cog->dim,
                                         .heads = cog->heads,
                                         .head_dim = cog->head_dim,
                                         .qk_norm = NWI_QK_LAYER,
                                         .bias = cog->bias});
    adaptive_norm(m, "norm2", cog);
    nwi_feed_forward(m, "ff",
                     (struct nwi_feed_forward){.dim = cog->dim, .gated = cog->gated});
}

/* ---- patches and positions ---- */

/* Text tokens and patches: one row each of the table of positions. */
static int64_t n_positions(struct nwi_config *c, int64_t patch)
{
    int64_t width = nwi_config_int(c, "sample_width", 90);
    int64_t height = nwi_config_int(c, "sample_height", 60);
    int64_t frames = nwi_config_int(c, "sample_frames", 49);
    int64_t ratio = nwi_config_int(c, "temporal_compression_ratio", 4);
    int64_t text = nwi_config_int(c, "max_text_seq_length", 226);
    if (patch <= 0 || ratio <= 0 || frames <= 0) {
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config has %lld frames in steps of %lld, patches of %lld",
                        (long long)frames, (long long)ratio, (long long)patch);
        return 0;
    }
    return text + (height / patch) * (width / patch) * ((frames - 1) / ratio + 1);
}

/* Learnt positions are in the file; fixed ones are computed; rotary ones have no table. */
static void positions(struct nwi_module *m, struct nwi_config *c, const struct cog *cog)
{
    bool rotary = nwi_config_bool(c, "use_rotary_positional_embeddings", false);
    bool learnt = nwi_config_bool(c, "use_learned_positional_embeddings", false);
    int64_t n = n_positions(c, cog->patch);
    if (learnt && !rotary)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "learned positions go with rotary ones only");
    if ((learnt || !rotary) && cog->dim % 16 != 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "positions of %lld channels, no multiple of 16",
                        (long long)cog->dim);
    if (learnt)
        nwi_buffer(m, "pos_embedding", NWI_DIMS(1, n, cog->dim));
    else if (!rotary)
        nwi_scratch_buffer(m, "pos_embedding", NWI_DIMS(1, n, cog->dim));
}

static void patch_embed(struct nwi_module *m, struct nwi_config *c,
                        const struct cog *cog)
{
    int64_t in = nwi_config_int(c, "in_channels", 16);
    int64_t text = nwi_config_int(c, "text_embed_dim", 4096);
    bool bias = nwi_config_bool(c, "patch_bias", true);
    NWI_BLOCK(m, "patch_embed")
    {
        positions(m, c, cog);
        if (cog->patch_frames == NWI_NULL)
            nwi_conv2d(m, "proj", in, cog->dim, cog->patch, bias);
        else
            nwi_linear(m, "proj",
                       nwi_product(c, cog->patch, cog->patch, cog->patch_frames, in),
                       cog->dim, true);
        nwi_linear(m, "text_proj", text, cog->dim, true);
    }
}

/* True for the activations whose projection makes value and gate. */
static bool read_gated(struct nwi_config *c)
{
    static const char key[] = "activation_fn";
    static const char usual[] = "gelu-approximate";
    if (nwi_config_is(c, key, usual, "geglu") || nwi_config_is(c, key, usual, "swiglu"))
        return true;
    if (!nwi_config_is(c, key, usual, usual) && !nwi_config_is(c, key, usual, "gelu") &&
        !nwi_config_is(c, key, usual, "geglu-approximate") &&
        !nwi_config_is(c, key, usual, "linear-silu"))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "activation_fn is of no known name");
    return false;
}

static struct cog read_cog(struct nwi_config *c)
{
    struct cog cog = {
        .heads = nwi_config_int(c, "num_attention_heads", 30),
        .head_dim = nwi_config_int(c, "attention_head_dim", 64),
        .time = nwi_config_int(c, "time_embed_dim", 512),
        .patch = nwi_config_int(c, "patch_size", 2),
        .patch_frames = nwi_config_int_or_null(c, "patch_size_t", NWI_NULL),
        .bias = nwi_config_bool(c, "attention_bias", true),
        .affine = nwi_config_bool(c, "norm_elementwise_affine", true),
        .gated = read_gated(c),
    };
    cog.dim = cog.heads * cog.head_dim;
    return cog;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct cog cog = read_cog(c);
    int64_t out = nwi_config_int(c, "out_channels", 16);
    int64_t n = nwi_config_count(c, "num_layers", 30);
    int64_t ofs = nwi_config_int_or_null(c, "ofs_embed_dim", NWI_NULL);
    int64_t frames = cog.patch_frames == NWI_NULL ? 1 : cog.patch_frames;

    patch_embed(m, c, &cog);
    nwi_two_linears(m, "time_embedding", cog.dim, cog.time, cog.time);
    if (ofs != NWI_NULL && ofs != 0)
        nwi_two_linears(m, "ofs_embedding", ofs, ofs, ofs);
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, &cog);
        }
    if (cog.affine)
        nwi_norm(m, "norm_final", cog.dim);
    NWI_IN(m, "norm_out")
    {
        nwi_linear(m, "linear", cog.time, 2 * cog.dim, true);
        if (cog.affine)
            nwi_norm(m, "norm", cog.dim);
    }
    nwi_linear(m, "proj_out", cog.dim,
               nwi_product(c, cog.patch, cog.patch, frames, out), true);
}

/* ---- deriving ---- */

/* Where frames are put together, 2 by 2 by 2 as in CogVideoX 1.5 (if that divides). */
static void derive_patches(struct nwi_config *c, const struct nwi_header *h)
{
    static const char proj[] = "patch_embed.proj.weight";
    int64_t in = nwi_header_dim(h, proj, 1);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    int64_t patch = nwi_header_dim(h, proj, 2);
    if (nwi_header_rank(h, proj) == 4 && patch > 0 && patch < 4096) {
        nwi_config_derive_null(c, "patch_size_t");
        nwi_config_derive(c, "patch_size", patch);
        nwi_config_derive(c, "in_channels", in);
        nwi_config_derive(c, "out_channels", nwi_quotient(out, patch * patch));
        nwi_config_derive_bool(c, "patch_bias",
                               nwi_header_has(h, "patch_embed.proj.bias"));
    } else if (nwi_header_rank(h, proj) == 2) {
        int64_t size = in % 8 == 0 && out % 8 == 0 ? 2 : 1;
        nwi_config_derive(c, "patch_size_t", size);
        nwi_config_derive(c, "patch_size", size);
        nwi_config_derive(c, "in_channels", nwi_quotient(in, size * size * size));
        nwi_config_derive(c, "out_channels", nwi_quotient(out, size * size * size));
    }
}

/* Learnt positions imply rotary ones. Without a table no tensor tells: the class's default
 * is fixed ones (CogVideoX 2B), all models of 48 heads turn. */
static void derive_positions(struct nwi_config *c, const struct nwi_header *h,
                             int64_t dim)
{
    bool learnt = nwi_header_has(h, "patch_embed.pos_embedding");
    nwi_config_derive_bool(c, "use_learned_positional_embeddings", learnt);
    if (learnt || dim == 3072 /* 48 heads of 64 */)
        nwi_config_derive_bool(c, "use_rotary_positional_embeddings", true);
}

static void derive_block(struct nwi_config *c, const struct nwi_header *h, int64_t dim)
{
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn1.norm_q.weight", 0);
    int64_t wide = nwi_header_dim(h, "transformer_blocks.0.ff.net.0.proj.weight", 0);
    int64_t inner = nwi_header_dim(h, "transformer_blocks.0.ff.net.2.weight", 1);
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(dim, head_dim));
    nwi_config_derive_bool(c, "norm_elementwise_affine",
                           nwi_header_has(h, "norm_final.weight"));
    if (head_dim > 0)
        nwi_config_derive_bool(
            c, "attention_bias",
            nwi_header_has(h, "transformer_blocks.0.attn1.to_q.bias"));
    if (wide > 0)
        nwi_config_derive_text(c, "activation_fn",
                               wide == inner ? "gelu-approximate" : "geglu");
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "patch_embed.proj.weight", 0);
    int64_t ofs = nwi_header_dim(h, "ofs_embedding.linear_1.weight", 1);
    derive_patches(c, h);
    derive_positions(c, h, dim);
    derive_block(c, h, dim);
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "text_embed_dim",
                      nwi_header_dim(h, "patch_embed.text_proj.weight", 1));
    nwi_config_derive(c, "time_embed_dim",
                      nwi_header_dim(h, "time_embedding.linear_1.weight", 0));
    if (ofs > 0)
        nwi_config_derive(c, "ofs_embed_dim", ofs);
    else
        nwi_config_derive_null(c, "ofs_embed_dim");
}

static const char *const plain_keys[] = {"flip_sin_to_cos",
                                         "freq_shift",
                                         "dropout",
                                         "timestep_activation_fn",
                                         "norm_eps",
                                         "spatial_interpolation_scale",
                                         "temporal_interpolation_scale",
                                         NULL};

const struct nwi_architecture nwi_arch_cogvideox_transformer_3d = {
    .klass = "CogVideoXTransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
