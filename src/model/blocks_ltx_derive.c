/* SPDX-License-Identifier: Apache-2.0
 * What the tensors of an LTX-Video or LTX-2 VAE tell about its config (diffusers 0.42.1,
 * models/autoencoders/autoencoder_kl_ltx.py, autoencoder_kl_ltx2.py). */
#include "model/blocks_ltx.h"

static const char *kind_of(int64_t volume)
{
    if (volume == 4)
        return "spatial";
    if (volume == 2)
        return "temporal";
    return volume == 8 ? "spatiotemporal" : NULL;
}

/* ---- encoder ---- */

int64_t nwi_ltx_down_input(const struct nwi_header *h, size_t i)
{
    static const char *const leaves[] = {"resnets.0.conv1.conv.weight",
                                         "downsamplers.0.conv.weight",
                                         "downsamplers.0.conv.conv.weight"};
    int64_t in = -1;
    for (size_t l = 0; in < 0 && l < sizeof leaves / sizeof *leaves; l++)
        in = nwi_vae_dim(h, 1, "encoder.down_blocks.%zu.%s", i, leaves[l]);
    return in;
}

/* How a down block changes the size, "conv" if it does not; NULL if it cannot be told. */
static const char *down_kind(const struct nwi_header *h, size_t i, int64_t output)
{
    int64_t narrow =
        nwi_vae_dim(h, 0, "encoder.down_blocks.%zu.downsamplers.0.conv.conv.weight", i);
    return narrow < 0 ? "conv" : kind_of(nwi_vae_ratio(output, narrow));
}

void nwi_ltx_derive_downs(struct nwi_config *c, const struct nwi_header *h, size_t n,
                          const int64_t *outputs)
{
    int64_t layers[NWI_CONFIG_LIST + 1];
    bool scaling[NWI_CONFIG_LIST];
    const char *kinds[NWI_CONFIG_LIST];
    bool told = true;
    for (size_t i = 0; i < n; i++) {
        layers[i] = nwi_layers_told(
            c, "layers_per_block",
            nwi_vae_run(h, "conv1.conv.weight", "encoder.down_blocks.%zu.resnets", i));
        kinds[i] = down_kind(h, i, outputs[i]);
        scaling[i] =
            nwi_vae_has(h, "encoder.down_blocks.%zu.downsamplers.0.conv.weight", i) ||
            nwi_vae_has(h, "encoder.down_blocks.%zu.downsamplers.0.conv.conv.weight",
                        i);
        told = told && kinds[i];
    }
    layers[n] = nwi_layers_told(
        c, "layers_per_block",
        nwi_vae_run(h, "conv1.conv.weight", "encoder.mid_block.resnets"));
    nwi_config_derive_ints(c, "layers_per_block", layers, n + 1);
    nwi_vae_derive_bools(c, "spatio_temporal_scaling", scaling, n);
    if (told)
        nwi_config_derive_texts(c, "downsample_type", kinds, n);
}

/* ---- decoder ---- */

/* The lists of the config, [n] (layers and noise: one more, the middle's). */
struct told {
    int64_t channels[NWI_CONFIG_LIST];
    int64_t factors[NWI_CONFIG_LIST];
    int64_t layers[NWI_CONFIG_LIST + 1];
    bool noise[NWI_CONFIG_LIST + 1];
    bool scaling[NWI_CONFIG_LIST];
    const char *kinds[NWI_CONFIG_LIST];
};

/* Width after an up block, which takes in `before`; -1 if nothing tells. */
static int64_t up_output(const struct nwi_header *h, size_t i, int64_t before)
{
    int64_t out =
        nwi_vae_dim(h, 1, "decoder.up_blocks.%zu.resnets.0.conv1.conv.weight", i);
    if (out < 0)
        out = nwi_vae_dim(h, 0, "decoder.up_blocks.%zu.conv_in.conv1.conv.weight", i);
    return out < 0 ? before : out;
}

