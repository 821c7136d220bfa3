/* SPDX-License-Identifier: Apache-2.0
 * Where a file meets what is wanted: every class of targets and of sources, what the
 * policies make of them, and what matching costs. */
#include "layout_meeting.h"

#include "base/error.h"
#include "base/memory.h"
#include "layout/match.h"
#include "model/model.h"

static void with(const char *file, const char *table, void (*check)(struct meeting *m))
{
    struct meeting *m = malloc(sizeof *m);
    assert_non_null(m);
    meeting_begin(m, file, table);
    check(m);
    meeting_end(m);
    free(m);
}

/* ---- targets ---- */

static void check_tied(struct meeting *m)
{
    assert_meets(m, NW_OK, "loaded 1, tied 1");
    assert_listed(m, "report/tied/0", "b");
}

static void check_tied_twice(struct meeting *m)
{
    assert_meets(m, NW_OK, "loaded 1, tied 1, harmless 1");
    assert_listed(m, "report/harmless/0/name", "b");
    assert_listed(m, "report/harmless/0/reason",
                  "it shares the memory of another tensor");
}

/* The file has the second name only: its values are those of the first. */
static void check_tied_other(struct meeting *m)
{
    struct nw_target target;
    assert_meets(m, NW_OK, "loaded 1, tied 1");
    assert_int_equal(nw_plan_target_count(m->plan), 1);
    assert_int_equal(nw_plan_target(m->plan, 0, &target), NW_OK);
    assert_string_equal(target.name, "a");
}

static void check_tied_absent(struct meeting *m)
{
    assert_meets(m, NW_E_MISSING, "loaded 1, tied 1, missing 1");
    assert_string_equal(m->err.tensor, "a");
}

static void tied_tensors_are_one(void **state)
{
    (void)state;
    with("a[2]", "a[2] b[2]=0", check_tied);
    with("b[2]", "a[2] b[2]=0", check_tied_other);
    with("a[2] b[2]", "a[2] b[2]=0", check_tied_twice);
    with("b[2] a[2]", "a[2] b[2]=0", check_tied_twice);
    with("c[1]", "a[2] b[2]=0 c[1]", check_tied_absent);
}

static void check_computed(struct meeting *m)
{
    assert_meets(m, NW_OK, "loaded 1, by rule 1, harmless 1");
    assert_listed(m, "report/by_rule/0", "pos");
    assert_listed(m, "report/harmless/0/name", "pos");
    assert_listed(m, "report/harmless/0/reason", "the model computes it itself");
}

/* A buffer that the module computes is not read, not even in another shape. */
static void what_the_module_computes_is_not_read(void **state)
{
    (void)state;
    with("a[1] pos[4]", "a[1] pos[4]~", check_computed);
    with("a[1] pos[9]", "a[1] pos[4]~", check_computed);
}

static void check_mismatch(struct meeting *m)
{
    assert_meets(m, NW_E_MISMATCH, "mismatched 1");
    assert_string_equal(m->err.tensor, "a");
    m->options.flags = NW_LOAD_IGNORE_MISMATCHED; /* left out then */
    assert_meets(m, NW_OK, "mismatched 1");
    assert_int_equal(nw_plan_target_count(m->plan), 0);
}

/* The same number of elements is not the same shape. */
static void another_shape_is_a_mismatch(void **state)
{
    (void)state;
    with("a[2,3]", "a[3,2]", check_mismatch);
    with("a[6]", "a[2,3]", check_mismatch);
    with("a[1]", "a[]", check_mismatch);
    with("a[]", "a[1]", check_mismatch);
    with("a[0,3]", "a[0,4]", check_mismatch);
}

/* ---- policies ---- */

static void check_missing(struct meeting *m)
{
    static const char *const globs[] = {"b.*", "nothing"};
    assert_meets(m, NW_E_MISSING, "loaded 1, missing 2");
    assert_string_equal(m->err.message,
                        "2 wanted tensors are not in the file, first \"b.x\"");
    assert_string_equal(m->err.tensor, "");
    m->options.missing = NW_MISSING_ALLOW;
    assert_meets(m, NW_OK, "loaded 1, missing 2");
    assert_int_equal(nw_plan_target_count(m->plan), 1);
    m->options.missing = NW_MISSING_ZERO;
    assert_meets(m, NW_OK, "loaded 1, missing 2, initialised 2");
    assert_int_equal(nw_plan_target_count(m->plan), 3);
    m->options.missing = NW_MISSING_INIT;
    assert_meets(m, NW_E_ARG, "");
    assert_string_equal(m->err.tensor, "c");
    m->options.missing = NW_MISSING_ERROR;
    m->options.ignore = globs;
    m->options.n_ignore = 2;
    assert_meets(m, NW_E_MISSING, "loaded 1, by rule 1, missing 1");
    assert_string_equal(m->err.tensor, "c");
    m->options.missing = NW_MISSING_ALLOW;
    assert_meets(m, NW_OK, "loaded 1, by rule 1, missing 1");
}

