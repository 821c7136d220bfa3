/* SPDX-License-Identifier: Apache-2.0
 * nw_diff: names, dtypes, shapes, metadata, and values of every kind. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/document.h"
#include "support/support.h"

/* One side: a checkpoint in memory and its plan. */
struct side {
    struct nwt_safetensors builder;
    void *bytes;
    struct nw_checkpoint *ckpt;
    struct nw_load_options load;
    struct nw_plan *plan;
};

struct fixture {
    struct side a;
    struct side b;
    struct nw_diff_options options;
    struct nw_open_options open;
    struct nwt_document document;
    struct nw_error err;
};

static void set_up(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    nwt_st_begin(&f->a.builder);
    nwt_st_begin(&f->b.builder);
    f->options.size = sizeof f->options;
    f->open.size = sizeof f->open;
    f->a.load.size = f->b.load.size = sizeof f->a.load;
}

static void add(struct side *side, const char *name, const char *dtype, uint64_t n,
                const void *data, size_t nbytes)
{
    nwt_st_add(&side->builder, name, dtype, 1, &n, data, nbytes);
}

/* The same tensor on both sides, with values of each its own. */
static void add_both(struct fixture *f, const char *name, const char *dtype, uint64_t n,
                     const void *a, const void *b, size_t nbytes)
{
    add(&f->a, name, dtype, n, a, nbytes);
    add(&f->b, name, dtype, n, b, nbytes);
}

static void open_side(struct fixture *f, struct side *side)
{
    size_t size;
    side->bytes = nwt_st_finish(&side->builder, &size);
    assert_ok(nw_open_memory(side->bytes, size, "m", &f->open, &side->ckpt, &f->err),
              &f->err);
    assert_ok(nw_plan_create(side->ckpt, &side->load, &side->plan, &f->err), &f->err);
}

/* Compares, reads the document back, and returns whether they are equal. */
static int compare(struct fixture *f)
{
    int equal = 7;
    if (!f->a.plan) {
        open_side(f, &f->a);
        open_side(f, &f->b);
    }
    nwt_document_release(&f->document);
    assert_ok(nw_diff(f->a.plan, f->b.plan, &f->options, &equal, nwt_document_write,
                      &f->document, &f->err),
              &f->err);
    nwt_document_parse(&f->document);
    assert_at(&f->document, "equal", equal ? "true" : "false");
    return equal;
}

static void close_side(struct side *side)
{
    nw_plan_free(side->plan);
    nw_checkpoint_free(side->ckpt);
    free(side->bytes);
}

static void tear_down(struct fixture *f)
{
    nwt_document_release(&f->document);
    close_side(&f->a);
    close_side(&f->b);
}

static void assert_row(struct fixture *f, size_t i, const char *name, const char *what,
                       const char *a, const char *b)
{
    const char *const keys[] = {"name", "what", "a", "b"};
    const char *const expected[] = {name, what, a, b};
    for (size_t k = 0; k < 4; k++) {
        char path[64];
        (void)snprintf(path, sizeof path, "differ/%zu/%s", i, keys[k]);
        assert_at(&f->document, path, expected[k]);
    }
}

static const float ones[] = {1, 2, 3, 4};

static void equal_files_are_equal(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    add_both(&f, "x", "F32", 4, ones, ones, sizeof ones);
    add_both(&f, "empty", "F32", 0, NULL, NULL, 0);
    nwt_st_metadata(&f.a.builder, "format", "pt");
    nwt_st_metadata(&f.b.builder, "format", "pt");
    assert_int_equal(compare(&f), 1);
    f.options.values = 1;
    assert_int_equal(compare(&f), 1);
    assert_at(&f.document, "only_a", "[0]");
    assert_at(&f.document, "only_b", "[0]");
    assert_at(&f.document, "differ", "[0]");
    tear_down(&f);
}

