/* SPDX-License-Identifier: Apache-2.0
 * HunyuanDiT2DModel (diffusers 0.42.1, models/transformers/hunyuan_transformer_2d.py):
 * Hunyuan-DiT 1.0 to 1.2 and their distilled versions. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"
#include "model/blocks_patch.h"
#include "model/blocks_video.h"

struct hunyuan {
    int64_t dim; /* of the blocks */
    int64_t heads;
    int64_t head_dim;
    int64_t cross_dim;
    int64_t inner; /* of the feed forward */
    bool gated;
};

/* `skip`: takes the output of a block of the first half as well. */
static void block(struct nwi_module *m, const struct hunyuan *hunyuan, bool skip)
{
    int64_t dim = hunyuan->dim;
    struct nwi_attention attention = {.dim = dim,
                                      .heads = hunyuan->heads,
                                      .head_dim = hunyuan->head_dim,
                                      .qk_norm = NWI_QK_LAYER,
                                      .bias = true};
    nwi_linear(m, "norm1.linear", dim, dim, true);
    nwi_norm(m, "norm1.norm", dim);
    nwi_attention(m, "attn1", attention);
    nwi_norm(m, "norm2", dim);
    attention.from = hunyuan->cross_dim;
    nwi_attention(m, "attn2", attention);
    nwi_norm(m, "norm3", dim);
    nwi_feed_forward(m, "ff",
                     (struct nwi_feed_forward){
                         .dim = dim, .inner = hunyuan->inner, .gated = hunyuan->gated});
    if (skip) {
        nwi_norm(m, "skip_norm", 2 * dim);
        nwi_linear(m, "skip_linear", 2 * dim, dim, true);
    }
}

/* One vector of T5's text, by attention over it. */
static void pooler(struct nwi_module *m, int64_t length, int64_t dim, int64_t out)
{
    NWI_IN(m, "pooler")
    {
        nwi_parameter(m, "positional_embedding", NWI_DIMS(length + 1, dim));
        nwi_linear(m, "k_proj", dim, dim, true);
        nwi_linear(m, "q_proj", dim, dim, true);
        nwi_linear(m, "v_proj", dim, dim, true);
        nwi_linear(m, "c_proj", dim, out ? out : dim, true);
    }
}

/* Timestep and pooled text; up to 1.1 also a style, and six numbers (256 channels each) of
 * the image's size. */
static void extra_embed(struct nwi_module *m, struct nwi_config *c, int64_t length,
                        int64_t t5)
{
    int64_t hidden = nwi_config_int(c, "hidden_size", 1152);
    int64_t pooled = nwi_config_int(c, "pooled_projection_dim", 1024);
    bool style = nwi_config_bool(c, "use_style_cond_and_image_meta_size", true);
    int64_t extra = style ? 6 * (int64_t)256 + hidden + pooled : pooled;
    NWI_IN(m, "time_extra_emb")
    {
        nwi_two_linears(m, "timestep_embedder", 256, hidden, hidden);
        pooler(m, length, t5, pooled);
        if (style)
            nwi_embedding(m, "style_embedder", 1, hidden);
        nwi_two_linears(m, "extra_embedder", extra, 4 * hidden, hidden);
    }
}

/* Both texts, brought to one width, and the image. */
static void embedders(struct nwi_module *m, struct nwi_config *c,
                      const struct hunyuan *hunyuan, struct nwi_patch_embed patch)
{
    int64_t t5 = nwi_config_int(c, "cross_attention_dim_t5", 2048);
    int64_t length = nwi_config_int(c, "text_len", 77);
    int64_t length_t5 = nwi_config_int(c, "text_len_t5", 256);
    nwi_parameter(m, "text_embedding_padding",
                  NWI_DIMS(length + length_t5, hunyuan->cross_dim));
    nwi_two_linears(m, "text_embedder", t5, 4 * t5, hunyuan->cross_dim);
    NWI_IN(m, "pos_embed")
    {
        nwi_patch_embed(m, patch);
    }
    extra_embed(m, c, length_t5, t5);
}

