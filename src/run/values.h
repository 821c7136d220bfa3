/* SPDX-License-Identifier: Apache-2.0
 * Single values of any dtype, so that tensors of different dtypes can be compared.
 * Integers keep all 64 bits; everything else is a double, which holds every floating
 * type exactly. */
#ifndef NWI_VALUES_H
#define NWI_VALUES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_write.h"

struct nwi_value {
    bool is_int;        /* BOOL counts as one */
    bool negative;      /* integers: of `magnitude` */
    uint64_t magnitude; /* integers */
    double real;        /* all others */
};

/* Numbers an element of this dtype consists of: 2 for C64, else 1. */
uint32_t nwi_value_count(int dtype);

/* Element i (C64: number i) of `data`. Packed types: element 0 begins in the lowest
 * bits. */
struct nwi_value nwi_value_load(int dtype, const void *data, size_t i);

/* |a - b|: 0 if they are equal, two NaNs among that; infinite if only one is NaN, or
 * one is an infinity. */
static inline double nwi_real_distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isnan(a) || isnan(b) ? (double)INFINITY : fabs(a - b);
}

/* The same; two integers are compared exactly. */
double nwi_value_distance(struct nwi_value a, struct nwi_value b);

/* |value|, rounded to a double. */
double nwi_value_magnitude(struct nwi_value value);

/* A number; "NaN", "Infinity" or "-Infinity" as strings. */
void nwi_value_write(struct nwi_json_writer *w, struct nwi_value value);

#endif
