/* SPDX-License-Identifier: Apache-2.0
 * The checks of the cast rows, without a test library, so that they also run where none
 * is. They walk the table: a new row is tested by being there. */
#ifndef NWT_CAST_CHECK_H
#define NWT_CAST_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cast_inputs.h"
#include "cast_oracle.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define RUN_ELEMS    4096 /* of one comparison: more than a block of two steps */
#define NARROW_ELEMS 64
#define MAX_PRINTED  20

static const int float_types[] = {NW_F64,     NW_F32,         NW_F16,
                                  NW_BF16,    NW_F8_E4M3,     NW_F8_E5M2,
                                  NW_F8_E8M0, NW_F8_E4M3FNUZ, NW_F8_E5M2FNUZ};

enum { N_FLOAT_TYPES = sizeof(float_types) / sizeof(float_types[0]) };

static const uint32_t cpu_levels[] = {NW_CPU_SCALAR, NW_CPU_AVX2, NW_CPU_AVX512,
                                      NW_CPU_NEON};

enum { N_CPU_LEVELS = sizeof(cpu_levels) / sizeof(cpu_levels[0]) };

struct check {
    uint32_t cpu_mask; /* rows that may run */
    uint64_t n_passed; /* comparisons of RUN_ELEMS elements or fewer */
    uint64_t n_failed;
    struct inputs inputs[NW_DTYPE_COUNT]; /* made when first asked for */
};

typedef void check_fn(struct check *check);

/* ---- helpers ---- */

/* Counts one comparison, and prints the first failures. */
static void expect(struct check *check, bool ok, const char *what, int from, int to,
                   size_t i)
{
    if (ok) {
        check->n_passed++;
        return;
    }
    check->n_failed++;
    if (check->n_failed <= MAX_PRINTED)
        (void)fprintf(stderr, "%s: %s to %s, at %zu\n", what, nw_dtype_name(from),
                      nw_dtype_name(to), i);
}

static size_t type_bytes(int dtype)
{
    return nw_dtype_bits(dtype) / 8;
}

static const struct inputs *inputs_of(struct check *check, int dtype)
{
    struct inputs *inputs = &check->inputs[dtype];

    if (inputs->data == NULL && !make_inputs(dtype, inputs)) {
        (void)fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return inputs;
}

static void check_release(struct check *check)
{
    for (int i = 0; i < NW_DTYPE_COUNT; i++)
        free(check->inputs[i].data);
    memset(check->inputs, 0, sizeof(check->inputs));
}

/* A cast of one row alone. */
static struct nwi_cast cast_of_row(const struct nwi_cast_row *row, uint32_t flags)
{
    struct nwi_cast cast = {.first = row->run,
                            .from_bytes = (uint32_t)type_bytes(row->from),
                            .to_bytes = (uint32_t)type_bytes(row->to),
                            .flags = flags};
    return cast;
}

static bool same_counts(const struct nwi_cast_counts *a,
                        const struct nwi_cast_counts *b)
{
    return a->overflow == b->overflow && a->flushed == b->flushed;
}

/* The same bytes and counts from both for n elements at src, RUN_ELEMS at a time. */
static void compare_casts(struct check *check, const char *what, int from, int to,
                          const struct nwi_cast *expected,
                          const struct nwi_cast *actual, const unsigned char *src,
                          size_t n)
{
    static unsigned char want[RUN_ELEMS * 8], got[RUN_ELEMS * 8];
    size_t to_bytes = type_bytes(to);

    for (size_t start = 0; start < n; start += RUN_ELEMS) {
        struct nwi_cast_counts want_counts = {0, 0}, got_counts = {0, 0};
        const unsigned char *in = src + start * type_bytes(from);
        size_t n_run = n - start < RUN_ELEMS ? n - start : RUN_ELEMS;
        size_t bad = 0;

        memset(want, 0x5a, sizeof(want));
        memset(got, 0x5a, sizeof(got));
        nwi_cast_run(expected, in, want, n_run, &want_counts);
        nwi_cast_run(actual, in, got, n_run, &got_counts);
        while (bad < n_run &&
               memcmp(want + bad * to_bytes, got + bad * to_bytes, to_bytes) == 0)
            bad++;
        expect(check, memcmp(want, got, sizeof(want)) == 0, what, from, to,
               start + bad);
        expect(check, same_counts(&want_counts, &got_counts), what, from, to, start);
    }
}

/* ---- the reference against the oracle ---- */

static uint32_t oracle_narrow(struct oracle *o, int to, uint32_t bits, uint32_t flags,
                              struct nwi_cast_counts *counts)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    if ((bits & 0x7fffffff) > 0x7f800000)
        return oracle_nan(to, bits);
    return o == NULL ? oracle_e8m0(x, counts) : oracle_code(o, x, flags, counts);
}

