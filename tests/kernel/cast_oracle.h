/* SPDX-License-Identifier: Apache-2.0
 * What a cast must give, found another way than the reference does: the values of all
 * codes of a format are listed as doubles, and the nearest one is looked up. */
#ifndef NWT_CAST_ORACLE_H
#define NWT_CAST_ORACLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netweight.h"
#include "tensor/cast.h"

/* A format of at most 16 bits with sign, exponent and mantissa. */
struct oracle_format {
    int dtype;
    int mantissa_bits;
    int bias;
    uint32_t n_finite; /* codes from 0 that are finite */
    uint32_t beyond;   /* the code of what is too large */
    uint32_t sign_bit;
    bool has_infinity;
    bool has_minus_zero;
};

static const struct oracle_format oracle_formats[] = {
    {NW_F16, 10, 15, 0x7c00, 0x7c00, 0x8000, true, true},
    {NW_BF16, 7, 127, 0x7f80, 0x7f80, 0x8000, true, true},
    {NW_F8_E4M3, 3, 7, 0x7f, 0x7e, 0x80, false, true},
    {NW_F8_E5M2, 2, 15, 0x7c, 0x7c, 0x80, true, true},
    {NW_F8_E4M3FNUZ, 3, 8, 0x80, 0x80, 0x80, false, false},
    {NW_F8_E5M2FNUZ, 2, 16, 0x80, 0x80, 0x80, false, false},
};

enum { N_ORACLE_FORMATS = sizeof(oracle_formats) / sizeof(oracle_formats[0]) };

/* The values of the codes, and of one code more than there is. */
struct oracle {
    const struct oracle_format *format;
    double values[0x7f80 + 1];
    uint32_t
        last; /* code at or below the last value asked for: neighbours are found fast */
};

static double oracle_value(const struct oracle_format *f, uint32_t code)
{
    uint32_t steps = 1u << f->mantissa_bits;
    double fraction = (double)(code % steps) / steps;
    int exponent = (int)(code / steps);

    return exponent == 0 ? ldexp(fraction, 1 - f->bias)
                         : ldexp(1 + fraction, exponent - f->bias);
}

/* To be freed; NULL if `dtype` is no such format or memory is short. */
static struct oracle *oracle_create(int dtype)
{
    struct oracle *o = NULL;

    for (int i = 0; i < N_ORACLE_FORMATS; i++) {
        if (oracle_formats[i].dtype != dtype)
            continue;
        o = calloc(1, sizeof(*o));
        if (o == NULL)
            return NULL;
        o->format = &oracle_formats[i];
        for (uint32_t code = 0; code <= o->format->n_finite; code++)
            o->values[code] = oracle_value(o->format, code);
    }
    return o;
}

/* The code whose value is nearest to x >= 0; of two equally near, the even one.
 * n_finite if x is too large. */
static uint32_t oracle_nearest(struct oracle *o, double x)
{
    uint32_t low = 0;
    uint32_t high = o->format->n_finite;
    double down, up;

    if (x >= o->values[high])
        return high;
    if (x < o->values[o->last] || x >= o->values[o->last + 1]) {
        while (high - low > 1) {
            uint32_t middle = (low + high) / 2;
            if (o->values[middle] <= x)
                low = middle;
            else
                high = middle;
        }
        o->last = low;
    }
    low = o->last;
    down = x - o->values[low];
    up = o->values[low + 1] - x;
    if (down != up)
        return down < up ? low : low + 1;
    return low % 2 == 0 ? low : low + 1;
}

static uint32_t oracle_code(struct oracle *o, float x, uint32_t flags,
                            struct nwi_cast_counts *counts)
{
    const struct oracle_format *f = o->format;
    uint32_t sign = signbit(x) ? f->sign_bit : 0;
    uint32_t beyond = f->beyond;
    uint32_t code = oracle_nearest(o, fabs((double)x));

    if (f->dtype == NW_F8_E4M3 && (flags & NWI_CAST_FP8_NAN) != 0)
        beyond = 0x7f;
    if (code == f->n_finite) {
        counts->overflow += !isinf(x) || !f->has_infinity;
        return sign | beyond;
    }
    if (code == 0) {
        counts->flushed += x < 0 || x > 0;
        return f->has_minus_zero ? sign : 0;
    }
    return sign | code;
}

/* torch's rule for the powers of two: the nearer one, the upper one from 1.5 on, and
 * the second smallest for all that is above the smallest. */
static uint32_t oracle_e8m0(float x, struct nwi_cast_counts *counts)
{
    double size = fabs((double)x);
    int exponent;
    double half =
        frexp(size, &exponent); /* size = half * 2^exponent, half from 0.5 to 1 */

    if (size <= ldexp(1, -127))
        return 0;
    if (size < ldexp(1, -126))
        return 1;
    if (size >= ldexp(1.5, 127)) {
        counts->overflow++;
        return 0xff;
    }
    return (uint32_t)(exponent - 1 + (half >= 0.75) + 127);
}

/* The NaN table of cast_ref.c for narrowing F32 bits. */
static uint32_t oracle_nan(int to, uint32_t bits)
{
    uint32_t sign = bits >> 31;

    switch (to) {
    case NW_F16:
        return sign << 15 | 0x7e00 | (bits & 0x7fffff) / 0x2000;
    case NW_BF16:
        return (bits | 0x400000) / 0x10000;
    case NW_F8_E4M3:
    case NW_F8_E5M2:
        return sign << 7 | 0x7f;
    case NW_F8_E8M0:
        return 0xff;
    default:
        return 0x80;
    }
}

/* The F32 bits that a code of at most 16 bits stands for. */
static uint32_t oracle_widen(int from, uint32_t code)
{
    const struct oracle_format *f = NULL;
    uint32_t sign, bits;
    float value;

    if (from == NW_F8_E8M0) {
        value = (float)ldexp(1, (int)code - 127);
        memcpy(&bits, &value, sizeof(bits));
        return code == 0xff ? 0x7fc00000 : bits;
    }
    for (int i = 0; i < N_ORACLE_FORMATS; i++) {
        if (oracle_formats[i].dtype == from)
            f = &oracle_formats[i];
    }
    if (f == NULL)
        return 0;
    sign = (code & f->sign_bit) != 0 ? 0x80000000 : 0;
    if (!f->has_minus_zero && code == 0x80)
        return 0x7fc00000;
    code &= f->sign_bit - 1;
    if (code < f->n_finite) {
        value = (float)oracle_value(f, code);
        memcpy(&bits, &value, sizeof(bits));
        return sign | bits;
    }
    if (f->has_infinity && code == f->beyond)
        return sign | 0x7f800000;
    if (from == NW_F8_E4M3)
        return sign | 0x7ff00000;
    bits = sign | 0x7f800000 | (code - f->n_finite) << (23 - f->mantissa_bits);
    return from == NW_BF16 ? bits : bits | 0x400000;
}

#endif
