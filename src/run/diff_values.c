/* SPDX-License-Identifier: Apache-2.0
 * Chunks of both tensors are read and converted; equal bytes of one dtype are done
 * with, two floating types meet as doubles in blocks, and all else goes value by value.
 */
#include "run/diff_values.h"

#include <string.h>

#include "base/arith.h"
#include "tensor/dtype.h"

#define BLOCK 512 /* doubles on the stack, for each side */

int nwi_differ_init(struct nwi_differ *differ, const struct nw_plan *a,
                    const struct nw_plan *b, struct nwi_memory *memory,
                    struct nw_error *err)
{
    *differ = (struct nwi_differ){.plans = {a, b}, .memory = memory};
    uint8_t *buffer = nwi_alloc_pages(memory, 2 * NWI_GATHER_BYTES);
    int code = buffer ? NW_OK : nwi_fail_nomem(err, 2 * NWI_GATHER_BYTES);
    differ->buffers[0] = buffer;
    differ->buffers[1] = buffer ? buffer + NWI_GATHER_BYTES : NULL;
    for (int side = 0; side < 2 && code == NW_OK; side++)
        code =
            nwi_gather_init(&differ->gathers[side], differ->plans[side], memory, err);
    if (code != NW_OK)
        nwi_differ_release(differ);
    return code;
}

void nwi_differ_release(struct nwi_differ *differ)
{
    if (!differ->memory)
        return;
    for (int side = 0; side < 2; side++)
        nwi_gather_release(&differ->gathers[side], differ->memory);
    nwi_free_pages(differ->memory, differ->buffers[0], 2 * NWI_GATHER_BYTES);
    *differ = (struct nwi_differ){0};
}

bool nwi_differ_applies(const struct nwi_target *a, const struct nwi_target *b)
{
    return (a->info.dtype == NW_C64) == (b->info.dtype == NW_C64);
}

static uint64_t count_elems(const struct nwi_target *target)
{
    uint64_t n = 1;
    for (uint32_t dim = 0; dim < target->info.rank; dim++)
        n *= target->info.shape[dim];
    return n;
}

/* Of a whole number of eights of elements, or of the rest of a tensor: whole bytes. */
static uint64_t stored_bytes(const struct nwi_target *a, const struct nwi_target *b,
                             uint64_t n_elems)
{
    return n_elems * nw_dtype_bits(a->stored_dtype) / 8 +
           n_elems * nw_dtype_bits(b->stored_dtype) / 8;
}

uint64_t nwi_differ_bytes(const struct nwi_target *a, const struct nwi_target *b)
{
    return stored_bytes(a, b, count_elems(a));
}

/* ---- one chunk ---- */

/* Two chunks in memory, and where their differences are noted. */
struct chunk {
    const struct nwi_differ *differ;
    int dtypes[2];            /* enum nw_dtype, of the results */
    struct nwi_cast casts[2]; /* to F64; used if is_real */
    bool is_real;             /* both are floating types with a cast */
    uint64_t first;           /* first element's place in the tensor */
    size_t n_elems;
    struct nwi_value_diff *out;
};

static void note(const struct chunk *chunk, size_t number, double distance, double b)
{
    const struct nwi_differ *differ = chunk->differ;
    struct nwi_value_diff *out = chunk->out;
    if (distance > out->max_abs)
        out->max_abs = distance;
    /* An infinite distance is beyond every tolerance, also if b is infinite. */
    if (!isinf(distance) &&
        distance <= differ->tolerance_abs + differ->tolerance_rel * b)
        return;
    if (out->n_differ++ > 0)
        return;
    out->first = chunk->first + number / nwi_value_count(chunk->dtypes[0]);
    out->a = nwi_value_load(chunk->dtypes[0], differ->buffers[0], number);
    out->b = nwi_value_load(chunk->dtypes[1], differ->buffers[1], number);
}

static void compare_reals(const struct chunk *chunk)
{
    double values[2][BLOCK];
    struct nwi_cast_counts counts = {0};
    size_t n = 0;
    for (size_t at = 0; at < chunk->n_elems; at += n) {
        n = (size_t)nwi_min(BLOCK, chunk->n_elems - at);
        for (int side = 0; side < 2; side++) {
            const struct nwi_cast *cast = &chunk->casts[side];
            nwi_cast_run(cast, chunk->differ->buffers[side] + at * cast->from_bytes,
                         values[side], n, &counts);
        }
        for (size_t i = 0; i < n; i++) {
            double distance = nwi_real_distance(values[0][i], values[1][i]);
            if (distance > 0)
                note(chunk, at + i, distance, fabs(values[1][i]));
        }
    }
}

static void compare_singly(const struct chunk *chunk)
{
    size_t n = chunk->n_elems * nwi_value_count(chunk->dtypes[0]);
    for (size_t i = 0; i < n; i++) {
        struct nwi_value a =
            nwi_value_load(chunk->dtypes[0], chunk->differ->buffers[0], i);
        struct nwi_value b =
            nwi_value_load(chunk->dtypes[1], chunk->differ->buffers[1], i);
        double distance = nwi_value_distance(a, b);
        if (distance > 0)
            note(chunk, i, distance, nwi_value_magnitude(b));
    }
}

static void compare_chunk(const struct chunk *chunk)
{
    size_t nbytes = (chunk->n_elems * nw_dtype_bits(chunk->dtypes[0]) + 7) / 8;
    if (chunk->dtypes[0] == chunk->dtypes[1] &&
        memcmp(chunk->differ->buffers[0], chunk->differ->buffers[1], nbytes) == 0)
        return;
    if (chunk->is_real)
        compare_reals(chunk);
    else
        compare_singly(chunk);
}

/* ---- whole tensors ---- */

static void find_casts(struct chunk *chunk)
{
    chunk->is_real = true;
    for (int side = 0; side < 2; side++) {
        uint32_t cpu_mask = chunk->differ->plans[side]->ckpt->cpu_mask;
        chunk->is_real &= nwi_cast_find(chunk->dtypes[side], NW_F64, cpu_mask, 0,
                                        &chunk->casts[side]);
    }
}

int nwi_differ_compare(struct nwi_differ *differ, size_t i, size_t j,
                       struct nwi_value_diff *out, struct nw_error *err)
{
    const size_t rows[2] = {i, j};
    const struct nwi_target *a = &differ->plans[0]->targets[i];
    const struct nwi_target *b = &differ->plans[1]->targets[j];
    uint64_t n_elems = count_elems(a);
    struct chunk chunk = {
        .differ = differ,
        .dtypes = {a->info.dtype, b->info.dtype},
        .out = out,
    };
    *out = (struct nwi_value_diff){0};
    find_casts(&chunk);
    for (uint64_t at = 0; at < n_elems; at += chunk.n_elems) {
        chunk.first = at;
        chunk.n_elems = (size_t)nwi_min(NWI_GATHER_ELEMS, n_elems - at);
        for (int side = 0; side < 2; side++)
            NWI_TRY(nwi_gather_read(&differ->gathers[side], rows[side], at,
                                    chunk.n_elems, differ->buffers[side], err));
        compare_chunk(&chunk);
        NWI_TRY(nwi_progress_add(&differ->progress, stored_bytes(a, b, chunk.n_elems),
                                 err));
    }
    return NW_OK;
}