/* At most NARROW_ELEMS F32 values, whose counts are compared together. */
static void check_narrow_run(struct check *check, struct oracle *o, int to,
                             uint32_t flags, const struct nwi_cast *cast,
                             const unsigned char *src, size_t n)
{
    struct nwi_cast_counts want_counts = {0, 0}, got_counts = {0, 0};
    unsigned char got[NARROW_ELEMS * 2];
    bool same = true;

    nwi_cast_run(cast, src, got, n, &got_counts);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits, code = 0;
        uint16_t code16;
        memcpy(&bits, src + 4 * i, sizeof(bits));
        if (type_bytes(to) == 2) {
            memcpy(&code16, got + 2 * i, sizeof(code16));
            code = code16;
        } else {
            code = got[i];
        }
        if (code != oracle_narrow(o, to, bits, flags, &want_counts)) {
            same = false;
            if (check->n_failed < MAX_PRINTED)
                (void)fprintf(stderr, "F32 %08" PRIx32 " gave %" PRIx32 "\n", bits,
                              code);
        }
    }
    expect(check, same, "reference differs from oracle", NW_F32, to, 0);
    expect(check, same_counts(&want_counts, &got_counts), "counts of the reference",
           NW_F32, to, 0);
}

static void check_narrow(struct check *check, int to, uint32_t flags)
{
    const struct inputs *inputs = inputs_of(check, NW_F32);
    struct oracle *o = oracle_create(to);
    struct nwi_cast cast;

    expect(check, o != NULL || to == NW_F8_E8M0, "no oracle", NW_F32, to, 0);
    expect(check, nwi_cast_find(NW_F32, to, NW_CPU_SCALAR, flags, &cast),
           "no reference", NW_F32, to, 0);
    for (size_t i = 0; i < inputs->n; i += NARROW_ELEMS) {
        size_t n = inputs->n - i < NARROW_ELEMS ? inputs->n - i : NARROW_ELEMS;
        check_narrow_run(check, o, to, flags, &cast, inputs->data + 4 * i, n);
    }
    free(o);
}

static void check_reference_narrow(struct check *check)
{
    for (int i = 0; i < N_FLOAT_TYPES; i++) {
        if (float_types[i] != NW_F64 && float_types[i] != NW_F32)
            check_narrow(check, float_types[i], 0);
    }
    check_narrow(check, NW_F8_E4M3, NWI_CAST_FP8_NAN);
}

static void check_reference_widen(struct check *check)
{
    for (int i = 0; i < N_FLOAT_TYPES; i++) {
        const struct inputs *inputs;
        struct nwi_cast_counts counts = {0, 0};
        struct nwi_cast cast;
        int from = float_types[i];

        if (from == NW_F64 || from == NW_F32)
            continue;
        inputs = inputs_of(check, from);
        expect(check, nwi_cast_find(from, NW_F32, NW_CPU_SCALAR, 0, &cast),
               "no reference", from, NW_F32, 0);
        for (uint32_t code = 0; code < inputs->n; code++) {
            uint32_t bits;
            nwi_cast_run(&cast, inputs->data + code * type_bytes(from), &bits, 1,
                         &counts);
            expect(check, bits == oracle_widen(from, code),
                   "reference differs from oracle", from, NW_F32, code);
        }
        expect(check, counts.overflow == 0 && counts.flushed == 0, "widening counts",
               from, NW_F32, 0);
    }
}

