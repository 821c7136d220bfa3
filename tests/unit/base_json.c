/* SPDX-License-Identifier: Apache-2.0
 * The pull reader and the tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/thread.h"
#include "support/support.h"
#include "test.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define BASE      1000 /* every text is said to begin here in its file */

/* What each test starts with. */
struct fixture {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nw_error err;
    struct nwi_json json;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->memory = nwi_memory_new(NULL);
    nwi_arena_init(&f->arena, f->memory);
    nwi_error_clear(&f->err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    nwi_arena_release(&f->arena);
    assert_int_equal(nwi_memory_used(f->memory), nwi_memory_self_bytes());
    nwi_memory_release(f->memory);
    free(f);
    return 0;
}

/* The text lies at the very end of its allocation, so that sanitizers see one byte too
 * many. */
static char *exact_copy(const char *text, size_t size)
{
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    return copy;
}

/* Reads all tokens; a letter for each into out. */
static int read_all(struct fixture *f, const char *text, size_t size, char *out)
{
    static const char letters[] = "$(){}kstTFN";
    enum nwi_json_token token = NWI_JSON_NULL;
    nwi_error_clear(&f->err);
    nwi_json_init(&f->json, text, size, BASE, NW_E_BAD_HEADER, &f->arena, &f->err);
    do {
        int code = nwi_json_next(&f->json, &token);
        if (code != NW_OK)
            return code;
        *out++ = letters[token];
        *out = '\0';
    } while (token != NWI_JSON_END);
    return NW_OK;
}

/* Objects are ( ), arrays { }, keys k, strings s, numbers t, true T, false F, null N,
 * end $. */
static void tokens_in_order(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text;
        const char *tokens;
    } rows[] = {
        {"null", "N$"},
        {" true ", "T$"},
        {"false\n", "F$"},
        {"0", "t$"},
        {"\"\"", "s$"},
        {"{}", "()$"},
        {"[]", "{}$"},
        {"{ }", "()$"},
        {"[\t]", "{}$"},
        {"[1,2 , 3]", "{ttt}$"},
        {"{\"a\":1,\"b\":[true,{}]}", "(ktk{T()})$"},
        {"[[[]],{}]", "{{{}}()}$"},
        {"[\"a\",null,false]", "{sNF}$"},
        {"{\"a\" : {\"b\" : null}}\r\n", "(k(kN))$"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char tokens[64];
        assert_ok(read_all(f, rows[i].text, strlen(rows[i].text), tokens), &f->err);
        assert_string_equal(tokens, rows[i].tokens);
    }
}

static void the_end_stays_the_end(void **state)
{
    struct fixture *f = *state;
    char tokens[16];
    enum nwi_json_token token = NWI_JSON_NULL;
    assert_ok(read_all(f, "[]", 2, tokens), &f->err);
    assert_ok(nwi_json_next(&f->json, &token), &f->err);
    assert_int_equal(token, NWI_JSON_END);
}

/* Every class of refusal, with the byte that is wrong. */
static const struct {
    const char *text;
    size_t size; /* 0: strlen */
    size_t at;
    const char *message; /* a part of it; NULL: any */
} refusals[] = {
    {"", 0, 0, "ends at byte 0, expected a value"},
    {"  \n", 0, 3, "ends at byte 3"},
    {"\xEF\xBB\xBF{}", 0, 0, "byte order mark"},
    {"{}x", 0, 2, "text after the JSON object at byte 2"},
    {"{} {}", 0, 3, "text after the JSON object at byte 3"},
    {"1 2", 0, 2, "text after the JSON value at byte 2"},
    {"[]]", 0, 2, "text after the JSON value at byte 2"},
    {"{\"a\":1},\"__metadata__\":{}}", 0, 7,
     "text after the JSON object at byte 7 (known fault of an old writer)"},
    {"{}\0", 3, 2, "text after the JSON object at byte 2"},
    {"01", 0, 0, "leading zero"},
    {"-01", 0, 0, "leading zero"},
    {"[00]", 0, 1, "leading zero"},
    {"-", 0, 1, "expected a digit"},
    {"-a", 0, 1, "expected a digit at byte 1, found 'a'"},
    {"+1", 0, 0, "expected a value at byte 0, found '+'"},
    {".5", 0, 0, "expected a value"},
    {"1.", 0, 2, "expected a digit"},
    {"[1.e5]", 0, 3, "expected a digit"},
    {"1e", 0, 2, "expected a digit"},
    {"[1e+]", 0, 4, "expected a digit"},
    {"1x", 0, 1, "text after"},
    {"[1x]", 0, 2, "expected ',' or ']'"},
    {"0x10", 0, 1, "text after"},
    {"NaN", 0, 0, "expected a value"},
    {"Infinity", 0, 0, "expected a value"},
    {"tru", 0, 0, "expected a value"},
    {"nulL", 0, 0, "expected a value"},
    {"True", 0, 0, "expected a value"},
    {"'a'", 0, 0, "found '\\x27'"},
    {"[1,]", 0, 3, "expected a value at byte 3, found ']'"},
    {"[,1]", 0, 1, "expected a value"},
    {"[1 2]", 0, 3, "expected ',' or ']'"},
    {"[1}", 0, 2, "expected ',' or ']' at byte 2, found '}'"},
    {"[", 0, 1, "ends at byte 1"},
    {"[1", 0, 2, "ends at byte 2, expected ',' or ']'"},
    {"[1,", 0, 3, "ends at byte 3"},
    {"{", 0, 1, "ends at byte 1, expected a key"},
    {"{a:1}", 0, 1, "expected a key"},
    {"{1:1}", 0, 1, "expected a key"},
    {"{\"a\"}", 0, 4, "expected ':'"},
    {"{\"a\" 1}", 0, 5, "expected ':'"},
    {"{\"a\":}", 0, 5, "expected a value"},
    {"{\"a\":1,}", 0, 7, "expected a key at byte 7, found '}'"},
    {"{\"a\":1 \"b\":2}", 0, 7, "expected ',' or '}'"},
    {"{\"a\":1]", 0, 6, "expected ',' or '}'"},
    {"{\"a\":1", 0, 6, "ends at byte 6, expected ',' or '}'"},
    {"/**/1", 0, 0, "expected a value"},
    {"[\"abc]", 0, 1, "a string without an end at byte 1"},
    {"\"", 0, 0, "a string without an end"},
    {"\"\\", 0, 0, "a string without an end"},
    {"\"\\\"", 0, 0, "a string without an end"},
    {"\"a\nb\"", 0, 2, "a control character in a string at byte 2"},
    {"\"\0\"", 3, 1, "a control character"},
    {"\"\x1F\"", 0, 1, "a control character"},
    {"\"\\x41\"", 0, 1, "an unknown escape"},
    {"\"\\'\"", 0, 1, "an unknown escape"},
    {"\"\\\0\"", 4, 1, "an unknown escape"},
    {"\"\\U0041\"", 0, 1, "an unknown escape"},
    {"\"ab\\u12\"", 0, 3, "without four hexadecimal digits"},
    {"\"\\u", 0, 1, "without four hexadecimal digits"},
    {"\"\\u123", 0, 1, "without four hexadecimal digits"},
    {"\"\\u12g4\"", 0, 1, "without four hexadecimal digits"},
    {"\"\\u+123\"", 0, 1, "without four hexadecimal digits"},
    {"\"\\ud800\"", 0, 1, "a lone surrogate"},
    {"\"\\udc00\"", 0, 1, "a lone surrogate"},
    {"\"x\\ud800\\u0041\"", 0, 2, "a lone surrogate"},
    {"\"\\ud800\\ud800\"", 0, 1, "a lone surrogate"},
    {"\"\\udc00\\ud800\"", 0, 1, "a lone surrogate"},
    {"\"\\ud800x\"", 0, 1, "a lone surrogate"},
    {"\"\\ud800\\u", 0, 1, "a lone surrogate"},
    {"\"\\ud800\\n\"", 0, 1, "a lone surrogate"},
    {"\"\xFF\"", 0, 1, "broken UTF-8 in a string at byte 1"},
    {"\"\xC0\x80\"", 0, 1, "broken UTF-8"},
    {"\"\xED\xA0\x80\"", 0, 1, "broken UTF-8"},
    {"\"\xF4\x90\x80\x80\"", 0, 1, "broken UTF-8"},
    {"\"ab\xC3", 0, 3, "broken UTF-8"},
    {"\"ab\x80\"", 0, 3, "broken UTF-8"},
    {"[\xC3\xA9]", 0, 1, "found '\xC3\xA9'"},
    {"[\x01]", 0, 1, "found '\\x01'"},
    {"\f1", 0, 0, "expected a value"},
    {"\xC2\xA0"
     "1",
     0, 0, "expected a value"},
};

static void every_refusal_with_its_offset(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < LENGTH(refusals); i++) {
        char tokens[64] = "";
        size_t size = refusals[i].size ? refusals[i].size : strlen(refusals[i].text);
        char *text = exact_copy(refusals[i].text, size);
        assert_code(read_all(f, text, size, tokens), NW_E_BAD_HEADER, &f->err);
        if (f->err.offset != BASE + refusals[i].at)
            fail_msg("%s: offset %d", refusals[i].text, (int)f->err.offset - BASE);
        if (!strstr(f->err.message, refusals[i].message))
            fail_msg("%s: message \"%s\"", refusals[i].text, f->err.message);
        free(text);
    }
}

