/* SPDX-License-Identifier: Apache-2.0
 * Globs, sizes and UTF-8. No locale: ASCII letters only are folded. */
#include "base/text.h"

#include <string.h>

#include "base/arith.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* ---- UTF-8 ---- */

static bool continues(const unsigned char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return false;
    }
    return true;
}

/* RFC 3629: the second byte alone decides about overlong forms, surrogates and
 * U+10FFFF. */
size_t nwi_utf8_length(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xC2 || at[0] > 0xF4)
        return 0;
    size_t length = at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    if (size < length || !continues(at + 1, length - 1))
        return 0;
    if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F))
        return 0;
    if ((at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F))
        return 0;
    return length;
}

bool nwi_utf8_valid(const char *text, size_t size)
{
    size_t length = 0;
    for (size_t at = 0; at < size; at += length) {
        length = nwi_utf8_length(text + at, size - at);
        if (length == 0)
            return false;
    }
    return true;
}

/* ---- globs ---- */

/* Where a glob stands in its pattern and name, and where to go back to. */
struct glob {
    size_t p;      /* next byte of the pattern */
    size_t n;      /* next byte of the name */
    size_t star_p; /* after the last star; 0: none yet */
    size_t star_n; /* where what follows that star was tried last */
    size_t star;   /* number of that star */
};

static void begin_capture(struct nwi_captures *captures, size_t star, const char *at)
{
    if (!captures || star >= NWI_GLOB_CAPTURES)
        return;
    captures->text[star] = at;
    captures->size[star] = 0;
    captures->n = star + 1;
}

static void end_capture(struct nwi_captures *captures, size_t star, const char *at)
{
    if (captures && star < NWI_GLOB_CAPTURES)
        captures->size[star] = (size_t)(at - captures->text[star]);
}

/* Bytes of one character; a byte that begins none counts as one. */
static size_t step(const char *name, size_t size)
{
    size_t length = nwi_utf8_length(name, size);
    return length ? length : 1;
}

/* One pattern byte that is no star against the name. */
static bool advance(struct glob *g, char pattern, const char *name, size_t name_size)
{
    if (g->n >= name_size || (pattern != '?' && pattern != name[g->n]))
        return false;
    g->n += pattern == '?' ? step(name + g->n, name_size - g->n) : 1;
    g->p++;
    return true;
}

/* Lets the last star take one character more. */
static bool retry(struct glob *g, const char *name, size_t name_size)
{
    if (g->star_p == 0 || g->star_n >= name_size)
        return false;
    g->star_n += step(name + g->star_n, name_size - g->star_n);
    g->n = g->star_n;
    g->p = g->star_p;
    return true;
}

bool nwi_glob(const char *pattern, size_t pattern_size, const char *name,
              size_t name_size, struct nwi_captures *captures)
{
    struct glob g = {0};
    size_t n_stars = 0;
    if (captures)
        captures->n = 0;
    while (g.p < pattern_size || g.n < name_size) {
        if (g.p < pattern_size && pattern[g.p] == '*') {
            g.star_p = ++g.p;
            g.star_n = g.n;
            g.star = n_stars++;
            begin_capture(captures, g.star, name + g.n);
            continue;
        }
        if (g.p < pattern_size && advance(&g, pattern[g.p], name, name_size))
            continue;
        if (!retry(&g, name, name_size))
            return false;
        end_capture(captures, g.star, name + g.n);
    }
    return true;
}

bool nwi_has_component(const char *name, size_t name_size, const char *component,
                       size_t component_size)
{
    size_t start = 0;
    for (size_t at = 0; at <= name_size; at++) {
        if (at < name_size && name[at] != '.')
            continue;
        if (at - start == component_size &&
            memcmp(name + start, component, component_size) == 0)
            return true;
        start = at + 1;
    }
    return false;
}

/* ---- sizes ---- */

/* What stands behind the number; 0 if it is no unit. */
static uint64_t unit_of(const char *text, size_t size)
{
    static const char letters[] = "kmgt";
    size_t at = 0;
    uint64_t unit = 1;
    const char *letter = size ? memchr(letters, lower(text[0]), 4) : NULL;
    if (letter) {
        bool binary = size > 1 && lower(text[1]) == 'i';
        at = binary ? 2 : 1;
        for (const char *c = letters; c <= letter; c++)
            unit *= binary ? 1024 : 1000;
    }
    if (at < size && lower(text[at]) == 'b')
        at++;
    return at == size ? unit : 0;
}

/* unit * 0.DIGITS, rounded down; from the last digit on, so that nothing can overflow.
 */
static uint64_t fraction_of(const char *digits, size_t n, uint64_t unit)
{
    uint64_t sum = 0;
    while (n-- > 0)
        sum = ((uint64_t)(digits[n] - '0') * unit + sum) / 10;
    return sum;
}

static size_t digits_at(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && is_digit(text[n]))
        n++;
    return n;
}

bool nwi_parse_size(const char *text, size_t size, uint64_t *out)
{
    uint64_t whole = 0;
    size_t at = digits_at(text, size);
    size_t n_fraction = 0;
    for (size_t i = 0; i < at; i++) {
        if (!nwi_mul(whole, 10, &whole) ||
            !nwi_add(whole, (uint64_t)(text[i] - '0'), &whole))
            return false;
    }
    if (at == 0)
        return false;
    const char *fraction = text + at + 1;
    if (at < size && text[at] == '.') {
        n_fraction = digits_at(fraction, size - at - 1);
        if (n_fraction == 0)
            return false;
        at += 1 + n_fraction;
    }
    uint64_t unit = unit_of(text + at, size - at);
    if (unit == 0 || (unit == 1 && n_fraction) || !nwi_mul(whole, unit, &whole))
        return false;
    return nwi_add(whole, fraction_of(fraction, n_fraction, unit), out);
}

bool nwi_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool nwi_ends_with(const char *text, const char *end)
{
    size_t text_size = strlen(text);
    size_t end_size = strlen(end);
    return text_size >= end_size &&
           memcmp(text + text_size - end_size, end, end_size) == 0;
}