static void missing_is_as_the_caller_says(void **state)
{
    (void)state;
    with("a[1]", "a[1] b.x[2]0 c[2]", check_missing);
}

static void check_unexpected(struct meeting *m)
{
    static const char *const globs[] = {"x*"};
    m->options.ignore = globs;
    m->options.n_ignore = 1;
    m->options.unexpected = NW_UNEXPECTED_ERROR;
    assert_meets(m, NW_E_UNEXPECTED, "loaded 1, unexpected 1, harmless 1");
    assert_listed(m, "report/harmless/0/name", "x");
    m->options.n_ignore = 0;
    m->options.unexpected = NW_UNEXPECTED_WARN;
    assert_meets(m, NW_OK, "loaded 1, unexpected 2");
    assert_listed(m, "report/unexpected/0", "y");
    assert_listed(m, "report/unexpected/1", "x");
    m->options.unexpected = NW_UNEXPECTED_ERROR;
    assert_meets(m, NW_E_UNEXPECTED, "loaded 1, unexpected 2");
    assert_string_equal(m->err.message,
                        "2 tensors of the file are not wanted, first \"y\"");
    m->options.unexpected = NW_UNEXPECTED_IGNORE;
    assert_meets(m, NW_OK, "loaded 1, harmless 2");
    assert_listed(m, "report/harmless/0/reason",
                  "nobody wants it, and that is ignored");
}

static void unexpected_is_as_the_caller_says(void **state)
{
    (void)state;
    with("y[1] a[1] x[1]", "a[1]", check_unexpected);
}

/* `only` and `drop` narrow both sides: what was not asked for is neither missing nor
 * unexpected. */
static void check_only(struct meeting *m)
{
    static const char *const only[] = {"a*"};
    m->options.only = only;
    m->options.n_only = 1;
    m->options.unexpected = NW_UNEXPECTED_ERROR;
    assert_meets(m, NW_E_MISSING, "loaded 1, missing 1");
    assert_string_equal(m->err.tensor, "a2");
    m->options.n_only = 0;
    m->options.drop = only;
    m->options.n_drop = 1;
    assert_meets(m, NW_E_UNEXPECTED, "loaded 1, unexpected 1");
    assert_string_equal(m->err.tensor, "junk");
}

static void what_was_not_asked_for_is_in_no_class(void **state)
{
    (void)state;
    with("a1[1] b[1] junk[1]", "a1[1] a2[1] b[1]", check_only);
}

/* Renaming is the last word: policies and reports speak of the new names. */
static void check_renamed(struct meeting *m)
{
    static const char *const rename[] = {"old.*=new.*"};
    struct nw_target target;
    m->options.rename = rename;
    m->options.n_rename = 1;
    assert_meets(m, NW_E_MISSING, "loaded 1, missing 1");
    assert_string_equal(m->err.tensor, "new.b");
    m->options.missing = NW_MISSING_ALLOW;
    assert_meets(m, NW_OK, "loaded 1, missing 1");
    assert_int_equal(nw_plan_target(m->plan, 0, &target), NW_OK);
    assert_string_equal(target.name, "new.a");
}

static void reports_speak_of_the_names_on_the_way_out(void **state)
{
    (void)state;
    with("old.a[1]", "old.a[1] old.b[1]", check_renamed);
}

/* ---- the stored side: what rules drop, and what they do not know ---- */

static void check_rules(struct meeting *m)
{
    static const char text[] = "x.{p} => {p}\n"
                               "drop junk.{*} note=left from training\n";
    assert_ok(nw_rules_from_text(text, strlen(text), NULL, &m->options.rules, &m->err),
              &m->err);
    assert_meets(m, NW_OK, "loaded 1, unexpected 1, harmless 1");
    assert_listed(m, "report/harmless/0/name", "junk.a");
    assert_listed(m, "report/harmless/0/reason", "left from training");
    assert_listed(m, "report/unexpected/0", "y.a");
    m->options.unexpected = NW_UNEXPECTED_IGNORE;
    assert_meets(m, NW_OK, "loaded 1, harmless 2");
    nw_rules_free(m->options.rules);
}

static void dropped_is_harmless_unmatched_is_not(void **state)
{
    (void)state;
    with("x.a[1] junk.a[1] y.a[1]", "a[1]", check_rules);
}

/* ---- what it costs ---- */

/* n names that have a long beginning in common with what rules ask for, each fitting no
 * rule until its very end. */
struct crowd {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nwi_header header;
    struct nwi_header_row *rows;
    struct nw_error err;
};

#define BEGINNING "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a"