static void a_failure_stays(void **state)
{
    struct fixture *f = *state;
    char tokens[16];
    enum nwi_json_token token = NWI_JSON_NULL;
    assert_int_equal(read_all(f, "[1 2,3]", 7, tokens), NW_E_BAD_HEADER);
    assert_int_equal(nwi_json_next(&f->json, &token), NW_E_BAD_HEADER);
    assert_int_equal(nwi_json_skip(&f->json, NWI_JSON_ARRAY_BEGIN), NW_E_BAD_HEADER);
    assert_int_equal(f->err.offset, BASE + 3);
    nwi_json_init(&f->json, "x", 1, 0, NW_E_BAD_CONFIG, &f->arena, NULL);
    assert_int_equal(nwi_json_next(&f->json, &token), NW_E_BAD_CONFIG);
    assert_int_equal(nwi_json_next(&f->json, &token), NW_E_BAD_CONFIG);
}

static void strings_are_decoded(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text;
        const char *value;
        size_t size;
        bool owned;
    } rows[] = {
        {"\"plain\"", "plain", 5, false},
        {"\"\"", "", 0, false},
        {"\"\xC3\xA9\xF0\x9F\x98\x80\x7F\"", "\xC3\xA9\xF0\x9F\x98\x80\x7F", 7, false},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8, true},
        {"\"a\\u0000b\"", "a\0b", 3, true},
        {"\"\\u0041\\u007f\"", "A\x7F", 2, true},
        {"\"\\u0080\\u07FF\"", "\xC2\x80\xDF\xBF", 4, true},
        {"\"\\u0800\\uffff\"", "\xE0\xA0\x80\xEF\xBF\xBF", 6, true},
        {"\"\\ud7ff\\ue000\"", "\xED\x9F\xBF\xEE\x80\x80", 6, true},
        {"\"\\uD800\\uDC00\"", "\xF0\x90\x80\x80", 4, true},
        {"\"\\ud83d\\ude00!\"", "\xF0\x9F\x98\x80!", 5, true},
        {"\"\\udbff\\udfff\"", "\xF4\x8F\xBF\xBF", 4, true},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        enum nwi_json_token token = NWI_JSON_NULL;
        nwi_json_init(&f->json, rows[i].text, strlen(rows[i].text), 0, NW_E_BAD_HEADER,
                      &f->arena, &f->err);
        assert_ok(nwi_json_next(&f->json, &token), &f->err);
        assert_int_equal(token, NWI_JSON_STRING);
        assert_int_equal(f->json.text_size, rows[i].size);
        assert_memory_equal(f->json.text, rows[i].value, rows[i].size);
        assert_int_equal(f->json.text_owned, rows[i].owned);
        if (rows[i].owned)
            assert_int_equal(f->json.text[rows[i].size], 0);
    }
}

