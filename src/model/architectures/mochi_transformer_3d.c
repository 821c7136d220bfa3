/* SPDX-License-Identifier: Apache-2.0
 * MochiTransformer3DModel (diffusers 0.42.1, models/transformers/transformer_mochi.py):
 * Mochi 1. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_video.h"

struct mochi {
    int64_t dim;
    int64_t head_dim;
    int64_t context; /* channels of the text beside the video */
    bool gated;
};

static void attention(struct nwi_module *m, const struct mochi *mochi, bool last)
{
    int64_t dim = mochi->dim;
    nwi_rms_norm(m, "norm_q", mochi->head_dim);
    nwi_rms_norm(m, "norm_k", mochi->head_dim);
    nwi_rms_norm(m, "norm_added_q", mochi->head_dim);
    nwi_rms_norm(m, "norm_added_k", mochi->head_dim);
    nwi_linear(m, "to_q", dim, dim, false);
    nwi_linear(m, "to_k", dim, dim, false);
    nwi_linear(m, "to_v", dim, dim, false);
    nwi_linear(m, "add_k_proj", mochi->context, dim, false);
    nwi_linear(m, "add_v_proj", mochi->context, dim, false);
    nwi_linear(m, "add_q_proj", mochi->context, dim, false);
    nwi_linear(m, "to_out.0", dim, dim, true);
    if (!last)
        nwi_linear(m, "to_add_out", dim, mochi->context ? mochi->context : dim, true);
}

static void feed_forward(struct nwi_module *m, const char *name, int64_t dim,
                         bool gated)
{
    int64_t inner = 8 * dim / 3;
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "net.0.proj", dim, gated ? 2 * inner : inner, false);
        nwi_linear(m, "net.2", inner, dim, false);
    }
}

/* The last block leaves the text as it is. */
static void block(struct nwi_module *m, const struct mochi *mochi, bool last)
{
    nwi_linear(m, "norm1.linear", mochi->dim, 4 * mochi->dim, true);
    if (last)
        nwi_linear(m, "norm1_context.linear_1", mochi->dim, mochi->context, true);
    else
        nwi_linear(m, "norm1_context.linear", mochi->dim, 4 * mochi->context, true);
    NWI_IN(m, "attn1")
    {
        attention(m, mochi, last);
    }
    feed_forward(m, "ff", mochi->dim, mochi->gated);
    if (!last)
        feed_forward(m, "ff_context", mochi->context, mochi->gated);
}

/* The timestep, and the text pooled by attention. */
static void time_embed(struct nwi_module *m, int64_t time, int64_t text,
                       const struct mochi *mochi)
{
    nwi_two_linears(m, "timestep_embedder", time, mochi->dim, mochi->dim);
    NWI_IN(m, "pooler")
    {
        nwi_linear(m, "to_kv", text, 2 * text, true);
        nwi_linear(m, "to_q", text, text, true);
        nwi_linear(m, "to_out", text, mochi->dim ? mochi->dim : text, true);
    }
    nwi_linear(m, "caption_proj", text, mochi->context, true);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_video_patch_side(c, "patch_size", 2);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 24);
    int64_t n_layers = nwi_config_count(c, "num_layers", 48);
    int64_t in = nwi_config_int(c, "in_channels", 12);
    int64_t out = nwi_config_int_or_null(c, "out_channels", NWI_NULL);
    int64_t text = nwi_config_int(c, "text_embed_dim", 4096);
    int64_t time = nwi_config_int(c, "time_embed_dim", 256);
    struct mochi mochi = {
        .head_dim = nwi_config_int(c, "attention_head_dim", 128),
        .context = nwi_config_int(c, "pooled_projection_dim", 1536),
        .gated = nwi_video_gated(c, "activation_fn", "swiglu"),
    };
    mochi.dim = heads * mochi.head_dim;
    if (mochi.head_dim <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"attention_head_dim\" of the config is %lld",
                        (long long)mochi.head_dim);
    if (out == NWI_NULL || out == 0)
        out = in;

    nwi_parameter_filled(m, "pos_frequencies", NWI_DIMS(3, heads, mochi.head_dim / 2),
                         NW_FILL_ZERO);
    nwi_conv2d(m, "patch_embed.proj", in, mochi.dim, patch, true);
    NWI_IN(m, "time_embed")
    {
        time_embed(m, time, text, &mochi);
    }
    for (int64_t i = 0; i < n_layers; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, &mochi, i + 1 == n_layers);
        }
    nwi_linear(m, "norm_out.linear", mochi.dim, 2 * mochi.dim, true);
    nwi_linear(m, "proj_out", mochi.dim, patch * patch * out, true);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "patch_embed.proj.weight", 0);
    int64_t in = nwi_header_dim(h, "patch_embed.proj.weight", 1);
    int64_t patch = nwi_header_dim(h, "patch_embed.proj.weight", 2);
    int64_t out = nwi_video_over(
        nwi_video_over(nwi_header_dim(h, "proj_out.weight", 0), patch), patch);
    int64_t heads = nwi_header_dim(h, "pos_frequencies", 1);
    nwi_config_derive(c, "patch_size", patch);
    nwi_config_derive(c, "in_channels", in);
    nwi_video_derive_out(c, "out_channels", in, out);
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "num_attention_heads", heads);
    nwi_config_derive(c, "attention_head_dim", nwi_video_over(dim, heads));
    nwi_config_derive(c, "pooled_projection_dim",
                      nwi_header_dim(h, "time_embed.caption_proj.weight", 0));
    nwi_config_derive(c, "text_embed_dim",
                      nwi_header_dim(h, "time_embed.caption_proj.weight", 1));
    nwi_config_derive(
        c, "time_embed_dim",
        nwi_header_dim(h, "time_embed.timestep_embedder.linear_1.weight", 1));
    nwi_video_derive_gate(
        c, "activation_fn", "swiglu",
        nwi_header_dim(h, "transformer_blocks.0.ff.net.0.proj.weight", 0),
        nwi_header_dim(h, "transformer_blocks.0.ff.net.2.weight", 1));
}

static const char *const plain_keys[] = {"max_sequence_length", "qk_norm", NULL};

const struct nwi_architecture nwi_arch_mochi_transformer_3d = {
    .klass = "MochiTransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
