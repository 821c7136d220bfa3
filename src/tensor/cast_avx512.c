/* SPDX-License-Identifier: Apache-2.0
 * Rows for AVX-512 (F, BW, VL, DQ). A row loads 32 elements as F32, and stores them
 * rounded; what is left at the end is copied into a block filled up with zeros, which
 * count nothing. */
#include "tensor/cast_bounds.h"
#include "tensor/cast_rows.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK   ((size_t)32)
#define TARGET  "avx512f,avx512bw,avx512vl,avx512dq,popcnt"
#define KERNEL  __attribute__((target(TARGET)))
#define INLINE  static inline __attribute__((target(TARGET), always_inline))
#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

/* A block as bits of F32. */
struct block {
    __m512i low;
    __m512i high;
};

/* What a row carries from block to block. */
struct tally {
    uint32_t flags;
    uint64_t overflow;
    uint64_t flushed;
};

/* ---- what counts ---- */

INLINE __m512i magnitude(__m512i x)
{
    return _mm512_and_si512(x, _mm512_set1_epi32(0x7fffffff));
}

INLINE struct block magnitudes(struct block x)
{
    struct block size = {magnitude(x.low), magnitude(x.high)};
    return size;
}

INLINE __mmask16 nan_mask(__m512i size)
{
    return _mm512_cmpgt_epu32_mask(size, _mm512_set1_epi32(F32_INFINITY));
}

INLINE void count_overflow(__m512i size, const struct bounds *at, struct tally *tally)
{
    __m512i past = _mm512_sub_epi32(size, _mm512_set1_epi32(at->overflow));
    __mmask16 overflow =
        _mm512_cmplt_epu32_mask(past, _mm512_set1_epi32(at->end - at->overflow));

    tally->overflow += (uint64_t)__builtin_popcount(overflow);
}

INLINE void count_flushed(__m512i size, const struct bounds *at, struct tally *tally)
{
    __m512i less_one =
        _mm512_sub_epi32(size, _mm512_set1_epi32(1)); /* zero is far off */
    __mmask16 flushed =
        _mm512_cmplt_epu32_mask(less_one, _mm512_set1_epi32(at->flushed));

    tally->flushed += (uint64_t)__builtin_popcount(flushed);
}

/* Counts a block; true if something in it is too large or NaN, which is rare: what only such
 * values need is then left out. */
INLINE bool count(struct block size, const struct bounds *at, struct tally *tally)
{
    __m512i larger = _mm512_max_epu32(size.low, size.high);

    count_flushed(size.low, at, tally);
    count_flushed(size.high, at, tally);
    if (__builtin_expect(
            _mm512_cmplt_epu32_mask(larger, _mm512_set1_epi32(at->overflow)) == 0xffff,
            1))
        return false;
    count_overflow(size.low, at, tally);
    count_overflow(size.high, at, tally);
    return true;
}

/* ---- rounding sixteen elements ---- */

/* The upper half of each result is the BF16, the lower half means nothing. Not for NaN. */
INLINE __m512i round_bf16(__m512i x)
{
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));

    return _mm512_add_epi32(_mm512_add_epi32(x, _mm512_set1_epi32(0x7fff)), odd);
}

INLINE __m512i quiet_bf16(__m512i rounded, __m512i x, __m512i size)
{
    return _mm512_mask_or_epi32(rounded, nan_mask(size), x,
                                _mm512_set1_epi32(0x00400000));
}

INLINE __m256i to_f16(__m512i x)
{
    /* Masked by all ones: without optimisation, gcc 12 warns about the plain form. */
    return _mm512_maskz_cvtps_ph((__mmask16)0xffff, _mm512_castsi512_ps(x), NEAREST);
}

/* The code of a magnitude that is not too large, in each 32 bits. To a magnitude between 2^e
 * and 2^(e+1), add 2^(e+23-m), m being the target's mantissa bits: the sum's lowest bits are
 * the magnitude in units of the target's last place, rounded. These and e, as exponent field,
 * add up to the code. Below the smallest normal value, e is that one's, whose field counts
 * as 0. */
