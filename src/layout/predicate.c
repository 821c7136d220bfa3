/* SPDX-License-Identifier: Apache-2.0
 * Predicates and quantities: parsed each time they are asked, which is once a file. */
#include "layout/predicate.h"

#include <string.h>

#include "base/error.h"
#include "layout/pattern.h"

#define NAME_CHARS 512 /* of a name in a predicate */

const char *nwi_hint(const struct nwi_hints *hints, const char *key)
{
    size_t size = strlen(key);
    for (size_t i = 0; hints && i < hints->n; i++) {
        const char *item = hints->items[i];
        if (strncmp(item, key, size) == 0 && item[size] == '=')
            return item + size + 1;
    }
    return NULL;
}

/* ---- parsing ---- */

enum what { HAS, BEGINS, DIM, RANK, COUNT, HINT };

/* One question without `!` and `|`. */
struct question {
    enum what what;
    char name[NAME_CHARS]; /* or prefix, or the hint's key */
    const char *value;     /* HINT: borrowed */
    size_t value_size;
    int64_t number; /* to compare with */
    int dim;
    char relation; /* '=' '!' '<' '>' */
};

static bool parse_int(const char *text, size_t size, int64_t *out)
{
    bool negative = size > 0 && text[0] == '-';
    size_t i = negative ? 1 : 0;
    int64_t value = 0;
    if (i == size || size - i > 18)
        return false;
    for (; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

static bool set_name(struct question *q, const char *text, size_t size)
{
    if (size >= sizeof q->name || memchr(text, '{', size))
        return false;
    memcpy(q->name, text, size);
    q->name[size] = '\0';
    return true;
}

/* "=N", "!=N", "<N" or ">N", all of it. */
static bool parse_relation(struct question *q, const char *text, size_t size)
{
    if (size == 0)
        return false;
    q->relation = text[0];
    size_t skip = text[0] == '!' ? 2 : 1;
    if (size <= skip || !strchr("=!<>", text[0]) || (skip == 2 && text[1] != '='))
        return false;
    return parse_int(text + skip, size - skip, &q->number);
}

/* NAME[d]REST: true if there are brackets with a dimension or nothing in them. */
static bool parse_brackets(struct question *q, const char *text, size_t size,
                           size_t *used)
{
    const char *open = memchr(text, '[', size);
    const char *close = open ? memchr(open, ']', size - (size_t)(open - text)) : NULL;
    int64_t dim = 0;
    if (!close || open == text)
        return false;
    q->what = close == open + 1 ? RANK : DIM;
    if (q->what == DIM && (!parse_int(open + 1, (size_t)(close - open - 1), &dim) ||
                           dim < -64 || dim > 64))
        return false;
    q->dim = (int)dim;
    *used = (size_t)(close - text) + 1;
    return set_name(q, text, (size_t)(open - text));
}

static bool parse_hint(struct question *q, const char *text, size_t size)
{
    const char *equals = memchr(text, '=', size);
    if (!equals || equals == text)
        return false;
    q->what = HINT;
    q->value = equals + 1;
    q->value_size = size - (size_t)(equals - text) - 1;
    return set_name(q, text, (size_t)(equals - text));
}

static bool parse_count(struct question *q, const char *text, size_t size)
{
    size_t at = 0;
    while (at < size && !strchr("=!<>", text[at]))
        at++;
    q->what = COUNT;
    return at > 0 && set_name(q, text, at) && parse_relation(q, text + at, size - at);
}

static bool parse_question(struct question *q, const char *text, size_t size)
{
    size_t used = 0;
    if (size == 0)
        return false;
    if (text[0] == '$')
        return parse_hint(q, text + 1, size - 1);
    if (text[0] == '#')
        return parse_count(q, text + 1, size - 1);
    if (memchr(text, '[', size))
        return parse_brackets(q, text, size, &used) &&
               parse_relation(q, text + used, size - used);
    q->what = text[size - 1] == '*' ? BEGINS : HAS;
    size -= q->what == BEGINS;
    /* What looks like a comparison without its brackets is a slip. */
    return set_name(q, text, size) && !strpbrk(q->name, "=<>!*");
}

/* ---- answering ---- */

static bool compare(const struct question *q, int64_t value)
{
    switch (q->relation) {
    case '=':
        return value == q->number;
    case '!':
        return value != q->number;
    case '<':
        return value < q->number;
    default:
        return value > q->number;
    }
}

static bool answer(const struct question *q, const struct nwi_header *header,
                   const struct nwi_hints *hints)
{
    int64_t value = 0;
    const char *hint = NULL;
    switch (q->what) {
    case HAS:
        return nwi_header_has(header, q->name);
    case BEGINS:
        return nwi_header_any(header, q->name);
    case DIM:
        value = nwi_header_dim(header, q->name, q->dim);
        return value >= 0 && compare(q, value);
    case RANK:
        value = nwi_header_rank(header, q->name);
        return value >= 0 && compare(q, value);
    case COUNT:
        return compare(q, nwi_header_count(header, q->name));
    case HINT:
        hint = nwi_hint(hints, q->name);
        return hint && strlen(hint) == q->value_size &&
               memcmp(hint, q->value, q->value_size) == 0;
    }
    return false;
}

/* Walks the questions between bars. `header` NULL: only whether they can be read. */
static bool walk(const char *text, const struct nwi_header *header,
                 const struct nwi_hints *hints)
{
    bool negated = *text == '!';
    bool any = false;
    for (text += negated; text;) {
        struct question q;
        const char *bar = strchr(text, '|');
        size_t size = bar ? (size_t)(bar - text) : strlen(text);
        if (!parse_question(&q, text, size))
            return false;
        any = any || (header && answer(&q, header, hints));
        text = bar ? bar + 1 : NULL;
    }
    return !header || any != negated;
}

bool nwi_predicate_valid(const char *text)
{
    return walk(text, NULL, NULL);
}

bool nwi_predicate_holds(const char *text, const struct nwi_header *header,
                         const struct nwi_hints *hints)
{
    return nwi_predicate_valid(text) && walk(text, header, hints);
}

/* ---- quantities ---- */

/* Cuts "+N" or "-N" off the end; 0 if there is none. */
static int64_t parse_addend(const char *text, size_t *size)
{
    size_t at = *size;
    int64_t value = 0;
    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
        at--;
    if (at < 2 || at == *size || (text[at - 1] != '+' && text[at - 1] != '-') ||
        !parse_int(text + at, *size - at, &value))
        return 0;
    value = text[at - 1] == '-' ? -value : value;
    *size = at - 1;
    return value;
}

static int64_t smallest(const struct nwi_pattern *pattern,
                        const struct nwi_header *header)
{
    const uint32_t bit = UINT32_C(1) << ('i' - 'a');
    struct nwi_match match = {0};
    int64_t least = -1;
    for (size_t i = 0; i < header->n; i++) {
        const struct nwi_header_row *row = &header->rows[i];
        if (!nwi_pattern_match(pattern, row->name, row->name_size, &match) ||
            !(match.has_number & bit))
            continue;
        int64_t value = match.numbers['i' - 'a'];
        least = least < 0 || value < least ? value : least;
    }
    return least;
}

/* Compiles text + size; ARG if it is no pattern that captures {i}. */
static int compile(const char *text, size_t size, struct nwi_arena *arena,
                   struct nwi_pattern *pattern)
{
    struct nw_error err;
    nwi_error_clear(&err);
    const char *copy = nwi_arena_copy(arena, text, size);
    if (!copy)
        return NW_E_NOMEM;
    NWI_TRY(nwi_pattern_compile(copy, NULL, arena, pattern, &err));
    return pattern->numbers & (UINT32_C(1) << ('i' - 'a')) ? NW_OK : NW_E_ARG;
}

/* The smallest {i}; -1 if there is none. */
static int first_index(const char *text, size_t size, const struct nwi_header *header,
                       int64_t *out)
{
    struct nwi_arena arena;
    struct nwi_pattern pattern;
    nwi_arena_init(&arena, header->names.memory);
    int code = compile(text, size, &arena, &pattern);
    *out = code == NW_OK ? smallest(&pattern, header) : -1;
    nwi_arena_release(&arena);
    return code == NW_E_NOMEM ? code : NW_OK;
}

/* -1: not there, or no quantity. */
static int64_t plain_quantity(const char *text, size_t size,
                              const struct nwi_header *header)
{
    struct question q;
    size_t used = 0;
    int64_t value = -1;
    if (size > 0 && text[0] == '#') {
        if (!set_name(&q, text + 1, size - 1))
            return -1;
        int64_t count = nwi_header_count(header, q.name);
        return count > 0 ? count : -1;
    }
    if (memchr(text, '[', size))
        return parse_brackets(&q, text, size, &used) && used == size && q.what == DIM
                   ? nwi_header_dim(header, q.name, q.dim)
                   : -1;
    return parse_int(text, size, &value) ? value : -1;
}

int nwi_quantity_get(const char *text, const struct nwi_header *header, int64_t *out)
{
    size_t size = strlen(text);
    int64_t addend = parse_addend(text, &size);
    int64_t value = -1;
    if (size > 0 && text[0] == '<')
        NWI_TRY(first_index(text + 1, size - 1, header, &value));
    else
        value = plain_quantity(text, size, header);
    if (value < 0 || __builtin_add_overflow(value, addend, &value) || value < 0)
        return NW_E_NOT_FOUND;
    *out = value;
    return NW_OK;
}

static bool is_plain_quantity(const char *text, size_t size)
{
    struct question q;
    size_t used = 0;
    int64_t value = 0;
    if (size == 0)
        return false;
    if (text[0] == '#')
        return size > 1 && set_name(&q, text + 1, size - 1) &&
               !strpbrk(q.name, "=<>![]*");
    if (memchr(text, '[', size))
        return parse_brackets(&q, text, size, &used) && used == size && q.what == DIM;
    return parse_int(text, size, &value) && value >= 0;
}

int nwi_quantity_check(const char *text, struct nwi_arena *scratch)
{
    struct nwi_pattern pattern;
    size_t size = strlen(text);
    (void)parse_addend(text, &size);
    if (size > 0 && text[0] == '<')
        return compile(text + 1, size - 1, scratch, &pattern);
    return is_plain_quantity(text, size) ? NW_OK : NW_E_ARG;
}
