/* SPDX-License-Identifier: Apache-2.0
 * Numbers of the narrow formats that the vector rows share, as bits of F32 magnitudes.
 */
#ifndef NWI_CAST_BOUNDS_H
#define NWI_CAST_BOUNDS_H

#define F32_INFINITY 0x7f800000

/* Bytes of an element, for macros that paste the name of a type. */
enum {
    SIZE_f64 = 8,
    SIZE_f32 = 4,
    SIZE_f16 = 2,
    SIZE_bf16 = 2,
    SIZE_e4m3 = 1,
    SIZE_e5m2 = 1
};

/* The magnitudes at which a target counts. */
struct bounds {
    int overflow; /* the smallest that is too large */
    int end; /* the smallest that counts no more: infinity if it stays one, or NaN */
    int flushed; /* the largest that becomes zero: half of the smallest value */
};

/* A target of eight bits. */
struct f8 {
    struct bounds bounds;
    int mantissa_bits;
    int least_normal; /* the smallest normal value */
    int clamp; /* a value on the target's grid above the largest one: its code is what
                  all above it get, but for NaN */
};

static const struct bounds bf16_bounds = {0x7f7f8000, F32_INFINITY, 0x00008000};
static const struct bounds f16_bounds = {0x477ff000, F32_INFINITY, 0x33000000};
static const struct f8 e4m3 = {
    {0x43e80001, F32_INFINITY + 1, 0x3a800000}, 3, 0x3c800000, 0x43f00000};
static const struct f8 e5m2 = {
    {0x47700000, F32_INFINITY, 0x37000000}, 2, 0x38800000, 0x47800000};

#endif
