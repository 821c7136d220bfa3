/* SPDX-License-Identifier: Apache-2.0
 * Cutting the steps of a run into units, in file order, and walking the pieces of a
 * unit. */
#include "run/run.h"

#include "base/arith.h"
#include "tensor/dtype.h"

static uint64_t step_end(const struct nwi_step *step)
{
    return step->offset + step->nbytes;
}

static uint64_t element_bytes(const struct nw_plan *plan, const struct nwi_step *step)
{
    uint64_t bits = nw_dtype_bits(plan->targets[step->target].stored_dtype);
    return bits < 8 ? 1 : bits / 8;
}

/* Moves the cursor over steps that are claimed whole or not wanted; false at the end.
 */
static bool skip_claimed(struct nwi_run *run)
{
    for (; run->cursor < run->n_steps; run->cursor++) {
        size_t plan;
        const struct nwi_step *step = nwi_run_step(run, run->cursor, &plan);
        if (step->file != run->position_file) {
            run->position_file = step->file;
            run->position = 0;
        }
        if (nwi_run_wants(run, step, plan) && step_end(step) > run->position)
            return true;
    }
    return false;
}

/* How far a unit that begins at the cursor may reach: over steps that follow without a
 * gap. */
static uint64_t contiguous_end(const struct nwi_run *run, uint32_t file, uint64_t most)
{
    size_t plan;
    uint64_t end = run->position;
    for (size_t i = run->cursor; i < run->n_steps; i++) {
        const struct nwi_step *step = nwi_run_step(run, i, &plan);
        if (step->file != file || (i > run->cursor && step->offset > end) ||
            end >= most)
            break;
        if (nwi_run_wants(run, step, plan))
            end = nwi_max(end, step_end(step));
    }
    return end;
}

/* A unit may end within a step only between two of its elements. Steps that overlap lie
 * in one stored tensor, so that one grid holds for all. */
static uint64_t cut_between_elements(const struct nwi_run *run, uint32_t file,
                                     uint64_t end)
{
    size_t plan;
    for (size_t i = run->cursor; i < run->n_steps; i++) {
        const struct nwi_step *step = nwi_run_step(run, i, &plan);
        if (step->file != file || step->offset >= end)
            break;
        if (nwi_run_wants(run, step, plan) && step_end(step) > end)
            end -= (end - step->offset) % element_bytes(run->plans[plan], step);
    }
    return end;
}

int nwi_settle_empty(struct nwi_run *run, size_t before, struct nw_error *err)
{
    for (; run->n_settled < before; run->n_settled++) {
        size_t number = run->n_settled;
        struct nwi_target_state *state = &run->states[number];
        if (state->placed || state->digest_only || state->has_bytes)
            continue;
        state->placed = true;
        NWI_TRY(run->sink.place(run->sink.ctx, number, &state->dst, err));
        NWI_TRY(nwi_make_filled(run, number, err));
        if (run->sink.done)
            NWI_TRY(run->sink.done(run->sink.ctx, number, err));
    }
    return NW_OK;
}

static bool place_targets(struct nwi_worker *worker, const struct nwi_unit *unit)
{
    struct nwi_run *run = worker->run;
    struct nwi_piece piece;
    for (size_t at = unit->first_step; nwi_unit_piece(run, unit, &at, &piece);) {
        if (piece.state->placed || piece.state->digest_only)
            continue;
        piece.state->placed = true;
        if (nwi_settle_empty(run, piece.number, &worker->error) != NW_OK ||
            run->sink.place(run->sink.ctx, piece.number, &piece.state->dst,
                            &worker->error) != NW_OK)
            return false;
    }
    return true;
}

static void cut_unit(struct nwi_run *run, struct nwi_unit *unit)
{
    size_t plan;
    const struct nwi_step *step = nwi_run_step(run, run->cursor, &plan);
    run->position = nwi_max(run->position, step->offset);
    *unit = (struct nwi_unit){.file = step->file,
                              .begin = run->position,
                              .first_step = run->cursor,
                              .seq = run->n_units++};
    uint64_t most = unit->begin + run->unit_bytes;
    uint64_t end = contiguous_end(run, unit->file, most);
    if (end > most) {
        /* Direct reads that meet on a page boundary read no page twice. */
        uint64_t page = most & ~(uint64_t)(NWI_DIRECT_ALIGN - 1);
        end = cut_between_elements(run, unit->file, page > unit->begin ? page : most);
    }
    unit->end = end;
    run->position = end;
}

bool nwi_claim(struct nwi_worker *worker, struct nwi_unit *unit)
{
    struct nwi_run *run = worker->run;
    bool claimed = false;
    nwi_monitor_enter(&run->monitor);
    if (!atomic_load(&run->stop) && skip_claimed(run)) {
        cut_unit(run, unit);
        claimed = place_targets(worker, unit);
        /* Still inside: nobody may claim more of a target that has no place. */
        if (!claimed)
            atomic_store(&run->stop, true);
    }
    nwi_monitor_leave(&run->monitor);
    if (!claimed && worker->error.code != NW_OK)
        nwi_run_fail(run, unit->seq, &worker->error);
    return claimed;
}

static void fill_piece(const struct nwi_run *run, size_t plan,
                       const struct nwi_step *step, uint64_t begin, uint64_t end,
                       struct nwi_piece *piece)
{
    const struct nw_plan *owner = run->plans[plan];
    const struct nwi_target *target = &owner->targets[step->target];
    size_t number = run->first_target[plan] + step->target;
    uint64_t done = begin - step->offset;
    uint64_t from = 1;
    uint64_t to = 1;
    if (target->info.dtype != target->stored_dtype) {
        from = target->cast.from_bytes;
        to = target->cast.to_bytes;
    }
    *piece = (struct nwi_piece){
        .target = target,
        .state = &run->states[number],
        .number = number,
        .offset = begin,
        .nbytes = end - begin,
        .dst_offset = step->dst_offset + done / from * to,
        .dst_nbytes = (end - begin) / from * to,
    };
}

bool nwi_unit_piece(const struct nwi_run *run, const struct nwi_unit *unit, size_t *at,
                    struct nwi_piece *piece)
{
    for (; *at < run->n_steps; (*at)++) {
        size_t plan;
        const struct nwi_step *step = nwi_run_step(run, *at, &plan);
        if (step->file != unit->file || step->offset >= unit->end)
            return false;
        uint64_t begin = nwi_max(step->offset, unit->begin);
        uint64_t end = nwi_min(step_end(step), unit->end);
        if (begin >= end || !nwi_run_wants(run, step, plan))
            continue;
        fill_piece(run, plan, step, begin, end, piece);
        (*at)++;
        return true;
    }
    return false;
}

bool nwi_unit_in_place(const struct nwi_run *run, const struct nwi_unit *unit)
{
    struct nwi_piece piece;
    for (size_t at = unit->first_step; nwi_unit_piece(run, unit, &at, &piece);) {
        if (!piece.state->dst || piece.target->transposed ||
            piece.target->info.dtype != piece.target->stored_dtype)
            return false;
    }
    return true;
}
