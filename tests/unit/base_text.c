/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "support/support.h"
#include "test.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static bool glob(const char *pattern, const char *name, struct nwi_captures *captures)
{
    return nwi_glob(pattern, strlen(pattern), name, strlen(name), captures);
}

static void globs(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *name;
        bool match;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", true},
        {"*", "a.b", true},
        {"a*", "a", true},
        {"a*", "ba", false},
        {"*.weight", "x.y.weight", true},
        {"*.weight", "weight", false},
        {"*.weight", "x.weights", false},
        {"a.*.b", "a..b", true},
        {"a.*.b", "a.b", false},
        {"a*b*c", "abbbc", true},
        {"a*b*c", "abbb", false},
        {"*a*a*a", "aa", false},
        {"**", "x", true},
        {"?", "x", true},
        {"?", "", false},
        {"?", "xy", false},
        {"?", "\xC3\xA9", true},
        {"??", "\xC3\xA9", false},
        {"?", "\xFF", true},
        {"*?", "\xC3\xA9", true},
        {"*??", "\xC3\xA9", false},
        {"[ab]", "a", false},
        {"[ab]", "[ab]", true},
        {"Weight", "weight", false},
        {"blocks.?.w", "blocks.7.w", true},
        {"blocks.?.w", "blocks.17.w", false},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        if (glob(rows[i].pattern, rows[i].name, NULL) != rows[i].match)
            fail_msg("%s against %s", rows[i].pattern, rows[i].name);
    }
}

/* The captures of a match, joined with '|'. */
static const char *captured(const char *pattern, const char *name, char out[256])
{
    struct nwi_captures c;
    size_t used = 0;
    assert_true(glob(pattern, name, &c));
    for (size_t i = 0; i < c.n; i++) {
        if (i)
            out[used++] = '|';
        memcpy(out + used, c.text[i], c.size[i]);
        used += c.size[i];
    }
    out[used] = '\0';
    return out;
}

static void captures_are_shortest_from_the_left(void **state)
{
    (void)state;
    char out[256];
    assert_string_equal(captured("*.*", "a.b.c", out), "a|b.c");
    assert_string_equal(captured("*", "a.b", out), "a.b");
    assert_string_equal(captured("a*b", "ab", out), "");
    assert_string_equal(captured("*.attn.*.weight", "x.attn.q.attn.w.weight", out),
                        "x|q.attn.w");
    assert_string_equal(captured("**", "ab", out), "|ab");
    assert_string_equal(captured("*aab*", "aaaabx", out), "aa|x");
    assert_string_equal(captured("*-*-*-*-*-*-*-*-*", "1-2-3-4-5-6-7-8-9", out),
                        "1|2|3|4|5|6|7|8");
    assert_string_equal(captured("plain", "plain", out), "");
}

/* Reference: tries everything. */
static bool slow_glob(const char *p, const char *n)
{
    if (!*p)
        return !*n;
    if (*p == '*')
        return slow_glob(p + 1, n) || (*n && slow_glob(p, n + 1));
    return *n && (*p == '?' || *p == *n) && slow_glob(p + 1, n + 1);
}

static void globs_agree_with_the_reference(void **state)
{
    (void)state;
    uint64_t seed = 0x5EED;
    for (int i = 0; i < 200000; i++) {
        char pattern[8] = {0};
        char name[10] = {0};
        size_t n_pattern = nwt_random(&seed) % sizeof pattern;
        size_t n_name = nwt_random(&seed) % sizeof name;
        for (size_t k = 0; k < n_pattern; k++)
            pattern[k] = "ab*?*"[nwt_random(&seed) % 5];
        for (size_t k = 0; k < n_name; k++)
            name[k] = "ab"[nwt_random(&seed) % 2];
        if (glob(pattern, name, NULL) != slow_glob(pattern, name))
            fail_msg("%s against %s", pattern, name);
    }
}

