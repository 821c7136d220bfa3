/* SPDX-License-Identifier: Apache-2.0
 * Rules from text: that they become the rows a table would have, and where mistakes are. */
#include "layout_scene.h"

#include "layout/rules_text.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Reads the text and applies it. */
static void check_text(const char *text, enum nwi_direction direction,
                       const char *tensors, const char *expected)
{
    struct scene *scene = malloc(sizeof *scene);
    struct nw_rules *rules = NULL;
    scene_begin(scene, tensors);
    assert_ok(nwi_rules_new(text, strlen(text), scene->memory, &rules, &scene->err),
              &scene->err);
    assert_string_equal(scene_apply(scene, &rules->rules, direction, NULL, NULL),
                        expected);
    nwi_rules_free(rules);
    scene_end(scene);
    free(scene);
}

static const char every_op[] = "# every operation\n"
                               "let H = in[0] | x[0]\r\n"
                               "let K = 2\n"
                               "when wide in[0]>3\n"
                               "when wide x[0]>3   # either side\n"
                               "\n"
                               "  in => x\n"
                               "rename r.{i}.{p} => s.{i}.{p} # as it is\n"
                               "split qkv.{p} => {q,k,v}.{p} sizes=H,H,*\n"
                               "split one.{p} => {m,n}.{p}\n"
                               "swap u.{p} => w.{p}\n"
                               "transpose t => t.weight\n"
                               "reshape f => g sizes=K,*\n"
                               "heads h => {h0,h1} sizes=1\n"
                               "rename z.{p} => y.{p} squeeze=1 rank=4\n"
                               "rename e => narrow.e deny=wide\n"
                               "rename e => wide.e need=wide\n"
                               "drop gone.{*} note=nobody wants it # really\n"
                               "drop lost.{*}\n";

static void a_text_says_what_a_table_does(void **state)
{
    (void)state;
    check_text(every_op, NWI_TO_DIFFUSERS,
               "in[1] r.3.w[1] qkv.w[4] one.w[2] u.w[2] t[1,2] f[4] h[4] z.w[1,1,1,1] "
               "e[1] gone.a[1] lost.b[1] other[1]",
               "x[1] in:0; s.3.w[1] r.3.w:0; q.w[1] qkv.w:0; k.w[1] qkv.w:1; "
               "v.w[2] qkv.w:2,3; m.w[1] one.w:0; n.w[1] one.w:1; w.w[2] u.w:1 u.w:0; "
               "t.weight[2,1] t:0,1; g[2,2] f:0,1,2,3; h0[2] h:0,2; h1[2] h:1,3; "
               "y.w[1,1] z.w:0; narrow.e[1] e:0; -gone.a (nobody wants it # really); "
               "-lost.b (dropped by a rule of the caller); ?other");
    check_text(every_op, NWI_TO_DIFFUSERS, "in[4] e[1]",
               "x[4] in:0,1,2,3; wide.e[1] e:0");
    check_text(every_op, NWI_TO_ORIGINAL,
               "x[1] q.w[1] k.w[1] v.w[2] y.w[1,1] h0[2] h1[2]",
               "in[1] x:0; qkv.w[4] q.w:0 k.w:0 v.w:0,1; z.w[1,1,1,1] y.w:0; "
               "h[4] h0:0 h1:0 h0:1 h1:1");
}

static void small_texts(void **state)
{
    (void)state;
    check_text("", NWI_TO_DIFFUSERS, "a[1]", "?a");
    check_text("\n \t\n#", NWI_TO_DIFFUSERS, "a[1]", "?a");
    check_text("let => when\nswap => drop", NWI_TO_DIFFUSERS, "let[1] swap[1]",
               "when[1] let:0; drop[1] swap:0");
    check_text(
        "drop a back=needed note=a", NWI_TO_ORIGINAL, "b[1]",
        "UNSUPPORTED: the original layout needs a, which the diffusers layout does "
        "not keep (a)");
    check_text("a.1 => b back_if=c\na.2 => b back_if=!c", NWI_TO_ORIGINAL, "b[1]",
               "a.2[1] b:0");
    check_text("a => b squeeze=2 rank=1C11", NWI_TO_ORIGINAL, "b[2]",
               "a[1,2,1,1] b:0,1");
    check_text("{*} => model.{*}", NWI_TO_DIFFUSERS, "a.b[1]", "model.a.b[1] a.b:0");
}

