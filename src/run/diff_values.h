/* SPDX-License-Identifier: Apache-2.0
 * Comparing two targets element by element. */
#ifndef NWI_DIFF_VALUES_H
#define NWI_DIFF_VALUES_H

#include "run/gather.h"
#include "run/progress.h"
#include "run/values.h"

/* How the values of one pair of tensors differ. */
struct nwi_value_diff {
    uint64_t n_differ;  /* elements apart by more than the tolerance; 0 = equal */
    double max_abs;     /* largest distance of all elements */
    uint64_t first;     /* first element that differs, row major */
    struct nwi_value a; /* its values */
    struct nwi_value b;
};

/* What comparing needs; made once for two plans. */
struct nwi_differ {
    const struct nw_plan *plans[2];
    struct nwi_gather gathers[2];
    uint8_t *buffers[2];       /* [NWI_GATHER_BYTES] each, one allocation */
    struct nwi_memory *memory; /* borrowed */
    double tolerance_abs;      /* elements differ if |a - b| > abs + rel * |b| */
    double tolerance_rel;
    struct nwi_progress progress; /* in bytes as stored, of both sides */
};

/* NOMEM. The tolerances and the progress are set by the caller. */
int nwi_differ_init(struct nwi_differ *differ, const struct nw_plan *a,
                    const struct nw_plan *b, struct nwi_memory *memory,
                    struct nw_error *err);
/* All zero is allowed. */
void nwi_differ_release(struct nwi_differ *differ);

/* False where values have nothing in common: one is complex, the other is not. */
bool nwi_differ_applies(const struct nwi_target *a, const struct nwi_target *b);

/* Bytes that comparing will read. */
uint64_t nwi_differ_bytes(const struct nwi_target *a, const struct nwi_target *b);

/* Compares target i of the first plan with target j of the second; they have one shape.
 * The codes of nwi_gather_read, and CANCELLED. */
int nwi_differ_compare(struct nwi_differ *differ, size_t i, size_t j,
                       struct nwi_value_diff *out, struct nw_error *err);

#endif
