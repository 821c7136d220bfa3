/* SPDX-License-Identifier: Apache-2.0
 * Choosing rows of the table, and running them in the floating point state they expect.
 */
#include "tensor/cast.h"

#include <string.h>

#include "base/arith.h"
#include "tensor/dtype.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define THROUGH_ELEMS                                                                  \
    2048 /* F32 values of a block between two steps: 8 KiB, fits L1                    \
          */

/* Set by nwi_cast_find in nwi_cast.flags, above the bits of enum nwi_cast_flag: what
 * the first step must not count, because the second step counts that element again or
 * undoes it. */
enum two_step_flag {
    FIRST_NO_OVERFLOW = 1 << 30, /* the target has no infinity: each one counts there */
    FIRST_NO_FLUSH = 1 << 29     /* the target has no zero: it becomes 2^-127 */
};

/* ---- floating point state ---- */

/* Callers may have set another rounding mode, or that subnormals are zeros (torch can).
 * The kernels use conversions that obey it, so they run in the state a process starts
 * with. */
#if defined(__x86_64__)

#define MXCSR_DEFAULT                                                                  \
    0x1f80u /* round to nearest, subnormals kept, all exceptions masked */

static uint64_t fp_state_enter(void)
{
    uint64_t saved = _mm_getcsr();
    _mm_setcsr(MXCSR_DEFAULT);
    return saved;
}

static void fp_state_leave(uint64_t saved)
{
    _mm_setcsr((unsigned int)saved);
}

#elif defined(__aarch64__)

static void fp_state_leave(uint64_t saved)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(saved) : "memory");
}

static uint64_t fp_state_enter(void)
{
    uint64_t saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    fp_state_leave(0);
    return saved;
}

#else /* only the reference rows, which use integers */

static uint64_t fp_state_enter(void)
{
    return 0;
}

static void fp_state_leave(uint64_t saved)
{
    (void)saved;
}

#endif

/* ---- choosing ---- */

static nwi_cast_fn *best_row(int from, int to, uint32_t cpu_mask)
{
    nwi_cast_fn *best = NULL;

    for (size_t i = 0; i < nwi_n_cast_rows; i++) {
        const struct nwi_cast_row *row = &nwi_cast_rows[i];
        if (row->from == from && row->to == to && (row->cpu & cpu_mask) != 0)
            best = row->run;
    }
    return best;
}

static uint32_t two_step_flags(int to)
{
    switch (to) {
    case NW_F8_E4M3:
    case NW_F8_E4M3FNUZ:
    case NW_F8_E5M2FNUZ:
        return FIRST_NO_OVERFLOW;
    case NW_F8_E8M0:
        return FIRST_NO_OVERFLOW | FIRST_NO_FLUSH;
    default:
        return 0;
    }
}

bool nwi_cast_find(int from, int to, uint32_t cpu_mask, uint32_t flags,
                   struct nwi_cast *out)
{
    memset(out, 0, sizeof(*out));
    if (!nwi_dtype_is_float(from) || !nwi_dtype_is_float(to))
        return false;
    out->from_bytes = nw_dtype_bits(from) / 8;
    out->to_bytes = nw_dtype_bits(to) / 8;
    out->flags = flags;
    if (from == to)
        return true;
    cpu_mask |= NW_CPU_SCALAR;
    out->first = best_row(from, to, cpu_mask);
    if (out->first != NULL)
        return true;
    out->first = best_row(from, NW_F32, cpu_mask);
    out->second = best_row(NW_F32, to, cpu_mask);
    out->flags |= two_step_flags(to);
    return out->first != NULL && out->second != NULL;
}

/* ---- running ---- */

static void run_through_f32(const struct nwi_cast *cast, const unsigned char *src,
                            unsigned char *dst, size_t n,
                            struct nwi_cast_counts *counts)
{
    _Alignas(64) uint32_t block[THROUGH_ELEMS];
    struct nwi_cast_counts first = {0, 0};

    while (n > 0) {
        size_t n_block = nwi_min(n, THROUGH_ELEMS);
        cast->first(src, block, n_block, cast->flags, &first);
        cast->second(block, dst, n_block, cast->flags, counts);
        src += n_block * cast->from_bytes;
        dst += n_block * cast->to_bytes;
        n -= n_block;
    }
    if ((cast->flags & FIRST_NO_OVERFLOW) == 0)
        counts->overflow += first.overflow;
    if ((cast->flags & FIRST_NO_FLUSH) == 0)
        counts->flushed += first.flushed;
}

void nwi_cast_run(const struct nwi_cast *cast, const void *src, void *dst, size_t n,
                  struct nwi_cast_counts *counts)
{
    uint64_t state;

    if (n == 0)
        return;
    if (cast->first == NULL) {
        memcpy(dst, src, n * cast->from_bytes);
        return;
    }
    state = fp_state_enter();
    if (cast->second == NULL)
        cast->first(src, dst, n, cast->flags, counts);
    else
        run_through_f32(cast, src, dst, n, counts);
    fp_state_leave(state);
}
