/* SPDX-License-Identifier: Apache-2.0
 * Rows for AVX2 with F16C. A row loads 16 elements as F32, and stores them rounded;
 * what is left at the end is copied into a block filled up with zeros, which count
 * nothing. */
#include "tensor/cast_bounds.h"
#include "tensor/cast_rows.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK  ((size_t)16)
#define TARGET "avx2,f16c,popcnt"
#define KERNEL __attribute__((target(TARGET)))
#define INLINE static inline __attribute__((target(TARGET), always_inline))

/* A block as bits of F32. */
struct block {
    __m256i low;
    __m256i high;
};

/* What a row carries from block to block. */
struct tally {
    uint32_t flags;
    uint64_t overflow;
    uint64_t flushed;
};

/* ---- what counts ---- */

INLINE __m256i magnitude(__m256i x)
{
    return _mm256_and_si256(x, _mm256_set1_epi32(0x7fffffff));
}

INLINE struct block magnitudes(struct block x)
{
    struct block size = {magnitude(x.low), magnitude(x.high)};
    return size;
}

INLINE __m256i nan_mask(__m256i size)
{
    return _mm256_cmpgt_epi32(size, _mm256_set1_epi32(F32_INFINITY));
}

INLINE uint64_t count_lanes(__m256i mask)
{
    int bits = _mm256_movemask_ps(_mm256_castsi256_ps(mask));
    return (uint64_t)__builtin_popcount((unsigned int)bits);
}

INLINE __m256i too_large_mask(__m256i size, const struct bounds *at)
{
    return _mm256_cmpgt_epi32(size, _mm256_set1_epi32(at->overflow - 1));
}

INLINE void count_overflow(__m256i size, const struct bounds *at, struct tally *tally)
{
    __m256i ends = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(at->end - 1));

    tally->overflow += count_lanes(_mm256_andnot_si256(ends, too_large_mask(size, at)));
}

INLINE void count_flushed(__m256i size, const struct bounds *at, struct tally *tally)
{
    __m256i tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(at->flushed + 1), size);
    __m256i zero = _mm256_cmpeq_epi32(size, _mm256_setzero_si256());

    tally->flushed += count_lanes(_mm256_andnot_si256(zero, tiny));
}

/* Counts a block; true if something in it is too large or NaN, which is rare: what only
 * such values need is then left out. */
INLINE bool count(struct block size, const struct bounds *at, struct tally *tally)
{
    __m256i larger = _mm256_max_epi32(size.low, size.high);

    count_flushed(size.low, at, tally);
    count_flushed(size.high, at, tally);
    if (__builtin_expect(_mm256_movemask_epi8(too_large_mask(larger, at)) == 0, 1))
        return false;
    count_overflow(size.low, at, tally);
    count_overflow(size.high, at, tally);
    return true;
}

/* ---- rounding eight elements ---- */

/* One BF16 in each 32 bits. Not for NaN. */
INLINE __m256i round_bf16(__m256i x)
{
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(x, 16), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(_mm256_add_epi32(x, _mm256_set1_epi32(0x7fff)), odd);

    return _mm256_srli_epi32(up, 16);
}

INLINE __m256i quiet_bf16(__m256i rounded, __m256i x, __m256i size)
{
    __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(x, 16), _mm256_set1_epi32(0x40));

    return _mm256_blendv_epi8(rounded, quiet, nan_mask(size));
}

INLINE __m128i to_f16(__m256i x)
{
    return _mm256_cvtps_ph(_mm256_castsi256_ps(x), _MM_FROUND_TO_NEAREST_INT);
}

/* The code of a magnitude that is not too large, in each 32 bits. To a magnitude between
 * 2^e and 2^(e+1), add 2^(e+23-m), m being the target's mantissa bits: the sum's lowest
 * bits are the magnitude in units of the target's last place, rounded. These and e, as
 * exponent field, add up to the code. Below the smallest normal value, e is that one's,
 * whose field counts as 0. */
INLINE __m256i round_f8(__m256i size, const struct f8 *to)
{
    int shift = 23 - to->mantissa_bits;
    __m256i least = _mm256_set1_epi32(to->least_normal);
    __m256i power = _mm256_max_epi32(
        _mm256_and_si256(size, _mm256_set1_epi32(F32_INFINITY)), least);
    __m256i unit = _mm256_add_epi32(power, _mm256_set1_epi32(shift << 23));
    __m256i sum = _mm256_castps_si256(
        _mm256_add_ps(_mm256_castsi256_ps(size), _mm256_castsi256_ps(unit)));
    __m256i field = _mm256_srli_epi32(_mm256_sub_epi32(power, least), shift);

    return _mm256_add_epi32(field, _mm256_sub_epi32(sum, unit));
}

