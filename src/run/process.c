/* SPDX-License-Identifier: Apache-2.0
 * From bytes in a slot to results: cast, count, digest, deliver. */
#include "run/run.h"

#include <string.h>

#include "base/arith.h"
#include "base/crc32.h"
#include "run/fill.h"

#define RUN_ELEMS 512u /* of a transposed or filled tensor, converted at a time */

static bool is_cast(const struct nwi_piece *piece)
{
    return piece->target->info.dtype != piece->target->stored_dtype;
}

static bool wants_digest(const struct nwi_run *run, const struct nwi_piece *piece)
{
    return run->plans[piece->state->plan]->options.flags & NW_LOAD_DIGEST;
}

/* The CRC of a whole is the XOR of its pieces' CRCs, each moved over the bytes behind
 * it; so pieces may come in any order. */
static void add_digest(const struct nwi_run *run, const struct nwi_piece *piece,
                       uint64_t dst_offset, const void *data, uint64_t nbytes)
{
    if (!wants_digest(run, piece))
        return;
    uint64_t behind = piece->target->info.nbytes - dst_offset - nbytes;
    uint32_t crc = nwi_crc32_combine(nwi_crc32(0, data, (size_t)nbytes), 0, behind);
    atomic_fetch_xor(&piece->state->crc, crc);
}

static int add_counts(struct nwi_run *run, const struct nwi_piece *piece,
                      const struct nwi_cast_counts *counts, struct nw_error *err)
{
    if (counts->overflow)
        atomic_fetch_add(&piece->state->overflow, counts->overflow);
    if (counts->flushed)
        atomic_fetch_add(&piece->state->flushed, counts->flushed);
    const struct nw_plan *plan = run->plans[piece->state->plan];
    if (!counts->overflow || !(plan->options.flags & NW_LOAD_STRICT_CAST))
        return NW_OK;
    return nwi_fail(
        err, NW_E_OVERFLOW,
        "%llu or more values lie beyond the range of %s, and strict_cast is on",
        (unsigned long long)counts->overflow, nw_dtype_name(piece->target->info.dtype));
}

static int write_out(struct nwi_worker *worker, const struct nwi_piece *piece,
                     uint64_t dst_offset, const void *data, uint64_t nbytes,
                     struct nw_error *err)
{
    struct nwi_run *run = worker->run;
    add_digest(run, piece, dst_offset, data, nbytes);
    if (piece->state->digest_only)
        return NW_OK;
    return run->sink.write(run->sink.ctx, piece->number, dst_offset, data,
                           (size_t)nbytes, err);
}

/* A cast whose sink gives no destination: block by block through worker->out. */
static int cast_through(struct nwi_worker *worker, const struct nwi_piece *piece,
                        const uint8_t *src, struct nw_error *err)
{
    const struct nwi_cast *cast = &piece->target->cast;
    struct nwi_cast_counts counts = {0};
    uint64_t n = piece->nbytes / cast->from_bytes;
    uint64_t block = worker->out_size / cast->to_bytes;
    for (uint64_t done = 0; done < n; done += block) {
        uint64_t now = nwi_min(block, n - done);
        nwi_cast_run(cast, src + done * cast->from_bytes, worker->out, (size_t)now,
                     &counts);
        NWI_TRY(write_out(worker, piece, piece->dst_offset + done * cast->to_bytes,
                          worker->out, now * cast->to_bytes, err));
    }
    return add_counts(worker->run, piece, &counts, err);
}

static int cast_into(struct nwi_worker *worker, const struct nwi_piece *piece,
                     const uint8_t *src, struct nw_error *err)
{
    const struct nwi_cast *cast = &piece->target->cast;
    struct nwi_cast_counts counts = {0};
    uint8_t *dst = (uint8_t *)piece->state->dst + piece->dst_offset;
    nwi_cast_run(cast, src, dst, (size_t)(piece->nbytes / cast->from_bytes), &counts);
    add_digest(worker->run, piece, piece->dst_offset, dst, piece->dst_nbytes);
    return add_counts(worker->run, piece, &counts, err);
}

/* src NULL: the reader has put the bytes into their destination already. */
static int copy(struct nwi_worker *worker, const struct nwi_piece *piece,
                const uint8_t *src, struct nw_error *err)
{
    if (!piece->state->dst)
        return write_out(worker, piece, piece->dst_offset, src, piece->nbytes, err);
    uint8_t *dst = (uint8_t *)piece->state->dst + piece->dst_offset;
    if (src)
        memcpy(dst, src, (size_t)piece->nbytes);
    add_digest(worker->run, piece, piece->dst_offset, dst, piece->nbytes);
    return NW_OK;
}

/* ---- transposed matrices ---- */

/* Elements of one row of the result, on their way from a piece of the file's rows. */
struct column {
    uint64_t first; /* element of the target */
    uint64_t n;
    const uint8_t *src; /* the first one; the next is `pitch` bytes on */
    uint64_t pitch;
};

static int put_run(struct nwi_worker *worker, const struct nwi_piece *piece,
                   uint64_t offset, const uint8_t *data, uint64_t nbytes,
                   struct nw_error *err)
{
    if (!piece->state->dst)
        return write_out(worker, piece, offset, data, nbytes, err);
    memcpy((uint8_t *)piece->state->dst + offset, data, (size_t)nbytes);
    add_digest(worker->run, piece, offset, data, nbytes);
    return NW_OK;
}

