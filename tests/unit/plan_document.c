/* SPDX-License-Identifier: Apache-2.0
 * The documents of plan, load and convert, and the accessors of a plan. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "support/document.h"
#include "support/support.h"

static const float numbers[] = {1, 70000, -2, 1e-9f};

/* A checkpoint in memory: a.weight F32 [2, 2], a.norm.weight BF16 [2], ids I64 [1], odd
 * F7. */
struct fixture {
    void *bytes;
    struct nw_checkpoint *ckpt;
    struct nw_plan *plan;
    struct nw_load_options options;
    struct nwt_document document;
    struct nw_error err;
};

static void set_up(struct fixture *f)
{
    const uint64_t shapes[][2] = {{2, 2}, {2}, {1}, {3}};
    const uint16_t halves[] = {0x3F80, 0x4000};
    const int64_t id = 257;
    struct nwt_safetensors b;
    size_t size;
    memset(f, 0, sizeof *f);
    nwt_st_begin(&b);
    nwt_st_add(&b, "a.weight", "F32", 2, shapes[0], numbers, sizeof numbers);
    nwt_st_add(&b, "a.norm.weight", "BF16", 1, shapes[1], halves, sizeof halves);
    nwt_st_add(&b, "ids", "I64", 1, shapes[2], &id, sizeof id);
    nwt_st_add(&b, "odd", "F7", 1, shapes[3], NULL, 8);
    f->bytes = nwt_st_finish(&b, &size);
    struct nw_open_options open = NW_OPTIONS_INIT(open);
    open.tolerate = NW_TOLERATE_DTYPE;
    assert_ok(nw_open_memory(f->bytes, size, "m", &open, &f->ckpt, &f->err), &f->err);
    f->options.size = sizeof f->options;
}

static void tear_down(struct fixture *f)
{
    nwt_document_release(&f->document);
    nw_plan_free(f->plan);
    nw_checkpoint_free(f->ckpt);
    free(f->bytes);
}

static void make_plan(struct fixture *f)
{
    assert_ok(nw_plan_create(f->ckpt, &f->options, &f->plan, &f->err), &f->err);
}

/* Writes the document and reads it back. */
static void write_plan(struct fixture *f, uint32_t flags,
                       const struct nw_result *result)
{
    const struct nw_plan *plan = f->plan;
    nwt_document_release(&f->document);
    assert_ok(nw_plan_json(&plan, 1, flags, result, NULL, nwt_document_write,
                           &f->document, &f->err),
              &f->err);
    nwt_document_parse(&f->document);
}

