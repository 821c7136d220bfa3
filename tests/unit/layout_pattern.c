/* SPDX-License-Identifier: Apache-2.0
 * Patterns: what they match, render, refuse, and what hostile names cost. */
#include "layout_scene.h"

#include "layout/pattern.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

struct world {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nw_error err;
};

static int begin(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    world->memory = nwi_memory_new(NULL);
    nwi_arena_init(&world->arena, world->memory);
    nwi_error_clear(&world->err);
    *state = world;
    return 0;
}

static int end(void **state)
{
    struct world *world = *state;
    nwi_arena_release(&world->arena);
    nwi_memory_release(world->memory);
    free(world);
    return 0;
}

/* N = 4 and S = 3; U has no value here. */
static struct nwi_values some_values(void)
{
    struct nwi_values values = {0};
    values.value['N' - 'A'] = 4;
    values.value['S' - 'A'] = 3;
    values.known = (1u << ('N' - 'A')) | (1u << ('S' - 'A'));
    values.declared = values.known | (1u << ('U' - 'A'));
    return values;
}

static struct nwi_pattern compile(struct world *world, const char *text)
{
    struct nwi_values values = some_values();
    struct nwi_pattern pattern;
    assert_ok(nwi_pattern_compile(text, &values, &world->arena, &pattern, &world->err),
              &world->err);
    return pattern;
}

/* What `from` captures of the name, rendered by `to` (part by part, with "|" between); NULL
 * if it does not match, "NOT_FOUND" or "LIMIT" if there is no such name. */
static const char *pass(struct world *world, const char *from, const char *to,
                        const char *name)
{
    struct nwi_pattern a = compile(world, from);
    struct nwi_pattern b = compile(world, to);
    struct nwi_match match = {0};
    static char text[512];
    text[0] = '\0';
    if (!nwi_pattern_match(&a, name, strlen(name), &match))
        return NULL;
    uint32_t n = a.n_parts ? 1 : b.n_parts ? b.n_parts : 1;
    for (uint32_t part = 0; part < n; part++) {
        const char *made = NULL;
        size_t size = 0;
        uint32_t k = match.part == NW_NONE ? part : match.part;
        int code = nwi_pattern_render(&b, &match, k, &world->arena, &made, &size);
        if (code != NW_OK)
            return nw_code_name(code);
        assert_int_equal(strlen(made), size);
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                       part ? "|" : "", made);
    }
    return text;
}

