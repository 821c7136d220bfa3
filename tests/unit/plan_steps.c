/* SPDX-License-Identifier: Apache-2.0
 * Views cut into extents, and extents cut into units. */
#include "test.h"

#include <string.h>

#include "plan/plan_parts.h"
#include "run/run.h"
#include "support/support.h"

#define N_TARGETS 4

/* A plan over one stored F32 tensor of [6, 4] that begins at byte 100 of file 0. */
struct fixture {
    struct nw_checkpoint ckpt;
    struct nwi_stored stored;
    struct nw_plan plan;
    struct nwi_target targets[N_TARGETS];
    struct nw_part parts[N_TARGETS][2];
};

static void set_up(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->stored =
        (struct nwi_stored){.offset = 100, .nbytes = 96, .rank = 2, .dtype = NW_F32};
    f->ckpt.tensors = &f->stored;
    f->ckpt.n_tensors = 1;
    f->ckpt.n_files = 1;
    f->plan.ckpt = &f->ckpt;
    f->plan.memory = nwi_memory_new(NULL);
    assert_non_null(f->plan.memory);
    f->plan.targets = f->targets;
    nwi_arena_init(&f->plan.arena, f->plan.memory);
}

static void tear_down(struct fixture *f)
{
    nwi_arena_release(&f->plan.arena);
    nwi_memory_release(f->plan.memory);
}

/* Adds a target of one part (or a second part to the last one, if `join`). */
static void add(struct fixture *f, bool join, uint64_t start, uint32_t rank,
                const uint64_t *shape, const uint64_t *strides)
{
    size_t i = join ? f->plan.n_targets - 1 : f->plan.n_targets++;
    struct nwi_target *target = &f->targets[i];
    f->parts[i][target->info.n_parts++] = (struct nw_part){
        .source = 0, .rank = rank, .start = start, .shape = shape, .strides = strides};
    target->parts = f->parts[i];
    target->info.name = "t";
    target->info.dtype = target->stored_dtype = NW_F32;
    target->info.op = NW_OP_COPY;
}

static void make(struct fixture *f)
{
    struct nw_error err;
    nwi_error_clear(&err);
    assert_ok(nwi_plan_steps(&f->plan, &err), &err);
}

static void assert_step(const struct nw_plan *plan, size_t i, uint64_t offset,
                        uint64_t nbytes, uint64_t dst_offset)
{
    assert_true(i < plan->n_steps);
    assert_int_equal(plan->steps[i].offset, offset);
    assert_int_equal(plan->steps[i].nbytes, nbytes);
    assert_int_equal(plan->steps[i].dst_offset, dst_offset);
}

static void test_rows_are_one_extent(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t shape[] = {2, 4};
    const uint64_t strides[] = {4, 1};
    set_up(&f);
    add(&f, false, 8, 2, shape, strides);
    make(&f);
    assert_int_equal(f.plan.n_steps, 1);
    assert_step(&f.plan, 0, 132, 32, 0);
    tear_down(&f);
}

static void test_columns_are_an_extent_a_row(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t shape[] = {6, 2};
    const uint64_t strides[] = {4, 1};
    set_up(&f);
    add(&f, false, 1, 2, shape, strides);
    make(&f);
    assert_int_equal(f.plan.n_steps, 6);
    for (uint64_t i = 0; i < 6; i++)
        assert_step(&f.plan, i, 104 + 16 * i, 8, 8 * i);
    tear_down(&f);
}

static void test_transpose_stays_whole(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t shape[] = {4, 6};
    const uint64_t strides[] = {1, 4};
    set_up(&f);
    add(&f, false, 0, 2, shape, strides);
    make(&f);
    assert_int_equal(f.plan.n_steps, 1);
    assert_true(f.plan.targets[0].transposed);
    assert_step(&f.plan, 0, 100, 4 * 24, 0);
    tear_down(&f);
}

static void test_dimensions_of_one_do_not_cut(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t shape[] = {3, 1, 4};
    const uint64_t strides[] = {4, 99, 1};
    set_up(&f);
    add(&f, false, 0, 3, shape, strides);
    make(&f);
    assert_int_equal(f.plan.n_steps, 1);
    assert_step(&f.plan, 0, 100, 48, 0);
    tear_down(&f);
}

static void test_parts_are_joined(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t shape[] = {3, 4};
    const uint64_t strides[] = {4, 1};
    set_up(&f);
    add(&f, false, 12, 2, shape, strides);
    add(&f, true, 0, 2, shape, strides);
    make(&f);
    assert_int_equal(f.plan.n_steps, 2);
    assert_step(&f.plan, 0, 100, 48, 48); /* the halves change places */
    assert_step(&f.plan, 1, 148, 48, 0);
    tear_down(&f);
}

