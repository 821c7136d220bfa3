/* SPDX-License-Identifier: Apache-2.0
 * Rows for NEON, which every AArch64 has. A row loads 16 elements as F32, and stores
 * them rounded; what is left at the end is copied into a block filled up with zeros,
 * which count nothing. */
#include "tensor/cast_bounds.h"
#include "tensor/cast_rows.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <string.h>

#define BLOCK  ((size_t)16)
#define INLINE static inline __attribute__((always_inline))

/* A block as bits of F32. */
struct block {
    uint32x4_t part[4];
};

/* What a row carries from block to block. A compare gives -1 a lane: the sums are
 * negative. */
struct tally {
    uint32_t flags;
    int64x2_t overflow;
    int64x2_t flushed;
};

/* ---- rounding four elements ---- */

INLINE uint32x4_t splat(int x)
{
    return vdupq_n_u32((uint32_t)x);
}

INLINE uint32x4_t magnitude(uint32x4_t x)
{
    return vandq_u32(x, splat(0x7fffffff));
}

INLINE void count(struct block x, const struct bounds *at, struct tally *tally)
{
    int32x4_t overflow = vdupq_n_s32(0);
    int32x4_t flushed = vdupq_n_s32(0);

    for (size_t i = 0; i < 4; i++) {
        uint32x4_t size = magnitude(x.part[i]);
        uint32x4_t past = vsubq_u32(size, splat(at->overflow));
        uint32x4_t less_one = vsubq_u32(size, splat(1)); /* zero is far off */
        uint32x4_t too_large = vcltq_u32(past, splat(at->end - at->overflow));
        uint32x4_t tiny = vcltq_u32(less_one, splat(at->flushed));
        overflow = vaddq_s32(overflow, vreinterpretq_s32_u32(too_large));
        flushed = vaddq_s32(flushed, vreinterpretq_s32_u32(tiny));
    }
    tally->overflow = vpadalq_s32(tally->overflow, overflow);
    tally->flushed = vpadalq_s32(tally->flushed, flushed);
}

/* The upper half of each result is the BF16, the lower half means nothing. */
INLINE uint32x4_t round_bf16(uint32x4_t x)
{
    uint32x4_t odd = vandq_u32(vshrq_n_u32(x, 16), splat(1));
    uint32x4_t up = vaddq_u32(vaddq_u32(x, splat(0x7fff)), odd);
    uint32x4_t is_nan = vcgtq_u32(magnitude(x), splat(F32_INFINITY));

    return vbslq_u32(is_nan, vorrq_u32(x, splat(0x00400000)), up);
}

/* One code in each 32 bits. To a magnitude between 2^e and 2^(e+1), add 2^(e+23-m), m
 * being the target's mantissa bits: the sum's lowest bits are the magnitude in units of
 * the target's last place, rounded. These and e, as exponent field, add up to the code.
 * Below the smallest normal value, e is that one's, whose field counts as 0. */
INLINE uint32x4_t round_f8(uint32x4_t x, const struct f8 *to, int largest)
{
    int shift = 23 - to->mantissa_bits;
    uint32x4_t size = magnitude(x);
    uint32x4_t least = splat(to->least_normal);
    uint32x4_t clamped = vminq_u32(size, splat(to->clamp));
    uint32x4_t power = vmaxq_u32(vandq_u32(clamped, splat(F32_INFINITY)), least);
    uint32x4_t unit = vaddq_u32(power, splat(shift << 23));
    uint32x4_t sum = vreinterpretq_u32_f32(
        vaddq_f32(vreinterpretq_f32_u32(clamped), vreinterpretq_f32_u32(unit)));
    uint32x4_t field = vshlq_u32(vsubq_u32(power, least), vdupq_n_s32(-shift));
    uint32x4_t code = vaddq_u32(field, vsubq_u32(sum, unit));
    uint32x4_t is_nan = vcgtq_u32(size, splat(F32_INFINITY));

    code = vminq_u32(code, splat(largest));
    code = vbslq_u32(is_nan, splat(0x7f), code);
    return vorrq_u32(code, vandq_u32(vshrq_n_u32(x, 24), splat(0x80)));
}

