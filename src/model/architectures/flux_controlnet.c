/* SPDX-License-Identifier: Apache-2.0
 * FluxControlNetModel (diffusers 0.42.1, models/controlnets/controlnet_flux.py): control
 * nets of FLUX.1, among them the union ones (several kinds of control in one). */
#include "model/architecture.h"
#include "model/blocks_control.h"
#include "model/blocks_dit.h"
#include "model/blocks_flux.h"

#define HINT_CHANNELS 16

static void hint_conv(struct nwi_module *m, int64_t i)
{
    NWI_IN(m, "blocks.%lld", (long long)i)
    {
        nwi_parameter(m, "weight", NWI_DIMS(HINT_CHANNELS, HINT_CHANNELS, 3, 3));
        nwi_parameter(m, "bias", NWI_DIMS(HINT_CHANNELS));
    }
}

/* Convolutions from the control image to `out` channels, which begin as nothing. */
static void hint_block(struct nwi_module *m, int64_t out)
{
    nwi_conv2d(m, "conv_in", 3, HINT_CHANNELS, 3, true);
    for (int64_t i = 0; i < 6; i++)
        hint_conv(m, i);
    NWI_IN(m, "conv_out")
    {
        nwi_parameter_filled(m, "weight", NWI_DIMS(out, HINT_CHANNELS, 3, 3),
                             NW_FILL_ZERO);
        nwi_parameter_filled(m, "bias", NWI_DIMS(out), NW_FILL_ZERO);
    }
}

/* What is told of the control: its kind in a union, and the image itself. */
static void control_embedders(struct nwi_module *m, struct nwi_config *c, int64_t in,
                              int64_t dim)
{
    int64_t modes = nwi_config_int_or_null(c, "num_mode", NWI_NULL);
    int64_t hint =
        nwi_config_int_or_null(c, "conditioning_embedding_channels", NWI_NULL);
    if (modes != NWI_NULL)
        nwi_embedding(m, "controlnet_mode_embedder", modes, dim);
    if (hint == NWI_NULL) {
        nwi_zero_linear(m, "controlnet_x_embedder", in, dim);
        return;
    }
    NWI_IN(m, "input_hint_block")
    {
        hint_block(m, hint);
    }
    nwi_linear(m, "controlnet_x_embedder", in, dim, true);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t in = nwi_config_int(c, "in_channels", 64);
    int64_t n_double = nwi_config_count(c, "num_layers", 19);
    int64_t n_single = nwi_config_count(c, "num_single_layers", 38);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 24);
    struct nwi_flux flux = {.dim = heads * head_dim, .head_dim = head_dim};

    nwi_flux_embedders(m, c, in, flux.dim);
    for (int64_t i = 0; i < n_double; i++)
        NWI_IN(m, "transformer_blocks.%lld", (long long)i)
        {
            nwi_flux_double_block(m, &flux);
        }
    for (int64_t i = 0; i < n_single; i++)
        NWI_IN(m, "single_transformer_blocks.%lld", (long long)i)
        {
            nwi_flux_single_block(m, &flux);
        }
    nwi_control_outputs(m, "controlnet_blocks", n_double, flux.dim);
    nwi_control_outputs(m, "controlnet_single_blocks", n_single, flux.dim);
    control_embedders(m, c, in, flux.dim);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_flux_derive(c, h);
    nwi_flux_derive_time_text(c, h);
    if (!nwi_header_has(h, "controlnet_x_embedder.weight"))
        return;
    nwi_config_derive_null(c, "num_mode");
    nwi_config_derive(c, "num_mode",
                      nwi_header_dim(h, "controlnet_mode_embedder.weight", 0));
    nwi_config_derive_null(c, "conditioning_embedding_channels");
    nwi_config_derive(c, "conditioning_embedding_channels",
                      nwi_header_dim(h, "input_hint_block.conv_out.weight", 0));
}

static const char *const plain_keys[] = {"patch_size", "axes_dims_rope", NULL};

const struct nwi_architecture nwi_arch_flux_controlnet = {
    .klass = "FluxControlNetModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