static void numbers_keep_their_text(void **state)
{
    struct fixture *f = *state;
    static const char *const rows[] = {
        "0",   "-0",    "10",     "-1.50",
        "1e5", "1E+05", "0.0e-0", "123456789012345678901234567890"};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char tokens[8];
        assert_ok(read_all(f, rows[i], strlen(rows[i]), tokens), &f->err);
        assert_string_equal(tokens, "t$");
        assert_int_equal(f->json.text_size, strlen(rows[i]));
        assert_memory_equal(f->json.text, rows[i], strlen(rows[i]));
    }
}

static void unsigned_numbers(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",   "-1", "-0", "1.0", "1e3", "18446744073709551616", "99999999999999999999",
        " 1", "1 "};
    uint64_t value = 0;
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(nwi_json_u64(wrong[i], strlen(wrong[i]), &value));
    assert_true(nwi_json_u64("18446744073709551615", 20, &value));
    assert_true(value == UINT64_MAX);
    assert_true(nwi_json_u64("0", 1, &value));
    assert_int_equal(value, 0);
    assert_true(nwi_json_u64("1234", 2, &value));
    assert_int_equal(value, 12);
}

/* depth times '[' or '{"":', then the same closed. */
static char *nested(size_t depth, bool objects)
{
    char *text = malloc(depth * 6 + 8);
    size_t used = 0;
    assert_non_null(text);
    for (size_t i = 0; i < depth; i++)
        used += (size_t)sprintf(text + used, "%s", objects ? "{\"\":" : "[");
    used += (size_t)sprintf(text + used, "%s", "1");
    for (size_t i = 0; i < depth; i++)
        text[used++] = objects ? '}' : ']';
    text[used] = '\0';
    return text;
}

