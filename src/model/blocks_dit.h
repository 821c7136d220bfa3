/* SPDX-License-Identifier: Apache-2.0
 * Small things that several diffusion transformers need: zero-filled layers, widths that
 * are a multiple of another one, the axes of rotary embeddings, and what two widths tell
 * about each other. */
#ifndef NWI_BLOCKS_DIT_H
#define NWI_BLOCKS_DIT_H

#include "model/module.h"

/* A linear layer whose weight and bias begin as zeros. */
void nwi_zero_linear(struct nwi_module *m, const char *name, int64_t in, int64_t out);
/* An RMSNorm that scales by 1 + weight, so that the weight begins as zeros. */
void nwi_zero_norm(struct nwi_module *m, const char *name, int64_t dim);

/* ---- widths ---- */

/* ratio * dim, cut to a whole number as Python's int() does; BAD_CONFIG (and 0) if that
 * is no size. */
int64_t nwi_scaled(struct nwi_config *config, double ratio, int64_t dim);
/* a * b * c * d, each as a config can hold it; BAD_CONFIG (and 0) if that is too large. */
int64_t nwi_product(struct nwi_config *config, int64_t a, int64_t b, int64_t c,
                    int64_t d);
/* dim / heads, down to a whole number; BAD_CONFIG (and 0) if there are no heads. */
int64_t nwi_per_head(struct nwi_config *config, int64_t dim, int64_t heads);

/* The sum of the list under `key` (the channels that each axis of a rotary embedding
 * turns); BAD_CONFIG if an item is null, or odd where the class wants them even, or if
 * there are fewer than n_least. */
struct nwi_rope_axes {
    const char *key;
    const int64_t *fallback;
    size_t n_fallback;
    size_t n_least;
    bool even;
};
int64_t nwi_rope_axes(struct nwi_config *config, struct nwi_rope_axes axes);

/* ---- deriving ---- */

/* a / b, or -1 (which derives nothing) unless both are above 0. */
int64_t nwi_quotient(int64_t a, int64_t b);
/* The patch size of a model whose layers have `in` columns and `out` rows of patches:
 * `usual` if its square divides both, else 1. -1 for either: it does not count. */
int64_t nwi_patch_of(int64_t in, int64_t out, int64_t usual);

#endif