static void mistakes_have_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        {"a => b\n\n a =>", "3, column 2: a rule is \"OP ORIGINAL => DIFFUSERS\""},
        {"move a => b",
         "1, column 1: \"move\" is none of let, when, rename, split, swap, "
         "transpose, reshape, heads, drop"},
        {"a b",
         "1, column 1: \"a\" is none of let, when, rename, split, swap, transpose, "
         "reshape, heads, drop"},
        {"rename a -> b", "1, column 1: a rule is \"OP ORIGINAL => DIFFUSERS\""},
        {"drop", "1, column 1: drop what?"},
        {"a => b c", "1, column 8: \"c\" is no KEY=VALUE"},
        {"a => b size=1", "1, column 8: \"size\" is no key of such a rule"},
        {"drop a sizes=1", "1, column 8: \"sizes\" is no key of such a rule"},
        {"a => b note=x", "1, column 8: \"note\" is no key of such a rule"},
        {"a => b squeeze=3",
         "1, column 16: \"3\" is neither 1 (ones at the end) nor 2 (all ones)"},
        {"a => b rank=9", "1, column 13: \"9\" is no rank: 2 to 8, or 1C11"},
        {"drop a back=maybe", "1, column 13: \"maybe\" is neither needed nor unused"},
        {"a => b need=x", "1, column 13: \"x\" is no feature of a line before"},
        {"when x y\na => b need=x,z",
         "2, column 15: \"z\" is no feature of a line before"},
        {"a.{i => b", "1, column 3: pattern \"a.{i\", byte 2: { without }"},
        {"rename a => b.{?}", "1, column 16: pattern \"b.{?}\", byte 3: not a number, "
                              "variable or capture"},
        {"a.{i} => b",
         "1, column 1: rule \"a.{i}\": a number is captured on one side only"},
        {"split a => {q,k} sizes=1,x",
         "1, column 24: rule \"1,x\": a capture has no value here"},
        {"a => b back_if={", "1, column 16: pattern \"{\", byte 0: { without }"},
        {"a.{N-1} => b", "1, column 4: pattern \"a.{N-1}\", byte 3: no such variable"},
        {"let n = 1", "1, column 5: \"n\" is no name for a variable: A to Z are"},
        {"let N 1",
         "1, column 1: a variable is \"let X = ORIGINAL | DIFFUSERS\", or one "
         "for both"},
        {"let N = 1\nlet N = 2", "2, column 5: \"N\" is declared twice"},
        {"let N = x[]",
         "1, column 9: \"x[]\" is no number, NAME[DIM], #LIST or <PATTERN"},
        {"when x", "1, column 1: a feature is \"when NAME PREDICATE\""},
        {"when x a[", "1, column 8: \"a[\" is no predicate"},
        {"when x,y a", "1, column 6: \"x,y\" is no name for a feature: it has a comma"},
    };
    struct nwi_memory *memory = nwi_memory_new(NULL);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct nw_rules *rules = NULL;
        struct nw_error err;
        char expected[300];
        nwi_error_clear(&err);
        (void)snprintf(expected, sizeof expected, "rules, line %s", rows[i].message);
        assert_code(
            nwi_rules_new(rows[i].text, strlen(rows[i].text), memory, &rules, &err),
            NW_E_ARG, &err);
        assert_string_equal(err.message, expected);
        assert_null(rules);
    }
    nwi_memory_release(memory);
}

static char *repeat(const char *format, size_t n)
{
    char *text = malloc(n * 32 + 1);
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, 32, "%s%zu%s", format, i, " => b\n");
    return text;
}

static void limits_and_bytes(void **state)
{
    (void)state;
    static const char nul[] = "a\0b => c";
    static const char note[] = "drop a note=a\0b";
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nw_rules *rules = NULL;
    struct nw_error err;
    nwi_error_clear(&err);
    assert_code(nwi_rules_new(nul, sizeof nul - 1, memory, &rules, &err), NW_E_ARG,
                &err);
    assert_string_equal(err.message, "rules, line 1, column 1: a NUL byte");
    nwi_error_clear(&err);
    assert_code(nwi_rules_new(note, sizeof note - 1, memory, &rules, &err), NW_E_ARG,
                &err);
    char *many = repeat("a.", 4097);
    nwi_error_clear(&err);
    assert_code(nwi_rules_new(many, strlen(many), memory, &rules, &err), NW_E_LIMIT,
                &err);
    free(many);
    many = repeat("when x", 33);
    for (char *at = many; (at = strstr(at, " => b")); at += 5)
        memcpy(at, " a   ", 5);
    nwi_error_clear(&err);
    assert_code(nwi_rules_new(many, strlen(many), memory, &rules, &err), NW_E_ARG,
                &err);
    assert_string_equal(err.message,
                        "rules, line 33, column 6: \"x32\" is one feature too "
                        "many: 32 are possible");
    free(many);
    nwi_memory_release(memory);
}

static void refused_memory_is_said(void **state)
{
    (void)state;
    for (long fail_at = 1;; fail_at++) {
        struct nwt_allocator counts = {.fail_at = fail_at};
        struct nw_allocator allocator = nwt_failing_allocator(&counts);
        struct nwi_memory *memory = nwi_memory_new(&allocator);
        struct nw_rules *rules = NULL;
        struct nw_error err;
        nwi_error_clear(&err);
        int code = nwi_rules_new(every_op, strlen(every_op), memory, &rules, &err);
        nwi_rules_free(rules);
        nwi_memory_release(memory);
        assert_int_equal(counts.live, 0);
        if (code == NW_OK)
            break;
        assert_int_equal(code, NW_E_NOMEM);
    }
}

static void the_public_call(void **state)
{
    (void)state;
    struct nw_rules *rules = NULL;
    struct nw_error err;
    const struct nw_allocator half = {.alloc = nwt_failing_allocator(NULL).alloc};
    assert_ok(nw_rules_from_text("a => b", 6, NULL, &rules, &err), &err);
    assert_string_equal(rules->rules.rules[0].diffusers, "b");
    nw_rules_free(rules);
    assert_ok(nw_rules_from_text(NULL, 0, NULL, &rules, NULL), &err);
    nw_rules_free(rules);
    nw_rules_free(NULL);
    assert_code(nw_rules_from_text("a", 1, NULL, &rules, &err), NW_E_ARG, &err);
    assert_null(rules);
    assert_code(nw_rules_from_text(NULL, 1, NULL, &rules, &err), NW_E_ARG, &err);
    assert_code(nw_rules_from_text("", 0, NULL, NULL, &err), NW_E_ARG, &err);
    assert_code(nw_rules_from_text("", 0, &half, &rules, &err), NW_E_ARG, &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_says_what_a_table_does),
        cmocka_unit_test(small_texts),
        cmocka_unit_test(mistakes_have_line_and_column),
        cmocka_unit_test(limits_and_bytes),
        cmocka_unit_test(refused_memory_is_said),
        cmocka_unit_test(the_public_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
