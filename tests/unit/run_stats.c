/* SPDX-License-Identifier: Apache-2.0
 * Counting NaN and infinities, against what the casts make of every pattern; single
 * values. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "run/stats.h"
#include "run/values.h"
#include "support/support.h"
#include "tensor/cast.h"

static const int narrow[] = {NW_F16,     NW_BF16,        NW_F8_E4M3,    NW_F8_E5M2,
                             NW_F8_E8M0, NW_F8_E4M3FNUZ, NW_F8_E5M2FNUZ};

/* Every pattern of every type up to 16 bits, one at a time, agrees with its value as a
 * double. */
static void each_pattern_counts_as_what_it_is(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof narrow / sizeof *narrow; t++) {
        uint32_t width = nw_dtype_bits(narrow[t]) / 8;
        assert_true(nwi_stats_applies(narrow[t]));
        for (uint32_t bits = 0; bits < 1u << (8 * width); bits++) {
            struct nwi_cast cast;
            struct nwi_cast_counts counts = {0};
            struct nwi_stats stats = {0};
            double value = 0;
            assert_true(nwi_cast_find(narrow[t], NW_F64, NW_CPU_SCALAR, 0, &cast));
            nwi_cast_run(&cast, &bits, &value, 1, &counts);
            nwi_stats_add(narrow[t], &bits, width, &stats);
            assert_int_equal(stats.n_nan, isnan(value) != 0);
            assert_int_equal(stats.n_inf, isinf(value) != 0);
        }
    }
}

static void wide_types_are_counted_too(void **state)
{
    (void)state;
    const float floats[] = {0, -NAN, INFINITY, -INFINITY, 3e38f, NAN, 1};
    const double doubles[] = {(double)NAN, 1, (double)-INFINITY, 1.7e308, 4e-324};
    struct nwi_stats stats = {0};
    nwi_stats_add(NW_F32, floats, sizeof floats, &stats);
    assert_int_equal(stats.n_nan, 2);
    assert_int_equal(stats.n_inf, 2);
    nwi_stats_add(NW_F64, doubles, sizeof doubles, &stats);
    assert_int_equal(stats.n_nan, 3);
    assert_int_equal(stats.n_inf, 3);
    nwi_stats_add(NW_C64, floats, 6 * sizeof *floats, &stats);
    assert_int_equal(stats.n_nan, 5);
    assert_int_equal(stats.n_inf, 5);
}

/* Blocks with and without such values, and what is left over, against one at a time. */
static void long_runs_count_like_single_values(void **state)
{
    (void)state;
    enum { SIZE = 1 + 4 * 2 * 512 + 14 };
    uint64_t seed = 11;
    uint8_t bytes[SIZE];
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i / 1024 % 2 ? 0x20 : nwt_random(&seed));
    for (size_t t = 0; t < sizeof narrow / sizeof *narrow; t++) {
        uint32_t width = nw_dtype_bits(narrow[t]) / 8;
        struct nwi_stats one = {0};
        struct nwi_stats all = {0};
        for (size_t at = 1; at + width <= SIZE; at += width)
            nwi_stats_add(narrow[t], bytes + at, width, &one);
        nwi_stats_add(narrow[t], bytes + 1, SIZE - 1, &all);
        assert_int_equal(all.n_nan, one.n_nan);
        assert_int_equal(all.n_inf, one.n_inf);
        assert_true(all.n_nan > 0);
    }
}

static void unaligned_data_is_no_trouble(void **state)
{
    (void)state;
    uint8_t bytes[1 + 3 * 8];
    const double values[] = {(double)NAN, 1, (double)INFINITY};
    struct nwi_stats stats = {0};
    memcpy(bytes + 1, values, sizeof values);
    nwi_stats_add(NW_F64, bytes + 1, sizeof values, &stats);
    assert_int_equal(stats.n_nan, 1);
    assert_int_equal(stats.n_inf, 1);
}

static void other_types_have_none(void **state)
{
    (void)state;
    static const int none[] = {NW_BOOL, NW_U8,      NW_I64,     NW_U64,
                               NW_F4,   NW_F6_E2M3, NW_F6_E3M2, NW_DTYPE_UNKNOWN};
    uint8_t ones[64];
    memset(ones, 0xFF, sizeof ones);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct nwi_stats stats = {0};
        assert_false(nwi_stats_applies(none[i]));
        nwi_stats_add(none[i], ones, sizeof ones, &stats);
        assert_int_equal(stats.n_nan + stats.n_inf, 0);
    }
}

/* ---- single values ---- */

static double real_of(int dtype, const void *data, size_t i)
{
    struct nwi_value value = nwi_value_load(dtype, data, i);
    assert_false(value.is_int);
    return value.real;
}