static void depth_is_limited(void **state)
{
    struct fixture *f = *state;
    for (int objects = 0; objects < 2; objects++) {
        char tokens[1024];
        struct nwi_json_value *root = NULL;
        char *text = nested(NWI_JSON_DEPTH, objects);
        assert_ok(read_all(f, text, strlen(text), tokens), &f->err);
        assert_ok(nwi_json_parse(text, strlen(text), 0, NW_E_BAD_CONFIG, &f->arena,
                                 &root, &f->err),
                  &f->err);
        free(text);
        text = nested(NWI_JSON_DEPTH + 1, objects);
        assert_code(read_all(f, text, strlen(text), tokens), NW_E_BAD_HEADER, &f->err);
        assert_non_null(strstr(f->err.message, "128"));
        assert_int_equal(f->err.offset, BASE + NWI_JSON_DEPTH * (objects ? 4 : 1));
        free(text);
    }
}

static void mixed_levels_close_with_their_own_bracket(void **state)
{
    struct fixture *f = *state;
    char tokens[64];
    static const char text[] = "[{\"a\":[{\"b\":[]}]},{}]";
    assert_ok(read_all(f, text, sizeof text - 1, tokens), &f->err);
    assert_string_equal(tokens, "{(k{(k{})})()}$");
}

/* ---- skip, raw ---- */

static void raw_text_of_values(void **state)
{
    struct fixture *f = *state;
    static const char text[] =
        "{\"a\": [1, {\"b\\n\": \"]\\\"\"}] , \"c\":\"x\\ty\",\"d\": -1.5 }";
    static const char *const raws[] = {"[1, {\"b\\n\": \"]\\\"\"}]", "\"x\\ty\"",
                                       "-1.5"};
    enum nwi_json_token token = NWI_JSON_NULL;
    nwi_json_init(&f->json, text, sizeof text - 1, 0, NW_E_BAD_HEADER, &f->arena,
                  &f->err);
    assert_ok(nwi_json_next(&f->json, &token), &f->err);
    for (size_t i = 0; i < LENGTH(raws); i++) {
        const char *raw = NULL;
        size_t size = 0;
        assert_ok(nwi_json_next(&f->json, &token), &f->err);
        assert_int_equal(token, NWI_JSON_KEY);
        assert_ok(nwi_json_next(&f->json, &token), &f->err);
        assert_ok(nwi_json_raw(&f->json, token, &raw, &size), &f->err);
        assert_int_equal(size, strlen(raws[i]));
        assert_memory_equal(raw, raws[i], size);
    }
    assert_ok(nwi_json_next(&f->json, &token), &f->err);
    assert_int_equal(token, NWI_JSON_OBJECT_END);
    assert_ok(nwi_json_next(&f->json, &token), &f->err);
    assert_int_equal(token, NWI_JSON_END);
}

