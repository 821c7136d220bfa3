/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKLFlux2 (diffusers 0.42.1, models/autoencoders/autoencoder_kl_flux2.py): the
 * image VAE of FLUX.2, which normalizes patches of latents with a BatchNorm. */
#include "model/architecture.h"
#include "model/blocks_kl.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t none[] = {0};
    static const int64_t channels[] = {128, 256, 512, 512};
    static const int64_t patches[] = {2, 2};
    struct nwi_config_ints patch;
    struct nwi_config_ints own; /* the decoder's channels, if they differ */
    struct nwi_kl encoder;
    struct nwi_kl decoder;
    int64_t in = nwi_config_int(c, "in_channels", 3);
    int64_t out = nwi_config_int(c, "out_channels", 3);
    int64_t latent = nwi_config_int(c, "latent_channels", 32);
    nwi_kl_read(c, channels, 4, 2, &encoder, &decoder);
    nwi_vae_ints(c, "patch_size", patches, 2, &patch);
    if (patch.n != 2)
        nwi_config_fail(c, NW_E_UNSUPPORTED, "\"patch_size\" of the config is no pair");
    nwi_vae_ints(c, "decoder_block_out_channels", none, 0, &own);
    if (own.n > 0)
        decoder.channels = own;

    NWI_IN(m, "encoder")
    {
        nwi_kl_encoder(m, &encoder, in, 2 * latent);
    }
    NWI_IN(m, "decoder")
    {
        nwi_kl_decoder(m, &decoder, latent, out);
    }
    nwi_kl_quant_convs(m, latent);
    nwi_vae_batch_norm(m, "bn", patch.at[0] * patch.at[1] * latent, false);
}

static void derive_patch(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t area = nwi_vae_ratio(nwi_header_dim(h, "bn.running_mean", 0),
                                 nwi_header_dim(h, "decoder.conv_in.weight", 1));
    int64_t side = 1;
    while (side < 1024 && side * side < area)
        side++;
    if (side * side == area)
        nwi_config_derive_ints(c, "patch_size", (const int64_t[]){side, side}, 2);
    else
        nwi_config_derive_ints(c, "patch_size", (const int64_t[]){area, 1}, 2);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_kl_derive(c, h);
    nwi_kl_derive_decoder_channels(c, h);
    derive_patch(c, h);
}

static const char *const plain_keys[] = {"sample_size", "batch_norm_eps",
                                         "batch_norm_momentum", NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl_flux2 = {
    .klass = "AutoencoderKLFlux2",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
