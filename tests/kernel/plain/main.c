/* SPDX-License-Identifier: Apache-2.0
 * The cast rows without a test library, for machines and emulators that have none.
 *
 *     cast_check                         the checks of cast_golden.h
 *     cast_check --all                   all 2^32 F32: each reference against the oracle,
 *                                        other rows against the reference; 30 minutes
 *     cast_check --pipe FROM TO FLAGS [MASK]
 *                                        casts stdin to stdout, writes counts to stderr
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "../cast_golden.h"
#include "base/system.h"

static int run_checks(void)
{
    struct check check = {.cpu_mask = nwi_cpu_detect()};
    uint64_t failed = 0;
    int n_failed = 0;

    for (int i = 0; i < N_CAST_CHECKS; i++) {
        cast_checks[i].run(&check);
        printf("%s %s\n", check.n_failed == failed ? "ok    " : "FAILED",
               cast_checks[i].name);
        n_failed += check.n_failed != failed;
        failed = check.n_failed;
    }
    check_release(&check);
    printf("cpu mask %" PRIu32 ", %" PRIu64 " comparisons\n", check.cpu_mask,
           check.n_passed + check.n_failed);
    printf("%d passed, %d failed\n", N_CAST_CHECKS - n_failed, n_failed);
    return n_failed == 0 ? 0 : 1;
}

/* The reference against the oracle, any other row against the reference. */
static void run_f32(struct check *check, struct oracle *o,
                    const struct nwi_cast_row *row, uint32_t flags,
                    const unsigned char *src)
{
    struct nwi_cast scalar, actual = cast_of_row(row, flags);

    if (row->cpu != NW_CPU_SCALAR) {
        nwi_cast_find(NW_F32, row->to, NW_CPU_SCALAR, flags, &scalar);
        compare_casts(check, row->name, NW_F32, row->to, &scalar, &actual, src,
                      RUN_ELEMS);
    } else if (row->to == NW_F64) {
        check_widen_run(check, &actual, src, RUN_ELEMS);
    } else {
        for (size_t i = 0; i < RUN_ELEMS; i += NARROW_ELEMS)
            check_narrow_run(check, o, row->to, flags, &actual, src + 4 * i,
                             NARROW_ELEMS);
    }
}

static void run_all_f32(struct check *check, const struct nwi_cast_row *row,
                        uint32_t flags)
{
    static uint32_t values[RUN_ELEMS];
    struct oracle *o = oracle_create(row->to);

    for (uint64_t start = 0; start <= UINT32_MAX; start += RUN_ELEMS) {
        for (uint32_t i = 0; i < RUN_ELEMS; i++)
            values[i] = (uint32_t)start + i;
        run_f32(check, o, row, flags, (const unsigned char *)values);
    }
    free(o);
}

static int run_all(void)
{
    struct check check = {.cpu_mask = nwi_cpu_detect()};
    int n_passed = 0, n_failed = 0;

    for (size_t r = 0; r < nwi_n_cast_rows; r++) {
        const struct nwi_cast_row *row = &nwi_cast_rows[r];
        uint32_t last = row->to == NW_F8_E4M3 ? NWI_CAST_FP8_NAN : 0;

        if (row->from != NW_F32 || (row->cpu & check.cpu_mask) == 0)
            continue;
        for (uint32_t flags = 0; flags <= last; flags++) {
            uint64_t before = check.n_failed;
            run_all_f32(&check, row, flags);
            printf("%s %s, flags %" PRIu32 "\n",
                   check.n_failed == before ? "ok    " : "FAILED", row->name, flags);
            (void)fflush(stdout);
            n_passed += check.n_failed == before;
            n_failed += check.n_failed != before;
        }
    }
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed == 0 ? 0 : 1;
}

static int run_pipe(const char *from_name, const char *to_name, uint32_t flags,
                    uint32_t cpu_mask)
{
    static unsigned char in[RUN_ELEMS * 8], out[RUN_ELEMS * 8];
    int from = nw_dtype_from_name(from_name, strlen(from_name));
    int to = nw_dtype_from_name(to_name, strlen(to_name));
    struct nwi_cast_counts counts = {0, 0};
    struct nwi_cast cast;
    size_t n;

    if (!nwi_cast_find(from, to, cpu_mask, flags, &cast)) {
        (void)fprintf(stderr, "no cast from %s to %s\n", from_name, to_name);
        return 2;
    }
    while ((n = fread(in, cast.from_bytes, RUN_ELEMS, stdin)) > 0) {
        nwi_cast_run(&cast, in, out, n, &counts);
        if (fwrite(out, cast.to_bytes, n, stdout) != n)
            return 2;
    }
    (void)fprintf(stderr, "%" PRIu64 " %" PRIu64 "\n", counts.overflow, counts.flushed);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return run_checks();
    if (argc == 2 && strcmp(argv[1], "--all") == 0)
        return run_all();
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "--pipe") == 0) {
        uint32_t mask = nwi_cpu_detect();
        if (argc == 6)
            mask &= (uint32_t)strtoul(argv[5], NULL, 0);
        return run_pipe(argv[2], argv[3], (uint32_t)strtoul(argv[4], NULL, 0), mask);
    }
    (void)fprintf(stderr, "usage: %s [--all | --pipe FROM TO FLAGS [MASK]]\n", argv[0]);
    return 2;
}
