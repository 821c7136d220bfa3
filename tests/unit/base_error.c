/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "test.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static void every_code_has_a_name(void **state)
{
    (void)state;
    for (int code = 0; code < NW_CODE_COUNT; code++) {
        assert_non_null(nw_code_name(code));
        assert_string_not_equal(nw_code_name(code), "UNKNOWN");
    }
    assert_string_equal(nw_code_name(NW_OK), "OK");
    assert_string_equal(nw_code_name(NW_E_TRUNCATED), "TRUNCATED");
    assert_string_equal(nw_code_name(NW_E_CHANGED), "CHANGED");
    assert_string_equal(nw_code_name(NW_CODE_COUNT), "UNKNOWN");
    assert_string_equal(nw_code_name(-1), "UNKNOWN");
}

static void the_first_error_wins(void **state)
{
    (void)state;
    struct nw_error err;
    memset(&err, 0xFF, sizeof err);
    nwi_error_clear(&err);
    assert_int_equal(err.code, NW_OK);
    assert_true(err.offset == NW_OFFSET_NONE);
    assert_int_equal(nwi_fail_at(&err, NW_E_TRUNCATED, 7, "%d of %d", 1, 2),
                     NW_E_TRUNCATED);
    assert_int_equal(nwi_fail(&err, NW_E_ARG, "later"), NW_E_TRUNCATED);
    assert_int_equal(nwi_fail_sys(&err, ENOENT, "later"), NW_E_TRUNCATED);
    assert_int_equal(nwi_fail_nomem(&err, 1), NW_E_TRUNCATED);
    assert_string_equal(err.message, "1 of 2");
    assert_int_equal(err.offset, 7);
    assert_int_equal(err.sys, 0);
}

static void null_is_allowed(void **state)
{
    (void)state;
    nwi_error_clear(NULL);
    assert_int_equal(nwi_fail(NULL, NW_E_ARG, "x"), NW_E_ARG);
    assert_int_equal(nwi_fail_at(NULL, NW_E_IO, 1, "x"), NW_E_IO);
    assert_int_equal(nwi_fail_nomem(NULL, 1), NW_E_NOMEM);
    assert_int_equal(nwi_error_in_file(NULL, NW_E_IO, "f"), NW_E_IO);
    assert_int_equal(nwi_error_in_tensor(NULL, NW_OK, "t"), NW_OK);
}

static void errno_becomes_code_and_text(void **state)
{
    (void)state;
    static const struct {
        int sys;
        int code;
    } rows[] = {{ENOENT, NW_E_NOT_FOUND},
                {ENOTDIR, NW_E_NOT_FOUND},
                {ENOMEM, NW_E_NOMEM},
                {EACCES, NW_E_IO},
                {EIO, NW_E_IO}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct nw_error err;
        nwi_error_clear(&err);
        assert_int_equal(nwi_fail_sys(&err, rows[i].sys, "cannot open"), rows[i].code);
        assert_int_equal(err.sys, rows[i].sys);
        assert_true(nwi_starts_with(err.message, "cannot open: "));
        assert_true(strlen(err.message) > strlen("cannot open: "));
    }
    struct nw_error err;
    nwi_error_clear(&err);
    assert_int_equal(nwi_fail_sys_at(&err, EIO, 99, "x"), NW_E_IO);
    assert_int_equal(err.offset, 99);
}

static void a_long_message_ends_in_whole_characters(void **state)
{
    (void)state;
    char text[1000];
    for (size_t shift = 0; shift < 4; shift++) {
        struct nw_error err;
        nwi_error_clear(&err);
        memset(text, 'a', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 4)
            memcpy(text + i, "\xF0\x9F\x98\x80", 5);
        (void)nwi_fail(&err, NW_E_ARG, "%s", text);
        assert_true(nwi_utf8_valid(err.message, strlen(err.message)));
        assert_in_range(strlen(err.message), sizeof err.message - 4,
                        sizeof err.message - 1);
    }
}

static void a_long_path_keeps_its_tail(void **state)
{
    (void)state;
    char path[2000];
    struct nw_error err;
    memset(path, 'd', sizeof path);
    memcpy(path + sizeof path - 12, "/name.bin\0\0", 12);
    nwi_error_clear(&err);
    (void)nwi_fail(&err, NW_E_ARG, "x");
    assert_int_equal(nwi_error_in_file(&err, NW_E_ARG, path), NW_E_ARG);
    assert_true(nwi_starts_with(err.file, "...ddd"));
    assert_true(nwi_ends_with(err.file, "d/name.bin"));
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
    assert_int_equal(nwi_error_in_file(&err, NW_E_ARG, "other"), NW_E_ARG);
    assert_true(nwi_ends_with(err.file, "/name.bin"));
}

static void names_fit_exactly(void **state)
{
    (void)state;
    char name[300];
    struct nw_error err;
    nwi_error_clear(&err);
    memset(name, 'n', sizeof name);
    name[sizeof err.tensor - 1] = '\0';
    (void)nwi_fail(&err, NW_E_ARG, "x");
    (void)nwi_error_in_tensor(&err, NW_E_ARG, name);
    assert_string_equal(err.tensor, name);
}

static void success_gets_no_file(void **state)
{
    (void)state;
    struct nw_error err;
    nwi_error_clear(&err);
    assert_int_equal(nwi_error_in_file(&err, NW_OK, "f"), NW_OK);
    assert_int_equal(nwi_error_in_tensor(&err, NW_OK, "t"), NW_OK);
    assert_string_equal(err.file, "");
    assert_string_equal(err.tensor, "");
}

static void quoting(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        size_t max_chars;
        const char *expected;
    } rows[] = {
        {"plain.weight", 12, 100, "plain.weight"},
        {"", 0, 100, ""},
        {"a\nb\x7F\"'", 6, 100, "a\\x0ab\\x7f\\x22\\x27"},
        {"\xC3\xA9\xFF\xC3", 4, 100, "\xC3\xA9\\xff\\xc3"},
        {"\xC2\x9B", 2, 100, "\\xc2\\x9b"}, /* a control that terminals act on */
        {"\xC2\xA0", 2, 100, "\xC2\xA0"},
        {"abc", 3, 3, "abc"},
        {"abcd", 4, 3, "abc..."},
        {"a\0b", 3, 100, "a\\x00b"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char out[64];
        nwi_quote(out, sizeof out, rows[i].text, rows[i].size, rows[i].max_chars);
        assert_string_equal(out, rows[i].expected);
    }
}

static void quoting_never_writes_past_its_buffer(void **state)
{
    (void)state;
    char text[64];
    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    for (size_t size = 8; size < 80; size++) {
        char out[96];
        memset(out, '#', sizeof out);
        nwi_quote(out, size, text, sizeof text - 1, 1000);
        assert_true(memchr(out, '\0', size) != NULL);
        assert_int_equal(out[size], '#');
        assert_true(nwi_utf8_valid(out, strlen(out)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_name),
        cmocka_unit_test(the_first_error_wins),
        cmocka_unit_test(null_is_allowed),
        cmocka_unit_test(errno_becomes_code_and_text),
        cmocka_unit_test(a_long_message_ends_in_whole_characters),
        cmocka_unit_test(a_long_path_keeps_its_tail),
        cmocka_unit_test(names_fit_exactly),
        cmocka_unit_test(success_gets_no_file),
        cmocka_unit_test(quoting),
        cmocka_unit_test(quoting_never_writes_past_its_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
