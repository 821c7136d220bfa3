/* SPDX-License-Identifier: Apache-2.0
 * Skeletons from a caller's table: what is refused, that everything is copied, and the
 * complete report of a file that does not fit. */
#include "layout_meeting.h"

static void with(const char *file, const char *table, void (*check)(struct meeting *m))
{
    struct meeting *m = malloc(sizeof *m);
    assert_non_null(m);
    meeting_begin(m, file, table);
    check(m);
    meeting_end(m);
    free(m);
}

/* ---- the table ---- */

static void refuse_table(struct meeting *m, int code, const char *part)
{
    assert_code(nw_model_from_table(&m->table, NULL, &m->model, &m->err), code,
                &m->err);
    assert_null(m->model);
    if (!strstr(m->err.message, part) && strcmp(m->err.tensor, part) != 0)
        fail_msg("\"%s\" is not in: %s (%s)", part, m->err.message, m->err.tensor);
}

static void check_refused(struct meeting *m)
{
    m->rows[1].name = NULL;
    refuse_table(m, NW_E_ARG, "tensor 1 of the table has no name");
    m->rows[1].name = "a";
    refuse_table(m, NW_E_ARG, "a");
    m->rows[1].name = "b";
    m->rows[1].shape = NULL;
    refuse_table(m, NW_E_ARG, "b has no shape");
    m->rows[1].shape = m->shapes[1];
    m->rows[1].kind = NW_NON_PERSISTENT + 1;
    refuse_table(m, NW_E_ARG, "b has an unknown kind");
    m->rows[1].kind = NW_PARAMETER;
    m->rows[1].fill = NW_FILL_ARANGE + 1;
    refuse_table(m, NW_E_ARG, "b has an unknown kind, fill");
    m->rows[1].fill = NW_FILL_NONE;
    m->rows[1].dtype = -2;
    refuse_table(m, NW_E_ARG, "b has an unknown kind, fill or dtype");
    m->rows[1].dtype = NW_DTYPE_UNKNOWN;
    refuse_table(m, NW_E_ARG, "b has an unknown kind, fill or dtype");
    m->rows[1].dtype = NW_DTYPE_AUTO;
    m->table.n_tensors = ((size_t)1 << 20) + 1;
    refuse_table(m, NW_E_LIMIT, "1048577 tensors");
    m->table.n_tensors = 2;
    m->table.tensors = NULL;
    refuse_table(m, NW_E_ARG, "NULL");
}

static void what_is_no_table(void **state)
{
    (void)state;
    with("a[1]", "a[1] b[2]", check_refused);
}

static void check_ties(struct meeting *m)
{
    m->rows[1].tied_to = 1;
    refuse_table(m, NW_E_ARG, "b is tied to row 1, which is no earlier one");
    m->rows[1].tied_to = 7;
    refuse_table(m, NW_E_ARG, "b is tied to row 7");
    m->rows[1].tied_to = 0;
    refuse_table(m, NW_E_ARG, "b is tied to a tensor of another shape");
    m->shapes[1][1] = 3; /* of the same rank now, but not the same */
    m->rows[1].rank = 2;
    refuse_table(m, NW_E_ARG, "another shape");
    m->shapes[1][1] = 2;
    assert_ok(nw_model_from_table(&m->table, NULL, &m->model, &m->err), &m->err);
}

static void check_scalar_ties(struct meeting *m)
{
    m->rows[0].shape = m->rows[1].shape = NULL;
    assert_ok(nw_model_from_table(&m->table, NULL, &m->model, &m->err), &m->err);
}

static void ties_lead_back_to_the_same_shape(void **state)
{
    (void)state;
    with("a[]", "a[] b[]=0", check_scalar_ties);
    with("a[2,2]", "a[2,2] b[2]", check_ties);
}

