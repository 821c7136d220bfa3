/* SPDX-License-Identifier: Apache-2.0
 * Encoder and Decoder of vae.py (diffusers 0.42.1, models/autoencoders/vae.py), which
 * AutoencoderKL and AutoencoderKLFlux2 share. */
#ifndef NWI_BLOCKS_KL_H
#define NWI_BLOCKS_KL_H

#include "model/blocks_vae.h"

/* One half. The blocks' types and the channels are in the config's order: from the image
 * to the latents in the encoder; types the other way round in the decoder. */
struct nwi_kl {
    struct nwi_config_texts types;
    struct nwi_config_ints channels;
    int64_t layers; /* layers_per_block */
    int64_t groups;
    bool mid_attention;
};

/* Reads the keys that both classes share, with n default levels. */
void nwi_kl_read(struct nwi_config *c, const int64_t *channels, size_t n,
                 int64_t layers, struct nwi_kl *encoder, struct nwi_kl *decoder);

void nwi_kl_encoder(struct nwi_module *m, const struct nwi_kl *kl, int64_t in,
                    int64_t out);
void nwi_kl_decoder(struct nwi_module *m, const struct nwi_kl *kl, int64_t in,
                    int64_t out);
/* quant_conv and post_quant_conv, where the config asks for them. */
void nwi_kl_quant_convs(struct nwi_module *m, int64_t latent);

/* Everything but the decoder's own channels. */
void nwi_kl_derive(struct nwi_config *c, const struct nwi_header *h);
/* decoder_block_out_channels: null if they are the encoder's. */
void nwi_kl_derive_decoder_channels(struct nwi_config *c, const struct nwi_header *h);

#endif