/* By what up block i narrows: from its upsampler, or else from the width before it. */
static int64_t up_factor(const struct nwi_header *h, size_t i, int64_t before,
                         int64_t out)
{
    int64_t wide =
        nwi_vae_dim(h, 1, "decoder.up_blocks.%zu.upsamplers.0.conv.conv.weight", i);
    int64_t in =
        nwi_vae_dim(h, 1, "decoder.up_blocks.%zu.conv_in.conv1.conv.weight", i);
    if (wide > 0)
        return nwi_vae_ratio(wide, out);
    return nwi_vae_ratio(before, in > 0 ? in : out);
}

/* Reads up block i of n into place n - 1 - i; gives its output, -1 if it cannot be told. */
static int64_t read_up(struct nwi_config *c, const struct nwi_header *h, size_t i,
                       size_t at, int64_t before, struct told *told)
{
    int64_t out = up_output(h, i, before);
    int64_t factor = up_factor(h, i, before, out);
    int64_t made =
        nwi_vae_dim(h, 0, "decoder.up_blocks.%zu.upsamplers.0.conv.conv.weight", i);
    if (factor < 1 || factor > 1024 || out > INT32_MAX)
        return -1;
    told->factors[at] = factor;
    told->channels[at] = out * factor;
    told->layers[at] = nwi_layers_told(
        c, "decoder_layers_per_block",
        nwi_vae_run(h, "conv1.conv.weight", "decoder.up_blocks.%zu.resnets", i));
    told->noise[at] =
        nwi_vae_has(h, "decoder.up_blocks.%zu.resnets.0.per_channel_scale1", i) ||
        nwi_vae_has(h, "decoder.up_blocks.%zu.conv_in.per_channel_scale1", i);
    told->scaling[at] = made > 0;
    told->kinds[i] = made > 0 ? kind_of(nwi_vae_ratio(made, out)) : "spatiotemporal";
    return told->kinds[i] ? out : -1;
}

static void derive_decoder(struct nwi_config *c, const struct nwi_header *h,
                           bool second)
{
    struct told told = {0};
    size_t n = nwi_vae_levels(h, "decoder.up_blocks.");
    int64_t width = nwi_header_dim(h, "decoder.conv_in.conv.weight", 0);
    for (size_t i = 0; width > 0 && i < n; i++)
        width = read_up(c, h, i, n - 1 - i, width, &told);
    if (n == 0 || width <= 0 ||
        told.channels[n - 1] != nwi_header_dim(h, "decoder.conv_in.conv.weight", 0))
        return;
    told.layers[n] = nwi_layers_told(
        c, "decoder_layers_per_block",
        nwi_vae_run(h, "conv1.conv.weight", "decoder.mid_block.resnets"));
    told.noise[n] = nwi_header_has(h, "decoder.mid_block.resnets.0.per_channel_scale1");
    nwi_config_derive_ints(c, "decoder_block_out_channels", told.channels, n);
    nwi_config_derive_ints(c, "upsample_factor", told.factors, n);
    nwi_config_derive_ints(c, "decoder_layers_per_block", told.layers, n + 1);
    nwi_vae_derive_bools(c, "decoder_inject_noise", told.noise, n + 1);
    nwi_vae_derive_bools(c, "decoder_spatio_temporal_scaling", told.scaling, n);
    if (second)
        nwi_config_derive_texts(c, "upsample_type", told.kinds, n);
}

void nwi_ltx_derive(struct nwi_config *c, const struct nwi_header *h, bool second)
{
    nwi_vae_derive_patch(c, "patch_size", 2,
                         nwi_header_dim(h, "encoder.conv_in.conv.weight", 1),
                         nwi_header_dim(h, "decoder.conv_out.conv.weight", 0));
    nwi_config_derive(c, "latent_channels",
                      nwi_header_dim(h, "decoder.conv_in.conv.weight", 1));
    nwi_config_derive_bool(c, "timestep_conditioning",
                           nwi_header_has(h, "decoder.scale_shift_table"));
    derive_decoder(c, h, second);
}
