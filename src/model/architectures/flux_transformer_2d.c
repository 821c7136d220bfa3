/* SPDX-License-Identifier: Apache-2.0
 * FluxTransformer2DModel (diffusers 0.42.1, models/transformers/transformer_flux.py):
 * FLUX.1 dev, schnell, Fill, Canny, Depth, Kontext. */
#include "model/architecture.h"
#include "model/blocks_flux.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_config_int(c, "patch_size", 1);
    int64_t in = nwi_config_int(c, "in_channels", 64);
    int64_t out = nwi_config_int_or_null(c, "out_channels", NWI_NULL);
    int64_t n_double = nwi_config_count(c, "num_layers", 19);
    int64_t n_single = nwi_config_count(c, "num_single_layers", 38);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 24);
    struct nwi_flux flux = {.dim = heads * head_dim, .head_dim = head_dim};

    if (out == NWI_NULL || out == 0)
        out = in;
    nwi_flux_embedders(m, c, in, flux.dim);
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
    nwi_linear(m, "norm_out.linear", flux.dim, 2 * flux.dim, true);
    nwi_linear(m, "proj_out", flux.dim, patch * patch * out, true);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_flux_derive(c, h);
    nwi_flux_derive_time_text(c, h);
    nwi_flux_derive_output(c, h);
}

static const char *const plain_keys[] = {"axes_dims_rope", NULL};

const struct nwi_architecture nwi_arch_flux_transformer_2d = {
    .klass = "FluxTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
