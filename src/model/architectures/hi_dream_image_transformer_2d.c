/* SPDX-License-Identifier: Apache-2.0
 * HiDreamImageTransformer2DModel (diffusers 0.42.1,
 * models/transformers/transformer_hidream_image.py): HiDream-I1. Pictures go through a
 * mixture of experts, text through a plain feed-forward. */
#include <stdio.h>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_dit.h"
#include "model/blocks_patch.h"

struct hidream {
    int64_t dim;
    int64_t experts;
};

/* Gated; int(2 * hidden / 3), up to a multiple of 256. */
static void feed_forward(struct nwi_module *m, int64_t dim, int64_t hidden)
{
    int64_t inner = (2 * hidden / 3 + 255) / 256 * 256;
    nwi_linear(m, "w1", dim, inner, false);
    nwi_linear(m, "w2", inner, dim, false);
    nwi_linear(m, "w3", dim, inner, false);
}

static void expert(struct nwi_module *m, int64_t dim, int64_t i)
{
    NWI_IN(m, "experts.%lld", (long long)i)
    {
        feed_forward(m, dim, 4 * dim);
    }
}

static void shared_expert(struct nwi_module *m, int64_t dim)
{
    NWI_IN(m, "shared_experts")
    {
        feed_forward(m, dim, 2 * dim);
    }
}

static void picture_feed_forward(struct nwi_module *m, const struct hidream *hidream)
{
    NWI_IN(m, "ff_i")
    {
        if (hidream->experts == 0)
            feed_forward(m, hidream->dim, 4 * hidream->dim);
        else
            shared_expert(m, hidream->dim);
        for (int64_t i = 0; i < hidream->experts; i++)
            expert(m, hidream->dim, i);
        if (hidream->experts > 0)
            nwi_parameter(m, "gate.weight", NWI_DIMS(hidream->experts, hidream->dim));
    }
}

static void projections(struct nwi_module *m, int64_t dim)
{
    nwi_linear(m, "to_q", dim, dim, true);
    nwi_linear(m, "to_k", dim, dim, true);
    nwi_linear(m, "to_v", dim, dim, true);
    nwi_linear(m, "to_out", dim, dim, true);
    nwi_rms_norm(m, "q_rms_norm", dim);
    nwi_rms_norm(m, "k_rms_norm", dim);
}

static void text_projections(struct nwi_module *m, int64_t dim)
{
    nwi_linear(m, "to_q_t", dim, dim, true);
    nwi_linear(m, "to_k_t", dim, dim, true);
    nwi_linear(m, "to_v_t", dim, dim, true);
    nwi_linear(m, "to_out_t", dim, dim, true);
    nwi_rms_norm(m, "q_rms_norm_t", dim);
    nwi_rms_norm(m, "k_rms_norm_t", dim);
}

static void attention(struct nwi_module *m, int64_t dim, bool text)
{
    NWI_IN(m, "attn1")
    {
        projections(m, dim);
        if (text)
            text_projections(m, dim);
    }
}

static void text_feed_forward(struct nwi_module *m, int64_t dim)
{
    NWI_IN(m, "ff_t")
    {
        feed_forward(m, dim, 4 * dim);
    }
}

static void block(struct nwi_module *m, const struct hidream *hidream, bool text)
{
    nwi_linear(m, "adaLN_modulation.1", hidream->dim, (text ? 12 : 6) * hidream->dim,
               true);
    attention(m, hidream->dim, text);
    picture_feed_forward(m, hidream);
    if (text)
        text_feed_forward(m, hidream->dim);
}