/* The same for every magnitude, NaN too. */
INLINE __m256i round_any_f8(__m256i size, const struct f8 *to, int largest)
{
    __m256i clamped = _mm256_min_epi32(size, _mm256_set1_epi32(to->clamp));
    __m256i code = _mm256_min_epi32(round_f8(clamped, to), _mm256_set1_epi32(largest));

    return _mm256_blendv_epi8(code, _mm256_set1_epi32(0x7f), nan_mask(size));
}

INLINE __m256i with_sign(__m256i code, __m256i x)
{
    return _mm256_or_si256(
        code, _mm256_and_si256(_mm256_srli_epi32(x, 24), _mm256_set1_epi32(0x80)));
}

/* ---- loading a block ---- */

INLINE __m256i load_256(const unsigned char *src)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)src);
}

INLINE __m128i load_128(const unsigned char *src)
{
    return _mm_loadu_si128((const __m128i *)(const void *)src);
}

INLINE struct block from_f16_bits(__m256i x)
{
    __m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(x));
    __m256 high = _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1));
    struct block block = {_mm256_castps_si256(low), _mm256_castps_si256(high)};
    return block;
}

/* Four F64 as F32. */
INLINE __m128 narrow_f64(const unsigned char *src, struct tally *tally)
{
    __m256i x = load_256(src);
    __m256i size = _mm256_and_si256(x, _mm256_set1_epi64x(0x7fffffffffffffff));
    /* Half a unit above the largest F32; infinity; half of the smallest F32. */
    __m256i too_large =
        _mm256_cmpgt_epi64(size, _mm256_set1_epi64x(0x47efffffefffffff));
    __m256i ends = _mm256_cmpgt_epi64(size, _mm256_set1_epi64x(0x7fefffffffffffff));
    __m256i tiny = _mm256_cmpgt_epi64(_mm256_set1_epi64x(0x3690000000000001), size);
    __m256i zero = _mm256_cmpeq_epi64(size, _mm256_setzero_si256());

    /* A lane of 64 bits shows as two of 32. */
    tally->overflow += count_lanes(_mm256_andnot_si256(ends, too_large)) / 2;
    tally->flushed += count_lanes(_mm256_andnot_si256(zero, tiny)) / 2;
    return _mm256_cvtpd_ps(_mm256_castsi256_pd(x));
}

INLINE struct block load_f64(const unsigned char *src, struct tally *tally)
{
    __m128 a = narrow_f64(src, tally);
    __m128 b = narrow_f64(src + 32, tally);
    __m128 c = narrow_f64(src + 64, tally);
    __m128 d = narrow_f64(src + 96, tally);
    struct block block = {_mm256_castps_si256(_mm256_set_m128(b, a)),
                          _mm256_castps_si256(_mm256_set_m128(d, c))};
    return block;
}

INLINE struct block load_f32(const unsigned char *src, struct tally *tally)
{
    struct block block = {load_256(src), load_256(src + 32)};
    (void)tally;
    return block;
}

INLINE struct block load_f16(const unsigned char *src, struct tally *tally)
{
    (void)tally;
    return from_f16_bits(load_256(src));
}

INLINE struct block load_bf16(const unsigned char *src, struct tally *tally)
{
    __m256i low = _mm256_cvtepu16_epi32(load_128(src));
    __m256i high = _mm256_cvtepu16_epi32(load_128(src + 16));
    struct block block = {_mm256_slli_epi32(low, 16), _mm256_slli_epi32(high, 16)};
    (void)tally;
    return block;
}

/* As F16, the bits of an E4M3 are 1/256 of its value: the exponents' biases differ
 * by 8. */
