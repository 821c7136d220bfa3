/* SPDX-License-Identifier: Apache-2.0
 * Flux2Transformer2DModel (diffusers 0.42.1, models/transformers/transformer_flux2.py):
 * FLUX.2 dev and klein. Blocks of a kind share their modulation; no layer has a bias. */
#include "model/architecture.h"
#include "model/blocks_dit.h"
#include "model/blocks_flux.h"
#include "model/blocks_flux2.h"

static void double_block(struct nwi_module *m, const struct nwi_flux2 *flux)
{
    int64_t dim = flux->dim;
    NWI_IN(m, "attn")
    {
        nwi_flux2_attention(m, flux);
        nwi_rms_norm(m, "norm_added_q", flux->head_dim);
        nwi_rms_norm(m, "norm_added_k", flux->head_dim);
        nwi_linear(m, "add_q_proj", dim, dim, false);
        nwi_linear(m, "add_k_proj", dim, dim, false);
        nwi_linear(m, "add_v_proj", dim, dim, false);
        nwi_linear(m, "to_add_out", dim, dim, false);
    }
    nwi_flux2_feed_forward(m, "ff", flux);
    nwi_flux2_feed_forward(m, "ff_context", flux);
}

/* Attention and feed forward side by side: one layer in, one layer out. */
static void single_block(struct nwi_module *m, const struct nwi_flux2 *flux)
{
    int64_t dim = flux->dim;
    NWI_IN(m, "attn")
    {
        nwi_linear(m, "to_qkv_mlp_proj", dim, 3 * dim + 2 * flux->inner, false);
        nwi_rms_norm(m, "norm_q", flux->head_dim);
        nwi_rms_norm(m, "norm_k", flux->head_dim);
        nwi_linear(m, "to_out", dim + flux->inner, dim, false);
    }
}

static void embedders(struct nwi_module *m, struct nwi_config *c, int64_t in,
                      int64_t dim)
{
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 15360);
    int64_t time = nwi_config_int(c, "timestep_guidance_channels", 256);
    NWI_IN(m, "time_guidance_embed")
    {
        nwi_flux2_embedder(m, "timestep_embedder", time, dim);
        if (nwi_config_bool(c, "guidance_embeds", true))
            nwi_flux2_embedder(m, "guidance_embedder", time, dim);
    }
    nwi_linear(m, "double_stream_modulation_img.linear", dim, 6 * dim, false);
    nwi_linear(m, "double_stream_modulation_txt.linear", dim, 6 * dim, false);
    nwi_linear(m, "single_stream_modulation.linear", dim, 3 * dim, false);
    nwi_linear(m, "x_embedder", in, dim, false);
    nwi_linear(m, "context_embedder", joint, dim, false);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_config_int(c, "patch_size", 1);
    int64_t in = nwi_config_int(c, "in_channels", 128);
    int64_t out = nwi_config_int_or_null(c, "out_channels", NWI_NULL);
    int64_t n_double = nwi_config_count(c, "num_layers", 8);
    int64_t n_single = nwi_config_count(c, "num_single_layers", 48);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 48);
    struct nwi_flux2 flux = {.dim = heads * head_dim, .head_dim = head_dim};

    flux.inner = nwi_scaled(c, nwi_config_real(c, "mlp_ratio", 3), flux.dim);
    if (out == NWI_NULL || out == 0)
        out = in;
    embedders(m, c, in, flux.dim);
    for (int64_t i = 0; i < n_double; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            double_block(m, &flux);
        }
    for (int64_t i = 0; i < n_single; i++)
        NWI_BLOCK(m, "single_transformer_blocks.%lld", (long long)i)
        {
            single_block(m, &flux);
        }
    nwi_linear(m, "norm_out.linear", flux.dim, 2 * flux.dim, false);
    nwi_linear(m, "proj_out", flux.dim, patch * patch * out, false);
}

static void derive_inner(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedder.weight", 0);
    int64_t both =
        nwi_header_dim(h, "single_transformer_blocks.0.attn.to_out.weight", 1);
    nwi_config_derive_ratio(c, "mlp_ratio", both - dim, dim);
    nwi_config_derive_ratio(
        c, "mlp_ratio",
        nwi_header_dim(h, "transformer_blocks.0.ff.linear_out.weight", 1), dim);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    static const char time[] = "time_guidance_embed.timestep_embedder.linear_1.weight";
    nwi_flux_derive(c, h);
    nwi_flux_derive_output(c, h);
    derive_inner(c, h);
    nwi_config_derive(c, "timestep_guidance_channels", nwi_header_dim(h, time, 1));
    if (nwi_header_has(h, time))
        nwi_config_derive_bool(
            c, "guidance_embeds",
            nwi_header_any(h, "time_guidance_embed.guidance_embedder."));
}

static const char *const plain_keys[] = {"axes_dims_rope", "rope_theta", "eps", NULL};

const struct nwi_architecture nwi_arch_flux2_transformer_2d = {
    .klass = "Flux2Transformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
