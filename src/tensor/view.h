/* SPDX-License-Identifier: Apache-2.0
 * Strided views (struct nw_part) as runs of elements that lie side by side. */
#ifndef NWI_VIEW_H
#define NWI_VIEW_H

#include <stdint.h>

#include "netweight.h"

/* The dense tail of a view: `n_outer` leading dimensions are walked, the rest is one
 * extent. */
struct nwi_dense_tail {
    uint32_t n_outer;
    uint64_t n_elems; /* of one extent; 0 only if the view is empty */
};

static inline uint64_t nwi_view_elems(const struct nw_part *part)
{
    uint64_t n = 1;
    for (uint32_t dim = 0; dim < part->rank; dim++)
        n *= part->shape[dim];
    return n;
}

static inline struct nwi_dense_tail nwi_view_dense_tail(const struct nw_part *part)
{
    struct nwi_dense_tail tail = {.n_outer = part->rank, .n_elems = 1};
    while (tail.n_outer > 0) {
        uint32_t dim = tail.n_outer - 1;
        if (part->shape[dim] != 1 && part->strides[dim] != tail.n_elems)
            break;
        tail.n_elems *= part->shape[dim];
        tail.n_outer = dim;
    }
    return tail;
}

/* First element of the i-th extent: i counts through the outer dimensions, last one
 * fastest. The view is not empty. */
static inline uint64_t nwi_view_extent(const struct nw_part *part, uint32_t n_outer,
                                       uint64_t i)
{
    uint64_t at = part->start;
    for (uint32_t dim = n_outer; dim-- > 0;) {
        at += (i % part->shape[dim]) * part->strides[dim];
        i /= part->shape[dim];
    }
    return at;
}

#endif