/* ---- loading a block ---- */

INLINE uint16x8_t load_u16(const unsigned char *src)
{
    return vreinterpretq_u16_u8(vld1q_u8(src));
}

INLINE uint32x4_t from_f16(uint16x4_t x)
{
    return vreinterpretq_u32_f32(vcvt_f32_f16(vreinterpret_f16_u16(x)));
}

INLINE struct block from_f16_bits(uint16x8_t low, uint16x8_t high)
{
    struct block block = {{from_f16(vget_low_u16(low)), from_f16(vget_high_u16(low)),
                           from_f16(vget_low_u16(high)),
                           from_f16(vget_high_u16(high))}};
    return block;
}

/* Two F64 as F32. */
INLINE float32x2_t narrow_f64(const unsigned char *src, struct tally *tally)
{
    uint64x2_t x = vreinterpretq_u64_u8(vld1q_u8(src));
    uint64x2_t size = vandq_u64(x, vdupq_n_u64(0x7fffffffffffffff));
    /* Half a unit above the largest F32; infinity; half of the smallest F32. */
    uint64x2_t past = vsubq_u64(size, vdupq_n_u64(0x47effffff0000000));
    uint64x2_t less_one = vsubq_u64(size, vdupq_n_u64(1));
    uint64x2_t too_large =
        vcltq_u64(past, vdupq_n_u64(0x7ff0000000000000 - 0x47effffff0000000));
    uint64x2_t tiny = vcltq_u64(less_one, vdupq_n_u64(0x3690000000000000));

    tally->overflow = vaddq_s64(tally->overflow, vreinterpretq_s64_u64(too_large));
    tally->flushed = vaddq_s64(tally->flushed, vreinterpretq_s64_u64(tiny));
    return vcvt_f32_f64(vreinterpretq_f64_u64(x));
}

INLINE struct block load_f64(const unsigned char *src, struct tally *tally)
{
    struct block block;

    for (size_t i = 0; i < 4; i++) {
        float32x2_t low = narrow_f64(src + 32 * i, tally);
        float32x2_t high = narrow_f64(src + 32 * i + 16, tally);
        block.part[i] = vreinterpretq_u32_f32(vcombine_f32(low, high));
    }
    return block;
}

INLINE struct block load_f32(const unsigned char *src, struct tally *tally)
{
    struct block block;

    (void)tally;
    for (size_t i = 0; i < 4; i++)
        block.part[i] = vreinterpretq_u32_u8(vld1q_u8(src + 16 * i));
    return block;
}

INLINE struct block load_f16(const unsigned char *src, struct tally *tally)
{
    (void)tally;
    return from_f16_bits(load_u16(src), load_u16(src + 16));
}

INLINE struct block load_bf16(const unsigned char *src, struct tally *tally)
{
    uint16x8_t low = load_u16(src);
    uint16x8_t high = load_u16(src + 16);
    struct block block = {
        {vshll_n_u16(vget_low_u16(low), 16), vshll_n_u16(vget_high_u16(low), 16),
         vshll_n_u16(vget_low_u16(high), 16), vshll_n_u16(vget_high_u16(high), 16)}};
    (void)tally;
    return block;
}

/* Sign, then E4M3's other bits from the third bit on; NaN as NaN. */
INLINE uint16x8_t e4m3_as_f16(uint8x8_t x)
{
    uint16x8_t wide = vreinterpretq_u16_s16(vshll_n_s8(vreinterpret_s8_u8(x), 7));
    uint16x8_t nan = vdupq_n_u16(0x3f80);
    uint16x8_t half = vandq_u16(wide, vdupq_n_u16(0xbf80));
    uint16x8_t is_nan = vceqq_u16(vandq_u16(wide, nan), nan);

    return vorrq_u16(half, vandq_u16(is_nan, vdupq_n_u16(0x4000)));
}

