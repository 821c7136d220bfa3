/* SPDX-License-Identifier: Apache-2.0
 * Shapes and cuts. */
#include "layout/view.h"

#include <string.h>

struct nwi_shape nwi_shape_copy(struct nwi_arena *arena, const uint64_t *dims,
                                uint32_t rank, uint32_t more)
{
    struct nwi_shape shape = {nwi_arena_array(arena, (size_t)rank + more, sizeof *dims),
                              rank};
    if (shape.dims && rank > 0)
        memcpy(shape.dims, dims, rank * sizeof *dims);
    return shape;
}

void nwi_shape_squeeze(struct nwi_shape *shape, uint8_t squeeze)
{
    uint32_t n = 0;
    if (squeeze == 1) {
        while (shape->rank > 2 && shape->dims[shape->rank - 1] == 1)
            shape->rank--;
    }
    if (squeeze != 2)
        return;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] != 1)
            shape->dims[n++] = shape->dims[i];
    }
    shape->rank = n;
}

void nwi_shape_unsqueeze(struct nwi_shape *shape, uint8_t rank)
{
    if (rank == NWI_RANK_1C11) {
        if (shape->rank != 1)
            return;
        shape->dims[1] = shape->dims[0];
        shape->dims[0] = shape->dims[2] = shape->dims[3] = 1;
        shape->rank = 4;
        return;
    }
    while (shape->rank >= 2 && shape->rank < rank)
        shape->dims[shape->rank++] = 1;
}

uint64_t nwi_row_size(const uint64_t *dims, uint32_t rank)
{
    uint64_t n = 1;
    for (uint32_t i = 1; i < rank; i++)
        n *= dims[i];
    return n;
}

void nwi_fill_strides(const uint64_t *dims, uint32_t rank, uint64_t *strides)
{
    uint64_t stride = 1;
    for (uint32_t i = rank; i-- > 0; stride *= dims[i])
        strides[i] = stride;
}

uint64_t *nwi_dense_strides(struct nwi_arena *arena, const struct nwi_shape *shape)
{
    uint64_t *strides = nwi_arena_array(arena, shape->rank, sizeof *strides);
    if (strides)
        nwi_fill_strides(shape->dims, shape->rank, strides);
    return strides;
}

bool nwi_part_dense(struct nwi_arena *arena, uint32_t source, uint64_t start,
                    const struct nwi_shape *shape, struct nw_part *out)
{
    uint64_t *strides = nwi_dense_strides(arena, shape);
    *out = (struct nw_part){.source = source,
                            .rank = shape->rank,
                            .start = start,
                            .shape = shape->dims,
                            .strides = strides};
    return strides != NULL;
}

bool nwi_cut(const struct nwi_ready_rule *rule, uint64_t rows, uint32_t n,
             uint64_t *out)
{
    uint64_t left = rows;
    uint32_t n_stars = 0;
    if (n == 0)
        return false;
    if (rule->n_sizes == 0) {
        for (uint32_t i = 0; i < n; i++)
            out[i] = rows / n;
        return rows % n == 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct nwi_size *size = &rule->sizes[i];
        n_stars += size->is_star;
        if (size->is_star)
            continue;
        if (size->form.unknown || size->form.constant < 0 ||
            (uint64_t)size->form.constant > left)
            return false;
        out[i] = (uint64_t)size->form.constant;
        left -= out[i];
    }
    if (n_stars == 0)
        return left == 0;
    for (uint32_t i = 0; i < n; i++) {
        if (rule->sizes[i].is_star)
            out[i] = left / n_stars;
    }
    return left % n_stars == 0;
}