static void skipping_still_refuses(void **state)
{
    struct fixture *f = *state;
    enum nwi_json_token token = NWI_JSON_NULL;
    static const char text[] = "[[\"\\ud800\"]]";
    nwi_json_init(&f->json, text, sizeof text - 1, BASE, NW_E_BAD_HEADER, &f->arena,
                  &f->err);
    assert_ok(nwi_json_next(&f->json, &token), &f->err);
    assert_code(nwi_json_skip(&f->json, token), NW_E_BAD_HEADER, &f->err);
    assert_int_equal(f->err.offset, BASE + 3);
}

/* ---- tree ---- */

static struct nwi_json_value *parse(struct fixture *f, const char *text)
{
    struct nwi_json_value *root = NULL;
    nwi_error_clear(&f->err);
    assert_ok(nwi_json_parse(text, strlen(text), BASE, NW_E_BAD_CONFIG, &f->arena,
                             &root, &f->err),
              &f->err);
    return root;
}

static void trees(void **state)
{
    struct fixture *f = *state;
    const struct nwi_json_value *root = parse(
        f, "{\"s\":\"x\\ny\",\"n\":1.50,\"l\":[true,false,null,[]],\"o\":{\"\":{}}}");
    assert_int_equal(root->kind, NWI_JSON_IS_OBJECT);
    assert_int_equal(root->n_children, 4);
    assert_int_equal(root->offset, BASE);
    assert_null(root->key);
    assert_null(root->next);
    assert_string_equal(nwi_json_string(nwi_json_get(root, "s")), "x\ny");
    const struct nwi_json_value *number = nwi_json_get(root, "n");
    assert_int_equal(number->kind, NWI_JSON_IS_NUMBER);
    assert_string_equal(number->text, "1.50");
    assert_int_equal(number->key_offset, BASE + 12);
    assert_int_equal(number->offset, BASE + 16);
    assert_null(nwi_json_string(number));
    const struct nwi_json_value *list = nwi_json_get(root, "l");
    assert_int_equal(list->kind, NWI_JSON_IS_ARRAY);
    assert_int_equal(list->n_children, 4);
    const struct nwi_json_value *item = list->first;
    assert_true(item->kind == NWI_JSON_IS_BOOL && item->boolean);
    item = item->next;
    assert_true(item->kind == NWI_JSON_IS_BOOL && !item->boolean);
    item = item->next;
    assert_true(item->kind == NWI_JSON_IS_NULL && !item->key);
    item = item->next;
    assert_true(item->kind == NWI_JSON_IS_ARRAY && !item->first && !item->next);
    const struct nwi_json_value *inner = nwi_json_get(nwi_json_get(root, "o"), "");
    assert_int_equal(inner->kind, NWI_JSON_IS_OBJECT);
    assert_null(nwi_json_get(root, "absent"));
    assert_null(nwi_json_get(NULL, "s"));
    assert_null(nwi_json_get(list, "s"));
    assert_null(nwi_json_string(NULL));
}

static void refused_trees(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text;
        size_t at;
        const char *message;
    } rows[] = {
        {"", 0, "ends at byte 0"},
        {"[1,]", 3, "expected a value"},
        {"{}{}", 2, "text after the JSON object at byte 2"},
        {"{\"a\":1,\"b\":2,\"a\":3}", 13, "\"a\""},
        {"[{\"x\":{\"k\":1,\"\\u006b\":2}}]", 13, "\"k\""},
        {"{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,"
         "\"b\":0}",
         55, "the key \"b\" occurs twice"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct nwi_json_value *root = NULL;
        nwi_error_clear(&f->err);
        assert_code(nwi_json_parse(rows[i].text, strlen(rows[i].text), BASE,
                                   NW_E_BAD_CONFIG, &f->arena, &root, &f->err),
                    NW_E_BAD_CONFIG, &f->err);
        assert_null(root);
        assert_int_equal(f->err.offset, BASE + rows[i].at);
        assert_non_null(strstr(f->err.message, rows[i].message));
    }
}

static void the_same_key_in_two_objects_is_fine(void **state)
{
    struct fixture *f = *state;
    const struct nwi_json_value *root =
        parse(f, "{\"a\":{\"a\":1},\"b\":{\"a\":1},\"\":1}");
    assert_int_equal(root->n_children, 3);
    root = parse(f, "{\"a\":1,\"a\\u0000\":2,\"A\":3}");
    assert_int_equal(root->n_children, 3);
}

#define MANY 200000