/* As F16, the bits of an E4M3 are 1/256 of its value: the exponents' biases differ
 * by 8. */
INLINE struct block load_e4m3(const unsigned char *src, struct tally *tally)
{
    uint8x16_t x = vld1q_u8(src);
    struct block block =
        from_f16_bits(e4m3_as_f16(vget_low_u8(x)), e4m3_as_f16(vget_high_u8(x)));

    (void)tally;
    for (size_t i = 0; i < 4; i++) {
        float32x4_t part = vreinterpretq_f32_u32(block.part[i]);
        block.part[i] = vreinterpretq_u32_f32(vmulq_f32(part, vdupq_n_f32(256)));
    }
    return block;
}

/* An E5M2 is the upper half of an F16. */
INLINE struct block load_e5m2(const unsigned char *src, struct tally *tally)
{
    uint8x16_t x = vld1q_u8(src);

    (void)tally;
    return from_f16_bits(vshll_n_u8(vget_low_u8(x), 8), vshll_n_u8(vget_high_u8(x), 8));
}

/* ---- storing a block ---- */

INLINE void store_u16(unsigned char *dst, uint16x8_t x)
{
    vst1q_u8(dst, vreinterpretq_u8_u16(x));
}

INLINE void store_f32(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)tally;
    for (size_t i = 0; i < 4; i++)
        vst1q_u8(dst + 16 * i, vreinterpretq_u8_u32(x.part[i]));
}

/* Where each value is one of the target, and each NaN quiet: nothing rounds or counts.
 */
INLINE void store_exact_f16(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)tally;
    for (size_t i = 0; i < 2; i++) {
        float16x4_t low = vcvt_f16_f32(vreinterpretq_f32_u32(x.part[2 * i]));
        float16x4_t high = vcvt_f16_f32(vreinterpretq_f32_u32(x.part[2 * i + 1]));
        store_u16(dst + 16 * i,
                  vcombine_u16(vreinterpret_u16_f16(low), vreinterpret_u16_f16(high)));
    }
}

INLINE void store_f16(unsigned char *dst, struct block x, struct tally *tally)
{
    count(x, &f16_bounds, tally);
    store_exact_f16(dst, x, tally);
}

/* As store_exact_f16: the upper halves. */
INLINE void store_exact_bf16(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)tally;
    for (size_t i = 0; i < 2; i++)
        store_u16(dst + 16 * i, vuzp2q_u16(vreinterpretq_u16_u32(x.part[2 * i]),
                                           vreinterpretq_u16_u32(x.part[2 * i + 1])));
}

INLINE void store_bf16(unsigned char *dst, struct block x, struct tally *tally)
{
    count(x, &bf16_bounds, tally);
    for (size_t i = 0; i < 4; i++)
        x.part[i] = round_bf16(x.part[i]);
    store_exact_bf16(dst, x, tally);
}

INLINE void store_f8(unsigned char *dst, struct block x, const struct f8 *to,
                     int largest, struct tally *tally)
{
    uint16x4_t codes[4];

    count(x, &to->bounds, tally);
    for (size_t i = 0; i < 4; i++)
        codes[i] = vmovn_u32(round_f8(x.part[i], to, largest));
    vst1q_u8(dst, vcombine_u8(vmovn_u16(vcombine_u16(codes[0], codes[1])),
                              vmovn_u16(vcombine_u16(codes[2], codes[3]))));
}

INLINE void store_e4m3(unsigned char *dst, struct block x, struct tally *tally)
{
    int largest = (tally->flags & NWI_CAST_FP8_NAN) != 0 ? 0x7f : 0x7e;

    store_f8(dst, x, &e4m3, largest, tally);
}

