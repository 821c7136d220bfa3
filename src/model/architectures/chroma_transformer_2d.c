/* SPDX-License-Identifier: Apache-2.0
 * ChromaTransformer2DModel (diffusers 0.42.1, models/transformers/transformer_chroma.py):
 * Chroma1 HD, Base, Flash: FLUX.1's blocks, their modulations made by one network. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_flux.h"

/* Makes the modulations of all blocks from the timestep and their numbers. */
static void approximator(struct nwi_module *m, struct nwi_config *c, int64_t channels,
                         int64_t out)
{
    int64_t hidden = nwi_config_int(c, "approximator_hidden_dim", 5120);
    int64_t n = nwi_config_count(c, "approximator_layers", 5);
    nwi_linear(m, "in_proj", channels, hidden, true);
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "layers.%lld", (long long)i)
        {
            nwi_linear(m, "linear_1", hidden, hidden, true);
            nwi_linear(m, "linear_2", hidden, hidden, true);
        }
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "norms.%lld", (long long)i)
        {
            nwi_parameter_filled(m, "weight", NWI_DIMS(hidden), NW_FILL_ONE);
        }
    nwi_linear(m, "out_proj", hidden, out, true);
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
    struct nwi_flux flux = {
        .dim = heads * head_dim, .head_dim = head_dim, .unmodulated = true};

    if (out == NWI_NULL || out == 0)
        out = in;
    NWI_IN(m, "time_text_embed")
    {
        nwi_scratch_buffer(
            m, "mod_proj",
            NWI_DIMS(3 * n_single + 12 * n_double + 2, channels / 4 * 2));
    }
    NWI_IN(m, "distilled_guidance_layer")
    {
        approximator(m, c, channels, flux.dim);
    }
    nwi_linear(m, "context_embedder", joint, flux.dim, true);
    nwi_linear(m, "x_embedder", in, flux.dim, true);
    for (int64_t i = 0; i < n_double; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            nwi_flux_double_block(m, &flux);
        }
    for (int64_t i = 0; i < n_single; i++)
        NWI_BLOCK(m, "single_transformer_blocks.%lld", (long long)i)
        {
            nwi_flux_single_block(m, &flux);
        }
    nwi_linear(m, "proj_out", flux.dim, patch * patch * out, true);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_flux_derive(c, h);
    nwi_flux_derive_output(c, h);
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
