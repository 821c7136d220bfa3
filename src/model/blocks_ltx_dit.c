/* SPDX-License-Identifier: Apache-2.0
 * LTX-Video, LTX-2 (diffusers 0.42.1, models/transformers/transformer_ltx2.py,
 * pipelines/ltx2/latent_upsampler.py). */
#include "model/blocks_ltx_dit.h"

#define NORM_GROUPS 32

void nwi_ltx_attention(struct nwi_module *m, const char *name,
                       struct nwi_ltx_attention shape)
{
    int64_t inner = shape.heads * shape.head_dim;
    int64_t context = shape.context == NWI_NULL ? shape.query : shape.context;
    NWI_IN(m, "%s", name)
    {
        nwi_rms_norm(m, "norm_q", inner);
        nwi_rms_norm(m, "norm_k", inner);
        nwi_linear(m, "to_q", shape.query, inner, shape.bias);
        nwi_linear(m, "to_k", context, inner, shape.bias);
        nwi_linear(m, "to_v", context, inner, shape.bias);
        nwi_linear(m, "to_out.0", inner, shape.query, shape.out_bias);
        if (shape.gated)
            nwi_linear(m, "to_gate_logits", shape.query, shape.heads, true);
    }
}

void nwi_ltx_check_norm(struct nwi_config *c)
{
    if (!nwi_config_is(c, "qk_norm", "rms_norm_across_heads", "rms_norm_across_heads"))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"qk_norm\" of the config is not rms_norm_across_heads");
}

void nwi_ltx_check_rope(struct nwi_config *c)
{
    if (!nwi_config_is(c, "rope_type", "interleaved", "interleaved") &&
        !nwi_config_is(c, "rope_type", "interleaved", "split"))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"rope_type\" of the config is neither interleaved nor split");
}

/* ---- upsamplers ---- */

void nwi_ltx_upsampler_read(struct nwi_config *c, struct nwi_ltx_upsampler *up)
{
    up->in = nwi_config_int(c, "in_channels", 128);
    up->mid = nwi_config_int(c, "mid_channels", up->mid);
    up->n_blocks = nwi_config_count(c, "num_blocks_per_stage", 4);
    up->dims = nwi_config_int(c, "dims", 3);
    up->spatial = nwi_config_bool(c, "spatial_upsample", true);
    up->temporal = nwi_config_bool(c, "temporal_upsample", false);
    if (!up->spatial && !up->temporal)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config upsamples neither space nor time");
    if (up->mid % NORM_GROUPS != 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"mid_channels\" of the config is %lld",
                        (long long)up->mid);
}

static void conv(struct nwi_module *m, const char *name,
                 const struct nwi_ltx_upsampler *up, int64_t in, int64_t out)
{
    if (up->dims == 2)
        nwi_conv2d(m, name, in, out, 3, true);
    else
        nwi_conv3d(m, name, in, out, 3, 3, 3, true);
}

static void blocks(struct nwi_module *m, const char *name,
                   const struct nwi_ltx_upsampler *up)
{
    for (int64_t i = 0; i < up->n_blocks; i++)
        NWI_IN(m, "%s.%lld", name, (long long)i)
        {
            conv(m, "conv1", up, up->mid, up->mid);
            nwi_norm(m, "norm1", up->mid);
            conv(m, "conv2", up, up->mid, up->mid);
            nwi_norm(m, "norm2", up->mid);
        }
}

void nwi_ltx_upsampler_before(struct nwi_module *m, const struct nwi_ltx_upsampler *up)
{
    conv(m, "initial_conv", up, up->in, up->mid);
    nwi_norm(m, "initial_norm", up->mid);
    blocks(m, "res_blocks", up);
}

void nwi_ltx_upsampler_shuffle(struct nwi_module *m, const struct nwi_ltx_upsampler *up)
{
    int64_t more = up->mid * (up->spatial ? 4 : 1) * (up->temporal ? 2 : 1);
    if (up->temporal)
        nwi_conv3d(m, "upsampler.0", up->mid, more, 3, 3, 3, true);
    else
        nwi_conv2d(m, "upsampler.0", up->mid, more, 3, true);
}

void nwi_ltx_upsampler_after(struct nwi_module *m, const struct nwi_ltx_upsampler *up)
{
    blocks(m, "post_upsample_res_blocks", up);
    conv(m, "final_conv", up, up->mid, up->in);
}

void nwi_ltx_upsampler_derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t mid = nwi_header_dim(h, "initial_conv.weight", 0);
    int64_t more = nwi_video_over(nwi_header_dim(h, "upsampler.0.weight", 0), mid);
    bool pictures = nwi_header_rank(h, "initial_conv.weight") == 4;
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "initial_conv.weight", 1));
    nwi_config_derive(c, "mid_channels", mid);
    nwi_config_derive(c, "num_blocks_per_stage", nwi_header_count(h, "res_blocks."));
    if ((nwi_config_int(c, "dims", 3) == 2) != pictures)
        nwi_config_derive(c, "dims", pictures ? 2 : 3);
    nwi_config_derive_bool(c, "spatial_upsample", more != 2);
    nwi_config_derive_bool(c, "temporal_upsample", more == 2 || more == 8);
}
