/* SPDX-License-Identifier: Apache-2.0
 * The reference casts: F32 to and from every other floating type, one element at a
 * time, with integers only. All other rows must give these bits and these counts.
 *
 * Formats: IEEE 754 for F64, F32, F16; BF16 is the upper half of an F32; F8_E4M3
 * (largest 448, no infinity, one NaN a sign) and F8_E5M2 as in the OCP 8-bit floating
 * point specification; FNUZ: one more in the bias, no infinity, no -0, the one NaN is
 * 0x80; F8_E8M0: a power of two, 0xff is NaN (OCP microscaling formats).
 *
 * NaN, the table every row follows bit for bit ("q" sets the quiet bit, s is the sign):
 *
 *     F64 -> F32     s, q, upper 23 bits of the mantissa      (as CVTPD2PS and FCVT)
 *     F32 -> F64     s, q, mantissa in the upper 23 bits
 *     F32 -> F16     s, q, upper 10 bits of the mantissa      (as VCVTPS2PH and FCVT)
 *     F16 -> F32     s, q, mantissa in the upper 10 bits
 *     F32 -> BF16    s, q, upper 7 bits of the mantissa
 *     BF16 -> F32    the bits, in the upper half; a signalling NaN stays one
 *     F32 -> F8_E4M3, F8_E5M2             s | 0x7f
 *     F8_E4M3 -> F32                      s | 0x7ff00000      (one code a sign)
 *     F8_E5M2 -> F32                      s, q, mantissa in the upper 2 bits
 *     F32 -> F8_E4M3FNUZ, F8_E5M2FNUZ     0x80
 *     F32 -> F8_E8M0                      0xff
 *     F8_E4M3FNUZ, F8_E5M2FNUZ, F8_E8M0 -> F32     0x7fc00000
 *
 * and every other pair is the two steps through F32, one after the other. */
#include <string.h>

#include "tensor/cast.h"
#include "tensor/cast_rows.h"

#define F32_SIGN     0x80000000u
#define F32_INFINITY 0x7f800000u
#define F32_QUIET    0x00400000u
#define F64_SIGN     0x8000000000000000u
#define F64_INFINITY 0x7ff0000000000000u

/* A format with sign, exponent and mantissa. Codes here are without the sign. */
struct format {
    uint32_t mantissa_bits;
    int32_t bias;       /* of the exponent; the smallest normal value is 2^(1 - bias) */
    uint32_t largest;   /* code of the largest finite value */
    uint32_t too_large; /* what becomes of larger ones, infinity included */
    bool has_infinity;  /* too_large is one */
};

static const struct format f32 = {23, 127, 0x7f7fffff, 0x7f800000, true};
static const struct format f16 = {10, 15, 0x7bff, 0x7c00, true};
static const struct format bf16 = {7, 127, 0x7f7f, 0x7f80, true};
static const struct format e4m3 = {3, 7, 0x7e, 0x7e, false};
static const struct format e4m3_nan = {3, 7, 0x7e, 0x7f, false}; /* NWI_CAST_FP8_NAN */
static const struct format e5m2 = {2, 15, 0x7b, 0x7c, true};
static const struct format e4m3fnuz = {3, 8, 0x7f, 0x80, false};
static const struct format e5m2fnuz = {2, 16, 0x7f, 0x80, false};

/* The code nearest to significand * 2^(exponent - fraction_bits), ties to the even
 * code. `significand` is below 2^(fraction_bits + 1), and fraction_bits more than the
 * format's. */
static inline uint64_t round_to_code(uint64_t significand, int32_t exponent,
                                     uint32_t fraction_bits, const struct format *to)
{
    int32_t least = 1 - to->bias;
    int32_t grid = exponent > least ? exponent : least; /* subnormal: the least one */
    uint32_t lost = fraction_bits - to->mantissa_bits + (uint32_t)(grid - exponent);
    uint64_t kept, rest, half;

    if (lost > fraction_bits + 2) /* all below half: more shifting changes nothing */
        lost = fraction_bits + 2;
    kept = significand >> lost;
    rest = significand & ((UINT64_C(1) << lost) - 1);
    half = UINT64_C(1) << (lost - 1);
    if (rest > half || (rest == half && (kept & 1) != 0))
        kept++;
    /* The leading one of a normal value adds 1 to the exponent field, and so does a
     * carry. */
    return ((uint64_t)(uint32_t)(grid - least) << to->mantissa_bits) + kept;
}

/* Counts, and replaces what is too large. */
static inline uint32_t finish(uint64_t code, bool is_zero, bool is_infinite,
                              const struct format *to, struct nwi_cast_counts *counts)
{
    if (is_infinite || code > to->largest) {
        if (!is_infinite || !to->has_infinity)
            counts->overflow++;
        return to->too_large;
    }
    if (code == 0 && !is_zero)
        counts->flushed++;
    return (uint32_t)code;
}

