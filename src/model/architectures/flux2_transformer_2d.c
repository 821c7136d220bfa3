/* SPDX-License-Identifier: Apache-2.0
 * Flux2Transformer2DModel (diffusers 0.42.1, models/transformers/transformer_flux2.py):
 * FLUX.2 dev and klein. No layer has a bias; the modulation is shared by all blocks. */
#include "model/architecture.h"
#include "model/blocks_dit.h"

struct flux2 {
    int64_t dim;
    int64_t head_dim;
    int64_t mlp; /* width inside a feed-forward */
};

static void two_linears(struct nwi_module *m, const char *name, int64_t in, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear_1", in, dim, false);
        nwi_linear(m, "linear_2", dim, dim, false);
    }
}

static void feed_forward(struct nwi_module *m, const char *name,
                         const struct flux2 *flux2)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear_in", flux2->dim, 2 * flux2->mlp, false);
        nwi_linear(m, "linear_out", flux2->mlp, flux2->dim, false);
    }
}

static void double_block(struct nwi_module *m, const struct flux2 *flux2)
{
    int64_t dim = flux2->dim;
    NWI_IN(m, "attn")
    {
        nwi_linear(m, "to_q", dim, dim, false);
        nwi_linear(m, "to_k", dim, dim, false);
        nwi_linear(m, "to_v", dim, dim, false);
        nwi_rms_norm(m, "norm_q", flux2->head_dim);
        nwi_rms_norm(m, "norm_k", flux2->head_dim);
        nwi_linear(m, "to_out.0", dim, dim, false);
        nwi_rms_norm(m, "norm_added_q", flux2->head_dim);
        nwi_rms_norm(m, "norm_added_k", flux2->head_dim);
        nwi_linear(m, "add_q_proj", dim, dim, false);
        nwi_linear(m, "add_k_proj", dim, dim, false);
        nwi_linear(m, "add_v_proj", dim, dim, false);
        nwi_linear(m, "to_add_out", dim, dim, false);
    }
    feed_forward(m, "ff", flux2);
    feed_forward(m, "ff_context", flux2);
}

/* Queries, keys, values and the feed-forward's input are one layer, its output and the
 * attention's another. */
static void single_block(struct nwi_module *m, const struct flux2 *flux2)
{
    NWI_IN(m, "attn")
    {
        nwi_linear(m, "to_qkv_mlp_proj", flux2->dim, 3 * flux2->dim + 2 * flux2->mlp,
                   false);
        nwi_rms_norm(m, "norm_q", flux2->head_dim);
        nwi_rms_norm(m, "norm_k", flux2->head_dim);
        nwi_linear(m, "to_out", flux2->dim + flux2->mlp, flux2->dim, false);
    }
}

static void embedders(struct nwi_module *m, struct nwi_config *c, int64_t dim)
{
    int64_t channels = nwi_config_int(c, "timestep_guidance_channels", 256);
    bool guidance = nwi_config_bool(c, "guidance_embeds", true);
    NWI_IN(m, "time_guidance_embed")
    {
        two_linears(m, "timestep_embedder", channels, dim);
        if (guidance)
            two_linears(m, "guidance_embedder", channels, dim);
    }
    nwi_linear(m, "double_stream_modulation_img.linear", dim, 6 * dim, false);
    nwi_linear(m, "double_stream_modulation_txt.linear", dim, 6 * dim, false);
    nwi_linear(m, "single_stream_modulation.linear", dim, 3 * dim, false);
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
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 15360);
    struct flux2 flux2 = {.dim = heads * head_dim, .head_dim = head_dim};

    flux2.mlp = nwi_scaled(c, nwi_config_real(c, "mlp_ratio", 3.0), flux2.dim);
    if (out == NWI_NULL || out == 0)
        out = in;
    embedders(m, c, flux2.dim);
    nwi_linear(m, "x_embedder", in, flux2.dim, false);
    nwi_linear(m, "context_embedder", joint, flux2.dim, false);
    for (int64_t i = 0; i < n_double; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            double_block(m, &flux2);
        }
    for (int64_t i = 0; i < n_single; i++)
        NWI_BLOCK(m, "single_transformer_blocks.%lld", (long long)i)
        {
            single_block(m, &flux2);
        }
    nwi_linear(m, "norm_out.linear", flux2.dim, 2 * flux2.dim, false);
    nwi_linear(m, "proj_out", flux2.dim, patch * patch * out, false);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedder.weight", 0);
    int64_t in = nwi_header_dim(h, "x_embedder.weight", 1);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0);
    int64_t mlp = nwi_header_dim(h, "transformer_blocks.0.ff.linear_out.weight", 1);
    if (head_dim < 0)
        head_dim =
            nwi_header_dim(h, "single_transformer_blocks.0.attn.norm_q.weight", 0);
    if (mlp < 0 && dim > 0)
        mlp = nwi_header_dim(h, "single_transformer_blocks.0.attn.to_out.weight", 1) -
              dim;
    nwi_config_derive(c, "in_channels", in);
    nwi_config_derive(c, "patch_size", 1);
    if (out == in)
        nwi_config_derive_null(c, "out_channels");
    else
        nwi_config_derive(c, "out_channels", out);
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "num_single_layers",
                      nwi_header_count(h, "single_transformer_blocks."));
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(dim, head_dim));
    nwi_config_derive(c, "joint_attention_dim",
                      nwi_header_dim(h, "context_embedder.weight", 1));
    nwi_config_derive(
        c, "timestep_guidance_channels",
        nwi_header_dim(h, "time_guidance_embed.timestep_embedder.linear_1.weight", 1));
    if (mlp > 0 && dim > 0)
        nwi_config_derive_ratio(c, "mlp_ratio", mlp, dim);
    nwi_config_derive_bool(c, "guidance_embeds",
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