static void names_types_shapes_and_metadata(void **state)
{
    (void)state;
    const uint64_t wide[] = {1, 4};
    struct fixture f;
    set_up(&f);
    add(&f.a, "gone", "F32", 4, ones, sizeof ones);
    add(&f.b, "new", "F32", 4, ones, sizeof ones);
    add(&f.a, "type", "F32", 4, ones, sizeof ones);
    add(&f.b, "type", "I32", 4, ones, sizeof ones);
    add(&f.a, "shape", "F32", 4, ones, sizeof ones);
    nwt_st_add(&f.b.builder, "shape", "F32", 2, wide, ones, sizeof ones);
    nwt_st_metadata(&f.a.builder, "format", "pt");
    nwt_st_metadata(&f.b.builder, "format", "np");
    nwt_st_metadata(&f.a.builder, "mine", "1");
    nwt_st_metadata(&f.b.builder, "theirs", "2");
    assert_int_equal(compare(&f), 0);
    assert_at(&f.document, "only_a/0", "gone");
    assert_at(&f.document, "only_b/0", "new");
    assert_at(&f.document, "differ", "[5]");
    assert_row(&f, 0, "type", "dtype", "F32", "I32");
    assert_row(&f, 1, "shape", "shape", "[1]", "[2]");
    assert_row(&f, 2, "format", "metadata", "pt", "np");
    assert_row(&f, 3, "mine", "metadata", "1", "null");
    assert_row(&f, 4, "theirs", "metadata", "null", "2");
    tear_down(&f);
}

static void values_say_where_and_how_much(void **state)
{
    (void)state;
    const uint64_t shape[] = {2, 2};
    const float other[] = {1, 2, 3.5f, 2};
    struct fixture f;
    set_up(&f);
    nwt_st_add(&f.a.builder, "x", "F32", 2, shape, ones, sizeof ones);
    nwt_st_add(&f.b.builder, "x", "F32", 2, shape, other, sizeof other);
    assert_int_equal(compare(&f), 1); /* values are not asked for */
    f.options.values = 1;
    assert_int_equal(compare(&f), 0);
    assert_row(&f, 0, "x", "values", "3", "3.5");
    assert_at(&f.document, "differ/0/max_abs", "2");
    assert_at(&f.document, "differ/0/first", "[2]");
    assert_at(&f.document, "differ/0/first/0", "1");
    assert_at(&f.document, "differ/0/first/1", "0");
    assert_at(&f.document, "differ/0/n_differ", "2");
    f.options.tolerance_abs = 0.5;
    assert_int_equal(compare(&f), 0);
    assert_at(&f.document, "differ/0/first/1", "1");
    assert_at(&f.document, "differ/0/n_differ", "1");
    f.options.tolerance_rel = 0.75; /* 2 <= 0.5 + 0.75 * 2 */
    assert_int_equal(compare(&f), 1);
    tear_down(&f);
}

static void not_a_number_equals_itself_only(void **state)
{
    (void)state;
    const float a[] = {NAN, INFINITY, 0, -INFINITY};
    const float b[] = {-NAN, INFINITY, -0.0f, -INFINITY};
    const float c[] = {NAN, 1};
    const float d[] = {1, INFINITY};
    struct fixture f;
    set_up(&f);
    add_both(&f, "same", "F32", 4, a, b, sizeof a);
    add_both(&f, "other", "F32", 2, c, d, sizeof c);
    f.options.values = 1;
    f.options.tolerance_abs = 1e30;
    f.options.tolerance_rel = 10; /* must not swallow an infinite b */
    assert_int_equal(compare(&f), 0);
    assert_at(&f.document, "differ", "[1]");
    assert_row(&f, 0, "other", "values", "NaN", "1");
    assert_at(&f.document, "differ/0/max_abs", "null");
    assert_at(&f.document, "differ/0/n_differ", "2");
    tear_down(&f);
}

