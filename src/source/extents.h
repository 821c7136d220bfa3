/* SPDX-License-Identifier: Apache-2.0
 * The data region of one file: tensors must tile it without holes, overlaps or aliases.
 */
#ifndef NWI_EXTENTS_H
#define NWI_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "source/builder.h"

/* What one tensor of the header takes of the data. */
struct nwi_extent {
    uint64_t begin; /* bytes from the start of the data */
    uint64_t end;
    const char *name; /* need not end in a NUL */
    uint32_t name_size;
    uint32_t row; /* of the builder's tensors, NW_NONE if it could not be added */
};

/* Sorts by begin, then end, then place in the header; brings the builder's tensors from
 * `first_row` on (all of them have an extent) into the same order. */
int nwi_extents_sort(struct nwi_builder *b, struct nwi_vector *extents,
                     size_t first_row);

/* Checks sorted extents against a data region of the size that file row `file` has
 * after `data_start`: BAD_EXTENT, TRUNCATED, TRAILING. */
int nwi_extents_check(struct nwi_builder *b, const struct nwi_vector *extents,
                      uint32_t file, uint64_t data_start);

#endif
