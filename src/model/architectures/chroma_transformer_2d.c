/* SPDX-License-Identifier: Apache-2.0
 * ChromaTransformer2DModel (diffusers 0.42.1, models/transformers/transformer_chroma.py):
 * FLUX.1's blocks without their modulation layers, which one small network replaces. */
#include <stdio.h>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_dit.h"

struct chroma {
    int64_t dim;
    int64_t head_dim;
};

static void layers(struct nwi_module *m, int64_t hidden, int64_t n)
{
    char name[32];
    for (int64_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "layers.%lld", (long long)i);
        nwi_two_linears(m, name, hidden, hidden, hidden);
    }
    for (int64_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "norms.%lld", (long long)i);
        nwi_rms_norm(m, name, hidden);
    }
}

/* The network that makes every modulation vector from the timestep. */
static void guidance(struct nwi_module *m, struct nwi_config *c, int64_t dim)
{
    int64_t in = nwi_config_int(c, "approximator_num_channels", 64);
    int64_t hidden = nwi_config_int(c, "approximator_hidden_dim", 5120);
    int64_t n = nwi_config_count(c, "approximator_layers", 5);
    NWI_IN(m, "distilled_guidance_layer")
    {
        nwi_linear(m, "in_proj", in, hidden, true);
        layers(m, hidden, n);
        nwi_linear(m, "out_proj", hidden, dim, true);
    }
}

static void projections(struct nwi_module *m, int64_t dim)
{
    nwi_linear(m, "to_q", dim, dim, true);
    nwi_linear(m, "to_k", dim, dim, true);
    nwi_linear(m, "to_v", dim, dim, true);
}

static void double_block(struct nwi_module *m, const struct chroma *chroma)
{
    int64_t dim = chroma->dim;
    NWI_IN(m, "attn")
    {
        nwi_rms_norm(m, "norm_q", chroma->head_dim);
        nwi_rms_norm(m, "norm_k", chroma->head_dim);
        projections(m, dim);
        nwi_linear(m, "to_out.0", dim, dim, true);
        nwi_rms_norm(m, "norm_added_q", chroma->head_dim);
        nwi_rms_norm(m, "norm_added_k", chroma->head_dim);
        nwi_linear(m, "add_q_proj", dim, dim, true);
        nwi_linear(m, "add_k_proj", dim, dim, true);
        nwi_linear(m, "add_v_proj", dim, dim, true);
        nwi_linear(m, "to_add_out", dim, dim, true);
    }
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim});
    nwi_feed_forward(m, "ff_context", (struct nwi_feed_forward){.dim = dim});
}

static void single_block(struct nwi_module *m, const struct chroma *chroma)
{
    int64_t dim = chroma->dim;
    nwi_linear(m, "proj_mlp", dim, 4 * dim, true);
    nwi_linear(m, "proj_out", 5 * dim, dim, true);
    NWI_IN(m, "attn")
    {
        nwi_rms_norm(m, "norm_q", chroma->head_dim);
        nwi_rms_norm(m, "norm_k", chroma->head_dim);
        projections(m, dim);
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
    int64_t channels = nwi_config_int(c, "approximator_num_channels", 64);
    struct chroma chroma = {.dim = heads * head_dim, .head_dim = head_dim};

    if (out == NWI_NULL || out == 0)
        out = in;
    NWI_IN(m, "time_text_embed")
    {
        nwi_scratch_buffer(m, "mod_proj",
                           NWI_DIMS(3 * n_single + 12 * n_double + 2, channels / 2));
    }
    guidance(m, c, chroma.dim);
    nwi_linear(m, "context_embedder", joint, chroma.dim, true);
    nwi_linear(m, "x_embedder", in, chroma.dim, true);
    for (int64_t i = 0; i < n_double; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            double_block(m, &chroma);
        }
    for (int64_t i = 0; i < n_single; i++)
        NWI_BLOCK(m, "single_transformer_blocks.%lld", (long long)i)
        {
            single_block(m, &chroma);
        }
    nwi_linear(m, "proj_out", chroma.dim, patch * patch * out, true);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "x_embedder.weight", 0);
    int64_t in = nwi_header_dim(h, "x_embedder.weight", 1);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0);
    if (head_dim < 0)
        head_dim =
            nwi_header_dim(h, "single_transformer_blocks.0.attn.norm_q.weight", 0);
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
    nwi_config_derive(c, "approximator_num_channels",
                      nwi_header_dim(h, "distilled_guidance_layer.in_proj.weight", 1));
    nwi_config_derive(c, "approximator_hidden_dim",
                      nwi_header_dim(h, "distilled_guidance_layer.in_proj.weight", 0));
    nwi_config_derive(c, "approximator_layers",
                      nwi_header_count(h, "distilled_guidance_layer.layers."));
}

static const char *const plain_keys[] = {"axes_dims_rope", NULL};

const struct nwi_architecture nwi_arch_chroma_transformer_2d = {
    .klass = "ChromaTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