static void read_block(struct nwi_config *c, struct hunyuan *hunyuan)
{
    hunyuan->heads = nwi_config_int(c, "num_attention_heads", 16);
    hunyuan->head_dim = nwi_config_int(c, "attention_head_dim", 88);
    hunyuan->dim = hunyuan->heads * hunyuan->head_dim;
    hunyuan->cross_dim = nwi_config_int(c, "cross_attention_dim", 1024);
    hunyuan->inner = nwi_video_mlp(c, hunyuan->dim);
    hunyuan->gated = nwi_video_gated(c, "activation_fn", "gelu-approximate");
    if (hunyuan->heads <= 0 || hunyuan->cross_dim <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "%lld heads attend to %lld channels",
                        (long long)hunyuan->heads, (long long)hunyuan->cross_dim);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t in = nwi_config_needed(c, "in_channels");
    int64_t patch = nwi_config_needed(c, "patch_size");
    int64_t n = nwi_config_count(c, "num_layers", 28);
    bool sigma = nwi_config_bool(c, "learn_sigma", true);
    int64_t hidden = nwi_config_int(c, "hidden_size", 1152);
    int64_t out = sigma ? 2 * in : in;
    struct hunyuan hunyuan;

    read_block(c, &hunyuan);
    embedders(m, c, &hunyuan,
              (struct nwi_patch_embed){.in = in, .dim = hidden, .patch = patch});
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "blocks.%lld", (long long)i)
        {
            block(m, &hunyuan, i > n / 2);
        }
    nwi_linear(m, "norm_out.linear", hunyuan.dim, 2 * hunyuan.dim, true);
    nwi_linear(m, "proj_out", hunyuan.dim, patch * patch * out, true);
}

static void derive_block(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "proj_out.weight", 1);
    int64_t head_dim = nwi_header_dim(h, "blocks.0.attn1.norm_q.weight", 0);
    int64_t inner = nwi_header_dim(h, "blocks.0.ff.net.2.weight", 1);
    nwi_derive_heads(c, dim, head_dim > 0 ? head_dim : 88);
    nwi_config_derive_ratio(c, "mlp_ratio", inner, dim);
    nwi_video_derive_gate(c, "activation_fn", "gelu-approximate",
                          nwi_header_dim(h, "blocks.0.ff.net.0.proj.weight", 0), inner);
}

static void derive_texts(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t both = nwi_header_dim(h, "text_embedding_padding", 0);
    int64_t t5 = nwi_header_dim(h, "time_extra_emb.pooler.positional_embedding", 0) - 1;
    nwi_config_derive(c, "text_len_t5", t5);
    if (t5 >= 0)
        nwi_config_derive(c, "text_len", both - t5);
    nwi_config_derive(c, "cross_attention_dim",
                      nwi_header_dim(h, "text_embedding_padding", 1));
    nwi_config_derive(c, "cross_attention_dim_t5",
                      nwi_header_dim(h, "text_embedder.linear_1.weight", 1));
    nwi_config_derive(c, "pooled_projection_dim",
                      nwi_header_dim(h, "time_extra_emb.pooler.c_proj.weight", 0));
    if (nwi_header_any(h, "time_extra_emb."))
        nwi_config_derive_bool(c, "use_style_cond_and_image_meta_size",
                               nwi_header_any(h, "time_extra_emb.style_embedder."));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "pos_embed.proj.weight", 1);
    int64_t patch = nwi_header_dim(h, "pos_embed.proj.weight", 2);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    nwi_config_derive(c, "hidden_size", nwi_header_dim(h, "pos_embed.proj.weight", 0));
    nwi_config_derive(c, "in_channels", in);
    nwi_config_derive(c, "patch_size", patch);
    if (patch > 0 && patch < INT32_MAX)
        nwi_config_derive_bool(c, "learn_sigma",
                               nwi_quotient(out, patch * patch) != in);
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "blocks."));
    derive_block(c, h);
    derive_texts(c, h);
}

static const char *const plain_keys[] = {"sample_size", "norm_type", NULL};

const struct nwi_architecture nwi_arch_hunyuan_dit_2d = {
    .klass = "HunyuanDiT2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
