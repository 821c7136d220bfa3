/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKLWan (diffusers 0.42.1, models/autoencoders/autoencoder_kl_wan.py): the video
 * VAE of Wan 2.1 and, with is_residual, of Wan 2.2's 5B model. */
#include "model/architecture.h"
#include "model/blocks_wan.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_wan wan;
    bool good = nwi_wan_read(c, &wan);
    int64_t own = nwi_config_int_or_null(c, "decoder_base_dim", NWI_NULL);
    if (own != NWI_NULL)
        wan.decoder_dim = own;
    wan.residual = nwi_config_bool(c, "is_residual", false);
    wan.in = nwi_config_int(c, "in_channels", 3);
    wan.out = nwi_config_int(c, "out_channels", 3);
    if (good)
        nwi_wan_build(m, &wan);
}

static void derive_decoder(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t base = nwi_header_dim(h, "encoder.conv_in.weight", 0);
    int64_t mult = nwi_vae_ratio(nwi_header_dim(h, "encoder.conv_out.weight", 1), base);
    int64_t own = nwi_vae_ratio(nwi_header_dim(h, "decoder.conv_in.weight", 0), mult);
    if (own == base)
        nwi_config_derive_null(c, "decoder_base_dim");
    else
        nwi_config_derive(c, "decoder_base_dim", own);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_wan_derive(c, h);
    derive_decoder(c, h);
    nwi_config_derive_bool(
        c, "is_residual",
        nwi_header_has(h, "decoder.up_blocks.0.upsampler.resample.1.weight") ||
            nwi_header_has(h, "encoder.down_blocks.0.resnets.0.conv1.weight"));
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "encoder.conv_in.weight", 1));
    nwi_config_derive(c, "out_channels",
                      nwi_header_dim(h, "decoder.conv_out.weight", 0));
}

static const char *const plain_keys[] = {
    "dropout",    "latents_mean",          "latents_std",
    "patch_size", "scale_factor_temporal", "scale_factor_spatial",
    NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl_wan = {
    .klass = "AutoencoderKLWan",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