static void names_pass_from_one_side_to_the_other(void **state)
{
    static const struct {
        const char *from, *to, *name, *expected;
    } rows[] = {
        {"a.b", "c", "a.b", "c"},
        {"a.b", "c", "a.bb", NULL},
        {"a.b", "c", "a.", NULL},
        {"", "c", "", "c"},
        {"", "c", "a", NULL},
        {"x.{i}.y", "{i}", "x.17.y", "17"},
        {"x.{i}.y", "{i}", "x.0.y", "0"},
        {"x.{i}.y", "{i}", "x.07.y", NULL},
        {"x.{i}.y", "{i}", "x.00.y", NULL},
        {"x.{i}.y", "{i}", "x.-1.y", NULL},
        {"x.{i}.y", "{i}", "x..y", NULL},
        {"x.{i}.y", "{i}", "x.2147483648.y", "2147483648"},
        {"x.{i}.y", "{i}", "x.2147483649.y", NULL},
        {"x.{i}.y", "{i}", "x.99999999999999999999999.y", NULL},
        {"{i}.{i}", "{i}", "3.3", "3"},
        {"{i}.{i}", "{i}", "3.4", NULL},
        {"{i}.{j}", "{j}.{i}", "3.4", "4.3"},
        /* one capture: solved exactly */
        {"{1+i}", "{i}", "1", "0"},
        {"{1+i}", "{i}", "0", NULL},
        {"{2*i}", "{i}", "6", "3"},
        {"{2*i}", "{i}", "7", NULL},
        {"{2+2*i}", "{i}", "14", "6"},
        {"{N-1-i}", "{i}", "0", "3"},
        {"{N-1-i}", "{i}", "3", "0"},
        {"{N-1-i}", "{i}", "4", NULL},
        {"{i}", "{N-1-i}", "3", "0"},
        {"{i}", "{N-1-i}", "4", "NOT_FOUND"},
        {"{N-1}", "x", "3", "x"},
        {"{N-1}", "x", "2", NULL},
        {"{S+b*S}", "{b}", "9", "2"},
        {"{S-1+b*S}", "{b}", "8", "2"},
        {"{i*2-i}", "{i}", "5", "5"},
        /* two: divided */
        {"{1+b*S+r}", "{b}.{r}", "1", "0.0"},
        {"{1+b*S+r}", "{b}.{r}", "9", "2.2"},
        {"{1+b*S+r}", "{b}.{r}", "0", NULL},
        {"{4*b+r}", "{b}.{r}", "7", "1.3"},
        {"{r+4*b}", "{b}.{r}", "7", "1.3"},
        {"{b}.{r}", "{4*b+r}", "1.3", "7"},
        {"{b}.{r}", "{4*b+r}", "1.4", "NOT_FOUND"},
        {"{b}.{4*b+r}", "{r}", "2.9", "1"},
        {"{b}.{i+b}", "{i}", "2.9", "7"},
        {"{i}", "{N*i}", "2147483648", "LIMIT"},
        {"{i}", "{S*i+N}", "9", "31"},
        /* no value: never */
        {"{U-1-i}", "{i}", "0", NULL},
        {"{i}", "{U-1-i}", "0", "NOT_FOUND"},
        /* alternatives */
        {"{a:x|yy|z}.w", "{a:1|2|3}", "yy.w", "2"},
        {"{a:x|yy|z}.w", "{a:1|2|3}", "y.w", NULL},
        {"n{a:|_c}.w", "{a:x|y}", "n.w", "x"},
        {"n{a:|_c}.w", "{a:x|y}", "n_c.w", "y"},
        {"{a:x|xy}{b:z|yz}", "{a:1|2}{b:1|2}", "xyz", "12"},
        {"{a:x|xy}{b:z|yz}", "{a:1|2}{b:1|2}", "xyyz", "22"},
        {"{a:x|xy}{b:q|yz}", "{a:1|2}{b:1|2}", "xyz", "12"},
        {"{a:1|10}{i}", "{a:x|y}{i}", "100", "y0"},
        {"{a:e|d}.{a:e|d}", "{a:1|2}", "d.d", "2"},
        {"{a:e|d}.{a:e|d}", "{a:1|2}", "e.d", NULL},
        {"{s:scale|weight}", "{s:weight|weight}", "scale", "weight"},
        {"{s:weight|weight}", "{s:scale|weight}", "weight", "scale"},
        {"{a:0|2}.{a:1|3}", "{a:x|y}", "2.3", "y"},
        /* parts */
        {"qkv.{p}", "to_{q,k,v}.{p}", "qkv.bias", "to_q.bias|to_k.bias|to_v.bias"},
        {"to_{q,k,v}.{p}", "qkv.{p}", "to_k.bias", "qkv.bias"},
        {"to_{q,k,v}.{p}", "qkv.{p}", "to_o.bias", NULL},
        {"{attn.to_q,mlp}.{p}", "{p}", "mlp.w", "w"},
        /* leaf, tail, head */
        {"a.{p}", "{p}", "a.w", "w"},
        {"a.{p}", "{p}", "a.w.x", NULL},
        {"a.{p}", "{p}", "a.", NULL},
        {"a.{p}.b", "{p}", "a.w.b", "w"},
        {"a.{*}", "{*}", "a.w.x", "w.x"},
        {"a.{*}", "b.{*}", "a.", "b."},
        {"{*}", "{*}", "", ""},
        {"{^}.b.{p}", "{^}/{p}", "x.b.y.b.w", "x.b.y/w"},
        {"{^}.b.{*}", "{^}/{*}", "x.b.y.b.w", "x/y.b.w"},
        {"{^}.b.{p}", "{^}/{p}", ".b.w", NULL},
        {"{^}.b.{p}", "{^}/{p}", "..b.w", "./w"},
        {"{^}.{i}.{a:x|y}", "{^}/{i}/{a:1|2}", "u.1.v.2.y", "u.1.v/2/2"},
        {"{^}aab", "{^}!", "aaaab", "aa!"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *got = pass(*state, rows[i].from, rows[i].to, rows[i].name);
        bool same = got && rows[i].expected ? strcmp(got, rows[i].expected) == 0
                                            : got == rows[i].expected;
        if (!same)
            fail_msg("%s => %s, %s: got %s, expected %s", rows[i].from, rows[i].to,
                     rows[i].name, got ? got : "no match",
                     rows[i].expected ? rows[i].expected : "no match");
    }
}

static void mistakes_are_named_with_their_place(void **state)
{
    static const struct {
        const char *text;
        size_t place;
        const char *problem;
    } rows[] = {
        {"a}", 1, "} without {"},
        {"a{i", 1, "{ without }"},
        {"a{{i}}", 1, "{ within {"},
        {"a{}", 2, "nothing in the braces"},
        {"{*}.a", 1, "{*} is not the last"},
        {"a{^}b", 2, "{^} is not the first"},
        {"{^}", 1, "{^} has no text behind it"},
        {"{^}{i}", 1, "{^} has no text behind it"},
        {"{p}.{p}", 5, "{p} stands twice"},
        {"{1+p}", 3, "p is no capture of its own"},
        {"{p:a|b}", 1, "p is no capture of its own"},
        {"{Q}", 1, "no such variable"},
        {"{i+}", 3, "a number, variable or capture is missing"},
        {"{i?}", 2, "not + or -"},
        {"{?}", 1, "not a number, variable or capture"},
        {"{i*j}", 4, "two captures are multiplied"},
        {"{i+j+k}", 6, "more than two captures"},
        {"{2*i+3*j}", 8, "two captures, and neither is a remainder"},
        {"{4*i+0*j}", 8, "a capture has the coefficient 0"},
        {"{4294967296}", 10, "a number is over 2^31"},
        {"{a,b}{c,d}", 6, "parts stand twice"},
        {"{a}{a:x|y}", 4, "the letter is a number elsewhere"},
        {"{a:x|y}{a}", 9, "the letter is an alternative elsewhere"},
        {"{a:x|y}{a:x}", 10, "the letter has another number of alternatives elsewhere"},
        {"{a:|x|xx|xxx}{b:|x|xx|xxx}{c:|x|xx|xxx}{d:|x}", 42,
         "too many alternatives that begin alike"},
    };
    struct world *world = *state;
    struct nwi_values values = some_values();
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct nwi_pattern pattern;
        char expected[200];
        nwi_error_clear(&world->err);
        int code = nwi_pattern_compile(rows[i].text, &values, &world->arena, &pattern,
                                       &world->err);
        (void)snprintf(expected, sizeof expected, "pattern \"%s\", byte %zu: %s",
                       rows[i].text, rows[i].place, rows[i].problem);
        assert_int_equal(code, NW_E_ARG);
        assert_string_equal(world->err.message, expected);
        assert_int_equal(world->err.offset, rows[i].place);
    }
}

