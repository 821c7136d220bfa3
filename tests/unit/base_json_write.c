/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "support/support.h"
#include "test.h"

/* Collects what is written; refuses call number fail_at. */
struct sink {
    char text[32768];
    size_t size;
    int calls;
    int fail_at; /* < 0: never */
};

static int collect(void *ctx, const char *text, size_t size)
{
    struct sink *sink = ctx;
    if (sink->calls++ == sink->fail_at)
        return 1;
    assert_true(sink->size + size < sizeof sink->text);
    memcpy(sink->text + sink->size, text, size);
    sink->size += size;
    sink->text[sink->size] = '\0';
    return 0;
}

static void commas_and_levels(void **state)
{
    (void)state;
    struct sink sink = {.fail_at = -1};
    struct nwi_json_writer w;
    nwi_json_writer_init(&w, collect, &sink);
    nwi_json_object(&w);
    nwi_json_put_str(&w, "a", "x");
    nwi_json_put_uint(&w, "b", UINT64_MAX);
    nwi_json_key(&w, "c");
    nwi_json_array(&w);
    nwi_json_array(&w);
    nwi_json_array_end(&w);
    nwi_json_object(&w);
    nwi_json_object_end(&w);
    nwi_json_bool(&w, true);
    nwi_json_bool(&w, false);
    nwi_json_null(&w);
    nwi_json_str(&w, NULL);
    nwi_json_raw_value(&w, "[1,2]", 5);
    nwi_json_array_end(&w);
    nwi_json_key_n(&w, "d\0e", 3);
    nwi_json_uint(&w, 0);
    nwi_json_object_end(&w);
    assert_int_equal(sink.calls, 0);
    assert_int_equal(nwi_json_writer_finish(&w), NW_OK);
    assert_string_equal(
        sink.text, "{\"a\":\"x\",\"b\":18446744073709551615,\"c\":[[],{},true,false,"
                   "null,null,[1,2]],\"d\\u0000e\":0}");
    assert_int_equal(w.written, sink.size);
}

static void escapes(void **state)
{
    (void)state;
    struct sink sink = {.fail_at = -1};
    struct nwi_json_writer w;
    static const char text[] =
        "\"\\/\b\f\n\r\t\0\x01\x1F\x7F\xC3\xA9\xF0\x9F\x98\x80\xFFz\xC3";
    nwi_json_writer_init(&w, collect, &sink);
    nwi_json_str_n(&w, text, sizeof text - 1);
    assert_int_equal(nwi_json_writer_finish(&w), NW_OK);
    assert_string_equal(sink.text,
                        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u0001\\u001f\x7F\xC3\xA9"
                        "\xF0\x9F\x98\x80\xEF\xBF\xBDz\xEF\xBF\xBD\"");
}

static const char *real(double value, struct sink *sink)
{
    struct nwi_json_writer w;
    *sink = (struct sink){.fail_at = -1};
    nwi_json_writer_init(&w, collect, sink);
    nwi_json_real(&w, value);
    assert_int_equal(nwi_json_writer_finish(&w), NW_OK);
    return sink->text;
}

static void reals(void **state)
{
    (void)state;
    struct sink sink;
    assert_string_equal(real(0.1, &sink), "0.1");
    assert_string_equal(real(0, &sink), "0");
    assert_string_equal(real(-2.5, &sink), "-2.5");
    assert_string_equal(real(1e-5, &sink), "1e-05");
    assert_string_equal(real(123456.789, &sink), "123456.789");
    assert_string_equal(real(1e22, &sink), "1e+22");
    assert_string_equal(real((double)NAN, &sink), "null");
    assert_string_equal(real((double)INFINITY, &sink), "null");
    assert_string_equal(real((double)-INFINITY, &sink), "null");
}

static void reals_read_back(void **state)
{
    (void)state;
    static const double fixed[] = {1.0 / 3,
                                   DBL_MAX,
                                   -DBL_MAX,
                                   DBL_MIN,
                                   DBL_TRUE_MIN,
                                   1e23,
                                   0.1 + 0.2,
                                   9007199254740993.0,
                                   123456789012345678.0};
    struct sink sink;
    uint64_t seed = 0xD0;
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        assert_true(strtod(real(fixed[i], &sink), NULL) == fixed[i]);
    for (int i = 0; i < 20000; i++) {
        double value = (double)(nwt_random(&seed) % 100000000) / 1e4;
        assert_true(strtod(real(value, &sink), NULL) == value);
        uint64_t bits = nwt_random(&seed);
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            assert_true(strtod(real(value, &sink), NULL) == value);
    }
}

static void reals_ignore_the_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
    struct sink sink;
    for (size_t i = 0; i < 3; i++) {
        if (!setlocale(LC_NUMERIC, names[i]))
            continue;
        assert_string_equal(real(-1234.5, &sink), "-1234.5");
        assert_string_equal(real(1.0 / 3, &sink), "0.33333333333333331");
    }
    (void)setlocale(LC_NUMERIC, "C");
}

static void long_texts_come_in_pieces(void **state)
{
    (void)state;
    struct sink sink = {.fail_at = -1};
    struct nwi_json_writer w;
    char text[20000];
    memset(text, 'a', sizeof text);
    nwi_json_writer_init(&w, collect, &sink);
    nwi_json_str_n(&w, text, sizeof text);
    assert_int_equal(nwi_json_writer_finish(&w), NW_OK);
    assert_int_equal(sink.size, sizeof text + 2);
    assert_int_equal(sink.calls, 5);
    assert_memory_equal(sink.text + 1, text, sizeof text);
}

static void a_refusal_stops_everything(void **state)
{
    (void)state;
    for (int fail_at = 0; fail_at < 4; fail_at++) {
        struct sink sink = {.fail_at = fail_at};
        struct nwi_json_writer w;
        nwi_json_writer_init(&w, collect, &sink);
        nwi_json_array(&w);
        for (int i = 0; i < 6000; i++)
            nwi_json_uint(&w, 12);
        nwi_json_array_end(&w);
        assert_int_equal(nwi_json_writer_finish(&w), NW_E_CANCELLED);
        assert_int_equal(sink.calls, fail_at + 1);
        assert_int_equal(nwi_json_writer_finish(&w), NW_E_CANCELLED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_levels),
        cmocka_unit_test(escapes),
        cmocka_unit_test(reals),
        cmocka_unit_test(reals_read_back),
        cmocka_unit_test(reals_ignore_the_locale),
        cmocka_unit_test(long_texts_come_in_pieces),
        cmocka_unit_test(a_refusal_stops_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