static void captions(struct nwi_module *m, struct nwi_config *c, int64_t n, int64_t dim)
{
    struct nwi_config_ints channels;
    nwi_config_ints(c, "caption_channels", &channels);
    if (channels.n < 2) {
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"caption_channels\" of the config needs two numbers");
        return;
    }
    for (int64_t i = 0; i <= n; i++)
        NWI_IN(m, "caption_projection.%lld", (long long)i)
        {
            nwi_linear(m, "linear", channels.at[i < n], dim, false);
        }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_config_needed(c, "patch_size");
    int64_t in = nwi_config_int(c, "in_channels", 64);
    int64_t out = nwi_config_int_or_null(c, "out_channels", NWI_NULL);
    int64_t n_double = nwi_config_count(c, "num_layers", 16);
    int64_t n_single = nwi_config_count(c, "num_single_layers", 32);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 20);
    int64_t pooled = nwi_config_int(c, "text_emb_dim", 2048);
    struct hidream hidream = {.dim = heads * head_dim};

    hidream.experts = nwi_config_count(c, "num_routed_experts", 4);
    if (out == NWI_NULL || out == 0)
        out = in;
    nwi_two_linears(m, "t_embedder.timestep_embedder", 256, hidream.dim, hidream.dim);
    nwi_two_linears(m, "p_embedder.pooled_embedder", pooled, hidream.dim, hidream.dim);
    nwi_linear(m, "x_embedder.proj", nwi_product(c, in, patch, patch, 1), hidream.dim,
               true);
    for (int64_t i = 0; i < n_double; i++)
        NWI_BLOCK(m, "double_stream_blocks.%lld.block", (long long)i)
        {
            block(m, &hidream, true);
        }
    for (int64_t i = 0; i < n_single; i++)
        NWI_BLOCK(m, "single_stream_blocks.%lld.block", (long long)i)
        {
            block(m, &hidream, false);
        }
    nwi_linear(m, "final_layer.linear", hidream.dim,
               nwi_product(c, out, patch, patch, 1), true);
    nwi_linear(m, "final_layer.adaLN_modulation.1", hidream.dim, 2 * hidream.dim, true);
    captions(m, c, n_double + n_single, hidream.dim);
}

static void derive_captions(struct nwi_config *c, const struct nwi_header *h, int64_t n)
{
    char name[64];
    (void)snprintf(name, sizeof name, "caption_projection.%lld.linear.weight",
                   (long long)n);
    int64_t last = nwi_header_dim(h, name, 1);
    int64_t first =
        n > 0 ? nwi_header_dim(h, "caption_projection.0.linear.weight", 1) : last;
    const int64_t channels[] = {last, first};
    nwi_config_derive_ints(c, "caption_channels", channels, 2);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedder.proj.weight", 0);
    int64_t in = nwi_header_dim(h, "x_embedder.proj.weight", 1);
    int64_t out = nwi_header_dim(h, "final_layer.linear.weight", 0);
    int64_t patch = nwi_patch_of(in, out, 2);
    int64_t n_double = nwi_header_count(h, "double_stream_blocks.");
    int64_t n_single = nwi_header_count(h, "single_stream_blocks.");
    const char *list = n_double > 0 ? "double_stream_blocks.0.block.ff_i.experts."
                                    : "single_stream_blocks.0.block.ff_i.experts.";
    nwi_config_derive(c, "patch_size", patch);
    nwi_config_derive(c, "in_channels", nwi_quotient(in, patch * patch));
    nwi_config_derive(c, "out_channels", nwi_quotient(out, patch * patch));
    nwi_config_derive(c, "num_layers", n_double);
    nwi_config_derive(c, "num_single_layers", n_single);
    nwi_config_derive(c, "num_routed_experts", nwi_header_count(h, list));
    nwi_config_derive(
        c, "text_emb_dim",
        nwi_header_dim(h, "p_embedder.pooled_embedder.linear_1.weight", 1));
    nwi_derive_heads(c, dim, 128);
    derive_captions(c, h, n_double + n_single);
}

static const char *const plain_keys[] = {"num_activated_experts",  "axes_dims_rope",
                                         "max_resolution",         "llama_layers",
                                         "force_inference_output", NULL};

const struct nwi_architecture nwi_arch_hi_dream_image_transformer_2d = {
    .klass = "HiDreamImageTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
