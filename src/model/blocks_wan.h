/* SPDX-License-Identifier: Apache-2.0
 * The causal video VAE of Wan 2.1 and 2.2 (diffusers 0.42.1,
 * models/autoencoders/autoencoder_kl_wan.py), which Qwen-Image's is a copy of. */
#ifndef NWI_BLOCKS_WAN_H
#define NWI_BLOCKS_WAN_H

#include "model/blocks_vae.h"

struct nwi_wan {
    int64_t dim; /* base width, before dim_mult */
    int64_t decoder_dim;
    int64_t latent; /* z_dim */
    int64_t in;
    int64_t out;
    int64_t layers; /* num_res_blocks */
    bool residual;  /* Wan 2.2: levels are blocks with an unweighted shortcut */
    struct nwi_config_ints mult;
    struct nwi_config_ints temporal; /* temperal_downsample */
    bool attention[NWI_CONFIG_LIST]; /* by level of the encoder */
};

/* Reads what both classes have: base_dim, z_dim, dim_mult, num_res_blocks, attn_scales,
 * temperal_downsample. False if the config is no good. */
bool nwi_wan_read(struct nwi_config *c, struct nwi_wan *wan);
void nwi_wan_build(struct nwi_module *m, const struct nwi_wan *wan);
/* The same keys. */
void nwi_wan_derive(struct nwi_config *c, const struct nwi_header *h);

#endif
