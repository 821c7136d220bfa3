/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <stdint.h>
#include <stdio.h>

#define DIGITS_MOST   19    /* that a uint64_t holds */
#define EXACT_POWER   22    /* the largest power of ten that a double holds */
#define EXPONENT_MOST 10000 /* beyond it all is zero or infinite */

struct decimal {
    uint64_t digits;
    int n; /* digits read into it */
    int exponent;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits; those that no longer fit count as zeros. `scale` is what one more of them does
 * to the exponent: 0 before the point, -1 behind it. */
static const char *read_digits(const char *at, int scale, struct decimal *out)
{
    for (; is_digit(*at); at++) {
        bool fits = out->n < DIGITS_MOST;
        if (fits) {
            out->digits = out->digits * 10 + (uint64_t)(*at - '0');
            out->n += out->digits > 0;
        }
        if (out->exponent > -EXPONENT_MOST && out->exponent < EXPONENT_MOST)
            out->exponent += scale + !fits;
    }
    return at;
}

/* "e-6"; NULL if the letter stands alone. */
static const char *read_exponent(const char *at, int *out)
{
    bool negative = at[1] == '-';
    int value = 0;
    at += at[1] == '-' || at[1] == '+' ? 2 : 1;
    if (!is_digit(*at))
        return NULL;
    for (; is_digit(*at); at++)
        value = value < EXPONENT_MOST ? value * 10 + (*at - '0') : value;
    *out += negative ? -value : value;
    return at;
}

static long double power_of_ten(int exponent)
{
    long double power = 1;
    long double base = 10;
    for (; exponent > 0; exponent /= 2) {
        power = exponent % 2 ? power * base : power;
        base *= base;
    }
    return power;
}

/* One rounding, of two numbers that a double holds. */
static double scaled_exactly(const struct decimal *decimal)
{
    double value = (double)decimal->digits;
    int exponent = decimal->exponent;
    return exponent < 0 ? value / (double)power_of_ten(-exponent)
                        : value * (double)power_of_ten(exponent);
}

static double scaled(const struct decimal *decimal)
{
    long double value = (long double)decimal->digits;
    int exponent = decimal->exponent;
    if (decimal->digits == 0)
        return 0;
    if (decimal->digits < 1ull << 53 && exponent >= -EXACT_POWER &&
        exponent <= EXACT_POWER)
        return scaled_exactly(decimal);
    return (double)(exponent < 0 ? value / power_of_ten(-exponent)
                                 : value * power_of_ten(exponent));
}

bool nwi_parse_real(const char *text, double *out)
{
    struct decimal decimal = {0};
    bool negative = *text == '-';
    const char *start = text + negative;
    const char *at = read_digits(start, 0, &decimal);
    if (at == start)
        return false;
    if (*at == '.') {
        start = at + 1;
        at = read_digits(start, -1, &decimal);
        if (at == start)
            return false;
    }
    if (*at == 'e' || *at == 'E')
        at = read_exponent(at, &decimal.exponent);
    if (!at || *at != '\0')
        return false;
    double value = scaled(&decimal);
    *out = negative ? -value : value;
    return true;
}

void nwi_write_real(double value, int digits, char *out, size_t size)
{
    (void)snprintf(out, size, "%.*g", digits, value);
    for (; *out; out++) {
        if (!is_digit(*out) && *out != '-' && *out != '+' && *out != 'e')
            *out = '.'; /* the locale's sign for it */
    }
}
