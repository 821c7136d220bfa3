/* SPDX-License-Identifier: Apache-2.0
 * The averaged weights (EMA) that a training checkpoint holds beside those it trains. */
#ifndef NWI_AVERAGES_H
#define NWI_AVERAGES_H

#include "layout/rest.h"

struct nwi_averages_input {
    const struct nw_checkpoint *ckpt;
    uint32_t component;
    const struct nwi_detection *detection;
    const struct nwi_found *part; /* that the plan is of */
    struct nwi_arena *arena;
};

/* Points every tensor of the part at its average, if it has one, and adds those that are
 * replaced to `rest`. *averaged: which tensors of the component were taken, by their row
 * in it. NOT_FOUND (no averages of this part), NOMEM. */
int nwi_averages_take(const struct nwi_averages_input *in, bool **averaged,
                      struct nwi_rest *rest, struct nw_error *err);

/* MISSING if a tensor that is taken (used[i] of given->rows[i]) is no average. */
int nwi_averages_check(const struct nwi_averages_input *in, const bool *averaged,
                       const struct nwi_header *given, const bool *used,
                       struct nw_error *err);

#endif