/* F64 to F32 against the conversion of the compiler. */
static void check_reference_f64(struct check *check)
{
    const struct inputs *inputs = inputs_of(check, NW_F64);
    struct nwi_cast cast;

    expect(check, nwi_cast_find(NW_F64, NW_F32, NW_CPU_SCALAR, 0, &cast),
           "no reference", NW_F64, NW_F32, 0);
    for (size_t i = 0; i < inputs->n; i++) {
        struct nwi_cast_counts counts = {0, 0}, want_counts = {0, 0};
        uint32_t want_bits, got_bits;
        uint64_t bits;
        double x;
        float want;

        memcpy(&bits, inputs->data + 8 * i, sizeof(bits));
        memcpy(&x, &bits, sizeof(x));
        want = (float)x;
        memcpy(&want_bits, &want, sizeof(want_bits));
        if (isnan(x))
            want_bits = (uint32_t)(bits >> 63 << 31) | 0x7fc00000 |
                        (uint32_t)(bits >> 29 & 0x7fffff);
        want_counts.overflow = isinf(want) && !isinf(x);
        want_counts.flushed = want_bits << 1 == 0 && bits << 1 != 0;
        nwi_cast_run(&cast, inputs->data + 8 * i, &got_bits, 1, &counts);
        expect(check, got_bits == want_bits && same_counts(&counts, &want_counts),
               "reference differs from the compiler", NW_F64, NW_F32, i);
    }
}

/* n F32 values widened to F64, against the conversion of the compiler. */
static void check_widen_run(struct check *check, const struct nwi_cast *cast,
                            const unsigned char *src, size_t n)
{
    struct nwi_cast_counts counts = {0, 0};

    for (size_t i = 0; i < n; i++) {
        uint64_t want_bits, got_bits;
        uint32_t bits;
        double want;
        float x;

        memcpy(&bits, src + 4 * i, sizeof(bits));
        memcpy(&x, &bits, sizeof(x));
        want = (double)x;
        memcpy(&want_bits, &want, sizeof(want_bits));
        if (isnan(x))
            want_bits = (uint64_t)(bits >> 31) << 63 | UINT64_C(0x7ff8) << 48 |
                        (uint64_t)(bits & 0x7fffff) << 29;
        nwi_cast_run(cast, src + 4 * i, &got_bits, 1, &counts);
        expect(check, got_bits == want_bits, "reference differs from the compiler",
               NW_F32, NW_F64, bits);
    }
    expect(check, counts.overflow == 0 && counts.flushed == 0, "widening counts",
           NW_F32, NW_F64, 0);
}

static void check_reference_to_f64(struct check *check)
{
    const struct inputs *inputs = inputs_of(check, NW_F32);
    struct nwi_cast cast;

    expect(check, nwi_cast_find(NW_F32, NW_F64, NW_CPU_SCALAR, 0, &cast),
           "no reference", NW_F32, NW_F64, 0);
    check_widen_run(check, &cast, inputs->data, inputs->n);
}

/* ---- rows against the scalar path ---- */

static void check_rows(struct check *check)
{
    for (size_t r = 0; r < nwi_n_cast_rows; r++) {
        const struct nwi_cast_row *row = &nwi_cast_rows[r];
        const struct inputs *inputs = inputs_of(check, row->from);

        if (row->cpu == NW_CPU_SCALAR || (row->cpu & check->cpu_mask) == 0)
            continue;
        for (uint32_t flags = 0; flags <= NWI_CAST_FP8_NAN; flags++) {
            struct nwi_cast scalar, actual = cast_of_row(row, flags);
            expect(check,
                   nwi_cast_find(row->from, row->to, NW_CPU_SCALAR, flags, &scalar),
                   "no scalar path", row->from, row->to, 0);
            compare_casts(check, row->name, row->from, row->to, &scalar, &actual,
                          inputs->data, inputs->n);
        }
    }
}