static void check_copied(struct meeting *m)
{
    char block[] = "blocks.0";
    char fp32[] = "norm";
    char klass[] = "Mine";
    const char *blocks[] = {block, NULL};
    const char *keep[] = {fp32, NULL};
    struct nw_wanted_tensor got;
    m->table.klass = klass;
    m->table.blocks = blocks;
    m->table.keep_fp32 = keep;
    assert_ok(nw_model_from_table(&m->table, NULL, &m->model, &m->err), &m->err);
    memset(m->names, 'x', sizeof m->names);
    memset(m->shapes, 0, sizeof m->shapes);
    memset(m->rows, 0xFF, sizeof m->rows);
    block[0] = fp32[0] = klass[0] = 'x';
    blocks[0] = keep[0] = NULL;
    assert_string_equal(nw_model_class(m->model), "Mine");
    assert_string_equal(nw_model_block(m->model, 0), "blocks.0");
    assert_null(nw_model_block(m->model, 1));
    assert_string_equal(nw_model_keep_fp32(m->model, 0), "norm");
    assert_null(nw_model_keep_fp32(m->model, 1));
    assert_null(nw_model_unknown_key(m->model, 0));
    assert_int_equal(nw_model_count(m->model), 2);
    assert_int_equal(nw_model_tensor(m->model, 1, &got), NW_OK);
    assert_string_equal(got.name, "b");
    assert_int_equal(got.name_size, 1);
    assert_int_equal(got.rank, 2);
    assert_int_equal(got.shape[0], 2);
    assert_int_equal(got.shape[1], 3);
    assert_int_equal(got.tied_to, 0);
    assert_int_equal(got.fill, NW_FILL_ONE);
    assert_int_equal(got.kind, NW_PARAMETER);
    assert_int_equal(nw_model_tensor(m->model, 2, &got), NW_E_ARG);
}

static void everything_is_copied(void **state)
{
    (void)state;
    with("a[1]", "a[2,3] b[2,3]1=0", check_copied);
}

/* ---- the complete report ---- */

#define FILE_OF_REPORT  "a.weight[2,2] b.weight[3] junk[1]"
#define TABLE_OF_REPORT "a.weight[2,2] b.weight[2]0 c.weight[2]1 pos[4]~"

static void check_report(struct meeting *m)
{
    assert_meets(m, NW_E_MISMATCH,
                 "loaded 1, by rule 1, missing 1, mismatched 1, unexpected 1");
    assert_string_equal(m->err.tensor, "b.weight");
    assert_listed(m, "report/wanted", "4");
    assert_listed(m, "report/loaded", "1");
    assert_listed(m, "report/by_rule/0", "pos");
    assert_listed(m, "report/missing/0", "c.weight");
    assert_listed(m, "report/missing", "[1]");
    assert_listed(m, "report/mismatched/0/name", "b.weight");
    assert_listed(m, "report/mismatched/0/stored/0", "3");
    assert_listed(m, "report/mismatched/0/wanted/0", "2");
    assert_listed(m, "report/unexpected/0", "junk");
    struct nw_weights *weights = NULL;
    assert_code(nw_plan_run(m->plan, NULL, &weights, &m->err), NW_E_ARG, &m->err);
    assert_null(weights);
}

static void what_does_not_fit_is_refused_and_reported(void **state)
{
    (void)state;
    with(FILE_OF_REPORT, TABLE_OF_REPORT, check_report);
}

static void assert_values(const struct nw_weights *weights, const char *name,
                          const float *expected, size_t n)
{
    struct nw_tensor tensor;
    struct nw_error err;
    assert_ok(nw_weights_get(weights, 0, name, &tensor, &err), &err);
    assert_int_equal(tensor.dtype, NW_F32);
    assert_int_equal(tensor.nbytes, n * sizeof *expected);
    assert_memory_equal(tensor.data, expected, tensor.nbytes);
}

static void run_and_compare(struct meeting *m, const float *b, const float *c)
{
    static const float a[] = {1, 2, 3, 4};
    struct nw_weights *weights = NULL;
    assert_ok(nw_plan_run(m->plan, NULL, &weights, &m->err), &m->err);
    assert_int_equal(nw_weights_count(weights), 3);
    assert_values(weights, "a.weight", a, 4);
    assert_values(weights, "b.weight", b, 2);
    assert_values(weights, "c.weight", c, 2);
    nw_weights_free(weights);
}

