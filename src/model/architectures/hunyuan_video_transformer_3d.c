/* SPDX-License-Identifier: Apache-2.0
 * HunyuanVideoTransformer3DModel (diffusers 0.42.1,
 * models/transformers/transformer_hunyuan_video.py): HunyuanVideo, text and image to video. */
#include <string.h>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_video.h"

struct hunyuan {
    int64_t dim;
    int64_t heads;
    int64_t head_dim;
    int64_t inner; /* of the feed-forward layers */
    enum nwi_qk_norm qk_norm;
    bool l2; /* which has no weights, and no second stream */
};

/* ---- text: a few blocks of its own ---- */

static void refiner_block(struct nwi_module *m, int64_t dim)
{
    nwi_norm(m, "norm1", dim);
    nwi_attention(
        m, "attn",
        (struct nwi_attention){.dim = dim, .heads = 1, .head_dim = dim, .bias = true});
    nwi_norm(m, "norm2", dim);
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim});
    nwi_linear(m, "norm_out.linear", dim, 2 * dim, true);
}

static void token_refiner(struct nwi_module *m, int64_t text, int64_t dim,
                          int64_t n_layers)
{
    nwi_two_linears(m, "time_text_embed.timestep_embedder", 256, dim, dim);
    nwi_two_linears(m, "time_text_embed.text_embedder", text, dim, dim);
    nwi_linear(m, "proj_in", text, dim, true);
    for (int64_t i = 0; i < n_layers; i++)
        NWI_IN(m, "token_refiner.refiner_blocks.%lld", (long long)i)
        {
            refiner_block(m, dim);
        }
}

/* ---- blocks ---- */

static void attention(struct nwi_module *m, const struct hunyuan *hy, bool joint)
{
    if (hy->qk_norm == NWI_QK_RMS_ALL || hy->qk_norm == NWI_QK_LAYER_ALL ||
        (joint && hy->l2))
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "\"qk_norm\" of the config is none for these blocks");
    nwi_attention(m, "attn",
                  (struct nwi_attention){.dim = hy->dim,
                                         .heads = hy->heads,
                                         .head_dim = hy->head_dim,
                                         .added = joint ? hy->dim : 0,
                                         .qk_norm = hy->qk_norm,
                                         .bias = true,
                                         .no_out = !joint});
}

static void double_block(struct nwi_module *m, const struct hunyuan *hy)
{
    struct nwi_feed_forward ff = {.dim = hy->dim, .inner = hy->inner};
    nwi_linear(m, "norm1.linear", hy->dim, 6 * hy->dim, true);
    nwi_linear(m, "norm1_context.linear", hy->dim, 6 * hy->dim, true);
    attention(m, hy, true);
    nwi_feed_forward(m, "ff", ff);
    nwi_feed_forward(m, "ff_context", ff);
}

static void single_block(struct nwi_module *m, const struct hunyuan *hy)
{
    attention(m, hy, false);
    nwi_linear(m, "norm.linear", hy->dim, 3 * hy->dim, true);
    nwi_linear(m, "proj_mlp", hy->dim, hy->inner, true);
    nwi_linear(m, "proj_out", hy->dim + hy->inner, hy->dim, true);
}

/* ---- the model ---- */

static void embedders(struct nwi_module *m, struct nwi_config *c, int64_t dim,
                      struct nwi_dims patch)
{
    int64_t text = nwi_config_int(c, "text_embed_dim", 4096);
    int64_t pooled = nwi_config_int(c, "pooled_projection_dim", 768);
    int64_t n_refiner = nwi_config_count(c, "num_refiner_layers", 2);
    NWI_BLOCK(m, "x_embedder")
    {
        nwi_conv(m, "proj", patch, true);
    }
    NWI_BLOCK(m, "context_embedder")
    {
        token_refiner(m, text, dim, n_refiner);
    }
    NWI_IN(m, "time_text_embed")
    {
        nwi_two_linears(m, "timestep_embedder", 256, dim, dim);
        nwi_two_linears(m, "text_embedder", pooled, dim, dim);
        if (nwi_config_bool(c, "guidance_embeds", true))
            nwi_two_linears(m, "guidance_embedder", 256, dim, dim);
    }
}

