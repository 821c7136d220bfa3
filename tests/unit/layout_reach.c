/* SPDX-License-Identifier: Apache-2.0
 * Every row of the table of families is reached: a file that has just what one of its
 * signatures asks for is taken for that row, in that layout. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "layout/detect.h"

#define ROWS_MOST 64u

/* The file that a signature describes. */
struct wish {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nwi_header_row rows[ROWS_MOST];
    uint64_t shapes[ROWS_MOST][8];
    size_t n;
    const char *hints[8];
    size_t n_hints;
};

static int n_problems;

/* The row of that name, a matrix if it is new. */
static struct nwi_header_row *row_of(struct wish *wish, const char *name, size_t size)
{
    for (size_t i = 0; i < wish->n; i++) {
        if (wish->rows[i].name_size == size &&
            memcmp(wish->rows[i].name, name, size) == 0)
            return &wish->rows[i];
    }
    assert_true(wish->n < ROWS_MOST);
    struct nwi_header_row *row = &wish->rows[wish->n];
    for (size_t d = 0; d < 8; d++)
        wish->shapes[wish->n][d] = 2;
    *row = (struct nwi_header_row){.name = nwi_arena_copy(&wish->arena, name, size),
                                   .name_size = size,
                                   .shape = wish->shapes[wish->n],
                                   .rank = 2,
                                   .source = NW_NONE};
    assert_non_null(row->name);
    wish->n++;
    return row;
}

/* A number for which "=N", "!=N", "<N" or ">N" holds. */
static uint64_t number_of(const char *comparison)
{
    uint64_t n = strtoull(comparison + strcspn(comparison, "0123456789"), NULL, 10);
    if (comparison[0] == '<')
        return n - 1;
    return n + (comparison[0] == '>' || comparison[0] == '!');
}

/* NAME[d]=N, NAME[]=N */
static void wish_shape(struct wish *wish, const char *fact, const char *open)
{
    struct nwi_header_row *row = row_of(wish, fact, (size_t)(open - fact));
    const char *close = strchr(open, ']');
    assert_non_null(close);
    uint64_t n = number_of(close + 1);
    if (close == open + 1) {
        row->rank = (uint32_t)n;
        return;
    }
    long d = strtol(open + 1, NULL, 10);
    d += d < 0 ? (long)row->rank : 0;
    assert_in_range(d, 0, 7);
    if ((uint32_t)d >= row->rank)
        row->rank = (uint32_t)d + 1;
    wish->shapes[row - wish->rows][d] = n;
}

/* A name below the prefix, unless there is one. */
static void wish_below(struct wish *wish, const char *prefix, size_t size)
{
    for (size_t i = 0; i < wish->n; i++) {
        if (strncmp(wish->rows[i].name, prefix, size) == 0)
            return;
    }
    char *name = nwi_arena_printf(&wish->arena, "%.*s.x", (int)size, prefix);
    (void)row_of(wish, name, size + 2);
}

/* Of alternatives, the first. */
static void wish_fact(struct wish *wish, const char *fact)
{
    size_t size = strcspn(fact, "|");
    char *text = nwi_arena_copy(&wish->arena, fact, size);
    const char *open = strchr(text, '[');
    if (text[0] == '!' || text[0] == '~')
        return;
    if (text[0] == '$') {
        assert_true(wish->n_hints < 8);
        wish->hints[wish->n_hints++] = text + 1;
    } else if (text[0] == '#') {
        size_t list = strcspn(text, "=<>!") - 1;
        uint64_t n = number_of(text + 1 + list);
        char *name = nwi_arena_printf(&wish->arena, "%.*s%llu.x", (int)list, text + 1,
                                      (unsigned long long)(n ? n - 1 : 0));
        if (n)
            (void)row_of(wish, name, strlen(name));
    } else if (open) {
        wish_shape(wish, text, open);
    } else if (text[size - 1] == '*') {
        wish_below(wish, text, size - 1);
    } else {
        (void)row_of(wish, text, size);
    }
}

static void detect(struct wish *wish, struct nwi_recognition *out)
{
    struct nwi_header header;
    struct nw_error err;
    const struct nwi_hints hints = {wish->hints, wish->n_hints};
    nwi_error_clear(&err);
    assert_ok(nwi_header_init(&header, wish->rows, wish->n, wish->memory, &err), &err);
    assert_ok(nwi_detect_region(NULL, &header, &hints, &wish->arena, out, &err), &err);
    nwi_header_release(&header);
}

static void check_signature(const struct nwi_family *family,
                            const struct nwi_signature *signature, uint8_t layout)
{
    struct wish *wish = calloc(1, sizeof *wish);
    struct nwi_recognition match;
    assert_non_null(wish);
    wish->memory = nwi_memory_new(NULL);
    nwi_arena_init(&wish->arena, wish->memory);
    for (size_t i = 0; signature->facts[i]; i++)
        wish_fact(wish, signature->facts[i]);
    detect(wish, &match);
    if (match.family != family || match.layout != layout) {
        (void)fprintf(stderr, "%s/%s (%s), layout %d, %s ...: taken for %s/%s (%s)\n",
                      family->name, family->component, family->klass, layout,
                      signature->facts[0],
                      match.family ? match.family->name : "nothing",
                      match.family ? match.family->component : "-",
                      match.family ? match.family->title : match.why_not);
        n_problems++;
    }
    nwi_arena_release(&wish->arena);
    nwi_memory_release(wish->memory);
    free(wish);
}

static void every_row_is_reached(void **state)
{
    size_t n = 0;
    (void)state;
    for (size_t i = 0; nwi_families[i]; i++) {
        const struct nwi_family *family = nwi_families[i];
        const struct nwi_signature *s = family->original;
        for (; s && s->facts; s++, n++)
            check_signature(family, s, NWI_LAYOUT_ORIGINAL);
        for (s = family->diffusers; s && s->facts; s++, n++)
            check_signature(family, s, NWI_LAYOUT_DIFFUSERS);
    }
    assert_true(n > 100);
    assert_int_equal(n_problems, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
