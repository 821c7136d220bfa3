/* SPDX-License-Identifier: Apache-2.0
 * Modules that many transformers of diffusers share. Each goes into the module `name` of
 * where one is. What only one architecture has stands in its own file. */
#ifndef NWI_BLOCKS_H
#define NWI_BLOCKS_H

#include "model/module.h"

/* TimestepEmbedding and PixArtAlphaTextProjection: linear_1 (in -> dim), linear_2 (dim ->
 * out). */
void nwi_two_linears(struct nwi_module *m, const char *name, int64_t in, int64_t dim,
                     int64_t out);

/* FeedForward: net.0.proj (dim -> inner, twice that if gated), net.2 (inner -> out). */
struct nwi_feed_forward {
    int64_t dim;
    int64_t inner; /* 0: 4 * dim */
    int64_t out;   /* 0: dim */
    bool gated;    /* GEGLU, SwiGLU: the projection makes value and gate */
    bool no_bias;
};
void nwi_feed_forward(struct nwi_module *m, const char *name,
                      struct nwi_feed_forward shape);

#endif
