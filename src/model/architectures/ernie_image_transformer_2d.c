/* SPDX-License-Identifier: Apache-2.0
 * ErnieImageTransformer2DModel (diffusers 0.42.1,
 * models/transformers/transformer_ernie_image.py): ERNIE-Image. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_dit.h"

static void block(struct nwi_module *m, int64_t dim, int64_t heads, int64_t inner)
{
    int64_t head_dim = nwi_per_head(m->config, dim, heads);
    int64_t joined = heads * head_dim;
    nwi_rms_norm(m, "adaLN_sa_ln", dim);
    NWI_IN(m, "self_attention")
    {
        nwi_linear(m, "to_q", dim, joined, false);
        nwi_linear(m, "to_k", dim, joined, false);
        nwi_linear(m, "to_v", dim, joined, false);
        nwi_rms_norm(m, "norm_q", head_dim);
        nwi_rms_norm(m, "norm_k", head_dim);
        nwi_linear(m, "to_out.0", joined, dim, false);
    }
    nwi_rms_norm(m, "adaLN_mlp_ln", dim);
    NWI_IN(m, "mlp")
    {
        nwi_linear(m, "gate_proj", dim, inner, false);
        nwi_linear(m, "up_proj", dim, inner, false);
        nwi_linear(m, "linear_fc2", inner, dim, false);
    }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t dim = nwi_config_int(c, "hidden_size", 3072);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 24);
    int64_t n = nwi_config_count(c, "num_layers", 24);
    int64_t inner = nwi_config_int(c, "ffn_hidden_size", 8192);
    int64_t in = nwi_config_int(c, "in_channels", 128);
    int64_t out = nwi_config_int(c, "out_channels", 128);
    int64_t patch = nwi_config_int(c, "patch_size", 1);
    int64_t text = nwi_config_int(c, "text_in_dim", 2560);

    if (!nwi_config_bool(c, "qk_layernorm", true) && n > 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "qk_layernorm can only be true");
    (void)nwi_per_head(c, dim, heads);
    nwi_conv2d(m, "x_embedder.proj", in, dim, patch, true);
    if (text != dim)
        nwi_linear(m, "text_proj", text, dim, false);
    nwi_two_linears(m, "time_embedding", dim, dim, dim);
    nwi_zero_linear(m, "adaLN_modulation.1", dim, 6 * dim);
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "layers.%lld", (long long)i)
        {
            block(m, dim, heads, inner);
        }
    nwi_linear(m, "final_norm.linear", dim, 2 * dim, true);
    nwi_zero_linear(m, "final_linear", dim, patch * patch * out);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedder.proj.weight", 0);
    int64_t patch = nwi_header_dim(h, "x_embedder.proj.weight", 2);
    int64_t q = nwi_header_dim(h, "layers.0.self_attention.to_q.weight", 0);
    int64_t head_dim = nwi_header_dim(h, "layers.0.self_attention.norm_q.weight", 0);
    int64_t out = nwi_header_dim(h, "final_linear.weight", 0);
    int64_t text = nwi_header_dim(h, "text_proj.weight", 1);
    nwi_config_derive(c, "hidden_size", dim);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(q, head_dim));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "layers."));
    nwi_config_derive(c, "ffn_hidden_size",
                      nwi_header_dim(h, "layers.0.mlp.up_proj.weight", 0));
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "x_embedder.proj.weight", 1));
    nwi_config_derive(c, "patch_size", patch);
    if (patch > 0 && patch < 4096)
        nwi_config_derive(c, "out_channels", nwi_quotient(out, patch * patch));
    nwi_config_derive(c, "text_in_dim", text < 0 ? dim : text);
}

static const char *const plain_keys[] = {"rope_theta", "rope_axes_dim", "eps", NULL};

const struct nwi_architecture nwi_arch_ernie_image_transformer_2d = {
    .klass = "ErnieImageTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
