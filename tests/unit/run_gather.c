/* SPDX-License-Identifier: Apache-2.0
 * Ranges of targets made of strided parts, against a walk element by element. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "run/gather.h"
#include "support/support.h"
#include "tensor/view.h"

#define ROWS       300u
#define COLS       700u
#define DATA_START 12u /* of the tensor, in its file */

/* A plan with one target over a stored U32 (or other) tensor [ROWS, COLS] in memory. */
struct fixture {
    uint32_t *values; /* the file, DATA_START bytes in front */
    struct nwi_source_file file;
    struct nwi_stored stored;
    struct nw_checkpoint ckpt;
    struct nwi_target target;
    struct nw_plan plan;
    struct nwi_memory *memory;
    struct nwi_gather gather;
    struct nw_error err;
};

static void set_up(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    size_t n = DATA_START / 4 + ROWS * COLS;
    f->values = malloc(n * sizeof *f->values);
    for (size_t i = 0; i < n; i++)
        f->values[i] = (uint32_t)(i - DATA_START / 4);
    f->memory = nwi_memory_new(NULL);
    nwi_error_clear(&f->err);
    assert_ok(nwi_file_from_memory(f->values, n * sizeof *f->values, "m", f->memory,
                                   &f->file.file, &f->err),
              &f->err);
    f->stored.dtype = NW_U32;
    f->stored.offset = DATA_START;
    f->stored.nbytes = (uint64_t)ROWS * COLS * 4;
    f->ckpt.files = &f->file;
    f->ckpt.n_files = 1;
    f->ckpt.tensors = &f->stored;
    f->ckpt.n_tensors = 1;
    f->target.info.name = "t";
    f->target.info.op = NW_OP_COPY;
    f->target.info.dtype = NW_U32;
    f->plan.ckpt = &f->ckpt;
    f->plan.targets = &f->target;
    f->plan.n_targets = 1;
    assert_ok(nwi_gather_init(&f->gather, &f->plan, f->memory, &f->err), &f->err);
}

static void tear_down(struct fixture *f)
{
    nwi_gather_release(&f->gather, f->memory);
    nwi_file_release(f->file.file);
    nwi_memory_release(f->memory);
    free(f->values);
}

/* The element that stands at place i of the joined parts. */
static uint32_t expected_at(const struct fixture *f, uint64_t i)
{
    for (uint32_t k = 0; k < f->target.info.n_parts; k++) {
        const struct nw_part *part = &f->target.parts[k];
        uint64_t n = nwi_view_elems(part);
        if (i < n)
            return (uint32_t)nwi_view_extent(part, part->rank, i);
        i -= n;
    }
    fail();
    return 0;
}

static void check(struct fixture *f, const struct nw_part *parts, uint32_t n_parts)
{
    f->target.parts = parts;
    f->target.info.n_parts = n_parts;
    uint64_t total = 0;
    for (uint32_t k = 0; k < n_parts; k++)
        total += nwi_view_elems(&parts[k]);
    uint32_t *got = malloc(NWI_GATHER_BYTES);
    uint64_t seed = 7;
    for (int round = 0; round < 20; round++) {
        uint64_t first = round ? nwt_random(&seed) % total : 0;
        uint64_t most =
            total - first < NWI_GATHER_ELEMS ? total - first : NWI_GATHER_ELEMS;
        size_t n = (size_t)(round ? nwt_random(&seed) % most + 1 : most);
        assert_ok(nwi_gather_read(&f->gather, 0, first, n, got, &f->err), &f->err);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(got[i], expected_at(f, first + i));
    }
    free(got);
}

static void whole_halves_and_columns(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t dense[] = {COLS, 1};
    const uint64_t all[] = {ROWS, COLS};
    const uint64_t half[] = {ROWS / 2, COLS};
    const uint64_t columns[] = {ROWS, 5};
    const struct nw_part whole = {0, 2, 0, all, dense};
    const struct nw_part swapped[] = {{0, 2, (uint64_t)ROWS / 2 * COLS, half, dense},
                                      {0, 2, 0, half, dense}};
    const struct nw_part narrow[] = {{0, 2, 3, columns, dense},
                                     {0, 2, 690, columns, dense}};
    set_up(&f);
    check(&f, &whole, 1);
    check(&f, swapped, 2);
    check(&f, narrow, 2);
    tear_down(&f);
}

static void transposed_and_stepped(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t turned[] = {COLS, ROWS};
    const uint64_t turned_strides[] = {1, COLS};
    const uint64_t stepped[] = {3, 50, 4};
    const uint64_t stepped_strides[] = {(uint64_t)100 * COLS, 7, 2};
    const struct nw_part transposed = {0, 2, 0, turned, turned_strides};
    const struct nw_part odd = {0, 3, 11, stepped, stepped_strides};
    set_up(&f);
    check(&f, &transposed, 1);
    check(&f, &odd, 1);
    tear_down(&f);
}

static void values_are_cast(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t shape[] = {4};
    const uint64_t strides[] = {2};
    const struct nw_part part = {0, 1, 0, shape, strides};
    const float stored[] = {1, 9, -2, 9, 0.5f, 9, 3};
    uint16_t got[4];
    set_up(&f);
    memcpy(f.values + DATA_START / 4, stored, sizeof stored);
    f.stored.dtype = NW_F32;
    f.target.stored_dtype = NW_F32;
    f.target.info.dtype = NW_BF16;
    f.target.info.op = NW_OP_CAST;
    f.target.parts = &part;
    f.target.info.n_parts = 1;
    assert_true(nwi_cast_find(NW_F32, NW_BF16, NW_CPU_SCALAR, 0, &f.target.cast));
    assert_ok(nwi_gather_read(&f.gather, 0, 1, 3, got, &f.err), &f.err);
    assert_int_equal(got[0], 0xC000);
    assert_int_equal(got[1], 0x3F00);
    assert_int_equal(got[2], 0x4040);
    tear_down(&f);
}

static void what_lies_outside_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    const uint64_t shape[] = {3};
    const uint64_t strides[] = {1};
    struct nw_part part = {0, 1, 0, shape, strides};
    uint32_t got[8];
    set_up(&f);
    f.target.parts = &part;
    f.target.info.n_parts = 1;
    assert_code(nwi_gather_read(&f.gather, 0, 0, 4, got, &f.err), NW_E_ARG, &f.err);
    assert_string_equal(f.err.tensor, "t");
    nwi_error_clear(&f.err);
    f.stored.dtype = NW_F4; /* three halves of a byte */
    assert_code(nwi_gather_read(&f.gather, 0, 0, 3, got, &f.err), NW_E_UNSUPPORTED,
                &f.err);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_halves_and_columns),
        cmocka_unit_test(transposed_and_stepped),
        cmocka_unit_test(values_are_cast),
        cmocka_unit_test(what_lies_outside_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