INLINE __m512i round_f8(__m512i size, const struct f8 *to)
{
    int shift = 23 - to->mantissa_bits;
    __m512i least = _mm512_set1_epi32(to->least_normal);
    __m512i power = _mm512_max_epu32(
        _mm512_and_si512(size, _mm512_set1_epi32(F32_INFINITY)), least);
    __m512i unit = _mm512_add_epi32(power, _mm512_set1_epi32(shift << 23));
    __m512i sum = _mm512_castps_si512(_mm512_add_round_ps(
        _mm512_castsi512_ps(size), _mm512_castsi512_ps(unit), NEAREST));
    __m512i field =
        _mm512_srlv_epi32(_mm512_sub_epi32(power, least), _mm512_set1_epi32(shift));

    return _mm512_add_epi32(field, _mm512_sub_epi32(sum, unit));
}

/* The same for every magnitude, NaN too. */
INLINE __m512i round_any_f8(__m512i size, const struct f8 *to, int largest)
{
    __m512i clamped = _mm512_min_epu32(size, _mm512_set1_epi32(to->clamp));
    __m512i code = _mm512_min_epu32(round_f8(clamped, to), _mm512_set1_epi32(largest));

    return _mm512_mask_mov_epi32(code, nan_mask(size), _mm512_set1_epi32(0x7f));
}

/* 0xf8: code | (x >> 24 & 0x80) */
INLINE __m512i with_sign(__m512i code, __m512i x)
{
    return _mm512_ternarylogic_epi32(code, _mm512_srli_epi32(x, 24),
                                     _mm512_set1_epi32(0x80), 0xf8);
}

/* ---- loading a block ---- */

INLINE struct block from_f16_bits(__m512i x)
{
    __m512 low = _mm512_cvtph_ps(_mm512_castsi512_si256(x));
    __m512 high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(x, 1));
    struct block block = {_mm512_castps_si512(low), _mm512_castps_si512(high)};
    return block;
}

INLINE struct block load_f64(const unsigned char *src, struct tally *tally)
{
    __m256 part[4];

    for (size_t i = 0; i < 4; i++) {
        __m512d x = _mm512_loadu_pd(src + 64 * i);
        __m512i size = _mm512_and_si512(_mm512_castpd_si512(x),
                                        _mm512_set1_epi64(0x7fffffffffffffff));
        /* Half a unit above the largest F32, infinity, half of the smallest F32. */
        __m512i past = _mm512_sub_epi64(size, _mm512_set1_epi64(0x47effffff0000000));
        __m512i less_one = _mm512_sub_epi64(size, _mm512_set1_epi64(1));
        __mmask8 overflow = _mm512_cmplt_epu64_mask(
            past, _mm512_set1_epi64(0x7ff0000000000000 - 0x47effffff0000000));
        __mmask8 flushed =
            _mm512_cmplt_epu64_mask(less_one, _mm512_set1_epi64(0x3690000000000000));

        tally->overflow += (uint64_t)__builtin_popcount(overflow);
        tally->flushed += (uint64_t)__builtin_popcount(flushed);
        part[i] = _mm512_cvt_roundpd_ps(x, NEAREST);
    }
    struct block block = {_mm512_castps_si512(_mm512_insertf32x8(
                              _mm512_castps256_ps512(part[0]), part[1], 1)),
                          _mm512_castps_si512(_mm512_insertf32x8(
                              _mm512_castps256_ps512(part[2]), part[3], 1))};
    return block;
}

INLINE struct block load_f32(const unsigned char *src, struct tally *tally)
{
    struct block block = {_mm512_loadu_si512(src), _mm512_loadu_si512(src + 64)};
    (void)tally;
    return block;
}

INLINE struct block load_f16(const unsigned char *src, struct tally *tally)
{
    (void)tally;
    return from_f16_bits(_mm512_loadu_si512(src));
}

INLINE struct block load_bf16(const unsigned char *src, struct tally *tally)
{
    __m512i x = _mm512_loadu_si512(src);
    __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(x));
    __m512i high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(x, 1));
    struct block block = {_mm512_slli_epi32(low, 16), _mm512_slli_epi32(high, 16)};
    (void)tally;
    return block;
}

INLINE __m256i load_256(const unsigned char *src)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)src);
}

/* As F16, the bits of an E4M3 are 1/256 of its value: the exponents' biases differ
 * by 8. */
