/* SPDX-License-Identifier: Apache-2.0
 * Speed of each row of the cast table, in GB of source per second on one core, beside
 * memcpy.
 *
 *     kernels [NAME]      only rows whose name contains NAME
 *
 * Source and target stay in the second-level cache: 256 KiB of source. The values are
 * as in a model: bell-shaped about 0 with deviation 0.02, so the narrowest types flush
 * a few. */
#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/system.h"
#include "tensor/cast.h"

#define SOURCE_BYTES     (256u << 10)
#define MAX_TARGET_BYTES (SOURCE_BYTES * 8)
#define SECONDS          0.1
#define N_TRIES          40 /* the fastest counts: others may use the core too */

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sums of uniform numbers; cast to the row's source type. False if memory is short. */
static int fill_source(int dtype, unsigned char *out)
{
    size_t n = SOURCE_BYTES / (nw_dtype_bits(dtype) / 8);
    float *values = malloc(n * sizeof(*values));
    struct nwi_cast_counts counts = {0, 0};
    struct nwi_cast cast;
    uint32_t state = 1;

    if (values == NULL || !nwi_cast_find(NW_F32, dtype, NW_CPU_SCALAR, 0, &cast)) {
        free(values);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (int j = 0; j < 4; j++) {
            state = state * 1664525u + 1013904223u;
            sum += (float)(state >> 8) * 0x1p-24f - 0.5f;
        }
        values[i] = sum * 0.035f;
    }
    nwi_cast_run(&cast, values, out, n, &counts);
    free(values);
    return 1;
}

/* The row, or memcpy if it is NULL, over the whole source. */
static void run_once(const struct nwi_cast *cast, const unsigned char *src,
                     unsigned char *dst)
{
    struct nwi_cast_counts counts = {0, 0};

    if (cast == NULL)
        memcpy(dst, src, SOURCE_BYTES);
    else
        nwi_cast_run(cast, src, dst, SOURCE_BYTES / cast->from_bytes, &counts);
    __asm__ volatile("" : : "r"(dst) : "memory"); /* the result is used */
}

/* GB of source per second. */
static double measure(const struct nwi_cast *cast, const unsigned char *src,
                      unsigned char *dst)
{
    double best = 0;

    for (int i = 0; i < N_TRIES; i++) {
        double start = now(), seconds = 0, n_bytes = 0;
        while (seconds < SECONDS / N_TRIES) {
            for (int j = 0; j < 8; j++)
                run_once(cast, src, dst);
            n_bytes += 8.0 * SOURCE_BYTES;
            seconds = now() - start;
        }
        if (n_bytes / seconds > best)
            best = n_bytes / seconds;
    }
    return best / 1e9;
}

int main(int argc, char **argv)
{
    static unsigned char src[SOURCE_BYTES], dst[MAX_TARGET_BYTES];
    uint32_t cpu_mask = nwi_cpu_detect();

    memset(dst, 1, sizeof(dst));
    printf("%-24s %8s %8s\n", "row", "GB/s", "memcpy");
    for (size_t i = 0; i < nwi_n_cast_rows; i++) {
        const struct nwi_cast_row *row = &nwi_cast_rows[i];
        struct nwi_cast cast = {.first = row->run,
                                .from_bytes = nw_dtype_bits(row->from) / 8,
                                .to_bytes = nw_dtype_bits(row->to) / 8};

        if ((row->cpu & cpu_mask) == 0 ||
            (argc > 1 && strstr(row->name, argv[1]) == NULL))
            continue;
        if (!fill_source(row->from, src))
            return 1;
        printf("%-24s %8.2f %8.2f\n", row->name, measure(&cast, src, dst),
               measure(NULL, src, dst));
    }
    return 0;
}
