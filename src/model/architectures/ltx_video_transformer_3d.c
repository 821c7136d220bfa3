/* SPDX-License-Identifier: Apache-2.0
 * LTXVideoTransformer3DModel (diffusers 0.42.1, models/transformers/transformer_ltx.py):
 * LTX-Video 0.9, 2B and 13B. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_ltx_dit.h"

struct ltx {
    int64_t dim;
    struct nwi_ltx_attention self;
    struct nwi_ltx_attention cross;
    bool gated;
    bool affine;
};

static void block(struct nwi_module *m, const struct ltx *ltx)
{
    nwi_parameter(m, "scale_shift_table", NWI_DIMS(6, ltx->dim));
    if (ltx->affine)
        nwi_rms_norm(m, "norm1", ltx->dim);
    nwi_ltx_attention(m, "attn1", ltx->self);
    if (ltx->affine)
        nwi_rms_norm(m, "norm2", ltx->dim);
    nwi_ltx_attention(m, "attn2", ltx->cross);
    nwi_feed_forward(m, "ff",
                     (struct nwi_feed_forward){.dim = ltx->dim, .gated = ltx->gated});
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t in = nwi_config_int(c, "in_channels", 128);
    int64_t out = nwi_config_int_or_null(c, "out_channels", 128);
    int64_t n_layers = nwi_config_count(c, "num_layers", 28);
    int64_t caption = nwi_config_int(c, "caption_channels", 4096);
    struct ltx ltx = {
        .self = {.context = NWI_NULL,
                 .heads = nwi_config_int(c, "num_attention_heads", 32),
                 .head_dim = nwi_config_int(c, "attention_head_dim", 64),
                 .bias = nwi_config_bool(c, "attention_bias", true),
                 .out_bias = nwi_config_bool(c, "attention_out_bias", true)},
        .gated = nwi_video_gated(c, "activation_fn", "gelu-approximate"),
        .affine = nwi_config_bool(c, "norm_elementwise_affine", false),
    };
    nwi_ltx_check_norm(c);
    ltx.dim = ltx.self.heads * ltx.self.head_dim;
    ltx.self.query = ltx.dim;
    ltx.cross = ltx.self;
    ltx.cross.context = nwi_config_int_or_null(c, "cross_attention_dim", 2048);

    if (out == NWI_NULL || out == 0)
        out = in;
    nwi_parameter(m, "scale_shift_table", NWI_DIMS(2, ltx.dim));
    nwi_linear(m, "proj_in", in, ltx.dim, true);
    nwi_video_ada_single(m, "time_embed", ltx.dim, 6);
    nwi_two_linears(m, "caption_projection", caption, ltx.dim, ltx.dim);
    for (int64_t i = 0; i < n_layers; i++)
        NWI_IN(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, &ltx);
        }
    nwi_linear(m, "proj_out", ltx.dim, out, true);
}

static void derive_block(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_config_derive_bool(c, "attention_bias",
                           nwi_header_has(h, "transformer_blocks.0.attn1.to_q.bias"));
    nwi_config_derive_bool(
        c, "attention_out_bias",
        nwi_header_has(h, "transformer_blocks.0.attn1.to_out.0.bias"));
    nwi_config_derive_bool(c, "norm_elementwise_affine",
                           nwi_header_has(h, "transformer_blocks.0.norm1.weight"));
    nwi_video_derive_gate(
        c, "activation_fn", "gelu-approximate",
        nwi_header_dim(h, "transformer_blocks.0.ff.net.0.proj.weight", 0),
        nwi_header_dim(h, "transformer_blocks.0.ff.net.2.weight", 1));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "proj_in.weight", 1);
    int64_t dim = nwi_header_dim(h, "proj_in.weight", 0);
    int64_t cross = nwi_header_dim(h, "transformer_blocks.0.attn2.to_k.weight", 1);
    int64_t n_layers = nwi_header_count(h, "transformer_blocks.");
    nwi_config_derive(c, "in_channels", in);
    nwi_video_derive_out(c, "out_channels", in,
                         nwi_header_dim(h, "proj_out.weight", 0));
    nwi_config_derive(c, "num_layers", n_layers);
    nwi_video_derive_factor(c, "attention_head_dim", dim, "num_attention_heads", 32);
    nwi_config_derive(c, "caption_channels",
                      nwi_header_dim(h, "caption_projection.linear_1.weight", 1));
    nwi_video_derive_out(c, "cross_attention_dim", dim, cross);
    if (n_layers > 0)
        derive_block(c, h);
}

static const char *const plain_keys[] = {"norm_eps", "patch_size", "patch_size_t",
                                         NULL};

const struct nwi_architecture nwi_arch_ltx_video_transformer_3d = {
    .klass = "LTXVideoTransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
