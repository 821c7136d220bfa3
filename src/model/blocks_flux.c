/* SPDX-License-Identifier: Apache-2.0
 * The blocks of FLUX.1, as diffusers 0.42.1 lays them out
 * (models/transformers/transformer_flux.py). */
#include "model/blocks_flux.h"

#include "model/blocks.h"
#include "model/blocks_dit.h"

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

void nwi_flux_embedders(struct nwi_module *m, struct nwi_config *c, int64_t in,
                        int64_t dim)
{
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 4096);
    int64_t pooled = nwi_config_int(c, "pooled_projection_dim", 768);
    bool guidance = nwi_config_bool(c, "guidance_embeds", false);
    time_text_embed(m, dim, pooled, guidance);
    nwi_linear(m, "context_embedder", joint, dim, true);
    nwi_linear(m, "x_embedder", in, dim, true);
}

void nwi_flux_double_block(struct nwi_module *m, const struct nwi_flux *flux)
{
    int64_t dim = flux->dim;
    if (!flux->unmodulated) {
        nwi_linear(m, "norm1.linear", dim, 6 * dim, true);
        nwi_linear(m, "norm1_context.linear", dim, 6 * dim, true);
    }
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

void nwi_flux_single_block(struct nwi_module *m, const struct nwi_flux *flux)
{
    int64_t dim = flux->dim;
    if (!flux->unmodulated)
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

/* ---- deriving ---- */

void nwi_flux_derive_heads(struct nwi_config *c, int64_t dim, int64_t head_dim)
{
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(dim, head_dim));
}

void nwi_flux_derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0);
    if (head_dim < 0)
        head_dim =
            nwi_header_dim(h, "single_transformer_blocks.0.attn.norm_q.weight", 0);
    nwi_flux_derive_heads(c, nwi_header_dim(h, "x_embedder.weight", 0), head_dim);
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "x_embedder.weight", 1));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "num_single_layers",
                      nwi_header_count(h, "single_transformer_blocks."));
    nwi_config_derive(c, "joint_attention_dim",
                      nwi_header_dim(h, "context_embedder.weight", 1));
}

void nwi_flux_derive_time_text(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_config_derive(
        c, "pooled_projection_dim",
        nwi_header_dim(h, "time_text_embed.text_embedder.linear_1.weight", 1));
    nwi_config_derive_bool(c, "guidance_embeds",
                           nwi_header_any(h, "time_text_embed.guidance_embedder."));
}

/* Without a word on it, out_channels is in_channels. */
void nwi_flux_derive_output(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "x_embedder.weight", 1);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    int64_t patch = 1;
    if (in <= 0 || out <= 0 || in >= INT32_MAX || out >= INT32_MAX)
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
