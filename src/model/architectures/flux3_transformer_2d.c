/* SPDX-License-Identifier: Apache-2.0
 * Flux3Transformer2DModel (diffusers 0.42.1, models/transformers/transformer_flux3.py):
 * FLUX.3 image. Three streams (picture, picture to condition on, text), no biases. */
#include "model/architecture.h"
#include "model/blocks_dit.h"

struct flux3 {
    int64_t dim;
    int64_t head_dim;
    int64_t mlp;
};

static void two_linears(struct nwi_module *m, const char *name, int64_t in, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear_1", in, dim, false);
        nwi_linear(m, "linear_2", dim, dim, false);
    }
}

static void modulations(struct nwi_module *m, const char *name, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "image.linear", dim, 3 * dim, false);
        nwi_linear(m, "image_cond.linear", dim, 3 * dim, false);
        nwi_linear(m, "txt.linear", dim, 3 * dim, false);
    }
}

static void blocks(struct nwi_module *m, const char *list, int64_t n,
                   const struct flux3 *flux3)
{
    int64_t dim = flux3->dim;
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "%s.%lld", list, (long long)i)
        {
            nwi_linear(m, "attn.to_q", dim, dim, false);
            nwi_linear(m, "attn.to_k", dim, dim, false);
            nwi_linear(m, "attn.to_v", dim, dim, false);
            nwi_rms_norm(m, "attn.norm_q", flux3->head_dim);
            nwi_rms_norm(m, "attn.norm_k", flux3->head_dim);
            nwi_linear(m, "attn.to_out.0", dim, dim, false);
            nwi_linear(m, "ff.linear_in", dim, 2 * flux3->mlp, false);
            nwi_linear(m, "ff.linear_out", flux3->mlp, dim, false);
        }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t in = nwi_config_int(c, "in_channels", 128);
    int64_t cond = nwi_config_int(c, "cond_in_channels", 128);
    int64_t n_early = nwi_config_count(c, "num_layers", 5);
    int64_t n_single = nwi_config_count(c, "num_single_layers", 28);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 24);
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 20480);
    int64_t channels = nwi_config_int(c, "timestep_channels", 256);
    bool flow_map = nwi_config_bool(c, "flow_map", false);
    struct flux3 flux3 = {.dim = heads * head_dim, .head_dim = head_dim};

    flux3.mlp = nwi_scaled(c, nwi_config_real(c, "mlp_ratio", 3.0), flux3.dim);
    two_linears(m, "timestep_embedder", channels, flux3.dim);
    if (flow_map)
        two_linears(m, "target_timestep_embedder", channels, flux3.dim);
    modulations(m, "early_stream_modulations", flux3.dim);
    modulations(m, "single_stream_modulations", flux3.dim);
    nwi_linear(m, "x_embedders.image", in, flux3.dim, false);
    nwi_linear(m, "x_embedders.image_cond", cond, flux3.dim, false);
    nwi_linear(m, "context_embedder", joint, flux3.dim, false);
    blocks(m, "mode_blocks.image", n_early, &flux3);
    blocks(m, "mode_blocks.image_cond", n_early, &flux3);
    blocks(m, "txt_mode_blocks", n_early, &flux3);
    blocks(m, "single_transformer_blocks", n_single, &flux3);
    nwi_linear(m, "norm_out.linear", flux3.dim, 2 * flux3.dim, false);
    nwi_linear(m, "proj_out", flux3.dim, in, false);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedders.image.weight", 0);
    int64_t head_dim = nwi_header_dim(h, "txt_mode_blocks.0.attn.norm_q.weight", 0);
    int64_t mlp = nwi_header_dim(h, "txt_mode_blocks.0.ff.linear_out.weight", 1);
    if (head_dim < 0) {
        head_dim =
            nwi_header_dim(h, "single_transformer_blocks.0.attn.norm_q.weight", 0);
        mlp = nwi_header_dim(h, "single_transformer_blocks.0.ff.linear_out.weight", 1);
    }
    nwi_config_derive(c, "in_channels",
                      nwi_header_dim(h, "x_embedders.image.weight", 1));
    nwi_config_derive(c, "cond_in_channels",
                      nwi_header_dim(h, "x_embedders.image_cond.weight", 1));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "txt_mode_blocks."));
    nwi_config_derive(c, "num_single_layers",
                      nwi_header_count(h, "single_transformer_blocks."));
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(dim, head_dim));
    nwi_config_derive(c, "joint_attention_dim",
                      nwi_header_dim(h, "context_embedder.weight", 1));
    nwi_config_derive(c, "timestep_channels",
                      nwi_header_dim(h, "timestep_embedder.linear_1.weight", 1));
    if (mlp > 0 && dim > 0)
        nwi_config_derive_ratio(c, "mlp_ratio", mlp, dim);
    nwi_config_derive_bool(c, "flow_map",
                           nwi_header_any(h, "target_timestep_embedder."));
}

static const char *const plain_keys[] = {"axes_dims_rope", "rope_theta", "eps", NULL};
static const char *const keep_fp32[] = {"norm_q", "norm_k", NULL};

const struct nwi_architecture nwi_arch_flux3_transformer_2d = {
    .klass = "Flux3Transformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .plain_keys = plain_keys,
};
