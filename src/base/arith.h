/* SPDX-License-Identifier: Apache-2.0
 * Checked arithmetic: every size that comes from a file goes through here. */
#ifndef NWI_ARITH_H
#define NWI_ARITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a + b; false if it does not fit. */
static inline bool nwi_add(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* *out = a * b; false if it does not fit. */
static inline bool nwi_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline uint64_t nwi_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t nwi_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The next multiple of `to` (a power of two); the caller knows that it fits. */
static inline uint64_t nwi_round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) & ~(to - 1);
}

/* a - b, but 0 where that would be negative. */
static inline uint64_t nwi_sub_floor(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

#endif
