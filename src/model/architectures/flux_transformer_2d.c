/* SPDX-License-Identifier: Apache-2.0
 * FluxTransformer2DModel (diffusers 0.42.1, models/transformers/transformer_flux.py):
 * FLUX.1 dev, schnell, Fill, Canny, Depth, Kontext. */
#include "model/architecture.h"
#include "model/blocks.h"

struct flux {
    int64_t dim;
    int64_t head_dim;
};

/* Sinusoidal timestep (256 channels) and pooled text, summed; guidance where the model is
 * distilled for it. */
static void time_text_embed(struct nwi_module *m, int64_t dim, int64_t pooled,
                            bool guidance)
{
    NWI_IN(m, "time_text_embed")
    {
        nwi_two_linears(m, "timestep_embedder", 256, dim, dim);
        if (guidance)
            nwi_two_linears(m, "guidance_embedder", 256, dim, dim);
        nwi_two_linears(m, "text_embedder", pooled, dim, dim);
    }
}

static void double_block(struct nwi_module *m, const struct flux *flux)
{
    int64_t dim = flux->dim;
    nwi_linear(m, "norm1.linear", dim, 6 * dim, true);
    nwi_linear(m, "norm1_context.linear", dim, 6 * dim, true);
    NWI_IN(m, "attn")
    {
        nwi_rms_norm(m, "norm_q", flux->head_dim);
        nwi_rms_norm(m, "norm_k", flux->head_dim);
        nwi_linear(m, "to_q", dim, dim, true);
        nwi_linear(m, "to_k", dim, dim, true);
        nwi_linear(m, "to_v", dim, dim, true);
        nwi_linear(m, "to_out.0", dim, dim, true);
        nwi_rms_norm(m, "norm_added_q", flux->head_dim);
        nwi_rms_norm(m, "norm_added_k", flux->head_dim);
        nwi_linear(m, "add_q_proj", dim, dim, true);
        nwi_linear(m, "add_k_proj", dim, dim, true);
        nwi_linear(m, "add_v_proj", dim, dim, true);
        nwi_linear(m, "to_add_out", dim, dim, true);
    }
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim});
    nwi_feed_forward(m, "ff_context", (struct nwi_feed_forward){.dim = dim});
}

static void single_block(struct nwi_module *m, const struct flux *flux)
{
    int64_t dim = flux->dim;
    nwi_linear(m, "norm.linear", dim, 3 * dim, true);
    nwi_linear(m, "proj_mlp", dim, 4 * dim, true);
    nwi_linear(m, "proj_out", 5 * dim, dim, true);
    NWI_IN(m, "attn")
    {
        nwi_rms_norm(m, "norm_q", flux->head_dim);
        nwi_rms_norm(m, "norm_k", flux->head_dim);
        nwi_linear(m, "to_q", dim, dim, true);
        nwi_linear(m, "to_k", dim, dim, true);
        nwi_linear(m, "to_v", dim, dim, true);
    }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_config_int(c, "patch_size", 1);
    int64_t in = nwi_config_int(c, "in_channels", 64);
    int64_t out = nwi_config_int_or_null(c, "out_channels", NWI_NULL);
    int64_t n_double = nwi_config_count(c, "num_layers", 19);
    int64_t n_single = nwi_config_count(c, "num_single_layers", 38);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 24);
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 4096);
    int64_t pooled = nwi_config_int(c, "pooled_projection_dim", 768);
    bool guidance = nwi_config_bool(c, "guidance_embeds", false);
    struct flux flux = {.dim = heads * head_dim, .head_dim = head_dim};

    if (out == NWI_NULL || out == 0)
        out = in;
    time_text_embed(m, flux.dim, pooled, guidance);
    nwi_linear(m, "context_embedder", joint, flux.dim, true);
    nwi_linear(m, "x_embedder", in, flux.dim, true);
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
    nwi_linear(m, "norm_out.linear", flux.dim, 2 * flux.dim, true);
    nwi_linear(m, "proj_out", flux.dim, patch * patch * out, true);
}

/* proj_out makes patch^2 * out_channels; without a word on it, out_channels is in_channels. */
static void derive_output(struct nwi_config *c, int64_t in, int64_t out)
{
    int64_t patch = 1;
    if (in <= 0 || out <= 0)
        return;
    while (patch * patch * in < out)
        patch++;
    bool square = patch * patch * in == out;
    nwi_config_derive(c, "patch_size", square ? patch : 1);
    if (square)
        nwi_config_derive_null(c, "out_channels");
    else
        nwi_config_derive(c, "out_channels", out);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedder.weight", 0);
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0);
    int64_t in = nwi_header_dim(h, "x_embedder.weight", 1);
    nwi_config_derive(c, "in_channels", in);
    derive_output(c, in, nwi_header_dim(h, "proj_out.weight", 0));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "num_single_layers",
                      nwi_header_count(h, "single_transformer_blocks."));
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", head_dim > 0 ? dim / head_dim : -1);
    nwi_config_derive(c, "joint_attention_dim",
                      nwi_header_dim(h, "context_embedder.weight", 1));
    nwi_config_derive(
        c, "pooled_projection_dim",
        nwi_header_dim(h, "time_text_embed.text_embedder.linear_1.weight", 1));
    nwi_config_derive_bool(c, "guidance_embeds",
                           nwi_header_any(h, "time_text_embed.guidance_embedder."));
}

static const char *const plain_keys[] = {"axes_dims_rope", NULL};

const struct nwi_architecture nwi_arch_flux_transformer_2d = {
    .klass = "FluxTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
