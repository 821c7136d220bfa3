/* SPDX-License-Identifier: Apache-2.0 */
#include "run/fill.h"

#include <string.h>

#include "tensor/dtype.h"

/* The number as an element of that type, little-endian, in the first bytes of out. */
static void encode(int dtype, uint64_t number, uint8_t out[8])
{
    struct nwi_cast cast;
    struct nwi_cast_counts counts = {0};
    memset(out, 0, 8);
    if (!nwi_dtype_is_float(dtype)) {
        memcpy(out, &number, 8); /* narrower ones are its first bytes */
        return;
    }
    float single = (float)number;
    if (dtype == NW_F32)
        memcpy(out, &single, sizeof single);
    else if (nwi_cast_find(NW_F32, dtype, NW_CPU_SCALAR, 0, &cast))
        nwi_cast_run(&cast, &single, out, 1, &counts);
}

/* What element i is. */
static uint64_t number_at(const struct nwi_target *target, uint64_t i)
{
    const struct nw_target *info = &target->info;
    uint64_t width = info->rank ? info->shape[info->rank - 1] : 1;
    switch (target->fill) {
    case NW_FILL_ONE:
        return 1;
    case NW_FILL_EYE:
        return i / width == i % width;
    case NW_FILL_ARANGE:
        return i % width;
    default:
        return 0;
    }
}

void nwi_fill_elements(const struct nwi_target *target, uint64_t first, size_t n,
                       void *dst)
{
    int dtype = target->info.dtype;
    size_t bytes = nw_dtype_bits(dtype) / 8;
    uint8_t *at = dst;
    uint8_t value[8];
    uint64_t number = 0;
    encode(dtype, number, value);
    for (size_t i = 0; i < n; i++, at += bytes) {
        uint64_t now = number_at(target, first + i);
        if (now != number)
            encode(dtype, now, value);
        number = now;
        memcpy(at, value, bytes);
    }
}
