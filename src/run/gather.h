/* SPDX-License-Identifier: Apache-2.0
 * Any range of a target's elements, read from its files and converted, without a run:
 * for comparing and looking. Memory is fixed. */
#ifndef NWI_GATHER_H
#define NWI_GATHER_H

#include "plan/plan.h"

/* Most elements of one call; a multiple of 8, so that packed types end on whole bytes.
 */
#define NWI_GATHER_ELEMS ((size_t)128 << 10)
/* Bytes that its result may need: the widest element has 8. */
#define NWI_GATHER_BYTES (NWI_GATHER_ELEMS * 8)

struct nwi_gather {
    const struct nw_plan *plan; /* borrowed */
    uint8_t *stage;             /* [NWI_GATHER_BYTES]: elements as stored */
    uint8_t *window;            /* [window size]: bytes around short extents */
    uint32_t window_file;       /* row of files */
    uint64_t window_begin;      /* in that file; begin == end: nothing is there */
    uint64_t window_end;
};

/* NOMEM. Memory comes from `memory`. */
int nwi_gather_init(struct nwi_gather *gather, const struct nw_plan *plan,
                    struct nwi_memory *memory, struct nw_error *err);
void nwi_gather_release(struct nwi_gather *gather, struct nwi_memory *memory);

/* Elements [first, first + n) of target i in its result dtype, n <= NWI_GATHER_ELEMS.
 * Packed types: first is a multiple of 8. The codes of nwi_file_read; UNSUPPORTED where
 * the parts of a packed type do not begin and end on bytes. */
int nwi_gather_read(struct nwi_gather *gather, size_t target, uint64_t first, size_t n,
                    void *dst, struct nw_error *err);

#endif
