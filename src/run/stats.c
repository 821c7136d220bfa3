/* SPDX-License-Identifier: Apache-2.0
 * Non-finite values by their bits: (value + turn) & mask is below nan_from for every
 * number, and equal to inf for an infinity. */
#include "run/stats.h"

#include <string.h>

#include "netweight.h"

#define NO_INF UINT64_MAX

/* How a format marks what is no finite number. */
struct marks {
    uint64_t turn; /* brings a lone NaN pattern to the top; 0 where the exponent does */
    uint64_t mask; /* drops the sign */
    uint64_t nan_from; /* smallest NaN */
    uint64_t inf;      /* NO_INF: the format has none */
    uint32_t width;    /* bytes; 0: the format has neither */
};

static struct marks marks_of(int dtype)
{
    switch (dtype) {
    case NW_F64:
        return (struct marks){0, INT64_MAX, 0x7FF0000000000001, 0x7FF0000000000000, 8};
    case NW_F32:
    case NW_C64:
        return (struct marks){0, INT32_MAX, 0x7F800001, 0x7F800000, 4};
    case NW_F16:
        return (struct marks){0, INT16_MAX, 0x7C01, 0x7C00, 2};
    case NW_BF16:
        return (struct marks){0, INT16_MAX, 0x7F81, 0x7F80, 2};
    case NW_F8_E5M2:
        return (struct marks){0, INT8_MAX, 0x7D, 0x7C, 1};
    case NW_F8_E4M3:
        return (struct marks){0, INT8_MAX, 0x7F, NO_INF, 1};
    case NW_F8_E8M0:
        return (struct marks){0, UINT8_MAX, 0xFF, NO_INF, 1};
    case NW_F8_E4M3FNUZ: /* 0x80 alone */
    case NW_F8_E5M2FNUZ:
        return (struct marks){0x7F, UINT8_MAX, 0xFF, NO_INF, 1};
    default:
        return (struct marks){0};
    }
}

bool nwi_stats_applies(int dtype)
{
    return marks_of(dtype).width != 0;
}

/* One loop a width, so that the compiler knows it. */
static void count_64(const struct marks *marks, const uint8_t *at, size_t n,
                     struct nwi_stats *stats)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value;
        memcpy(&value, at + i * sizeof value, sizeof value);
        value &= marks->mask;
        stats->n_nan += value >= marks->nan_from;
        stats->n_inf += value == marks->inf;
    }
}

static void count_32(const struct marks *marks, const uint8_t *at, size_t n,
                     struct nwi_stats *stats)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t value;
        memcpy(&value, at + i * sizeof value, sizeof value);
        value &= (uint32_t)marks->mask;
        stats->n_nan += value >= marks->nan_from;
        stats->n_inf += value == marks->inf;
    }
}

static void count_16(const struct marks *marks, const uint8_t *at, size_t n,
                     struct nwi_stats *stats)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t value;
        memcpy(&value, at + i * sizeof value, sizeof value);
        uint32_t magnitude = value & (uint32_t)marks->mask;
        stats->n_nan += magnitude >= marks->nan_from;
        stats->n_inf += magnitude == marks->inf;
    }
}

static void count_8(const struct marks *marks, const uint8_t *at, size_t n,
                    struct nwi_stats *stats)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t magnitude = (at[i] + marks->turn) & marks->mask;
        stats->n_nan += magnitude >= marks->nan_from;
        stats->n_inf += magnitude == marks->inf;
    }
}

/* ---- narrow types: most blocks hold finite numbers only, and a maximum tells ---- */

#define BLOCK 512 /* elements; a constant, so that whole vectors are used */

static bool all_finite_16(const struct marks *marks, const uint8_t *at)
{
    int16_t
        values[BLOCK]; /* signed: there is a vector maximum for it on every x86-64 */
    int16_t mask = (int16_t)marks->mask;
    int16_t top = 0;
    memcpy(values, at, sizeof values);
    for (size_t i = 0; i < BLOCK; i++) {
        int16_t value = values[i] & mask;
        top = value > top ? value : top;
    }
    return (uint64_t)top < marks->nan_from && (uint64_t)top < marks->inf;
}

static bool all_finite_8(const struct marks *marks, const uint8_t *at)
{
    uint8_t turn = (uint8_t)marks->turn;
    uint8_t mask = (uint8_t)marks->mask;
    uint8_t top = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        uint8_t value = (uint8_t)(at[i] + turn) & mask;
        top = value > top ? value : top;
    }
    return top < marks->nan_from && top < marks->inf;
}

static void add_narrow(const struct marks *marks, const uint8_t *at, size_t n,
                       struct nwi_stats *stats)
{
    for (; n >= BLOCK; n -= BLOCK, at += (size_t)BLOCK * marks->width) {
        if (marks->width == 2 && !all_finite_16(marks, at))
            count_16(marks, at, BLOCK, stats);
        else if (marks->width == 1 && !all_finite_8(marks, at))
            count_8(marks, at, BLOCK, stats);
    }
    if (marks->width == 2)
        count_16(marks, at, n, stats);
    else
        count_8(marks, at, n, stats);
}

void nwi_stats_add(int dtype, const void *data, size_t nbytes, struct nwi_stats *stats)
{
    struct marks marks = marks_of(dtype);
    struct nwi_stats sum = {0};
    if (marks.width == 8)
        count_64(&marks, data, nbytes / 8, &sum);
    else if (marks.width == 4)
        count_32(&marks, data, nbytes / 4, &sum);
    else if (marks.width != 0)
        add_narrow(&marks, data, nbytes / marks.width, &sum);
    stats->n_nan += sum.n_nan;
    stats->n_inf += sum.n_inf;
}