/* How an image comes in changes what the blocks compute, not what they hold. */
static void check_condition(struct nwi_config *c)
{
    const char *type = nwi_config_text(c, "image_condition_type", NULL);
    if (type && strcmp(type, "latent_concat") != 0 &&
        strcmp(type, "token_replace") != 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"image_condition_type\" of the config is \"%s\"", type);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_video_patch_side(c, "patch_size", 2);
    int64_t patch_t = nwi_video_patch_side(c, "patch_size_t", 1);
    int64_t in = nwi_config_int(c, "in_channels", 16);
    int64_t out = nwi_config_int_or_null(c, "out_channels", 16);
    int64_t n_double = nwi_config_count(c, "num_layers", 20);
    int64_t n_single = nwi_config_count(c, "num_single_layers", 40);
    struct hunyuan hy = {
        .heads = nwi_config_int(c, "num_attention_heads", 24),
        .head_dim = nwi_config_int(c, "attention_head_dim", 128),
        .qk_norm = nwi_qk_norm(c, "qk_norm", "rms_norm"),
        .l2 = nwi_config_is(c, "qk_norm", "rms_norm", "l2"),
    };
    hy.dim = hy.head_dim * hy.heads;
    hy.inner = nwi_video_mlp(c, hy.dim);
    check_condition(c);
    if (hy.head_dim <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"attention_head_dim\" of the config is %lld",
                        (long long)hy.head_dim);
    if (out == NWI_NULL || out == 0)
        out = in;

    embedders(m, c, hy.dim, NWI_DIMS(hy.dim, in, patch_t, patch, patch));
    for (int64_t i = 0; i < n_double; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            double_block(m, &hy);
        }
    for (int64_t i = 0; i < n_single; i++)
        NWI_BLOCK(m, "single_transformer_blocks.%lld", (long long)i)
        {
            single_block(m, &hy);
        }
    nwi_linear(m, "norm_out.linear", hy.dim, 2 * hy.dim, true);
    nwi_linear(m, "proj_out", hy.dim, patch_t * patch * patch * out, true);
}

/* ---- deriving ---- */

static int64_t first(int64_t a, int64_t b)
{
    return a >= 0 ? a : b;
}

/* Norms without parameters look like none. */
static void derive_heads(struct nwi_config *c, const struct nwi_header *h, int64_t dim)
{
    int64_t head_dim =
        first(nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0),
              nwi_header_dim(h, "single_transformer_blocks.0.attn.norm_q.weight", 0));
    bool shifted = nwi_header_has(h, "transformer_blocks.0.attn.norm_q.bias") ||
                   nwi_header_has(h, "single_transformer_blocks.0.attn.norm_q.bias");
    if (head_dim > 0) {
        nwi_config_derive_text(c, "qk_norm", shifted ? "layer_norm" : "rms_norm");
        nwi_config_derive(c, "attention_head_dim", head_dim);
        nwi_config_derive(c, "num_attention_heads", nwi_video_over(dim, head_dim));
        return;
    }
    if ((nwi_header_has(h, "transformer_blocks.0.attn.to_q.weight") ||
         nwi_header_has(h, "single_transformer_blocks.0.attn.to_q.weight")) &&
        !nwi_config_is(c, "qk_norm", "rms_norm", "fp32_layer_norm") &&
        !nwi_config_is(c, "qk_norm", "rms_norm", "l2"))
        nwi_config_derive_null(c, "qk_norm");
    nwi_video_derive_factor(c, "num_attention_heads", dim, "attention_head_dim", 128);
}

static void derive_patch(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "x_embedder.proj.weight", 1);
    int64_t frames = nwi_header_dim(h, "x_embedder.proj.weight", 2);
    int64_t patch = nwi_header_dim(h, "x_embedder.proj.weight", 3);
    int64_t out = nwi_video_over(nwi_header_dim(h, "proj_out.weight", 0), frames);
    nwi_config_derive(c, "patch_size", patch);
    nwi_config_derive(c, "patch_size_t", frames);
    nwi_config_derive(c, "in_channels", in);
    nwi_video_derive_out(c, "out_channels", in,
                         nwi_video_over(nwi_video_over(out, patch), patch));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedder.proj.weight", 0);
    int64_t inner =
        first(nwi_header_dim(h, "transformer_blocks.0.ff.net.0.proj.weight", 0),
              nwi_header_dim(h, "single_transformer_blocks.0.proj_mlp.weight", 0));
    derive_patch(c, h);
    derive_heads(c, h, dim);
    nwi_config_derive_ratio(c, "mlp_ratio", inner, dim);
    nwi_config_derive_layers(c, "num_layers",
                             nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive_layers(c, "num_single_layers",
                             nwi_header_count(h, "single_transformer_blocks."));
    nwi_config_derive_layers(
        c, "num_refiner_layers",
        nwi_header_count(h, "context_embedder.token_refiner.refiner_blocks."));
    nwi_config_derive_bool(c, "guidance_embeds",
                           nwi_header_any(h, "time_text_embed.guidance_embedder."));
    nwi_config_derive(c, "text_embed_dim",
                      nwi_header_dim(h, "context_embedder.proj_in.weight", 1));
    nwi_config_derive(
        c, "pooled_projection_dim",
        nwi_header_dim(h, "time_text_embed.text_embedder.linear_1.weight", 1));
}

static const char *const plain_keys[] = {"rope_axes_dim", "rope_theta", NULL};

const struct nwi_architecture nwi_arch_hunyuan_video_transformer_3d = {
    .klass = "HunyuanVideoTransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
