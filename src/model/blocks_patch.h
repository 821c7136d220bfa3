/* SPDX-License-Identifier: Apache-2.0
 * Images in patches with the positions of a grid (diffusers 0.42.1, PatchEmbed of
 * models/embeddings.py), config keys that a class has no default for, and heads that no
 * tensor tells. */
#ifndef NWI_BLOCKS_PATCH_H
#define NWI_BLOCKS_PATCH_H

#include "model/module.h"

struct nwi_patch_embed {
    int64_t in;
    int64_t dim;
    int64_t patch;
    int64_t sample; /* sample_size, which makes the grid unless `table` does */
    int64_t table;  /* pos_embed_max_size: a grid that is stored; 0, NWI_NULL: none */
    bool positions; /* pos_embed_type is not null */
    bool zero;      /* the projection begins as zeros */
};
/* Into the module one is in. BAD_CONFIG for sizes that make no patches or positions. */
void nwi_patch_embed(struct nwi_module *m, struct nwi_patch_embed shape);

/* A number of at least 1 that the config has to give; else BAD_CONFIG, and 1. */
int64_t nwi_config_needed(struct nwi_config *c, const char *key);

/* attention_head_dim and num_attention_heads of a model of which no tensor tells them:
 * heads of `usual` channels, a single one where that does not divide `dim`. */
void nwi_derive_heads(struct nwi_config *c, int64_t dim, int64_t usual);

/* The side of a square of `area`; -1 if it is none. */
int64_t nwi_square_side(int64_t area);

#endif
