/* SPDX-License-Identifier: Apache-2.0
 * What the configs of video transformers have in common, and modules that several of their
 * families share (diffusers 0.42.1). */
#ifndef NWI_BLOCKS_VIDEO_H
#define NWI_BLOCKS_VIDEO_H

#include "model/module.h"
#include "source/header.h"

/* Sizes along frames, height and width. */
struct nwi_patch {
    int64_t at[3];
    int64_t volume; /* their product */
};

/* A patch size of three numbers from 1 on, (1, 2, 2) without a word on it. BAD_CONFIG of
 * anything else, LIMIT above 4096 (so that the volume times one more number fits). */
struct nwi_patch nwi_video_patch(struct nwi_config *c, const char *key);
/* One number within the same limits. */
int64_t nwi_video_patch_side(struct nwi_config *c, const char *key, int64_t fallback);

/* Inner width of a FeedForward, by "mlp_ratio" (without a word on it, 4). BAD_CONFIG if
 * nothing is left. */
int64_t nwi_video_mlp(struct nwi_config *c, int64_t dim);

/* Whether the FeedForward of that activation has a gate; BAD_CONFIG if it knows no such
 * activation. */
bool nwi_video_gated(struct nwi_config *c, const char *key, const char *fallback);

/* AdaLayerNormSingle: timestep (256 channels) embedded, and `parts` modulations of it. */
void nwi_video_ada_single(struct nwi_module *m, const char *name, int64_t dim,
                          int64_t parts);

/* n / by, -1 if that is not a whole number or one of them is not positive. */
int64_t nwi_video_over(int64_t n, int64_t by);

/* Derives `key` where shapes tell only `product`, the product of two values: of the other
 * one counts what the config says, else `usual`. */
void nwi_video_derive_factor(struct nwi_config *c, const char *key, int64_t product,
                             const char *other, int64_t usual);

/* Derives the channels that come out, unless the config says the same in other words: null
 * and 0 are as many as come in. */
void nwi_video_derive_out(struct nwi_config *c, const char *key, int64_t in,
                          int64_t out);

/* Derives an activation from `proj`, the first layer of a FeedForward, and `back`, its
 * second: with a gate or without is all that they tell. */
void nwi_video_derive_gate(struct nwi_config *c, const char *key, const char *fallback,
                           int64_t proj, int64_t back);

#endif