static void names_are_bytes(void **state)
{
    static const char name[] = "a\0b.\xFF";
    struct nwi_pattern tail = compile(*state, "a{*}");
    struct nwi_pattern leaf = compile(*state, "{p}.{a:\xFF|x}");
    struct nwi_pattern back = compile(*state, "{p}/{a:1|2}");
    struct world *world = *state;
    struct nwi_match match = {0};
    const char *made = NULL;
    size_t size = 0;
    assert_true(nwi_pattern_match(&tail, name, 5, &match));
    assert_int_equal(match.tail.size, 4);
    assert_true(nwi_pattern_match(&leaf, name, 5, &match));
    assert_int_equal(nwi_pattern_render(&back, &match, 0, &world->arena, &made, &size),
                     NW_OK);
    assert_int_equal(size, 5);
    assert_memory_equal(made, "a\0b/1", 6);
}

/* The number of tokens tried is at most paths times size, whatever the name is. */
static void hostile_names_cost_no_more_than_their_size(void **state)
{
    static const char *const patterns[] = {
        "{^}.{i}.{p}.x",
        "{^}a{p}b",
        "{^}aaaaaaaaaaaaaaaab",
        "{a:|a|aa|aaa}{b:|a|aa|aaa}{c:|a|aa|aaa}x",
        "{^}a{a:|a|aa|aaa}{b:|a|aa|aaa}{c:|a|aa|aaa}x",
        "{^}.{1+b*S+r}.{a:x|xx}.z",
    };
    static const char *const fills[] = {"a", ".", "1", ".1", "a.", ".1.a", "\0", "{"};
    enum { SIZE = 65536 };
    char *name = malloc(SIZE);
    for (size_t p = 0; p < LENGTH(patterns); p++) {
        struct nwi_pattern pattern = compile(*state, patterns[p]);
        for (size_t f = 0; f < LENGTH(fills); f++) {
            struct nwi_match match = {0};
            size_t step = fills[f][0] ? strlen(fills[f]) : 1;
            for (size_t i = 0; i < SIZE; i++)
                name[i] = fills[f][i % step];
            assert_false(nwi_pattern_match(&pattern, name, SIZE, &match));
            if (match.steps >
                (uint64_t)NWI_PATTERN_PATHS * 4 * pattern.n_tokens * (SIZE + 1))
                fail_msg("%s against %s...: %llu steps", patterns[p], fills[f],
                         (unsigned long long)match.steps);
        }
    }
    free(name);
}

static void refused_memory_is_said(void **state)
{
    (void)state;
    for (long fail_at = 0;; fail_at++) {
        struct nwt_allocator counts = {.fail_at = fail_at};
        struct nw_allocator allocator = nwt_failing_allocator(&counts);
        struct nwi_memory *memory = nwi_memory_new(&allocator);
        struct nwi_arena arena;
        struct nwi_pattern pattern;
        struct nw_error err;
        if (!memory)
            continue;
        nwi_error_clear(&err);
        nwi_arena_init(&arena, memory);
        int code = nwi_pattern_compile("a.{a:x|y}.{q,k}", NULL, &arena, &pattern, &err);
        nwi_arena_release(&arena);
        nwi_memory_release(memory);
        assert_int_equal(counts.live, 0);
        if (code == NW_OK)
            break;
        assert_int_equal(code, NW_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_pass_from_one_side_to_the_other, begin,
                                        end),
        cmocka_unit_test_setup_teardown(mistakes_are_named_with_their_place, begin,
                                        end),
        cmocka_unit_test_setup_teardown(names_are_bytes, begin, end),
        cmocka_unit_test_setup_teardown(hostile_names_cost_no_more_than_their_size,
                                        begin, end),
        cmocka_unit_test(refused_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