static void test_nothing_of_nothing(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t shape[] = {0, 4};
    const uint64_t strides[] = {4, 1};
    const uint64_t none = 0;
    set_up(&f);
    add(&f, false, 0, 2, shape, strides);
    add(&f, false, 5, 0, &none, &none); /* a scalar: one element */
    make(&f);
    assert_int_equal(f.plan.n_steps, 1);
    assert_step(&f.plan, 0, 120, 4, 0);
    tear_down(&f);
}

/* ---- units ---- */

static int place_nothing(void *ctx, size_t target, void **dst, struct nw_error *err)
{
    size_t *calls = ctx;
    (void)target;
    (void)err;
    *dst = NULL;
    (*calls)++;
    return NW_OK;
}

/* Claims everything and checks that each wanted byte of each target comes exactly once,
 * whole elements at a time; returns the bytes that were read. */
static uint64_t claim_all(struct fixture *f, size_t unit_bytes)
{
    struct nw_plan *plan = &f->plan;
    struct nwi_target_state states[N_TARGETS] = {0};
    uint8_t seen[N_TARGETS][96] = {0};
    size_t first = 0;
    size_t placed = 0;
    uint64_t read = 0;
    struct nwi_run run = {.plans = &plan,
                          .n_plans = 1,
                          .first_target = &first,
                          .n_targets = plan->n_targets,
                          .states = states,
                          .sink = {.ctx = &placed, .place = place_nothing},
                          .n_steps = plan->n_steps,
                          .unit_bytes = unit_bytes,
                          .position_file = NW_NONE};
    assert_int_equal(nwi_monitor_init(&run.monitor), 0);
    struct nwi_worker worker = {.run = &run};
    struct nwi_unit unit;
    struct nwi_piece piece;
    while (nwi_claim(&worker, &unit)) {
        assert_true(unit.begin < unit.end);
        assert_true(unit.end - unit.begin <= unit_bytes);
        read += unit.end - unit.begin;
        for (size_t at = unit.first_step; nwi_unit_piece(&run, &unit, &at, &piece);) {
            assert_int_equal(piece.nbytes % 4, 0);
            assert_true(piece.dst_offset + piece.nbytes <= 96);
            for (uint64_t i = 0; i < piece.nbytes; i++)
                seen[piece.number][piece.dst_offset + i]++;
        }
    }
    nwi_monitor_destroy(&run.monitor);
    assert_int_equal(placed, plan->n_targets);
    uint64_t wanted[N_TARGETS] = {0};
    for (size_t i = 0; i < plan->n_steps; i++)
        wanted[plan->steps[i].target] += plan->steps[i].nbytes;
    for (size_t t = 0; t < plan->n_targets; t++) {
        for (size_t i = 0; i < 96; i++)
            assert_int_equal(seen[t][i], i < wanted[t]);
    }
    return read;
}

static void test_units_cover_every_byte_once(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t half[] = {3, 4};
    const uint64_t whole[] = {6, 4};
    const uint64_t strides[] = {4, 1};
    for (size_t unit = 8; unit <= 128; unit += 4) {
        set_up(&f);
        add(&f, false, 0, 2, half, strides);
        add(&f, false, 12, 2, half, strides);
        make(&f);
        assert_int_equal(claim_all(&f, unit), 96);
        tear_down(&f);
        /* Two targets want the same bytes: they are read once. */
        set_up(&f);
        add(&f, false, 0, 2, whole, strides);
        add(&f, false, 4, 2, half, strides);
        make(&f);
        assert_int_equal(claim_all(&f, unit), 96);
        tear_down(&f);
    }
}

static void test_gaps_are_not_read(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t columns[] = {6, 2};
    const uint64_t strides[] = {4, 1};
    set_up(&f);
    add(&f, false, 1, 2, columns, strides);
    make(&f);
    assert_int_equal(claim_all(&f, 64), 48);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_one_extent),
        cmocka_unit_test(test_columns_are_an_extent_a_row),
        cmocka_unit_test(test_transpose_stays_whole),
        cmocka_unit_test(test_dimensions_of_one_do_not_cut),
        cmocka_unit_test(test_parts_are_joined),
        cmocka_unit_test(test_nothing_of_nothing),
        cmocka_unit_test(test_units_cover_every_byte_once),
        cmocka_unit_test(test_gaps_are_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
