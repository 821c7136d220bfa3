/* SPDX-License-Identifier: Apache-2.0
 * Layers without bias that FLUX.2 and FLUX.3 share (diffusers 0.42.1,
 * models/transformers/transformer_flux2.py, transformer_flux3.py). */
#ifndef NWI_BLOCKS_FLUX2_H
#define NWI_BLOCKS_FLUX2_H

#include "model/module.h"

struct nwi_flux2 {
    int64_t dim;
    int64_t head_dim;
    int64_t inner; /* of the feed forward */
};

/* TimestepEmbedding without bias. */
void nwi_flux2_embedder(struct nwi_module *m, const char *name, int64_t in,
                        int64_t dim);
/* linear_in makes value and gate. */
void nwi_flux2_feed_forward(struct nwi_module *m, const char *name,
                            const struct nwi_flux2 *flux);
/* Queries, keys, values, their norms and the way out; into the module one is in. */
void nwi_flux2_attention(struct nwi_module *m, const struct nwi_flux2 *flux);

#endif