#define TOLERATED                                                                      \
    "loaded 1, by rule 1, missing 1, mismatched 1, initialised 2, unexpected 1"

static void check_tolerant(struct meeting *m)
{
    static const float zeros[] = {0, 0};
    static const float ones[] = {1, 1};
    m->options.flags = NW_LOAD_IGNORE_MISMATCHED;
    m->options.missing = NW_MISSING_INIT;
    assert_meets(m, NW_OK, TOLERATED);
    assert_listed(m, "report/initialised", "[2]");
    run_and_compare(m, zeros, ones);
    m->options.missing = NW_MISSING_ZERO;
    assert_meets(m, NW_OK, TOLERATED);
    run_and_compare(m, zeros, zeros);
}

static void what_is_tolerated_is_initialised_by_its_rule(void **state)
{
    (void)state;
    with(FILE_OF_REPORT, TABLE_OF_REPORT, check_tolerant);
}

static void check_no_rule(struct meeting *m)
{
    m->options.missing = NW_MISSING_INIT;
    assert_meets(m, NW_E_ARG, "");
    assert_string_equal(m->err.tensor, "b");
}

static void without_a_rule_nothing_is_initialised(void **state)
{
    (void)state;
    with("a[1]", "a[1] b[2]", check_no_rule);
}

/* ---- names below a prefix ---- */

static void assert_refusal(struct meeting *m, const char *classes, const char *message)
{
    assert_meets(m, NW_E_MISSING, classes);
    assert_string_equal(m->err.message, message);
}

static void check_more(struct meeting *m)
{
    assert_refusal(
        m, "missing 2, unexpected 3",
        "2 wanted tensors are not in the file, first \"a.weight\"; the names "
        "of the file begin with \"model.\"");
    m->options.unexpected = NW_UNEXPECTED_IGNORE;
    assert_refusal(
        m, "missing 2, harmless 3",
        "2 wanted tensors are not in the file, first \"a.weight\"; the names "
        "of the file begin with \"model.\"");
}

static void check_less(struct meeting *m)
{
    assert_refusal(
        m, "missing 2, unexpected 2",
        "2 wanted tensors are not in the file, first \"net.a.weight\"; the "
        "names of the file lack the \"net.\" that the wanted ones begin with");
}

static void check_no_hint(struct meeting *m)
{
    assert_refusal(m, "missing 3, unexpected 1",
                   "3 wanted tensors are not in the file, first \"a.weight\"");
}

static void check_wrapped(struct meeting *m)
{
    assert_meets(m, NW_OK, "loaded 2");
}

static void a_prefix_is_named(void **state)
{
    (void)state;
    with("model.a.weight[2] model.b[1] model.junk[1]", "a.weight[2] b[1]", check_more);
    with("a.weight[2] b[1]", "net.a.weight[2] net.b[1]", check_less);
    with("x.a.weight[2]", "a.weight[2] b[1] c[1]", check_no_hint); /* chance */
    with("module.a.weight[2] module.b[1]", "a.weight[2] b[1]", check_wrapped);
}

/* ---- what nobody misses ---- */

static void check_lists(struct meeting *m)
{
    static const char *const harmless[] = {"*position_ids", NULL};
    static const char *const optional[] = {"head.*", NULL};
    m->table.harmless = harmless;
    m->table.optional = optional;
    m->options.unexpected = NW_UNEXPECTED_ERROR;
    assert_meets(m, NW_OK, "loaded 1, by rule 1, harmless 1");
}

static void the_tables_lists_count(void **state)
{
    (void)state;
    with("a[1] text.position_ids[1,77]", "a[1] head.weight[2]", check_lists);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_table),
        cmocka_unit_test(ties_lead_back_to_the_same_shape),
        cmocka_unit_test(everything_is_copied),
        cmocka_unit_test(what_does_not_fit_is_refused_and_reported),
        cmocka_unit_test(what_is_tolerated_is_initialised_by_its_rule),
        cmocka_unit_test(without_a_rule_nothing_is_initialised),
        cmocka_unit_test(a_prefix_is_named),
        cmocka_unit_test(the_tables_lists_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