INLINE struct block load_e4m3(const unsigned char *src, struct tally *tally)
{
    __m512i x = _mm512_slli_epi16(_mm512_cvtepi8_epi16(load_256(src)), 7);
    __m512i nan = _mm512_set1_epi16(0x3f80);
    __m512i half = _mm512_and_si512(x, _mm512_set1_epi16((short)0xbf80));
    __mmask32 is_nan = _mm512_cmpeq_epi16_mask(_mm512_and_si512(x, nan), nan);
    struct block block;

    (void)tally;
    half = _mm512_mask_add_epi16(half, is_nan, half, _mm512_set1_epi16(0x4000));
    block = from_f16_bits(half);
    block.low = _mm512_castps_si512(
        _mm512_mul_ps(_mm512_castsi512_ps(block.low), _mm512_set1_ps(256)));
    block.high = _mm512_castps_si512(
        _mm512_mul_ps(_mm512_castsi512_ps(block.high), _mm512_set1_ps(256)));
    return block;
}

/* An E5M2 is the upper half of an F16. */
INLINE struct block load_e5m2(const unsigned char *src, struct tally *tally)
{
    (void)tally;
    return from_f16_bits(_mm512_slli_epi16(_mm512_cvtepu8_epi16(load_256(src)), 8));
}

/* ---- storing a block ---- */

INLINE void store_f32(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)tally;
    _mm512_storeu_si512(dst, x.low);
    _mm512_storeu_si512(dst + 64, x.high);
}

/* The upper halves of 16 + 16 values of 32 bits. */
INLINE __m512i upper_halves(__m512i low, __m512i high)
{
    const __m512i odd =
        _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33,
                         31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi16(low, odd, high);
}

INLINE void store_bf16(unsigned char *dst, struct block x, struct tally *tally)
{
    struct block size = magnitudes(x);
    struct block rounded = {round_bf16(x.low), round_bf16(x.high)};

    if (count(size, &bf16_bounds, tally)) {
        rounded.low = quiet_bf16(rounded.low, x.low, size.low);
        rounded.high = quiet_bf16(rounded.high, x.high, size.high);
    }
    _mm512_storeu_si512(dst, upper_halves(rounded.low, rounded.high));
}

/* Where each value is one of the target, and each NaN quiet: nothing rounds or counts.
 */
INLINE void store_exact_f16(unsigned char *dst, struct block x, struct tally *tally)
{
    __m256i low = to_f16(x.low);
    __m256i high = to_f16(x.high);

    (void)tally;
    _mm512_storeu_si512(dst, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

INLINE void store_f16(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)count(magnitudes(x), &f16_bounds, tally);
    store_exact_f16(dst, x, tally);
}

INLINE void store_exact_bf16(unsigned char *dst, struct block x, struct tally *tally)
{
    (void)tally;
    _mm512_storeu_si512(dst, upper_halves(x.low, x.high));
}

INLINE void store_f8(unsigned char *dst, struct block x, const struct f8 *to,
                     int largest, struct tally *tally)
{
    struct block size = magnitudes(x);
    bool any = count(size, &to->bounds, tally);
    __m512i low = any ? round_any_f8(size.low, to, largest) : round_f8(size.low, to);
    __m512i high = any ? round_any_f8(size.high, to, largest) : round_f8(size.high, to);

    _mm_storeu_si128((__m128i *)(void *)dst,
                     _mm512_cvtepi32_epi8(with_sign(low, x.low)));
    _mm_storeu_si128((__m128i *)(void *)(dst + 16),
                     _mm512_cvtepi32_epi8(with_sign(high, x.high)));
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
    __m512i half = _mm512_slli_epi16(_mm512_cvtepu8_epi16(load_256(src)), 8);
    __m512i size = _mm512_and_si512(half, _mm512_set1_epi16(0x7fff));
    __mmask32 is_nan = _mm512_cmpgt_epi16_mask(size, _mm512_set1_epi16(0x7c00));
    __m512i quiet = _mm512_or_si512(half, _mm512_set1_epi16(0x0200));

    (void)tally;
    _mm512_storeu_si512(dst, _mm512_mask_mov_epi16(half, is_nan, quiet));
}

#define CAST_ROW_BY(from, to, convert)                                                 \
    KERNEL void nwi_cast_##from##_##to##_avx512(const void *src, void *dst, size_t n,  \
                                                uint32_t flags,                        \
                                                struct nwi_cast_counts *counts)        \
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
typedef int nwi_cast_avx512_is_not_built_here; /* ISO C wants a declaration */
#endif
