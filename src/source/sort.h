/* SPDX-License-Identifier: Apache-2.0
 * A stable merge sort: n log n whatever the input, and no memory of its own. */
#ifndef NWI_SORT_H
#define NWI_SORT_H

#include <stddef.h>

typedef int nwi_compare_fn(const void *a, const void *b); /* as for qsort */

/* Sorts n items of `size` bytes; `spare` has room for as many. Linear if they are in
 * order. */
void nwi_sort(void *items, void *spare, size_t n, size_t size, nwi_compare_fn *compare);

/* strcmp order for arrays of const char *. */
int nwi_compare_names(const void *a, const void *b);

#endif