static void a_plan_tells_everything(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    make_plan(&f);
    write_plan(&f, 0, NULL);
    struct nwt_document *d = &f.document;
    static const char *const expected[][2] = {
        {"component", ""},
        {"class", "null"},
        {"family", "null"},
        {"variant", "null"},
        {"layout", "stored"},
        {"dtype", "auto"},
        {"report/wanted", "3"},
        {"report/loaded", "3"},
        {"report/tied", "[0]"},
        {"report/by_rule", "[0]"},
        {"report/missing", "[0]"},
        {"report/mismatched", "[0]"},
        {"report/unexpected", "[0]"},
        {"report/harmless", "[1]"},
        {"report/harmless/0/name", "odd"},
        {"report/harmless/0/reason", "unknown dtype \"F7\""},
        {"report/kept_fp32", "[0]"},
        {"report/initialised", "[0]"},
        {"cost", "{6}"},
        {"cost/final_bytes", "28"},
        {"device_map", "{0}"},
        {"targets", "-"},
        {"result", "-"},
        {"written", "-"},
        {"error", "-"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_at(d, expected[i][0], expected[i][1]);
    assert_non_null(nwt_at(d, "machine"));
    assert_non_null(nwt_at(d, "fits"));
    tear_down(&f);
}

static void targets_come_on_request(void **state)
{
    (void)state;
    const char *const keep[] = {"norm"};
    struct fixture f;
    set_up(&f);
    f.options.dtype = NW_F16;
    f.options.keep_fp32 = keep;
    f.options.n_keep_fp32 = 1;
    make_plan(&f);
    write_plan(&f, NW_PLAN_JSON_TARGETS, NULL);
    struct nwt_document *d = &f.document;
    assert_at(d, "dtype", "F16");
    assert_at(d, "report/kept_fp32", "[1]");
    assert_at(d, "report/kept_fp32/0", "a.norm.weight");
    assert_at(d, "targets", "[3]");
    assert_at(d, "targets/0/name", "a.weight");
    assert_at(d, "targets/0/dtype", "F16");
    assert_at(d, "targets/0/shape", "[2]");
    assert_at(d, "targets/0/device", "cpu");
    assert_at(d, "targets/0/op", "cast");
    assert_at(d, "targets/0/parts/0/source", "a.weight");
    assert_at(d, "targets/0/parts/0/file", "m");
    assert_at(d, "targets/0/parts/0/start", "0");
    assert_at(d, "targets/0/parts/0/shape/1", "2");
    assert_at(d, "targets/0/parts/0/strides/0", "2");
    assert_at(d, "targets/0/crc32", "-");
    assert_at(d, "targets/1/dtype", "F32");
    assert_at(d, "targets/2/dtype", "I64");
    tear_down(&f);
}

static void a_result_brings_figures_counts_and_digests(void **state)
{
    (void)state;
    struct fixture f;
    struct nw_weights *weights = NULL;
    struct nw_result *result = NULL;
    struct nw_tensor tensor;
    char crc[9];
    set_up(&f);
    f.options.dtype = NW_F16;
    f.options.flags = NW_LOAD_DIGEST;
    make_plan(&f);
    assert_ok(nw_plan_run(f.plan, NULL, &weights, &f.err), &f.err);
    assert_ok(nw_weights_result(weights, &result, &f.err), &f.err);
    write_plan(&f, 0, result); /* the digest brings the targets along */
    struct nwt_document *d = &f.document;
    assert_int_equal(nw_weights_tensor(weights, 0, &tensor), NW_OK);
    (void)snprintf(crc, sizeof crc, "%08lx",
                   (unsigned long)nwi_crc32(0, tensor.data, tensor.nbytes));
    assert_at(d, "targets/0/crc32", crc);
    assert_at(d, "targets/0/overflow", "1");
    assert_at(d, "targets/0/flushed", "1");
    assert_at(d, "targets/1/overflow", "-");
    assert_at(d, "result/overflow", "1");
    assert_at(d, "result/flushed", "1");
    assert_at(d, "result/overflowed", "[1]");
    assert_at(d, "result/overflowed/0/name", "a.weight");
    assert_at(d, "written", "-");
    static const char *const there[] = {
        "result/seconds",        "result/read_bytes",     "result/backend",
        "result/threads",        "result/peak_bytes",     "result/predicted_peak_bytes",
        "result/baseline_bytes", "result/rss_peak_bytes",
    };
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        assert_non_null(nwt_at(d, there[i]));
    nw_result_free(result);
    nw_weights_free(weights);
    tear_down(&f);
}

static void a_conversion_names_what_it_wrote(void **state)
{
    (void)state;
    struct fixture f;
    struct nw_result *result = NULL;
    char *folder = nwt_folder();
    char *path = nwt_path(folder, "out.safetensors");
    set_up(&f);
    f.options.flags = NW_LOAD_TO_FILE;
    make_plan(&f);
    assert_ok(nw_plan_write(f.plan, path, NULL, NULL, &result, &f.err), &f.err);
    write_plan(&f, 0, result);
    assert_at(&f.document, "written", "[1]");
    assert_at(&f.document, "written/0/name", "out.safetensors");
    assert_at(&f.document, "written/0/tensors", "3");
    nw_result_free(result);
    free(path);
    nwt_remove(folder);
    tear_down(&f);
}

static void a_refused_plan_shows_why(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    f.options.budget_bytes = 1;
    assert_code(nw_plan_create(f.ckpt, &f.options, &f.plan, &f.err), NW_E_BUDGET,
                &f.err);
    const struct nw_plan *plan = f.plan;
    assert_non_null(plan);
    /* The same struct may take the failure in and an error out. */
    assert_int_equal(nw_plan_json(&plan, 1, 0, NULL, &f.err, nwt_document_write,
                                  &f.document, &f.err),
                     NW_OK);
    nwt_document_parse(&f.document);
    assert_at(&f.document, "error/code", "BUDGET");
    assert_at(&f.document, "error/offset", "null");
    assert_at(&f.document, "error/file", "null");
    assert_at(&f.document, "error/all", "[1]");
    assert_at(&f.document, "report/wanted", "3");
    tear_down(&f);
}

static void several_plans_have_one_total(void **state)
{
    (void)state;
    struct fixture f;
    const char *const only_a[] = {"a.*"};
    const char *const only_ids[] = {"ids"};
    struct nw_plan *other = NULL;
    set_up(&f);
    f.options.only = only_a;
    f.options.n_only = 1;
    f.options.dtype = NW_BF16;
    make_plan(&f);
    f.options.only = only_ids;
    assert_ok(nw_plan_create(f.ckpt, &f.options, &other, &f.err), &f.err);
    const struct nw_plan *const plans[] = {f.plan, other};
    struct nw_cost costs[2];
    nw_plan_cost(plans[0], &costs[0]);
    nw_plan_cost(plans[1], &costs[1]);
    assert_ok(nw_plan_json(plans, 2, NW_PLAN_JSON_TARGETS, NULL, NULL,
                           nwt_document_write, &f.document, &f.err),
              &f.err);
    nwt_document_parse(&f.document);
    assert_at(&f.document, "plans", "[2]");
    assert_at(&f.document, "plans/0/targets", "[2]");
    assert_at(&f.document, "plans/1/targets/0/name", "ids");
    assert_at(&f.document, "plans/1/report/loaded", "1");
    assert_at(&f.document, "cost/final_bytes", "20");
    assert_int_equal(costs[0].final_bytes + costs[1].final_bytes, 20);
    assert_non_null(nwt_at(&f.document, "machine"));
    assert_non_null(nwt_at(&f.document, "fits"));
    nw_plan_free(other);
    tear_down(&f);
}

static int refuse(void *ctx, const char *text, size_t size)
{
    (void)ctx;
    (void)text;
    (void)size;
    return 1;
}

static void wrong_calls_and_a_full_receiver(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f);
    make_plan(&f);
    const struct nw_plan *plan = f.plan;
    const struct nw_plan *none = NULL;
    assert_code(nw_plan_json(&plan, 1, 0, NULL, NULL, refuse, NULL, &f.err),
                NW_E_CANCELLED, &f.err);
    assert_code(nw_plan_json(&plan, 0, 0, NULL, NULL, refuse, NULL, &f.err), NW_E_ARG,
                &f.err);
    assert_code(nw_plan_json(&none, 1, 0, NULL, NULL, refuse, NULL, &f.err), NW_E_ARG,
                &f.err);
    assert_code(nw_plan_json(&plan, 1, 0, NULL, NULL, NULL, NULL, &f.err), NW_E_ARG,
                &f.err);
    tear_down(&f);
}

static void accessors_stay_inside(void **state)
{
    (void)state;
    struct fixture f;
    struct nw_target target;
    struct nw_part part;
    struct nw_report report;
    set_up(&f);
    make_plan(&f);
    assert_int_equal(nw_plan_target_count(f.plan), 3);
    assert_int_equal(nw_plan_target(f.plan, 2, &target), NW_OK);
    assert_string_equal(target.name, "ids");
    assert_int_equal(target.nbytes, 8);
    assert_int_equal(nw_plan_part(f.plan, 2, 0, &part), NW_OK);
    assert_int_equal(part.shape[0], 1);
    assert_int_equal(nw_plan_target(f.plan, 3, &target), NW_E_ARG);
    assert_int_equal(nw_plan_part(f.plan, 2, 1, &part), NW_E_ARG);
    assert_int_equal(nw_plan_part(f.plan, 3, 0, &part), NW_E_ARG);
    nw_plan_report(f.plan, &report);
    assert_int_equal(report.wanted, 3);
    assert_int_equal(report.harmless, 1);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_tells_everything),
        cmocka_unit_test(targets_come_on_request),
        cmocka_unit_test(a_result_brings_figures_counts_and_digests),
        cmocka_unit_test(a_conversion_names_what_it_wrote),
        cmocka_unit_test(a_refused_plan_shows_why),
        cmocka_unit_test(several_plans_have_one_total),
        cmocka_unit_test(wrong_calls_and_a_full_receiver),
        cmocka_unit_test(accessors_stay_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
