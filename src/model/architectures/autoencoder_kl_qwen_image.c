/* SPDX-License-Identifier: Apache-2.0
 * AutoencoderKLQwenImage (diffusers 0.42.1,
 * models/autoencoders/autoencoder_kl_qwenimage.py): the VAE of Qwen-Image, Wan 2.1's with
 * one number of channels for both ends. */
#include "model/architecture.h"
#include "model/blocks_wan.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_wan wan;
    bool good = nwi_wan_read(c, &wan);
    wan.in = wan.out = nwi_config_int(c, "input_channels", 3);
    if (good)
        nwi_wan_build(m, &wan);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_wan_derive(c, h);
    nwi_config_derive(c, "input_channels",
                      nwi_header_dim(h, "decoder.conv_out.weight", 0));
}

static const char *const plain_keys[] = {"dropout", "latents_mean", "latents_std",
                                         NULL};

const struct nwi_architecture nwi_arch_autoencoder_kl_qwen_image = {
    .klass = "AutoencoderKLQwenImage",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