/* The code of the magnitude of an F32 that is no NaN. */
static inline uint32_t narrow(uint32_t bits, const struct format *to,
                              struct nwi_cast_counts *counts)
{
    uint32_t magnitude = bits & ~F32_SIGN;
    uint32_t field = magnitude >> 23;
    uint32_t fraction = magnitude & 0x7fffff;
    uint64_t code;

    if (field == 0)
        code = round_to_code(fraction, -126, 23, to);
    else
        code = round_to_code(fraction | 0x800000, (int32_t)field - 127, 23, to);
    return finish(code, magnitude == 0, magnitude == F32_INFINITY, to, counts);
}

static inline bool is_nan(uint32_t bits)
{
    return (bits & ~F32_SIGN) > F32_INFINITY;
}

/* A finite code without its sign, as F32 bits. Not for BF16: subnormals stay such. */
static inline uint32_t widen(uint32_t code, const struct format *from)
{
    uint32_t leading = 1u << from->mantissa_bits;
    uint32_t fraction = code & (leading - 1);
    int32_t exponent = (int32_t)(code >> from->mantissa_bits) - from->bias;

    if (code == 0)
        return 0;
    if (code < leading) { /* subnormal: moved up to the leading one */
        int32_t up = __builtin_clz(fraction) - (31 - (int32_t)from->mantissa_bits);
        fraction = (fraction << up) - leading;
        exponent = 1 - from->bias - up;
    }
    return (uint32_t)(exponent + 127) << 23 | fraction << (23 - from->mantissa_bits);
}

/* ---- one element ---- */

static inline uint16_t f32_to_f16(uint32_t x, struct nwi_cast_counts *counts)
{
    uint32_t sign = x >> 16 & 0x8000;

    if (is_nan(x))
        return (uint16_t)(sign | 0x7e00 | (x >> 13 & 0x3ff));
    return (uint16_t)(sign | narrow(x, &f16, counts));
}

static inline uint16_t f32_to_bf16(uint32_t x, struct nwi_cast_counts *counts)
{
    uint32_t sign = x >> 16 & 0x8000;

    if (is_nan(x))
        return (uint16_t)(x >> 16 | 0x40);
    return (uint16_t)(sign | narrow(x, &bf16, counts));
}

static inline uint8_t f32_to_f8(uint32_t x, const struct format *to,
                                struct nwi_cast_counts *counts)
{
    uint32_t sign = x >> 24 & 0x80;

    if (is_nan(x))
        return (uint8_t)(sign | 0x7f);
    return (uint8_t)(sign | narrow(x, to, counts));
}

static inline uint8_t f32_to_fnuz(uint32_t x, const struct format *to,
                                  struct nwi_cast_counts *counts)
{
    uint32_t sign = x >> 24 & 0x80;
    uint32_t code;

    if (is_nan(x))
        return 0x80;
    code = narrow(x, to, counts);
    return (uint8_t)(code == 0 ? 0 : sign | code);
}

/* The nearest power of two, 1.5 * 2^n upwards. The sign is dropped. 0x00 is 2^-127, so
 * zero and the smallest values become that: nothing counts as flushed. */
static inline uint8_t f32_to_e8m0(uint32_t x, struct nwi_cast_counts *counts)
{
    uint32_t magnitude = x & ~F32_SIGN;
    uint32_t code;

    if (is_nan(x))
        return 0xff;
    if (magnitude >> 23 ==
        0) /* at most 2^-127 (which is 0x400000) is 0x00, then 2^-126 */
        return magnitude > 0x400000;
    code = (magnitude + 0x400000) >> 23;
    if (code >= 0xff) {
        counts->overflow++;
        return 0xff;
    }
    return (uint8_t)code;
}

static inline uint32_t f64_to_f32(uint64_t x, struct nwi_cast_counts *counts)
{
    uint64_t magnitude = x & ~F64_SIGN;
    uint64_t fraction = magnitude & 0xfffffffffffff;
    int32_t field = (int32_t)(magnitude >> 52);
    uint32_t sign = (uint32_t)(x >> 32) & F32_SIGN;
    uint64_t code;

    if (magnitude > F64_INFINITY)
        return sign | F32_INFINITY | F32_QUIET | (uint32_t)(fraction >> 29);
    if (field == 0)
        code = round_to_code(fraction, -1022, 52, &f32);
    else
        code = round_to_code(fraction | 0x10000000000000, field - 1023, 52, &f32);
    return sign | finish(code, magnitude == 0, magnitude == F64_INFINITY, &f32, counts);
}

static inline uint64_t f32_to_f64(uint32_t x)
{
    uint64_t sign = (uint64_t)(x & F32_SIGN) << 32;
    uint64_t fraction = (uint64_t)(x & 0x7fffff) << 29;
    uint64_t field = x >> 23 & 0xff;
    uint64_t up;

    if (field == 0xff)
        return sign | F64_INFINITY | fraction | (is_nan(x) ? UINT64_C(1) << 51 : 0);
    if (field == 0) {
        if (fraction == 0)
            return sign;
        up = (uint64_t)__builtin_clzll(fraction) - 11;
        fraction = (fraction << up) - (UINT64_C(1) << 52);
        field = 1 - up; /* wraps, and back below */
    }
    return sign | (field + 1023 - 127) << 52 | fraction;
}

