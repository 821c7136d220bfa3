/* SPDX-License-Identifier: Apache-2.0
 * The reference against what PyTorch gave (golden.py). */
#ifndef NWT_CAST_GOLDEN_H
#define NWT_CAST_GOLDEN_H

#include "cast_check.h"
#include "cast_golden_table.h"

enum { N_GOLDEN_VALUES = 1 << 20 };

static uint32_t golden_crc(const unsigned char *data, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static uint32_t golden_f32(uint64_t i)
{
    return (uint32_t)(i * 2654435761u);
}

static uint64_t golden_f64(uint64_t i)
{
    uint64_t mantissa = golden_f32(i) * UINT64_C(1048573) & ((UINT64_C(1) << 52) - 1);
    return i << 63 | (860 + i % 300) << 52 | mantissa;
}

/* All codes of a narrow type, else the hashed values. To be freed. */
static unsigned char *golden_source(int from, size_t *n)
{
    size_t n_bytes = type_bytes(from);
    unsigned char *data;

    *n = n_bytes <= 2 ? fill_codes(NULL, n_bytes) : N_GOLDEN_VALUES;
    data = malloc(*n * n_bytes);
    if (data == NULL || n_bytes <= 2) {
        fill_codes(data, n_bytes);
        return data;
    }
    for (size_t i = 0; i < *n; i++) {
        if (from == NW_F32)
            put_f32(data, i, golden_f32(i));
        else
            put_f64(data, i, golden_f64(i));
    }
    return data;
}

/* The bits of the one NaN that stands for all; 0 for no floating type. */
static uint64_t golden_nan(int dtype)
{
    if (dtype == NW_F64)
        return UINT64_C(0x7ff8) << 48;
    if (dtype == NW_F32)
        return 0x7fc00000;
    for (int i = 0; i < N_GOLDEN_TARGETS; i++) {
        if (golden_targets[i].dtype == dtype)
            return golden_targets[i].nan;
    }
    return 0;
}

/* From the bits alone: is this a NaN? */
static bool golden_is_nan(int dtype, uint64_t bits)
{
    switch (dtype) {
    case NW_F64:
        return bits << 1 > UINT64_C(0x7ff) << 53;
    case NW_F32:
        return (bits & 0x7fffffff) > 0x7f800000;
    case NW_F16:
        return (bits & 0x7fff) > 0x7c00;
    case NW_BF16:
        return (bits & 0x7fff) > 0x7f80;
    case NW_F8_E4M3:
        return (bits & 0x7f) == 0x7f;
    case NW_F8_E5M2:
        return (bits & 0x7f) > 0x7c;
    default:
        return bits == golden_nan(dtype);
    }
}

/* Replaces each NaN among n elements by the one. */
static void golden_one_nan(int dtype, unsigned char *data, size_t n)
{
    size_t n_bytes = type_bytes(dtype);
    uint64_t nan = golden_nan(dtype);

    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, data + i * n_bytes, n_bytes); /* little-endian */
        if (golden_is_nan(dtype, bits))
            memcpy(data + i * n_bytes, &nan, n_bytes);
    }
}

static void check_golden_edges(struct check *check)
{
    struct nwi_cast_counts counts = {0, 0};

    for (size_t i = 0; i < sizeof(golden_edges) / sizeof(golden_edges[0]); i++) {
        for (int t = 0; t < N_GOLDEN_TARGETS; t++) {
            int to = golden_targets[t].dtype;
            unsigned char code[2] = {0, 0};
            struct nwi_cast cast;
            bool found = nwi_cast_find(NW_F32, to, check->cpu_mask, 0, &cast);

            expect(check, found, "no cast", NW_F32, to, i);
            nwi_cast_run(&cast, &golden_edges[i].bits, code, 1, &counts);
            golden_one_nan(to, code, 1);
            expect(check, memcmp(code, &golden_edges[i].codes[t], 2) == 0,
                   "edge differs from torch", NW_F32, to, i);
        }
    }
}

static void check_golden_hashes(struct check *check)
{
    for (size_t i = 0; i < sizeof(golden_hashes) / sizeof(golden_hashes[0]); i++) {
        int from = golden_hashes[i].from, to = golden_hashes[i].to;
        struct nwi_cast_counts counts = {0, 0};
        struct nwi_cast cast;
        size_t n;
        unsigned char *src = golden_source(from, &n);
        unsigned char *dst = malloc(n * type_bytes(to));
        bool found = nwi_cast_find(from, to, NW_CPU_SCALAR, 0, &cast);

        expect(check, found && src != NULL && dst != NULL, "no cast", from, to, 0);
        if (found && src != NULL && dst != NULL) {
            nwi_cast_run(&cast, src, dst, n, &counts);
            golden_one_nan(to, dst, n);
            expect(check, golden_crc(dst, n * type_bytes(to)) == golden_hashes[i].crc,
                   "hash differs from torch", from, to, 0);
        }
        free(src);
        free(dst);
    }
}

/* 1, 69632, -1e30, 1e-9 as BF16, and 65504, 65519.99, 65520 as F32, to F16. */
static void check_narrowing(struct check *check)
{
    const uint16_t w[] = {0x3f80, 0x4788, 0xf149, 0x3089};
    const uint16_t w_codes[] = {0x3c00, 0x7c00, 0xfc00, 0x0000};
    const float f[] = {65504, 65519.99F, 65520};
    const uint16_t f_codes[] = {0x7bff, 0x7bff, 0x7c00};
    uint16_t codes[4];

    for (int i = 0; i < N_CPU_LEVELS; i++) {
        struct nwi_cast_counts w_counts = {0, 0}, f_counts = {0, 0};
        uint32_t mask = cpu_levels[i] & check->cpu_mask;
        struct nwi_cast cast;

        expect(check, nwi_cast_find(NW_BF16, NW_F16, mask, 0, &cast), "no cast",
               NW_BF16, NW_F16, 0);
        nwi_cast_run(&cast, w, codes, 4, &w_counts);
        expect(check, memcmp(codes, w_codes, sizeof(w_codes)) == 0, "values", NW_BF16,
               NW_F16, 0);
        expect(check, w_counts.overflow == 2 && w_counts.flushed == 1, "counts",
               NW_BF16, NW_F16, 0);
        expect(check, nwi_cast_find(NW_F32, NW_F16, mask, 0, &cast), "no cast", NW_F32,
               NW_F16, 0);
        nwi_cast_run(&cast, f, codes, 3, &f_counts);
        expect(check, memcmp(codes, f_codes, sizeof(f_codes)) == 0, "values", NW_F32,
               NW_F16, 0);
        expect(check, f_counts.overflow == 1 && f_counts.flushed == 0, "counts", NW_F32,
               NW_F16, 0);
    }
}

/* Both programs run these. */
static const struct {
    const char *name;
    check_fn *run;
} cast_checks[] = {
    {"find", check_find},
    {"narrowing", check_narrowing},
    {"golden edges", check_golden_edges},
    {"golden hashes", check_golden_hashes},
    {"reference, narrowing", check_reference_narrow},
    {"reference, widening", check_reference_widen},
    {"reference, from F64", check_reference_f64},
    {"reference, to F64", check_reference_to_f64},
    {"rows", check_rows},
    {"pairs", check_pairs},
    {"lengths", check_lengths},
    {"floating point state", check_odd_state},
};

enum { N_CAST_CHECKS = sizeof(cast_checks) / sizeof(cast_checks[0]) };

#endif
