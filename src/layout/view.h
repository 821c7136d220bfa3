/* SPDX-License-Identifier: Apache-2.0
 * Views that rules are made of: parts of stored tensors with shapes and strides, on an
 * arena. Sizes of tensors are the files', which hold all their elements: products only
 * wrap where a dimension is 0, and then no element uses them. */
#ifndef NWI_VIEW_H
#define NWI_VIEW_H

#include "layout/ruleset.h"

/* A shape in the making; dims on the arena. */
struct nwi_shape {
    uint64_t *dims; /* [rank] */
    uint32_t rank;
};

/* A copy with room for `more` dimensions behind. NULL dims: refused. */
struct nwi_shape nwi_shape_copy(struct nwi_arena *arena, const uint64_t *dims,
                                uint32_t rank, uint32_t more);
/* Ones that go: 1 = at the end, down to rank 2; 2 = all. */
void nwi_shape_squeeze(struct nwi_shape *shape, uint8_t squeeze);
/* The way back to `rank`: ones at the end, or NWI_RANK_1C11. Vectors and scalars stay as
 * they are otherwise. There is room for the dimensions. */
void nwi_shape_unsqueeze(struct nwi_shape *shape, uint8_t rank);

/* Elements of one row of dimension 0. */
uint64_t nwi_row_size(const uint64_t *dims, uint32_t rank);

/* Dense, row-major strides of `rank` dimensions. Where one is 0 products may wrap: no
 * element uses them. */
void nwi_fill_strides(const uint64_t *dims, uint32_t rank, uint64_t *strides);

/* Dense row-major strides for `shape`. NULL: refused. */
uint64_t *nwi_dense_strides(struct nwi_arena *arena, const struct nwi_shape *shape);

/* One part: that view of a source, its strides dense. False: refused. */
bool nwi_part_dense(struct nwi_arena *arena, uint32_t source, uint64_t start,
                    const struct nwi_shape *shape, struct nw_part *out);

/* Dimension 0 of `rows`, cut as `sizes` says into n; false if it does not come out even,
 * or a variable has no value. */
bool nwi_cut(const struct nwi_ready_rule *rule, uint64_t rows, uint32_t n,
             uint64_t *out);

#endif