static void integers_are_compared_exactly(void **state)
{
    (void)state;
    const int64_t a[] = {INT64_MIN, 9007199254740992};
    const int64_t b[] = {INT64_MIN, 9007199254740993};
    const uint64_t c[] = {UINT64_MAX};
    const uint64_t d[] = {UINT64_MAX - 1};
    const uint8_t yes[] = {1};
    const uint8_t no[] = {0};
    struct fixture f;
    set_up(&f);
    add_both(&f, "i64", "I64", 2, a, b, sizeof a);
    add_both(&f, "u64", "U64", 1, c, d, sizeof c);
    add_both(&f, "bool", "BOOL", 1, yes, no, sizeof yes);
    f.options.values = 1;
    assert_int_equal(compare(&f), 0);
    assert_at(&f.document, "differ", "[3]");
    assert_row(&f, 0, "i64", "values", "9007199254740992", "9007199254740993");
    assert_at(&f.document, "differ/0/first/0", "1");
    assert_at(&f.document, "differ/0/max_abs", "1");
    assert_row(&f, 1, "u64", "values", "18446744073709551615", "18446744073709551614");
    assert_row(&f, 2, "bool", "values", "1", "0");
    tear_down(&f);
}

/* What a plan makes of its file counts, and dtypes may differ: their values can still
 * agree. */
static void values_are_those_after_the_cast(void **state)
{
    (void)state;
    const uint16_t halves[] = {0x3F80, 0x4000, 0x4040, 0x4080};
    const float near[] = {1, 2, 3, 4.0001f};
    struct fixture f;
    set_up(&f);
    add(&f.a, "x", "BF16", 4, halves, sizeof halves);
    add(&f.b, "x", "F32", 4, ones, sizeof ones);
    add(&f.a, "y", "BF16", 4, halves, sizeof halves);
    add(&f.b, "y", "F32", 4, near, sizeof near);
    f.options.values = 1;
    assert_int_equal(compare(&f), 0);
    assert_at(&f.document, "differ", "[3]");
    assert_row(&f, 0, "x", "dtype", "BF16", "F32");
    assert_row(&f, 1, "y", "dtype", "BF16", "F32");
    assert_row(&f, 2, "y", "values", "4", "4.0001001358032227");
    nw_plan_free(f.b.plan);
    f.b.load.dtype = NW_BF16;
    assert_ok(nw_plan_create(f.b.ckpt, &f.b.load, &f.b.plan, &f.err), &f.err);
    assert_int_equal(compare(&f), 1);
    tear_down(&f);
}

static void complex_and_packed_types(void **state)
{
    (void)state;
    const float c[] = {1, 2, 3, 4};
    const float d[] = {1, 2, 3, 5};
    const uint8_t low[] = {0x10};  /* 0, 0.5 */
    const uint8_t high[] = {0x70}; /* 0, 6 */
    struct fixture f;
    set_up(&f);
    add_both(&f, "c", "C64", 2, c, d, sizeof c);
    add_both(&f, "p", "F4", 2, low, high, sizeof low);
    add(&f.a, "mixed", "C64", 1, c, 8);
    add(&f.b, "mixed", "F32", 1, c, 4);
    f.options.values = 1;
    assert_int_equal(compare(&f), 0);
    assert_row(&f, 0, "c", "values", "4", "5");
    assert_at(&f.document, "differ/0/first/0", "1");
    assert_row(&f, 1, "p", "values", "0.5", "6");
    assert_at(&f.document, "differ/1/first/0", "1");
    assert_row(&f, 2, "mixed", "dtype", "C64", "F32");
    assert_at(&f.document, "differ", "[3]");
    tear_down(&f);
}

/* Counts calls; asks to stop at the one that `stop_at` names. */
struct watch {
    uint64_t n_calls;
    uint64_t stop_at;
    uint64_t done;
    uint64_t total;
};

static int watch(void *ctx, uint64_t done, uint64_t total)
{
    struct watch *w = ctx;
    assert_true(done >= w->done && done <= total);
    w->done = done;
    w->total = total;
    return ++w->n_calls == w->stop_at;
}

