/* SPDX-License-Identifier: Apache-2.0
 * The video VAE of LTX-Video and LTX-2 (diffusers 0.42.1,
 * models/autoencoders/autoencoder_kl_ltx.py, autoencoder_kl_ltx2.py): what the two classes
 * share. Lists of a config run from the image to the latents (upsample_type: from the
 * latents). */
#ifndef NWI_BLOCKS_LTX_H
#define NWI_BLOCKS_LTX_H

#include "model/blocks_vae.h"

/* One half. `resample`: how a level changes the size ("conv", "spatial", "temporal",
 * "spatiotemporal"); in LTX-Video's decoder there is only the last. */
struct nwi_ltx_half {
    struct nwi_config_ints channels;
    struct nwi_config_ints layers;  /* of the levels, then of the middle */
    struct nwi_config_ints scaling; /* whether a level changes the size */
    struct nwi_config_texts resample;
    struct nwi_config_ints noise;  /* decoder_inject_noise */
    struct nwi_config_ints factor; /* upsample_factor: by what it narrows */
    bool timestep;                 /* timestep_conditioning */
    bool second;                   /* LTX-2 */
};

struct nwi_ltx_resnet {
    int64_t in;
    int64_t out;
    bool noise;
    bool timestep;
    bool second;
};

/* A causal convolution of 3 x 3 x 3: the weights are in "NAME.conv". */
void nwi_ltx_conv(struct nwi_module *m, const char *name, int64_t in, int64_t out);
/* Into the module one is in. */
void nwi_ltx_resnet(struct nwi_module *m, struct nwi_ltx_resnet shape);
void nwi_ltx_resnets(struct nwi_module *m, int64_t n, struct nwi_ltx_resnet shape);
/* How much of the volume that kind of resampling takes away: 4, 2, 8; 0 if there is none
 * of the name. */
int64_t nwi_ltx_volume(const char *kind);

/* "downsamplers.0" of a level that changes the size that way. */
void nwi_ltx_downsampler(struct nwi_module *m, const char *kind, int64_t in,
                         int64_t out);
void nwi_ltx_decoder(struct nwi_module *m, const struct nwi_ltx_half *half, int64_t in,
                     int64_t out);

/* Reads the decoder's keys; `half` holds the class's defaults. Where LTX-2 lets one truth
 * value stand for all levels, they are spread. */
void nwi_ltx_read_decoder(struct nwi_config *c, struct nwi_ltx_half *half);
/* False if there are fewer than n items; LIMIT if one is too large. */
bool nwi_ltx_check_layers(struct nwi_config *c, const char *key,
                          const struct nwi_config_ints *layers, size_t n);

/* Channels and patches at both ends, and the decoder. */
void nwi_ltx_derive(struct nwi_config *c, const struct nwi_header *h, bool second);
/* layers_per_block, spatio_temporal_scaling and downsample_type of n down blocks, whose
 * outputs are [n] channels. */
void nwi_ltx_derive_downs(struct nwi_config *c, const struct nwi_header *h, size_t n,
                          const int64_t *outputs);
/* What a down block takes in; -1 if it has nothing that tells. */
int64_t nwi_ltx_down_input(const struct nwi_header *h, size_t i);

#endif
