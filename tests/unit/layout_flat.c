/* SPDX-License-Identifier: Apache-2.0
 * Flat bindings and the caller's renaming, on catalogs made by hand. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "layout/bindings.h"
#include "support/support.h"

static const uint64_t shape_23[] = {2, 3};

/* A catalog of one component, and the arena that bindings go to. */
struct world {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nwi_component component;
    struct nw_checkpoint ckpt;
    struct nw_error err;
};

static void begin(struct world *world, struct nwi_stored *tensors, size_t n,
                  const struct nw_allocator *allocator)
{
    memset(world, 0, sizeof *world);
    world->memory = nwi_memory_new(allocator);
    nwi_arena_init(&world->arena, world->memory);
    world->component.n_tensors = (uint32_t)n;
    world->ckpt.components = &world->component;
    world->ckpt.n_components = 1;
    world->ckpt.tensors = tensors;
    world->ckpt.n_tensors = n;
    nwi_error_clear(&world->err);
}

static void end(struct world *world)
{
    nwi_arena_release(&world->arena);
    nwi_memory_release(world->memory);
}

static struct nwi_stored stored(const char *name)
{
    return (struct nwi_stored){
        .name = name,
        .name_size = (uint32_t)strlen(name),
        .shape = shape_23,
        .rank = 2,
        .dtype = NW_F32,
        .dtype_text = "F32",
        .nbytes = 24,
    };
}

/* "a,b,c" of the names that come out, or the code that it failed with. The caller frees
 * it. */
static char *bind(const char *const *names, size_t n,
                  const struct nw_load_options *options)
{
    struct nwi_stored tensors[8];
    struct world world;
    struct nwi_bindings out;
    char *text = calloc(1, 1024);
    for (size_t i = 0; i < n; i++)
        tensors[i] = stored(names[i]);
    begin(&world, tensors, n, NULL);
    int code = nwi_bind_flat(&world.ckpt, 0, options, &world.arena, &out, &world.err);
    assert_int_equal(code, world.err.code);
    for (size_t i = 0; code == NW_OK && i < out.n; i++) {
        assert_int_equal(strlen(out.items[i].name), out.items[i].name_size);
        (void)snprintf(text + strlen(text), 1024 - strlen(text), "%s%s", i ? "," : "",
                       out.items[i].name);
    }
    if (code != NW_OK)
        (void)snprintf(text, 1024, "%s: %s", nw_code_name(code), world.err.message);
    end(&world);
    return text;
}

static const char *const three[] = {"a.0.w", "a.1.w", "b"};

static void expect(const struct nw_load_options *options, const char *expected)
{
    char *got = bind(three, 3, options);
    assert_string_equal(got, expected);
    free(got);
}

static void names_shapes_and_views_are_those_stored(void **state)
{
    (void)state;
    struct nwi_stored tensors[] = {stored("x"), stored("scalar")};
    tensors[1].rank = 0;
    struct world world;
    struct nwi_bindings out;
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    begin(&world, tensors, 2, NULL);
    assert_ok(nwi_bind_flat(&world.ckpt, 0, &options, &world.arena, &out, &world.err),
              &world.err);
    assert_int_equal(out.n, 2);
    assert_int_equal(out.n_harmless, 0);
    assert_ptr_equal(out.items[0].name, tensors[0].name);
    assert_int_equal(out.items[0].rank, 2);
    assert_int_equal(out.items[0].shape[1], 3);
    assert_int_equal(out.items[0].n_parts, 1);
    const struct nw_part *part = out.items[0].parts;
    assert_int_equal(part->source, 0);
    assert_int_equal(part->start, 0);
    assert_int_equal(part->strides[0], 3);
    assert_int_equal(part->strides[1], 1);
    assert_int_equal(out.items[1].rank, 0);
    assert_int_equal(out.items[1].parts[0].source, 1);
    end(&world);
}