static void many_keys_in_linear_time(void **state)
{
    struct fixture *f = *state;
    char *text = malloc((size_t)MANY * 32);
    size_t used = 1;
    assert_non_null(text);
    text[0] = '{';
    for (int i = 0; i < MANY; i++)
        used += (size_t)sprintf(text + used, "%s\"block.%d\":%d", i ? "," : "", i, i);
    (void)strcpy(text + used, "}");
    double start = nwi_now();
    const struct nwi_json_value *root = parse(f, text);
    assert_true(nwi_now() - start < 20); /* quadratic would take minutes */
    assert_int_equal(root->n_children, MANY);
    assert_string_equal(nwi_json_get(root, "block.199999")->text, "199999");
    (void)strcpy(text + used, ",\"block.0\":1}");
    struct nwi_json_value *broken = NULL;
    assert_code(nwi_json_parse(text, strlen(text), 0, NW_E_BAD_CONFIG, &f->arena,
                               &broken, &f->err),
                NW_E_BAD_CONFIG, &f->err);
    assert_int_equal(f->err.offset, used + 1);
    free(text);
}

static void trees_survive_every_refusal(void **state)
{
    (void)state;
    char text[32768];
    /* Each long text takes a block of its own, so that refusing it is tried, too. */
    int size = snprintf(text, sizeof text,
                        "{\"a\\n%05000d\":[1,\"x\\ty%05000d\",{}],\"%05000d\":%05000d1,"
                        "\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1}",
                        0, 0, 0, 0);
    char *number = strstr(text, ":0000");
    assert_non_null(number);
    number[1] = '1'; /* no leading zero */
    int code = NW_E_NOMEM;
    for (long fail_at = 1; code != NW_OK; fail_at++) {
        struct nwt_allocator counts = {.fail_at = fail_at};
        struct nw_allocator allocator = nwt_failing_allocator(&counts);
        struct nwi_memory *memory = nwi_memory_new(&allocator);
        struct nwi_arena arena;
        struct nw_error err;
        struct nwi_json_value *root = NULL;
        nwi_error_clear(&err);
        nwi_arena_init(&arena, memory);
        code =
            nwi_json_parse(text, (size_t)size, 0, NW_E_BAD_CONFIG, &arena, &root, &err);
        assert_int_equal(code, err.code);
        assert_true(code == NW_OK || code == NW_E_NOMEM);
        assert_int_equal(root != NULL, code == NW_OK);
        nwi_arena_release(&arena);
        nwi_memory_release(memory);
        assert_int_equal(counts.live, 0);
        assert_int_equal(counts.live_bytes, 0);
    }
}

/* Whatever the bytes, nothing is read outside them and offsets lie inside. */
static void random_bytes_are_harmless(void **state)
{
    struct fixture *f = *state;
    static const char bytes[] = "{}[]:,\"\"\"\\ud8c0019-.eE+ \n\xC3\xA9truefalsn";
    uint64_t seed = 0x150;
    for (int i = 0; i < 50000; i++) {
        size_t size = nwt_random(&seed) % 24;
        char *text = malloc(size + 1);
        struct nwi_json_value *root = NULL;
        assert_non_null(text);
        for (size_t k = 0; k < size; k++)
            text[k] = bytes[nwt_random(&seed) % (sizeof bytes - 1)];
        text = realloc(text, size ? size : 1);
        nwi_error_clear(&f->err);
        int code = nwi_json_parse(text, size, BASE, NW_E_BAD_CONFIG, &f->arena, &root,
                                  &f->err);
        assert_true(code == NW_OK || code == NW_E_BAD_CONFIG);
        if (code != NW_OK)
            assert_in_range(f->err.offset, BASE, BASE + size);
        free(text);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(tokens_in_order),
        TEST(the_end_stays_the_end),
        TEST(every_refusal_with_its_offset),
        TEST(a_failure_stays),
        TEST(strings_are_decoded),
        TEST(numbers_keep_their_text),
        TEST(unsigned_numbers),
        TEST(depth_is_limited),
        TEST(mixed_levels_close_with_their_own_bracket),
        TEST(raw_text_of_values),
        TEST(skipping_still_refuses),
        TEST(trees),
        TEST(refused_trees),
        TEST(the_same_key_in_two_objects_is_fine),
        TEST(many_keys_in_linear_time),
        TEST(trees_survive_every_refusal),
        TEST(random_bytes_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