static void packed_floats_have_their_values(void **state)
{
    (void)state;
    static const double f4[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
    uint8_t data[8];
    for (uint32_t i = 0; i < 8; i++)
        data[i] = (uint8_t)(i | (i | 8) << 4); /* low half first, high half negative */
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(real_of(NW_F4, data, 2 * i) == f4[i]);
        assert_true(real_of(NW_F4, data, 2 * i + 1) == -f4[i]);
    }
    /* Codes 0x1F, 0x01, 0x20, 0x3F of six bits each, lowest first. */
    static const uint8_t six[] = {0x5F, 0x00, 0xFE};
    assert_true(real_of(NW_F6_E2M3, six, 0) == 7.5);
    assert_true(real_of(NW_F6_E2M3, six, 1) == 0.125);
    assert_true(real_of(NW_F6_E2M3, six, 2) == 0);
    assert_true(real_of(NW_F6_E2M3, six, 3) == -7.5);
    assert_true(real_of(NW_F6_E3M2, six, 0) == 28);
    assert_true(real_of(NW_F6_E3M2, six, 1) == 0.0625);
    assert_true(real_of(NW_F6_E3M2, six, 3) == -28);
}

static void integers_keep_all_their_bits(void **state)
{
    (void)state;
    const int64_t longs[] = {INT64_MIN, -1, INT64_MAX};
    const uint64_t unsigned_longs[] = {UINT64_MAX, UINT64_MAX - 1};
    const int8_t bytes[] = {-128, 127};
    struct nwi_value low = nwi_value_load(NW_I64, longs, 0);
    assert_true(low.is_int && low.negative);
    assert_true(low.magnitude == (uint64_t)1 << 63);
    assert_true(nwi_value_load(NW_I64, longs, 1).magnitude == 1);
    assert_true(nwi_value_load(NW_I8, bytes, 0).negative);
    assert_true(nwi_value_load(NW_I8, bytes, 0).magnitude == 128);
    assert_true(nwi_value_load(NW_I8, bytes, 1).magnitude == 127);
    struct nwi_value a = nwi_value_load(NW_U64, unsigned_longs, 0);
    struct nwi_value b = nwi_value_load(NW_U64, unsigned_longs, 1);
    assert_true(nwi_value_distance(a, b) == 1);
    assert_true(nwi_value_distance(a, a) == 0);
    assert_true(nwi_value_distance(a, nwi_value_load(NW_I64, longs, 1)) > 1.8e19);
    assert_true(nwi_value_load(NW_U8, bytes, 0).magnitude == 128);
}

static void distances_know_what_is_no_number(void **state)
{
    (void)state;
    struct nwi_value nan = {.real = (double)NAN};
    struct nwi_value inf = {.real = (double)INFINITY};
    struct nwi_value one = {.real = 1};
    struct nwi_value two = {.is_int = true, .magnitude = 2};
    assert_true(nwi_value_distance(nan, nan) == 0);
    assert_true(isinf(nwi_value_distance(nan, one)));
    assert_true(nwi_value_distance(inf, inf) == 0);
    assert_true(isinf(nwi_value_distance(inf, one)));
    assert_true(nwi_value_distance(one, two) == 1);
}

static int append(void *ctx, const char *text, size_t size)
{
    strncat(ctx, text, size);
    return 0;
}

static void values_are_written_as_json(void **state)
{
    (void)state;
    char text[256] = "";
    struct nwi_json_writer w;
    nwi_json_writer_init(&w, append, text);
    nwi_json_array(&w);
    nwi_value_write(&w, (struct nwi_value){.is_int = true, .magnitude = UINT64_MAX});
    nwi_value_write(&w, (struct nwi_value){.is_int = true,
                                           .negative = true,
                                           .magnitude = (uint64_t)1 << 63});
    nwi_value_write(&w, (struct nwi_value){.real = 0.5});
    nwi_value_write(&w, (struct nwi_value){.real = (double)NAN});
    nwi_value_write(&w, (struct nwi_value){.real = (double)-INFINITY});
    nwi_json_array_end(&w);
    assert_int_equal(nwi_json_writer_finish(&w), NW_OK);
    assert_string_equal(text, "[18446744073709551615,-9223372036854775808,0.5,\"NaN\","
                              "\"-Infinity\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pattern_counts_as_what_it_is),
        cmocka_unit_test(wide_types_are_counted_too),
        cmocka_unit_test(long_runs_count_like_single_values),
        cmocka_unit_test(unaligned_data_is_no_trouble),
        cmocka_unit_test(other_types_have_none),
        cmocka_unit_test(packed_floats_have_their_values),
        cmocka_unit_test(integers_keep_all_their_bits),
        cmocka_unit_test(distances_know_what_is_no_number),
        cmocka_unit_test(values_are_written_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