static inline uint32_t f16_to_f32(uint16_t x)
{
    uint32_t sign = (uint32_t)(x & 0x8000) << 16;
    uint32_t code = x & 0x7fff;

    if (code > f16.largest)
        return sign | F32_INFINITY | (code & 0x3ff) << 13 |
               (code > 0x7c00 ? F32_QUIET : 0);
    return sign | widen(code, &f16);
}

static inline uint32_t bf16_to_f32(uint16_t x)
{
    return (uint32_t)x << 16;
}

static inline uint32_t e4m3_to_f32(uint8_t x)
{
    uint32_t sign = (uint32_t)(x & 0x80) << 24;
    uint32_t code = x & 0x7f;

    return sign | (code == 0x7f ? 0x7ff00000 : widen(code, &e4m3));
}

static inline uint32_t e5m2_to_f32(uint8_t x)
{
    uint32_t sign = (uint32_t)(x & 0x80) << 24;
    uint32_t code = x & 0x7f;

    if (code > e5m2.largest)
        return sign | F32_INFINITY | (code & 3) << 21 | (code > 0x7c ? F32_QUIET : 0);
    return sign | widen(code, &e5m2);
}

static inline uint32_t fnuz_to_f32(uint8_t x, const struct format *from)
{
    uint32_t sign = (uint32_t)(x & 0x80) << 24;

    return x == 0x80 ? F32_INFINITY | F32_QUIET : sign | widen(x & 0x7f, from);
}

static inline uint32_t e8m0_to_f32(uint8_t x)
{
    if (x == 0xff)
        return F32_INFINITY | F32_QUIET;
    return x == 0 ? 0x400000 : (uint32_t)x << 23; /* 2^-127 is subnormal */
}

/* ---- rows ---- */

/* Defines the row `name`: `expr` is the result of type `to` for x of type `from`. */
#define REFERENCE_ROW(name, from, to, expr)                                            \
    void nwi_cast_##name##_ref(const void *src, void *dst, size_t n, uint32_t flags,   \
                               struct nwi_cast_counts *counts)                         \
    {                                                                                  \
        const unsigned char *in = src;                                                 \
        unsigned char *out = dst;                                                      \
        struct nwi_cast_counts sum = {0, 0};                                           \
        (void)flags;                                                                   \
        for (size_t i = 0; i < n; i++) {                                               \
            from x;                                                                    \
            to y;                                                                      \
            memcpy(&x, in + i * sizeof(x), sizeof(x));                                 \
            y = (expr);                                                                \
            memcpy(out + i * sizeof(y), &y, sizeof(y));                                \
        }                                                                              \
        counts->overflow += sum.overflow;                                              \
        counts->flushed += sum.flushed;                                                \
    }

REFERENCE_ROW(f32_f64, uint32_t, uint64_t, f32_to_f64(x))
REFERENCE_ROW(f32_f16, uint32_t, uint16_t, f32_to_f16(x, &sum))
REFERENCE_ROW(f32_bf16, uint32_t, uint16_t, f32_to_bf16(x, &sum))
REFERENCE_ROW(f32_e4m3, uint32_t, uint8_t,
              f32_to_f8(x, flags &NWI_CAST_FP8_NAN ? &e4m3_nan : &e4m3, &sum))
REFERENCE_ROW(f32_e5m2, uint32_t, uint8_t, f32_to_f8(x, &e5m2, &sum))
REFERENCE_ROW(f32_e4m3fnuz, uint32_t, uint8_t, f32_to_fnuz(x, &e4m3fnuz, &sum))
REFERENCE_ROW(f32_e5m2fnuz, uint32_t, uint8_t, f32_to_fnuz(x, &e5m2fnuz, &sum))
REFERENCE_ROW(f32_e8m0, uint32_t, uint8_t, f32_to_e8m0(x, &sum))

REFERENCE_ROW(f64_f32, uint64_t, uint32_t, f64_to_f32(x, &sum))
REFERENCE_ROW(f16_f32, uint16_t, uint32_t, f16_to_f32(x))
REFERENCE_ROW(bf16_f32, uint16_t, uint32_t, bf16_to_f32(x))
REFERENCE_ROW(e4m3_f32, uint8_t, uint32_t, e4m3_to_f32(x))
REFERENCE_ROW(e5m2_f32, uint8_t, uint32_t, e5m2_to_f32(x))
REFERENCE_ROW(e4m3fnuz_f32, uint8_t, uint32_t, fnuz_to_f32(x, &e4m3fnuz))
REFERENCE_ROW(e5m2fnuz_f32, uint8_t, uint32_t, fnuz_to_f32(x, &e5m2fnuz))
REFERENCE_ROW(e8m0_f32, uint8_t, uint32_t, e8m0_to_f32(x))