static void only_the_components_tensors_are_bound(void **state)
{
    (void)state;
    struct nwi_stored tensors[] = {stored("x"), stored("y"), stored("z")};
    struct world world;
    struct nwi_bindings out;
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    begin(&world, tensors, 3, NULL);
    world.component.first_tensor = 1;
    world.component.n_tensors = 1;
    assert_ok(nwi_bind_flat(&world.ckpt, 0, &options, &world.arena, &out, &world.err),
              &world.err);
    assert_int_equal(out.n, 1);
    assert_string_equal(out.items[0].name, "y");
    assert_int_equal(out.items[0].parts[0].source, 1);
    end(&world);
}

static void rules_capture_and_the_first_match_wins(void **state)
{
    (void)state;
    const char *const rules[] = {"a.*.w=block.*.weight", "a.*=never.*", "b=*lone"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.rename = rules;
    options.n_rename = 2;
    expect(&options, "block.0.weight,block.1.weight,b");
    options.prefix = "p.";
    expect(&options, "p.block.0.weight,p.block.1.weight,p.b");
    options.n_rename = 0;
    expect(&options, "p.a.0.w,p.a.1.w,p.b");
}

static void captures_are_taken_in_order(void **state)
{
    (void)state;
    const char *const rules[] = {"*.*.w=[*](*)", "b=="};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.rename = rules;
    options.n_rename = 2;
    expect(&options, "[a](0),[a](1),=");
    const char *const fewer[] = {"*.*.w=one.*"};
    options.rename = fewer;
    options.n_rename = 1;
    options.drop = (const char *const[]){"b"};
    options.n_drop = 1;
    char *got = bind(three, 3, &options);
    assert_string_equal(
        got, "DUPLICATE: renaming makes both \"a.0.w\" and \"a.1.w\" to \"one.a\"");
    free(got);
}

static void bad_rules_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        const char *expected;
    } rows[] = {
        {"a.b", "ARG: rename rule \"a.b\" has no \"=\" (GLOB=REPLACEMENT)"},
        {"a*=*.*",
         "ARG: rename rule \"a*=*.*\" has 2 stars in its replacement and 1 in its "
         "pattern"},
        {"*********=*********",
         "ARG: rename rule \"*********=*********\" has 9 stars in its "
         "replacement, at most 8 are possible"},
        {NULL, "ARG: a rename rule is NULL"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nw_load_options options = NW_OPTIONS_INIT(options);
        options.rename = &rows[i].rule;
        options.n_rename = 1;
        expect(&options, rows[i].expected);
    }
}

