/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longest word that is compared for suggestions; longer ones are never near anything.
 */
#define DISTANCE_MAX 32

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static bool same_word(const char *text, const char *word)
{
    while (*text != '\0' && lower(*text) == *word) {
        text++;
        word++;
    }
    return *text == '\0' && *word == '\0';
}

static uint64_t unit_bytes(const char *text)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        {"", 1},
        {"b", 1},
        {"kb", 1000},
        {"mb", 1000000},
        {"gb", 1000000000},
        {"tb", 1000000000000},
        {"kib", UINT64_C(1) << 10},
        {"mib", UINT64_C(1) << 20},
        {"gib", UINT64_C(1) << 30},
        {"tib", UINT64_C(1) << 40},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (same_word(text, units[i].name))
            return units[i].bytes;
    return 0;
}

/* Digits at *text; false if there are none or they do not fit. */
static bool digits(const char **text, uint64_t *out)
{
    uint64_t value = 0;
    if (!is_digit(**text))
        return false;
    for (; is_digit(**text); (*text)++) {
        uint64_t digit = (uint64_t)(**text - '0');
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *out = value;
    return true;
}

bool cli_value_size(const char *text, uint64_t *out)
{
    uint64_t whole;
    uint64_t fraction = 0;
    uint64_t scale = 1;
    if (!digits(&text, &whole))
        return false;
    if (*text == '.') {
        const char *start = ++text;
        /* Six digits: with the largest unit (2^40) the product stays below 2^60. */
        if (!digits(&text, &fraction) || text - start > 6)
            return false;
        for (; start < text; start++)
            scale *= 10;
    }
    uint64_t unit = unit_bytes(text);
    uint64_t bytes;
    if (unit == 0 || (unit == 1 && fraction != 0) ||
        __builtin_mul_overflow(whole, unit, &bytes) ||
        __builtin_add_overflow(bytes, fraction * unit / scale, &bytes))
        return false;
    if (bytes == 0 || bytes == UINT64_MAX)
        return false;
    *out = bytes;
    return true;
}

bool cli_value_number(const char *text, uint32_t *out)
{
    uint64_t value;
    if (!digits(&text, &value) || *text != '\0' || value >= UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* A number that starts with a digit or a point: no sign, no hexadecimal, no "nan". */
static bool real(const char **text, double *out)
{
    const char *at = *text;
    if ((!is_digit(*at) && *at != '.') || lower(at[1]) == 'x')
        return false;
    char *end;
    *out = strtod(at, &end);
    if (end == at || !isfinite(*out))
        return false;
    *text = end;
    return true;
}

bool cli_value_tolerance(const char *text, struct cli_tolerance *out)
{
    struct cli_tolerance value = {0.0, 0.0};
    if (!real(&text, &value.absolute))
        return false;
    if (*text == ',') {
        text++;
        if (!real(&text, &value.relative))
            return false;
    }
    if (*text != '\0')
        return false;
    *out = value;
    return true;
}

size_t cli_word(const char *words, size_t i, const char **out)
{
    for (; i > 0; i--) {
        words = strchr(words, '|');
        if (words == NULL)
            return 0;
        words++;
    }
    *out = words;
    return strcspn(words, "|");
}

bool cli_value_choice(const char *words, const char *text, size_t size, uint32_t *out)
{
    const char *word;
    size_t word_size;
    for (uint32_t i = 0; (word_size = cli_word(words, i, &word)) > 0; i++) {
        if (word_size == size && memcmp(word, text, size) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

size_t cli_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t row[DISTANCE_MAX + 1];
    if (a_size > DISTANCE_MAX || b_size > DISTANCE_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 0; i < a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b_size; j++) {
            size_t best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j + 1] + 1 < best)
                best = row[j + 1] + 1;
            row[j + 1] = best;
        }
    }
    return row[b_size];
}