static void make_crowd(struct crowd *crowd, size_t n)
{
    static const uint64_t one = 1;
    memset(crowd, 0, sizeof *crowd);
    crowd->memory = nwi_memory_new(NULL);
    nwi_arena_init(&crowd->arena, crowd->memory);
    crowd->rows = nwi_arena_zalloc(&crowd->arena, n * sizeof *crowd->rows);
    assert_non_null(crowd->rows);
    for (size_t i = 0; i < n; i++) {
        struct nwi_header_row *row = &crowd->rows[i];
        row->name = nwi_arena_printf(&crowd->arena, BEGINNING ".%zu.b", i);
        assert_non_null(row->name);
        row->name_size = strlen(row->name);
        row->shape = &one;
        row->rank = 1;
        row->source = NW_NONE;
    }
    assert_ok(
        nwi_header_init(&crowd->header, crowd->rows, n, crowd->memory, &crowd->err),
        &crowd->err);
}

static void free_crowd(struct crowd *crowd)
{
    nwi_header_release(&crowd->header);
    nwi_arena_release(&crowd->arena);
    nwi_memory_release(crowd->memory);
}

static uint64_t steps_of(size_t n, const struct nwi_rules *rules)
{
    struct crowd crowd;
    struct nwi_mapping_of mapping;
    make_crowd(&crowd, n);
    assert_ok(nwi_rules_apply(rules, NWI_TO_DIFFUSERS, &crowd.header, NULL, NULL,
                              &crowd.arena, &mapping, &crowd.err),
              &crowd.err);
    assert_int_equal(mapping.n_outputs, rules ? 0 : n);
    uint64_t steps = mapping.steps;
    free_crowd(&crowd);
    return steps;
}

static const struct nwi_rule hostile_rules[] = {
    NWI_MAP("{a:a.a.a.a.a|a.a.a.a|a.a.a}.{b:a.a.a.a|a.a.a}.{p}.c",
            "x.{a:1|2|3}.{b:1|2}.{p}"),
    NWI_MAP(BEGINNING ".{i}.c", "y.{i}"),
    NWI_MAP("{^}.{b:a.a|a}.{i}.c", "{^}.z.{b:1|2}.{i}"),
    {0},
};

static const struct nwi_rules hostile = {.rules = hostile_rules};

/* Twenty times the names, at most twenty times the steps (and a little). */
static void rules_are_linear_in_the_names(void **state)
{
    (void)state;
    uint64_t few = steps_of(10000, &hostile);
    uint64_t many = steps_of(200000, &hostile);
    assert_in_range(few, 1, 10000 * 400);
    assert_in_range(many, 20, few * 21);
}

/* All of them missing on one side and unexpected on the other, and the hint for a prefix
 * looked for. */
static size_t match_crowd(size_t n)
{
    struct crowd crowd;
    struct nwi_mapping_of mapping;
    struct nwi_bindings out = {0};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    struct nw_wanted_tensor *wanted = calloc(n, sizeof *wanted);
    char(*names)[32] = calloc(n, sizeof *names);
    struct nw_model_table table = {
        .size = sizeof table, .tensors = wanted, .n_tensors = n};
    struct nw_model *model = NULL;
    assert_non_null(wanted);
    assert_non_null(names);
    make_crowd(&crowd, n);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(names[i], sizeof *names, "%zu.c", i);
        wanted[i] = (struct nw_wanted_tensor){.name = names[i],
                                              .shape = crowd.rows[i].shape,
                                              .rank = 1,
                                              .tied_to = NW_NONE};
    }
    assert_ok(nwi_model_from_table(&table, crowd.memory, &model, &crowd.err),
              &crowd.err);
    assert_ok(nwi_rules_apply(NULL, NWI_TO_DIFFUSERS, &crowd.header, NULL, NULL,
                              &crowd.arena, &mapping, &crowd.err),
              &crowd.err);
    const struct nwi_match_input input = {.given = &crowd.header,
                                          .mapping = &mapping,
                                          .model = model,
                                          .options = &options,
                                          .arena = &crowd.arena};
    assert_ok(nwi_match(&input, &out, &crowd.err), &crowd.err);
    assert_int_equal(out.refused, NW_E_MISSING);
    assert_int_equal(out.unexpected.n, n);
    size_t missing = out.missing.n;
    nw_model_free(model);
    free_crowd(&crowd);
    free(wanted);
    free(names);
    return missing;
}

static void a_crowd_meets_a_crowd(void **state)
{
    (void)state;
    assert_int_equal(match_crowd(10000), 10000);
    assert_int_equal(match_crowd(200000), 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tied_tensors_are_one),
        cmocka_unit_test(what_the_module_computes_is_not_read),
        cmocka_unit_test(another_shape_is_a_mismatch),
        cmocka_unit_test(missing_is_as_the_caller_says),
        cmocka_unit_test(unexpected_is_as_the_caller_says),
        cmocka_unit_test(what_was_not_asked_for_is_in_no_class),
        cmocka_unit_test(reports_speak_of_the_names_on_the_way_out),
        cmocka_unit_test(dropped_is_harmless_unmatched_is_not),
        cmocka_unit_test(rules_are_linear_in_the_names),
        cmocka_unit_test(a_crowd_meets_a_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
