/* SPDX-License-Identifier: Apache-2.0
 * Casts between floating types, bit-exact with PyTorch 2.13 on the CPU but for NaN payloads.
 *
 * One const table of rows; for each pair the row with cpu == NW_CPU_SCALAR is the reference.
 * Pairs without a row of their own go through F32 in two steps (torch does the same: F64
 * narrows through F32), and pairs that only have vector rows give what these two steps give.
 * Sources and targets: F64 F32 F16 BF16 F8_E4M3 F8_E5M2 F8_E4M3FNUZ F8_E5M2FNUZ F8_E8M0.
 * What becomes of NaN is a table in cast_ref.c. */
#ifndef NWI_CAST_H
#define NWI_CAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netweight.h"

struct nwi_cast_counts {
    uint64_t overflow; /* not NaN, and too large for the target's finite range: became
                          infinite, NaN or the largest value (an infinity that stays an
                          infinity does not count) */
    uint64_t flushed;  /* not zero, became zero; never for F8_E8M0, which has none */
};

enum nwi_cast_flag {
    NWI_CAST_FP8_NAN = 1 << 0 /* e4m3fn overflow gives NaN instead of +-448 */
};

/* n elements from src to dst: any alignment, no overlap, reads and writes exactly n elements,
 * adds to *counts (never NULL). Pure: any thread. Some obey the floating point state, which
 * nwi_cast_run sets to the default (round to nearest, subnormals kept) and puts back. */
typedef void nwi_cast_fn(const void *src, void *dst, size_t n, uint32_t flags,
                         struct nwi_cast_counts *counts);

struct nwi_cast_row {
    uint8_t from; /* enum nw_dtype */
    uint8_t to;
    uint8_t cpu; /* the one level of enum nw_cpu_level it needs */
    const char *name;
    nwi_cast_fn *run;
};

extern const struct nwi_cast_row nwi_cast_rows[];
extern const size_t nwi_n_cast_rows;

/* A cast chosen once, at plan time. */
struct nwi_cast {
    nwi_cast_fn *first;  /* NULL: the bytes are copied */
    nwi_cast_fn *second; /* NULL unless it goes through F32 */
    uint32_t from_bytes; /* of one element */
    uint32_t to_bytes;
    uint32_t flags; /* enum nwi_cast_flag, and bits of nwi_cast_find's own */
};

/* The best rows that `cpu_mask` (bits of enum nw_cpu_level) allows; scalar ones always are.
 * False if the pair is no cast between floating types of the list above. */
bool nwi_cast_find(int from, int to, uint32_t cpu_mask, uint32_t flags,
                   struct nwi_cast *out);

/* Runs it; through F32 in blocks on the stack (at most 16 KiB). */
void nwi_cast_run(const struct nwi_cast *cast, const void *src, void *dst, size_t n,
                  struct nwi_cast_counts *counts);

#endif