static void a_hostile_glob_is_not_exponential(void **state)
{
    (void)state;
    char pattern[200];
    char name[20000];
    for (size_t i = 0; i < sizeof pattern; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[sizeof pattern - 1] = 'b';
    memset(name, 'a', sizeof name);
    assert_false(nwi_glob(pattern, sizeof pattern, name, sizeof name, NULL));
}

static bool has(const char *name, const char *component)
{
    return nwi_has_component(name, strlen(name), component, strlen(component));
}

static void components(void **state)
{
    (void)state;
    assert_true(has("a.norm.weight", "norm"));
    assert_true(has("norm", "norm"));
    assert_true(has("norm.x", "norm"));
    assert_true(has("x.norm", "norm"));
    assert_false(has("x.norm1", "norm"));
    assert_false(has("prenorm.x", "norm"));
    assert_false(has("a.b", "a.b"));
    assert_false(has("", "norm"));
}

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } rows[] = {
        {"0", 0},
        {"4096", 4096},
        {"4096B", 4096},
        {"64MiB", 67108864},
        {"64mib", 67108864},
        {"5GB", 5000000000},
        {"5G", 5000000000},
        {"5Gi", 5368709120},
        {"1.5gb", 1500000000},
        {"1.5KiB", 1536},
        {"0.1KiB", 102}, /* 102.4 rounded down */
        {"2T", 2000000000000},
        {"1k", 1000},
        {"0.999999999999999999999999999999K", 999},
        {"18446744073709551615", UINT64_MAX},
        {"16777215.999999999999Ti", UINT64_MAX - 1}, /* 2^64 - 1.1 */
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint64_t value = 0;
        if (!nwi_parse_size(rows[i].text, strlen(rows[i].text), &value))
            fail_msg("%s is refused", rows[i].text);
        assert_true(value == rows[i].value);
    }
}

static void what_is_no_size(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "B",
        "GB",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1 GB",
        "1.",
        ".5G",
        "1.5",
        "1.5B",
        "1.2.3G",
        "1x",
        "1Kx",
        "1KBB",
        "1iB",
        "1i",
        "0x10",
        "1e3",
        "1,5G",
        "inf",
        "1KiBi",
        "18446744073709551616",
        "16777216TiB",
        "18446744073709552K",
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint64_t value = 0;
        if (nwi_parse_size(rows[i], strlen(rows[i]), &value))
            fail_msg("'%s' is accepted", rows[i]);
    }
}

static void a_size_ends_where_its_length_says(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_true(nwi_parse_size("12345", 2, &value));
    assert_int_equal(value, 12);
    assert_true(nwi_parse_size("1.5GB", 4, &value));
    assert_int_equal(value, 1500000000);
    assert_false(nwi_parse_size("1.5GB", 2, &value));
}

/* All 1 to 4 byte sequences whose first bytes are interesting, against the table of RFC
 * 3629. */
static bool well_formed(const unsigned char *b, size_t n)
{
    uint32_t c = 0;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (n == 1)
        return b[0] < 0x80;
    if ((uint32_t)b[0] >> (7 - n) != (1u << (n + 1)) - 2)
        return false;
    c = b[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (b[i] >> 6 != 2)
            return false;
        c = c << 6 | (b[i] & 0x3F);
    }
    return c >= least[n] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
}

static void utf8_by_the_table(void **state)
{
    (void)state;
    static const unsigned char tails[] = {0x00, 0x7F, 0x80, 0x8F, 0x90,
                                          0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
    const size_t n_tails = sizeof tails;
    for (unsigned first = 0; first < 256; first++) {
        for (size_t i = 0; i < n_tails * n_tails * n_tails; i++) {
            unsigned char b[4] = {(unsigned char)first, tails[i % n_tails],
                                  tails[i / n_tails % n_tails],
                                  tails[i / n_tails / n_tails]};
            size_t expected = 0;
            for (size_t n = 1; n <= 4 && !expected; n++)
                expected = well_formed(b, n) ? n : 0;
            assert_int_equal(nwi_utf8_length((const char *)b, 4), expected);
            if (expected > 1)
                assert_int_equal(nwi_utf8_length((const char *)b, expected - 1), 0);
        }
    }
}

static void utf8_texts(void **state)
{
    (void)state;
    assert_true(nwi_utf8_valid("", 0));
    assert_true(nwi_utf8_valid("a\0b", 3));
    assert_true(nwi_utf8_valid("\xE2\x82\xAC\xF4\x8F\xBF\xBF", 7));
    assert_false(nwi_utf8_valid("\xC0\x80", 2));
    assert_false(nwi_utf8_valid("\xED\xA0\x80", 3));
    assert_false(nwi_utf8_valid("\xE2\x82", 2));
}

static void ends(void **state)
{
    (void)state;
    assert_true(nwi_ends_with("a.safetensors", ".safetensors"));
    assert_false(nwi_ends_with("tensors", ".safetensors"));
    assert_true(nwi_ends_with("x", ""));
    assert_true(nwi_starts_with("abc", "ab"));
    assert_false(nwi_starts_with("a", "ab"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs),
        cmocka_unit_test(captures_are_shortest_from_the_left),
        cmocka_unit_test(globs_agree_with_the_reference),
        cmocka_unit_test(a_hostile_glob_is_not_exponential),
        cmocka_unit_test(components),
        cmocka_unit_test(sizes),
        cmocka_unit_test(what_is_no_size),
        cmocka_unit_test(a_size_ends_where_its_length_says),
        cmocka_unit_test(utf8_by_the_table),
        cmocka_unit_test(utf8_texts),
        cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
