/* SPDX-License-Identifier: Apache-2.0
 * Counting values that are no finite numbers. */
#ifndef NWI_STATS_H
#define NWI_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nwi_stats {
    uint64_t n_nan;
    uint64_t n_inf;
};

/* True if a tensor of this dtype can hold such values. */
bool nwi_stats_applies(int dtype);

/* Adds those among `nbytes` of stored values (whole ones; any alignment) to *stats. The
 * two halves of a C64 count by themselves. Nothing for a dtype without such values. */
void nwi_stats_add(int dtype, const void *data, size_t nbytes, struct nwi_stats *stats);

#endif