INLINE void store_e5m2(unsigned char *dst, struct block x, struct tally *tally)
{
    store_f8(dst, x, &e5m2, 0x7c, tally);
}

/* ---- rows ---- */

/* An E5M2 is the upper half of an F16; NaN is made quiet, as a way through F32 would.
 */
INLINE void e5m2_to_f16(unsigned char *dst, const unsigned char *src,
                        struct tally *tally)
{
    uint8x16_t x = vld1q_u8(src);
    uint16x8_t half[2] = {vshll_n_u8(vget_low_u8(x), 8),
                          vshll_n_u8(vget_high_u8(x), 8)};

    (void)tally;
    for (size_t i = 0; i < 2; i++) {
        uint16x8_t size = vandq_u16(half[i], vdupq_n_u16(0x7fff));
        uint16x8_t is_nan = vcgtq_u16(size, vdupq_n_u16(0x7c00));
        uint16x8_t quiet = vandq_u16(is_nan, vdupq_n_u16(0x0200));
        store_u16(dst + 16 * i, vorrq_u16(half[i], quiet));
    }
}

#define CAST_ROW_BY(from, to, convert)                                                 \
    void nwi_cast_##from##_##to##_neon(const void *src, void *dst, size_t n,           \
                                       uint32_t flags, struct nwi_cast_counts *counts) \
    {                                                                                  \
        const unsigned char *in = src;                                                 \
        unsigned char *out = dst;                                                      \
        struct tally tally = {flags, vdupq_n_s64(0), vdupq_n_s64(0)};                  \
        for (; n >= BLOCK; n -= BLOCK) {                                               \
            convert(out, in, &tally);                                                  \
            in += BLOCK * SIZE_##from;                                                 \
            out += BLOCK * SIZE_##to;                                                  \
        }                                                                              \
        if (n > 0) {                                                                   \
            unsigned char rest[BLOCK * SIZE_##from] = {0};                             \
            unsigned char result[BLOCK * SIZE_##to];                                   \
            memcpy(rest, in, n *SIZE_##from);                                          \
            convert(result, rest, &tally);                                             \
            memcpy(out, result, n *SIZE_##to);                                         \
        }                                                                              \
        counts->overflow -= (uint64_t)vaddvq_s64(tally.overflow);                      \
        counts->flushed -= (uint64_t)vaddvq_s64(tally.flushed);                        \
    }

#define CAST_ROW_WITH(from, to, store)                                                 \
    INLINE void from##_##to(unsigned char *dst, const unsigned char *src,              \
                            struct tally *tally)                                       \
    {                                                                                  \
        store(dst, load_##from(src, tally), tally);                                    \
    }                                                                                  \
    CAST_ROW_BY(from, to, from##_##to)

#define CAST_ROW(from, to) CAST_ROW_WITH(from, to, store_##to)

CAST_ROW(f64, f32)
CAST_ROW(f32, f16)
CAST_ROW(f32, bf16)
CAST_ROW(f32, e4m3)
CAST_ROW(f32, e5m2)
CAST_ROW(bf16, f32)
CAST_ROW(bf16, f16)
CAST_ROW(bf16, e4m3)
CAST_ROW(bf16, e5m2)
CAST_ROW(f16, f32)
CAST_ROW(f16, bf16)
CAST_ROW(f16, e4m3)
CAST_ROW(f16, e5m2)
CAST_ROW(e4m3, f32)
CAST_ROW_WITH(e4m3, f16, store_exact_f16)
CAST_ROW_WITH(e4m3, bf16, store_exact_bf16)
CAST_ROW(e5m2, f32)
CAST_ROW_BY(e5m2, f16, e5m2_to_f16)
CAST_ROW_WITH(e5m2, bf16, store_exact_bf16)

#else
typedef int nwi_cast_neon_is_not_built_here; /* ISO C wants a declaration */
#endif
