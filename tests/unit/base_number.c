/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "test.h"

static void numbers_are_those_of_strtod(void **state)
{
    static const char *const texts[] = {"0",           "-0.0",
                                        "1",           "512",
                                        "0.18215",     "0.13025",
                                        "1.5305",      "1e-6",
                                        "1E-05",       "1e+22",
                                        "8.5e-2",      "0.0609",
                                        "-1.25e3",     "9007199254740991",
                                        "0.000000001", "123.456",
                                        "4.0e0"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double value = -1;
        assert_true(nwi_parse_real(texts[i], &value));
        assert_true(value == strtod(texts[i], NULL));
    }
}

static void long_ones_are_close(void **state)
{
    static const char *const texts[] = {
        "0.1234567890123456789012345678901234567890", "123456789012345678901234567890",
        "1.7976931348623157e308", "2.2250738585072014e-308", "1e300"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double value = -1;
        double wanted = strtod(texts[i], NULL);
        assert_true(nwi_parse_real(texts[i], &value));
        assert_true(fabs(value - wanted) <= 2 * DBL_EPSILON * wanted);
    }
}

static void extremes_saturate(void **state)
{
    double value = -1;
    (void)state;
    assert_true(nwi_parse_real("1e400", &value) && isinf(value) && value > 0);
    assert_true(nwi_parse_real("-1e99999999999", &value) && isinf(value) && value < 0);
    assert_true(nwi_parse_real("1e-99999999999", &value) && value == 0);
    assert_true(nwi_parse_real("0e99999999999", &value) && value == 0);
}

static void others_are_no_numbers(void **state)
{
    static const char *const texts[] = {"",     "-",   "+1",  ".5",   "5.",
                                        "1e",   "1e+", "1,5", " 1",   "1 ",
                                        "0x10", "nan", "inf", "1.2.3"};
    double value = 0;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(nwi_parse_real(texts[i], &value));
}

static void written_in_few_digits(void **state)
{
    char text[32];
    (void)state;
    nwi_write_real(0.25, 17, text, sizeof text);
    assert_string_equal(text, "0.25");
    nwi_write_real(1.0 / 3, 3, text, sizeof text);
    assert_string_equal(text, "0.333");
    nwi_write_real(1e-7, 2, text, sizeof text);
    assert_string_equal(text, "1e-07");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_strtod),
        cmocka_unit_test(long_ones_are_close),
        cmocka_unit_test(extremes_saturate),
        cmocka_unit_test(others_are_no_numbers),
        cmocka_unit_test(written_in_few_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
