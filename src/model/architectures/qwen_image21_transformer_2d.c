/* SPDX-License-Identifier: Apache-2.0
 * QwenImage21Transformer2DModel (diffusers 0.42.1,
 * models/transformers/transformer_qwenimage21.py): Qwen-Image 2.1. No layer has a bias. */
#include "model/architecture.h"
#include "model/blocks_dit.h"

static void block(struct nwi_module *m, int64_t dim, int64_t head_dim, int64_t inner)
{
    NWI_IN(m, "attn")
    {
        nwi_linear(m, "to_q", dim, dim, false);
        nwi_linear(m, "to_k", dim, dim, false);
        nwi_linear(m, "to_v", dim, dim, false);
        nwi_linear(m, "to_out.0", dim, dim, false);
        nwi_rms_norm(m, "norm_q", head_dim);
        nwi_rms_norm(m, "norm_k", head_dim);
    }
    NWI_IN(m, "img_mlp")
    {
        nwi_linear(m, "proj", dim, inner, false);
        nwi_linear(m, "out", inner, dim, false);
        nwi_linear(m, "gate_layer", dim, inner, false);
    }
}

static void embedders(struct nwi_module *m, int64_t dim, int64_t context)
{
    NWI_IN(m, "time_text_embed")
    {
        nwi_scratch_buffer(m, "time_proj.freqs", NWI_DIMS(128));
        nwi_linear(m, "timestep_embedder.linear_1", 256, dim, false);
        nwi_linear(m, "timestep_embedder.linear_2", dim, dim, false);
    }
    NWI_IN(m, "txt_in")
    {
        nwi_zero_norm(m, "text_norm", context);
        nwi_linear(m, "in_layer", context, dim, false);
        nwi_linear(m, "out_layer", dim, dim, false);
    }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_config_int(c, "patch_size", 1);
    int64_t in = nwi_config_int(c, "in_channels", 64);
    int64_t out = nwi_config_int_or_null(c, "out_channels", 64);
    int64_t n = nwi_config_count(c, "num_layers", 32);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    int64_t dim = head_dim * nwi_config_int(c, "num_attention_heads", 32);
    int64_t context = nwi_config_int(c, "context_in_dim", 4096);
    int64_t ratio = nwi_config_int(c, "mlp_ratio", 3);

    if (out == NWI_NULL || out == 0)
        out = in;
    embedders(m, dim, context);
    nwi_linear(m, "img_in", patch * patch * in, dim, false);
    nwi_linear(m, "modulation.1", dim, 4 * dim, false);
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, dim, head_dim, ratio * dim);
        }
    nwi_linear(m, "norm_out.linear", dim, dim, false);
    nwi_linear(m, "proj_out", dim, patch * patch * out, false);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "img_in.weight", 0);
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0);
    int64_t inner = nwi_header_dim(h, "transformer_blocks.0.img_mlp.proj.weight", 0);
    nwi_config_derive(c, "patch_size", 1);
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "img_in.weight", 1));
    nwi_config_derive(c, "out_channels", nwi_header_dim(h, "proj_out.weight", 0));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(dim, head_dim));
    nwi_config_derive(c, "context_in_dim",
                      nwi_header_dim(h, "txt_in.in_layer.weight", 1));
    nwi_config_derive(c, "mlp_ratio", nwi_quotient(inner, dim));
}

static const char *const plain_keys[] = {"eps", "causal_condition", "axes_dims_rope",
                                         NULL};

const struct nwi_architecture nwi_arch_qwen_image21_transformer_2d = {
    .klass = "QwenImage21Transformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