static void large_tensors_go_in_chunks(void **state)
{
    (void)state;
    enum { N = 300001 };
    const uint64_t last = N - 1;
    float *a = calloc(N, sizeof *a);
    float *b = calloc(N, sizeof *b);
    struct watch w = {0};
    struct fixture f;
    int equal = 1;
    b[last] = 1;
    set_up(&f);
    add_both(&f, "x", "F32", N, a, b, N * sizeof *a);
    f.options.values = 1;
    f.options.progress = watch;
    f.options.progress_ctx = &w;
    assert_int_equal(compare(&f), 0);
    assert_at(&f.document, "differ/0/first/0", "300000");
    assert_int_equal(w.done, w.total);
    assert_int_equal(w.total, 2 * N * sizeof *a);
    assert_int_equal(w.n_calls, 3);
    w = (struct watch){.stop_at = 2};
    nwt_document_release(&f.document);
    assert_code(nw_diff(f.a.plan, f.b.plan, &f.options, &equal, nwt_document_write,
                        &f.document, &f.err),
                NW_E_CANCELLED, &f.err);
    assert_int_equal(equal, 0);
    assert_null(f.document.text);
    tear_down(&f);
    free(a);
    free(b);
}

static void wrong_calls(void **state)
{
    (void)state;
    struct fixture f;
    int equal;
    set_up(&f);
    add_both(&f, "x", "F32", 4, ones, ones, sizeof ones);
    (void)compare(&f);
    assert_code(nw_diff(NULL, f.b.plan, NULL, &equal, nwt_document_write, NULL, &f.err),
                NW_E_ARG, &f.err);
    assert_code(
        nw_diff(f.a.plan, f.b.plan, NULL, NULL, nwt_document_write, NULL, &f.err),
        NW_E_ARG, &f.err);
    f.options.tolerance_abs = (double)NAN;
    assert_code(nw_diff(f.a.plan, f.b.plan, &f.options, &equal, nwt_document_write,
                        NULL, &f.err),
                NW_E_ARG, &f.err);
    f.options.tolerance_abs = 0;
    f.options.size = 3;
    assert_code(nw_diff(f.a.plan, f.b.plan, &f.options, &equal, nwt_document_write,
                        NULL, &f.err),
                NW_E_ARG, &f.err);
    tear_down(&f);
}

static void every_refused_allocation_is_nomem(void **state)
{
    (void)state;
    const float other[] = {1, 2, 3, 5};
    struct nwt_allocator counter = {.fail_at = -1};
    struct fixture f;
    int code = NW_E_NOMEM;
    set_up(&f);
    f.open.allocator = nwt_failing_allocator(&counter);
    add_both(&f, "x", "F32", 4, ones, other, sizeof ones);
    nwt_st_metadata(&f.a.builder, "k", "v");
    f.options.values = 1;
    (void)compare(&f);
    long live = counter.live;
    for (long at = 0; code == NW_E_NOMEM; at++) {
        int equal;
        nwt_document_release(&f.document);
        counter.fail_at = counter.calls + at;
        code = nw_diff(f.a.plan, f.b.plan, &f.options, &equal, nwt_document_write,
                       &f.document, &f.err);
        assert_int_equal(code, f.err.code);
        assert_int_equal(counter.live, live);
        assert_true(at < 100);
    }
    assert_int_equal(code, NW_OK);
    counter.fail_at = -1;
    tear_down(&f);
    assert_int_equal(counter.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_files_are_equal),
        cmocka_unit_test(names_types_shapes_and_metadata),
        cmocka_unit_test(values_say_where_and_how_much),
        cmocka_unit_test(not_a_number_equals_itself_only),
        cmocka_unit_test(integers_are_compared_exactly),
        cmocka_unit_test(values_are_those_after_the_cast),
        cmocka_unit_test(complex_and_packed_types),
        cmocka_unit_test(large_tensors_go_in_chunks),
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(every_refused_allocation_is_nomem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
