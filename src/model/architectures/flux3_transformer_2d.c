/* SPDX-License-Identifier: Apache-2.0
 * Flux3Transformer2DModel (diffusers 0.42.1, models/transformers/transformer_flux3.py):
 * FLUX.3. Image, reference images and text each pass blocks of their own, then joint ones;
 * no layer has a bias. */
#include "model/architecture.h"
#include "model/blocks_dit.h"
#include "model/blocks_flux.h"
#include "model/blocks_flux2.h"

static void block(struct nwi_module *m, const struct nwi_flux2 *flux)
{
    NWI_IN(m, "attn")
    {
        nwi_flux2_attention(m, flux);
    }
    nwi_flux2_feed_forward(m, "ff", flux);
}

static void blocks(struct nwi_module *m, const char *name, int64_t n,
                   const struct nwi_flux2 *flux)
{
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "%s.%lld", name, (long long)i)
        {
            block(m, flux);
        }
}

/* A modulation for each kind of token. */
static void modulations(struct nwi_module *m, const char *name, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "image.linear", dim, 3 * dim, false);
        nwi_linear(m, "image_cond.linear", dim, 3 * dim, false);
        nwi_linear(m, "txt.linear", dim, 3 * dim, false);
    }
}

static void embedders(struct nwi_module *m, struct nwi_config *c, int64_t in,
                      int64_t dim)
{
    int64_t cond = nwi_config_int(c, "cond_in_channels", 128);
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 20480);
    int64_t time = nwi_config_int(c, "timestep_channels", 256);
    nwi_flux2_embedder(m, "timestep_embedder", time, dim);
    if (nwi_config_bool(c, "flow_map", false))
        nwi_flux2_embedder(m, "target_timestep_embedder", time, dim);
    modulations(m, "early_stream_modulations", dim);
    modulations(m, "single_stream_modulations", dim);
    nwi_linear(m, "x_embedders.image", in, dim, false);
    nwi_linear(m, "x_embedders.image_cond", cond, dim, false);
    nwi_linear(m, "context_embedder", joint, dim, false);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t in = nwi_config_int(c, "in_channels", 128);
    int64_t n = nwi_config_count(c, "num_layers", 5);
    int64_t n_single = nwi_config_count(c, "num_single_layers", 28);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 24);
    struct nwi_flux2 flux = {.dim = heads * head_dim, .head_dim = head_dim};

    flux.inner = nwi_scaled(c, nwi_config_real(c, "mlp_ratio", 3), flux.dim);
    embedders(m, c, in, flux.dim);
    blocks(m, "mode_blocks.image", n, &flux);
    blocks(m, "mode_blocks.image_cond", n, &flux);
    blocks(m, "txt_mode_blocks", n, &flux);
    blocks(m, "single_transformer_blocks", n_single, &flux);
    nwi_linear(m, "norm_out.linear", flux.dim, 2 * flux.dim, false);
    nwi_linear(m, "proj_out", flux.dim, in, false);
}

static void derive_block(struct nwi_config *c, int64_t dim, int64_t head_dim,
                         int64_t inner)
{
    nwi_flux_derive_heads(c, dim, head_dim);
    nwi_config_derive_ratio(c, "mlp_ratio", inner, dim);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedders.image.weight", 0);
    derive_block(
        c, dim, nwi_header_dim(h, "single_transformer_blocks.0.attn.norm_q.weight", 0),
        nwi_header_dim(h, "single_transformer_blocks.0.ff.linear_out.weight", 1));
    if (!nwi_header_any(h, "single_transformer_blocks.0."))
        derive_block(c, dim,
                     nwi_header_dim(h, "txt_mode_blocks.0.attn.norm_q.weight", 0),
                     nwi_header_dim(h, "txt_mode_blocks.0.ff.linear_out.weight", 1));
    nwi_config_derive(c, "in_channels",
                      nwi_header_dim(h, "x_embedders.image.weight", 1));
    nwi_config_derive(c, "cond_in_channels",
                      nwi_header_dim(h, "x_embedders.image_cond.weight", 1));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "txt_mode_blocks."));
    nwi_config_derive(c, "num_single_layers",
                      nwi_header_count(h, "single_transformer_blocks."));
    nwi_config_derive(c, "joint_attention_dim",
                      nwi_header_dim(h, "context_embedder.weight", 1));
    nwi_config_derive(c, "timestep_channels",
                      nwi_header_dim(h, "timestep_embedder.linear_1.weight", 1));
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