static int scatter_column(struct nwi_worker *worker, const struct nwi_piece *piece,
                          const struct column *column, struct nwi_cast_counts *counts,
                          struct nw_error *err)
{
    uint8_t stage[RUN_ELEMS * 8];
    uint8_t converted[RUN_ELEMS * 8];
    size_t from = nw_dtype_bits(piece->target->stored_dtype) / 8;
    size_t to = nw_dtype_bits(piece->target->info.dtype) / 8;
    for (uint64_t done = 0, now; done < column->n; done += now) {
        const uint8_t *out = stage;
        now = nwi_min(RUN_ELEMS, column->n - done);
        for (uint64_t i = 0; i < now; i++)
            memcpy(stage + i * from, column->src + (done + i) * column->pitch, from);
        if (is_cast(piece)) {
            nwi_cast_run(&piece->target->cast, stage, converted, (size_t)now, counts);
            out = converted;
        }
        NWI_TRY(
            put_run(worker, piece, (column->first + done) * to, out, now * to, err));
    }
    return NW_OK;
}

/* The piece holds elements [first, end) of the matrix as stored, [rows, columns]; element
 * (r, c) goes to (c, r). */
static int scatter(struct nwi_worker *worker, const struct nwi_piece *piece,
                   const uint8_t *src, struct nw_error *err)
{
    uint64_t from = nw_dtype_bits(piece->target->stored_dtype) / 8;
    uint64_t to = nw_dtype_bits(piece->target->info.dtype) / 8;
    uint64_t columns = piece->target->info.shape[0];
    uint64_t rows = piece->target->info.shape[1];
    uint64_t first = piece->dst_offset / to;
    uint64_t end = first + piece->nbytes / from;
    struct nwi_cast_counts counts = {0};
    for (uint64_t c = 0; c < columns; c++) {
        uint64_t r = nwi_sub_floor(first + columns - 1, c) / columns;
        uint64_t r_end = nwi_sub_floor(end + columns - 1, c) / columns;
        const struct column column = {
            .first = c * rows + r,
            .n = r_end - r,
            .src = src + (r * columns + c - first) * from,
            .pitch = columns * from,
        };
        NWI_TRY(scatter_column(worker, piece, &column, &counts, err));
    }
    return add_counts(worker->run, piece, &counts, err);
}

/* ---- what no file holds ---- */

int nwi_make_filled(struct nwi_run *run, size_t number, struct nw_error *err)
{
    uint8_t block[RUN_ELEMS * 8];
    struct nwi_target_state *state = &run->states[number];
    const struct nw_plan *plan = run->plans[state->plan];
    const struct nwi_target *target =
        &plan->targets[number - run->first_target[state->plan]];
    if (target->info.op != NW_OP_FILL)
        return NW_OK;
    size_t width = nw_dtype_bits(target->info.dtype) / 8;
    uint64_t n = target->info.nbytes / width;
    uint32_t crc = 0;
    for (uint64_t done = 0, now; done < n; done += now) {
        now = nwi_min(RUN_ELEMS, n - done);
        nwi_fill_elements(target, done, (size_t)now, block);
        crc = nwi_crc32(crc, block, (size_t)(now * width));
        if (state->dst)
            memcpy((uint8_t *)state->dst + done * width, block, (size_t)(now * width));
        else
            NWI_TRY(run->sink.write(run->sink.ctx, number, done * width, block,
                                    (size_t)(now * width), err));
    }
    if (plan->options.flags & NW_LOAD_DIGEST)
        atomic_store(&state->crc, crc);
    return NW_OK;
}

static int deliver(struct nwi_worker *worker, const struct nwi_piece *piece,
                   const uint8_t *src, struct nw_error *err)
{
    struct nwi_run *run = worker->run;
    int code;
    if (src && piece->target->transposed) /* it is never read in place */
        code = scatter(worker, piece, src, err);
    else if (!is_cast(piece))
        code = copy(worker, piece, src, err);
    else if (piece->state->dst)
        code = cast_into(worker, piece, src, err);
    else
        code = cast_through(worker, piece, src, err);
    if (code != NW_OK)
        return code;
    uint64_t before = atomic_fetch_sub(&piece->state->remaining, piece->nbytes);
    if (before != piece->nbytes || piece->state->digest_only || !run->sink.done)
        return NW_OK;
    return run->sink.done(run->sink.ctx, piece->number, err);
}

int nwi_process(struct nwi_worker *worker, const struct nwi_slot *slot,
                struct nw_error *err)
{
    struct nwi_run *run = worker->run;
    const struct nwi_unit *unit = &slot->unit;
    struct nwi_piece piece;
    for (size_t at = unit->first_step; nwi_unit_piece(run, unit, &at, &piece);) {
        const uint8_t *src =
            slot->data ? slot->data + (piece.offset - unit->begin) : NULL;
        int code = deliver(worker, &piece, src, err);
        if (code != NW_OK) {
            code = nwi_error_in_file(err, code, run->ckpt->files[unit->file].info.path);
            return nwi_error_in_tensor(err, code, piece.target->info.name);
        }
    }
    atomic_fetch_add(&run->done_bytes, unit->end - unit->begin);
    return NW_OK;
}