static void only_and_drop_see_the_new_names(void **state)
{
    (void)state;
    const char *const only[] = {"p.a.*", "p.b"};
    const char *const drop[] = {"*.1.*", "nothing"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.prefix = "p.";
    options.only = only;
    options.n_only = 1;
    expect(&options, "p.a.0.w,p.a.1.w");
    options.drop = drop;
    options.n_drop = 2;
    expect(&options, "p.a.0.w");
    options.n_only = 2;
    expect(&options, "p.a.0.w,p.b");
    options.prefix = NULL;
    expect(&options, "NOT_FOUND: no tensor's name matches \"p.a.*\" (only)");
}

/* A glob that only finds what an earlier one has found is no mistake; nor is one whose
 * finds are all dropped. */
static void each_glob_of_only_must_match_something(void **state)
{
    (void)state;
    const char *const only[] = {"*", "b", "typo"};
    const char *const drop[] = {"b"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.only = only;
    options.n_only = 2;
    options.drop = drop;
    options.n_drop = 1;
    expect(&options, "a.0.w,a.1.w");
    options.n_only = 3;
    expect(&options, "NOT_FOUND: no tensor's name matches \"typo\" (only)");
}

static void unknown_types_are_left_out_with_the_reason(void **state)
{
    (void)state;
    struct nwi_stored tensors[] = {stored("x"), stored("odd"), stored("y")};
    tensors[1].dtype = NW_DTYPE_UNKNOWN;
    tensors[1].dtype_text = "F7\n";
    struct world world;
    struct nwi_bindings out;
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    begin(&world, tensors, 3, NULL);
    assert_ok(nwi_bind_flat(&world.ckpt, 0, &options, &world.arena, &out, &world.err),
              &world.err);
    assert_int_equal(out.n, 2);
    assert_int_equal(out.items[1].parts[0].source, 2);
    assert_int_equal(out.n_harmless, 1);
    assert_string_equal(out.harmless[0].name, "odd");
    assert_string_equal(out.harmless[0].reason, "unknown dtype \"F7\\x0a\"");
    end(&world);
}

static void a_name_may_hold_a_nul(void **state)
{
    (void)state;
    struct nwi_stored tensors[] = {stored("x"), stored("x")};
    tensors[0].name = "x\0y";
    tensors[0].name_size = 3;
    const char *const rules[] = {"x*=z*"};
    struct world world;
    struct nwi_bindings out;
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.rename = rules;
    options.n_rename = 1;
    begin(&world, tensors, 2, NULL);
    assert_ok(nwi_bind_flat(&world.ckpt, 0, &options, &world.arena, &out, &world.err),
              &world.err);
    assert_int_equal(out.items[0].name_size, 3);
    assert_memory_equal(out.items[0].name, "z\0y", 4);
    assert_int_equal(out.items[1].name_size, 1);
    end(&world);
}

static void many_tensors_are_no_trouble(void **state)
{
    (void)state;
    enum { N = 200000, WIDTH = 32 };
    struct nwi_stored *tensors = calloc(N, sizeof *tensors);
    char *names = calloc(N, WIDTH);
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names + i * WIDTH, WIDTH, "blocks.%zu.weight", i);
        tensors[i] = stored(names + i * WIDTH);
    }
    const char *const rules[] = {"blocks.*.weight=layers.*.w"};
    struct world world;
    struct nwi_bindings out;
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.rename = rules;
    options.n_rename = 1;
    begin(&world, tensors, N, NULL);
    assert_ok(nwi_bind_flat(&world.ckpt, 0, &options, &world.arena, &out, &world.err),
              &world.err);
    assert_int_equal(out.n, N);
    assert_string_equal(out.items[N - 1].name, "layers.199999.w");
    end(&world);
    free(names);
    free(tensors);
}

static void every_refused_allocation_is_nomem(void **state)
{
    (void)state;
    struct nwi_stored tensors[] = {stored("a.x"), stored("a.y")};
    const char *const rules[] = {"a.*=b.*"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.rename = rules;
    options.n_rename = 1;
    int code = NW_E_NOMEM;
    for (long at = 1; code == NW_E_NOMEM; at++) {
        struct nwt_allocator counter = {.fail_at = at};
        struct nw_allocator allocator = nwt_failing_allocator(&counter);
        struct world world;
        struct nwi_bindings out;
        begin(&world, tensors, 2, &allocator);
        code = nwi_bind_flat(&world.ckpt, 0, &options, &world.arena, &out, &world.err);
        assert_int_equal(code, world.err.code);
        end(&world);
        assert_int_equal(counter.live, 0);
        assert_true(at < 100);
    }
    assert_int_equal(code, NW_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_shapes_and_views_are_those_stored),
        cmocka_unit_test(only_the_components_tensors_are_bound),
        cmocka_unit_test(rules_capture_and_the_first_match_wins),
        cmocka_unit_test(captures_are_taken_in_order),
        cmocka_unit_test(bad_rules_are_named),
        cmocka_unit_test(only_and_drop_see_the_new_names),
        cmocka_unit_test(each_glob_of_only_must_match_something),
        cmocka_unit_test(unknown_types_are_left_out_with_the_reason),
        cmocka_unit_test(a_name_may_hold_a_nul),
        cmocka_unit_test(many_tensors_are_no_trouble),
        cmocka_unit_test(every_refused_allocation_is_nomem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
