/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKL (diffusers 0.42.1, models/autoencoders/autoencoder_kl.py): the image VAE of
 * Stable Diffusion 1 to 3, SDXL, FLUX.1 and many others. */
#include "model/architecture.h"
#include "model/blocks_kl.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t channels[] = {64};
    struct nwi_kl encoder;
    struct nwi_kl decoder;
    int64_t in = nwi_config_int(c, "in_channels", 3);
    int64_t out = nwi_config_int(c, "out_channels", 3);
    int64_t latent = nwi_config_int(c, "latent_channels", 4);
    nwi_kl_read(c, channels, 1, 1, &encoder, &decoder);

    NWI_IN(m, "encoder")
    {
        nwi_kl_encoder(m, &encoder, in, 2 * latent);
    }
    NWI_IN(m, "decoder")
    {
        nwi_kl_decoder(m, &decoder, latent, out);
    }
    nwi_kl_quant_convs(m, latent);
}

static const char *const plain_keys[] = {"sample_size",
                                         "scaling_factor",
                                         "shift_factor",
                                         "latents_mean",
                                         "latents_std",
                                         "force_upcast",
                                         NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl = {
    .klass = "AutoencoderKL",
    .library = "diffusers",
    .build = build,
    .derive = nwi_kl_derive,
    .plain_keys = plain_keys,
};