/* All pairs of types, at each level of the CPU. */
static void check_pairs(struct check *check)
{
    for (int i = 0; i < N_FLOAT_TYPES * N_FLOAT_TYPES * N_CPU_LEVELS; i++) {
        int from = float_types[i % N_FLOAT_TYPES];
        int to = float_types[i / N_FLOAT_TYPES % N_FLOAT_TYPES];
        uint32_t level = cpu_levels[i / N_FLOAT_TYPES / N_FLOAT_TYPES];
        const struct inputs *inputs = inputs_of(check, from);
        struct nwi_cast scalar, actual;

        if ((level & check->cpu_mask) == 0)
            continue;
        expect(check, nwi_cast_find(from, to, NW_CPU_SCALAR, 0, &scalar), "no cast",
               from, to, 0);
        expect(check, nwi_cast_find(from, to, level, 0, &actual), "no cast", from, to,
               0);
        expect(check, (actual.first == NULL) == (from == to), "copy", from, to, 0);
        compare_casts(check, "pair", from, to, &scalar, &actual, inputs->data,
                      inputs->n);
    }
}

/* No element counts twice, and only floating types are cast. */
static void check_find(struct check *check)
{
    const double values[] = {1e300, -1e300, 1e-300, (double)INFINITY, 0, (double)NAN};
    const struct {
        int to;
        uint64_t overflow, flushed;
    } rows[] = {{NW_F32, 2, 1},     {NW_F16, 2, 1},         {NW_BF16, 2, 1},
                {NW_F8_E5M2, 2, 1}, {NW_F8_E4M3, 3, 1},     {NW_F8_E4M3FNUZ, 3, 1},
                {NW_F8_E8M0, 3, 0}, {NW_F8_E5M2FNUZ, 3, 1}, {NW_F64, 0, 0}};
    struct nwi_cast cast;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nwi_cast_counts counts = {10, 100};
        unsigned char out[sizeof(values)];
        bool found = nwi_cast_find(NW_F64, rows[i].to, check->cpu_mask, 0, &cast);

        expect(check, found, "no cast", NW_F64, rows[i].to, 0);
        nwi_cast_run(&cast, values, out, 6, &counts);
        expect(check, counts.overflow == 10 + rows[i].overflow, "overflow", NW_F64,
               rows[i].to, 0);
        expect(check, counts.flushed == 100 + rows[i].flushed, "flushed", NW_F64,
               rows[i].to, 0);
    }
    for (int type = -1; type <= NW_DTYPE_COUNT; type++) {
        bool is_float = type == NW_F64;
        for (int i = 0; i < N_FLOAT_TYPES; i++)
            is_float = is_float || type == float_types[i];
        expect(check,
               nwi_cast_find(type, NW_F32, check->cpu_mask, 0, &cast) == is_float,
               "cast of", type, NW_F32, 0);
        expect(check,
               nwi_cast_find(NW_F32, type, check->cpu_mask, 0, &cast) == is_float,
               "cast to", NW_F32, type, 0);
    }
}

/* ---- lengths, alignments, pages ---- */

#define MAX_LENGTH 130 /* two blocks of the widest row, and more */
#define N_SHIFTS   9
#define MARGIN     64

/* A page, then one that may not be touched; the end of the first is returned. */
static unsigned char *guarded_end(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED || mprotect(map + page, page, PROT_NONE) != 0) {
        (void)fprintf(stderr, "no guard page\n");
        exit(2);
    }
    return map + page;
}

static void guarded_free(unsigned char *end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(end - page, 2 * page);
}

static bool all_canary(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != 0xc5)
            return false;
    }
    return true;
}

