/* SPDX-License-Identifier: Apache-2.0
 * Modules that LTX-Video, LTX-2 and LTX-2's text connectors share. Facts: diffusers 0.42.1,
 * models/transformers/transformer_ltx.py and transformer_ltx2.py. */
#ifndef NWI_BLOCKS_LTX_DIT_H
#define NWI_BLOCKS_LTX_DIT_H

#include "model/blocks_video.h"

/* Attention of `query` channels to `context` ones; queries and keys are normed over all
 * heads. */
struct nwi_ltx_attention {
    int64_t query;
    int64_t context; /* NWI_NULL: itself */
    int64_t heads;
    int64_t head_dim;
    bool bias;     /* of the projections in */
    bool out_bias; /* of the projection out */
    bool gated;    /* a gate for each head */
};
void nwi_ltx_attention(struct nwi_module *m, const char *name,
                       struct nwi_ltx_attention shape);

/* BAD_CONFIG unless qk_norm is the one that there is. */
void nwi_ltx_check_norm(struct nwi_config *c);
/* BAD_CONFIG unless rope_type is one of the two that there are. */
void nwi_ltx_check_rope(struct nwi_config *c);

/* The two upsamplers of latents (LTXLatentUpsamplerModel, LTX2LatentUpsamplerModel): blocks
 * of convolutions before and after the one that upsamples. */
struct nwi_ltx_upsampler {
    int64_t in;
    int64_t mid;
    int64_t n_blocks;
    int64_t dims; /* 2: pictures; anything else: videos */
    bool spatial;
    bool temporal;
};
/* `mid` to the class's default before. */
void nwi_ltx_upsampler_read(struct nwi_config *c, struct nwi_ltx_upsampler *up);
void nwi_ltx_upsampler_before(struct nwi_module *m, const struct nwi_ltx_upsampler *up);
/* upsampler.0, which makes channels that are shuffled to places. */
void nwi_ltx_upsampler_shuffle(struct nwi_module *m,
                               const struct nwi_ltx_upsampler *up);
void nwi_ltx_upsampler_after(struct nwi_module *m, const struct nwi_ltx_upsampler *up);
void nwi_ltx_upsampler_derive(struct nwi_config *c, const struct nwi_header *h);

#endif
