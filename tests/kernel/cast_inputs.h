/* SPDX-License-Identifier: Apache-2.0
 * Inputs for the cast tests: every value of the narrow types; for F32 and F64,
 * mantissas at and beside each halfway point with every exponent, and random ones. */
#ifndef NWT_CAST_INPUTS_H
#define NWT_CAST_INPUTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netweight.h"

#define N_RANDOM    2000000
#define RANDOM_SEED 0x9e3779b97f4a7c15u

struct inputs {
    unsigned char *data;
    size_t n;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The i-th mantissa of `bits` bits worth a look; false past the last. For each bit: it
 * alone, with the next one, all but it, all from it on; each also one less and one
 * more. */
static bool edge_mantissa(uint32_t i, uint32_t bits, uint64_t *out)
{
    uint64_t all = (UINT64_C(1) << bits) - 1;
    uint64_t bit = UINT64_C(1) << i / 12 % 64;
    uint64_t kinds[4];

    if (i / 12 >= bits)
        return false;
    kinds[0] = bit;
    kinds[1] = bit * 3;
    kinds[2] = all ^ bit;
    kinds[3] = all & ~(bit - 1);
    *out = (kinds[i % 4] + i / 4 % 3 - 1) & all;
    return true;
}

/* Writes a value if out is not NULL; returns 1. */
static size_t put_f32(unsigned char *out, size_t i, uint32_t bits)
{
    if (out != NULL)
        memcpy(out + i * sizeof(bits), &bits, sizeof(bits));
    return 1;
}

static size_t put_f64(unsigned char *out, size_t i, uint64_t bits)
{
    if (out != NULL)
        memcpy(out + i * sizeof(bits), &bits, sizeof(bits));
    return 1;
}

/* Fills `out`, or only counts if it is NULL. */
static size_t fill_f32(unsigned char *out)
{
    uint64_t state = RANDOM_SEED;
    uint64_t mantissa;
    size_t n = 0;

    for (uint32_t i = 0; edge_mantissa(i, 23, &mantissa); i++) {
        for (uint32_t top = 0; top < 512; top++)
            n += put_f32(out, n, top << 23 | (uint32_t)mantissa);
    }
    for (uint32_t i = 0; i < N_RANDOM; i++)
        n += put_f32(out, n, (uint32_t)(next_random(&state) >> 32));
    for (uint32_t i = 0; i < N_RANDOM / 4; i++) { /* where eight bits have values */
        uint64_t random = next_random(&state);
        uint32_t exponent = 127 - 20 + (uint32_t)(random >> 40) % 40;
        n += put_f32(out, n, ((uint32_t)random & 0x807fffff) | exponent << 23);
    }
    return n;
}

static size_t fill_f64(unsigned char *out)
{
    uint64_t state = RANDOM_SEED;
    uint64_t mantissa;
    size_t n = 0;

    for (uint32_t i = 0; edge_mantissa(i, 52, &mantissa); i++) {
        for (uint64_t e = 0; e<2048; e += e> 860 && e < 1160 ? 1 : 89) {
            n += put_f64(out, n, e << 52 | mantissa);
            n += put_f64(out, n, UINT64_C(1) << 63 | e << 52 | mantissa);
        }
        n += put_f64(out, n, UINT64_C(0x7ff) << 52 | mantissa);
        n += put_f64(out, n, UINT64_C(0xfff) << 52 | mantissa);
    }
    for (uint32_t i = 0; edge_mantissa(i, 23, &mantissa); i++) {
        for (uint64_t e = 1023 - 150; e < 1023 + 129; e++) { /* rounded twice */
            uint64_t bits = e << 52 | mantissa << 29;
            n += put_f64(out, n, bits - 1);
            n += put_f64(out, n, bits);
            n += put_f64(out, n, bits + 1);
        }
    }
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        uint64_t random = next_random(&state);
        uint64_t exponent = 1023 - 155 + (random >> 52 & 0x7ff) % 290;
        n += put_f64(out, n, (random & ~(UINT64_C(0x7ff) << 52)) | exponent << 52);
    }
    return n;
}

static size_t fill_codes(unsigned char *out, size_t n_bytes)
{
    size_t n = (size_t)1 << 8 * n_bytes;

    for (size_t i = 0; out != NULL && i < n; i++) {
        uint16_t code = (uint16_t)i;
        if (n_bytes == 1)
            out[i] = (unsigned char)i;
        else
            memcpy(out + 2 * i, &code, sizeof(code));
    }
    return n;
}

static size_t fill(unsigned char *out, int dtype)
{
    if (dtype == NW_F64)
        return fill_f64(out);
    if (dtype == NW_F32)
        return fill_f32(out);
    return fill_codes(out, nw_dtype_bits(dtype) / 8);
}

/* False if memory is short. */
static bool make_inputs(int dtype, struct inputs *out)
{
    out->n = fill(NULL, dtype);
    out->data = malloc(out->n * (nw_dtype_bits(dtype) / 8));
    return out->data != NULL && fill(out->data, dtype) == out->n;
}

#endif