INLINE struct block load_e4m3(const unsigned char *src, struct tally *tally)
{
    __m256i x = _mm256_slli_epi16(_mm256_cvtepi8_epi16(load_128(src)), 7);
    __m256i nan = _mm256_set1_epi16(0x3f80);
    __m256i half = _mm256_and_si256(x, _mm256_set1_epi16((short)0xbf80));
    __m256i is_nan = _mm256_cmpeq_epi16(_mm256_and_si256(x, nan), nan);
    struct block block;

    (void)tally;
    half = _mm256_or_si256(half, _mm256_and_si256(is_nan, _mm256_set1_epi16(0x4000)));
    block = from_f16_bits(half);
    block.low = _mm256_castps_si256(
        _mm256_mul_ps(_mm256_castsi256_ps(block.low), _mm256_set1_ps(256)));
    block.high = _mm256_castps_si256(
        _mm256_mul_ps(_mm256_castsi256_ps(block.high), _mm256_set1_ps(256)));
    return block;
}

/* An E5M2 is the upper half of an F16. */
INLINE struct block load_e5m2(const unsigned char *src, struct tally *tally)
{
    (void)tally;
    return from_f16_bits(_mm256_slli_epi16(_mm256_cvtepu8_epi16(load_128(src)), 8));
}

/* ---- storing a block ---- */

INLINE void store_256(unsigned char *dst, __m256i x)
{
    _mm256_storeu_si256((__m256i *)(void *)dst, x);
}

INLINE void store_128(unsigned char *dst, __m128i x)
{
    _mm_storeu_si128((__m128i *)(void *)dst, x);
}

INLINE void store_f32(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)tally;
    store_256(dst, x.low);
    store_256(dst + 32, x.high);
}

/* Sixteen values of 32 bits, each below 2^16, in order. */
INLINE __m256i pack_16(__m256i low, __m256i high)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
}

INLINE void store_bf16(unsigned char *dst, struct block x, struct tally *tally)
{
    struct block size = magnitudes(x);
    struct block rounded = {round_bf16(x.low), round_bf16(x.high)};

    if (count(size, &bf16_bounds, tally)) {
        rounded.low = quiet_bf16(rounded.low, x.low, size.low);
        rounded.high = quiet_bf16(rounded.high, x.high, size.high);
    }
    store_256(dst, pack_16(rounded.low, rounded.high));
}

/* Where each value is one of the target, and each NaN quiet: nothing rounds or counts.
 */
INLINE void store_exact_f16(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)tally;
    store_128(dst, to_f16(x.low));
    store_128(dst + 16, to_f16(x.high));
}

INLINE void store_f16(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)count(magnitudes(x), &f16_bounds, tally);
    store_exact_f16(dst, x, tally);
}

INLINE void store_exact_bf16(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)tally;
    store_256(dst,
              pack_16(_mm256_srli_epi32(x.low, 16), _mm256_srli_epi32(x.high, 16)));
}

INLINE void store_f8(unsigned char *dst, struct block x, const struct f8 *to,
                     int largest, struct tally *tally)
{
    struct block size = magnitudes(x);
    bool any = count(size, &to->bounds, tally);
    __m256i low = any ? round_any_f8(size.low, to, largest) : round_f8(size.low, to);
    __m256i high = any ? round_any_f8(size.high, to, largest) : round_f8(size.high, to);
    __m256i codes = pack_16(with_sign(low, x.low), with_sign(high, x.high));

    store_128(dst, _mm_packus_epi16(_mm256_castsi256_si128(codes),
                                    _mm256_extracti128_si256(codes, 1)));
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
    __m256i half = _mm256_slli_epi16(_mm256_cvtepu8_epi16(load_128(src)), 8);
    __m256i size = _mm256_and_si256(half, _mm256_set1_epi16(0x7fff));
    __m256i is_nan = _mm256_cmpgt_epi16(size, _mm256_set1_epi16(0x7c00));
    __m256i quiet = _mm256_and_si256(is_nan, _mm256_set1_epi16(0x0200));

    (void)tally;
    store_256(dst, _mm256_or_si256(half, quiet));
}

#define CAST_ROW_BY(from, to, convert)                                                 \
    KERNEL void nwi_cast_##from##_##to##_avx2(const void *src, void *dst, size_t n,    \
                                              uint32_t flags,                          \
                                              struct nwi_cast_counts *counts)          \
    {                                                                                  \
        const unsigned char *in = src;                                                 \
        unsigned char *out = dst;                                                      \
        struct tally tally = {flags, 0, 0};                                            \
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
        counts->overflow += tally.overflow;                                            \
        counts->flushed += tally.flushed;                                              \
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
typedef int nwi_cast_avx2_is_not_built_here; /* ISO C wants a declaration */
#endif