/* One run with src and dst each `shift` bytes before the end of their page. */
static void check_one_length(struct check *check, const struct nwi_cast_row *row,
                             size_t n, size_t src_shift, size_t dst_shift,
                             unsigned char *src_end, unsigned char *dst_end)
{
    static unsigned char want[MAX_LENGTH * 8];
    struct nwi_cast_counts want_counts = {0, 0}, got_counts = {0, 0};
    const struct inputs *inputs = inputs_of(check, row->from);
    size_t src_bytes = n * type_bytes(row->from);
    size_t dst_bytes = n * type_bytes(row->to);
    unsigned char *src = src_end - src_bytes - src_shift;
    unsigned char *dst = dst_end - dst_bytes - dst_shift;
    struct nwi_cast scalar, actual = cast_of_row(row, 0);
    size_t start =
        (n * 977 + src_shift * 131 + dst_shift * 17) % (inputs->n - MAX_LENGTH);

    memcpy(src, inputs->data + start * type_bytes(row->from), src_bytes);
    memset(dst - MARGIN, 0xc5, dst_bytes + MARGIN + dst_shift);
    nwi_cast_find(row->from, row->to, NW_CPU_SCALAR, 0, &scalar);
    nwi_cast_run(&scalar, src, want, n, &want_counts);
    actual.first(src, dst, n, 0, &got_counts); /* directly: also with n == 0 */
    expect(
        check,
        memcmp(dst, want, dst_bytes) == 0 && same_counts(&want_counts, &got_counts) &&
            all_canary(dst - MARGIN, MARGIN) && all_canary(dst + dst_bytes, dst_shift),
        row->name, row->from, row->to, n);
}

static void check_lengths(struct check *check)
{
    unsigned char *src_end = guarded_end();
    unsigned char *dst_end = guarded_end();

    for (size_t r = 0; r < nwi_n_cast_rows; r++) {
        const struct nwi_cast_row *row = &nwi_cast_rows[r];

        if ((row->cpu & check->cpu_mask) == 0)
            continue;
        for (size_t i = 0; i < (size_t)MAX_LENGTH * N_SHIFTS * N_SHIFTS; i++)
            check_one_length(check, row, i / N_SHIFTS / N_SHIFTS, i % N_SHIFTS,
                             i / N_SHIFTS % N_SHIFTS, src_end, dst_end);
    }
    guarded_free(src_end);
    guarded_free(dst_end);
}

/* ---- floating point state of the caller ---- */

/* Subnormals as zeros, rounding upwards. */
#if defined(__x86_64__)
#define ODD_STATE 0xdfc0u

static uint64_t get_state(void)
{
    return _mm_getcsr();
}

static void set_state(uint64_t state)
{
    _mm_setcsr((unsigned int)state);
}
#elif defined(__aarch64__)
#define ODD_STATE 0x07400000u /* also default NaN and alternative half precision */

static uint64_t get_state(void)
{
    uint64_t state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
}

static void set_state(uint64_t state)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(state) : "memory");
}
#else
#define ODD_STATE 0u

static uint64_t get_state(void)
{
    return 0;
}

static void set_state(uint64_t state)
{
    (void)state;
}
#endif

static void check_odd_state(struct check *check)
{
    static unsigned char want[RUN_ELEMS * 8], got[RUN_ELEMS * 8];
    uint64_t normal = get_state();

    for (int i = 0; i < N_FLOAT_TYPES * N_FLOAT_TYPES * N_CPU_LEVELS; i++) {
        int from = float_types[i % N_FLOAT_TYPES];
        int to = float_types[i / N_FLOAT_TYPES % N_FLOAT_TYPES];
        uint32_t level = cpu_levels[i / N_FLOAT_TYPES / N_FLOAT_TYPES];
        const struct inputs *inputs = inputs_of(check, from);
        struct nwi_cast cast;

        if ((level & check->cpu_mask) == 0 || !nwi_cast_find(from, to, level, 0, &cast))
            continue;
        for (size_t start = 0; start < inputs->n; start += RUN_ELEMS) {
            const unsigned char *src = inputs->data + start * type_bytes(from);
            size_t n = inputs->n - start < RUN_ELEMS ? inputs->n - start : RUN_ELEMS;
            struct nwi_cast_counts want_counts = {0, 0}, got_counts = {0, 0};
            uint64_t after;

            nwi_cast_run(&cast, src, want, n, &want_counts);
            set_state(ODD_STATE);
            nwi_cast_run(&cast, src, got, n, &got_counts);
            after = get_state();
            set_state(normal);
            expect(check, after == ODD_STATE, "state was not put back", from, to,
                   start);
            expect(check, memcmp(want, got, n * type_bytes(to)) == 0,
                   "depends on the caller's state", from, to, start);
            expect(check, same_counts(&want_counts, &got_counts),
                   "counts depend on the caller's state", from, to, start);
        }
    }
}

#endif
