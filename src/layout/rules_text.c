/* SPDX-License-Identifier: Apache-2.0
 * Reading rules from text: lines to words, words to the rows that tables have. */
#include "layout/rules_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "layout/ruleset.h"

#define RULES_MOST    4096u
#define WORDS_MOST    64u
#define FEATURES_MOST 32u
#define QUOTE_CHARS   60 /* of a word in a message */

struct word {
    const char *text; /* into the caller's text */
    size_t size;
};

struct reader {
    struct nwi_arena *arena;
    struct nwi_arena *scratch;
    struct nw_error *err;
    const char *line; /* its first byte */
    size_t line_size;
    size_t number; /* of the line, from 1 */
    struct word words[WORDS_MOST];
    size_t n_words;

    struct nwi_rule *rules;
    size_t n_rules, rule_capacity;
    struct nwi_rule_feature *features;
    size_t n_features, feature_capacity;
    struct nwi_rule_variable variables[NWI_PATTERN_LETTERS + 1];
    size_t n_variables;
    struct nwi_values values; /* declared only */
    const char *feature_names[FEATURES_MOST];
    size_t n_names;
};

static int fail(struct reader *r, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(struct reader *r, const char *at, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return nwi_fail(r->err, NW_E_ARG, "rules, line %zu, column %zu: %s", r->number,
                    (size_t)(at - r->line) + 1, text);
}

static int fail_word(struct reader *r, const struct word *word, const char *problem)
{
    char quoted[2 * QUOTE_CHARS];
    nwi_quote(quoted, sizeof quoted, word->text, word->size, QUOTE_CHARS);
    return fail(r, word->text, "\"%s\" %s", quoted, problem);
}

static int nomem(struct reader *r, size_t nbytes)
{
    return nwi_fail_nomem(r->err, nbytes);
}

static const char *line_end(const struct reader *r)
{
    return r->line + r->line_size;
}

static bool is(const struct word *word, const char *text)
{
    return word->size == strlen(text) && memcmp(word->text, text, word->size) == 0;
}

static int copy(struct reader *r, const struct word *word, const char **out)
{
    *out = nwi_arena_copy(r->arena, word->text, word->size);
    return *out ? NW_OK : nomem(r, word->size);
}

/* ---- words ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The line's words, up to a comment: "#" before anything else, or alone. */
static int cut_words(struct reader *r)
{
    const char *at = r->line;
    r->n_words = 0;
    for (;;) {
        while (at < line_end(r) && is_blank(*at))
            at++;
        const char *from = at;
        while (at < line_end(r) && !is_blank(*at))
            at++;
        struct word word = {from, (size_t)(at - from)};
        if (word.size == 0 || is(&word, "#") || (r->n_words == 0 && *from == '#'))
            return NW_OK;
        if (r->n_words == WORDS_MOST)
            return fail(r, from, "a line has over %u words", WORDS_MOST);
        if (memchr(from, '\0', word.size))
            return fail(r, from, "a NUL byte");
        r->words[r->n_words++] = word;
    }
}

/* Rows in use: a list ends in one of zeros, if there is a list. */
static size_t with_end(size_t n)
{
    return n > 0 ? n + 1 : 0;
}

/* ---- let and when ---- */

static int quantity(struct reader *r, const struct word *word, const char **out)
{
    NWI_TRY(copy(r, word, out));
    int code = nwi_quantity_check(*out, r->scratch);
    if (code == NW_E_ARG)
        return fail_word(r, word, "is no number, NAME[DIM], #LIST or <PATTERN");
    return code == NW_OK ? NW_OK : nomem(r, word->size);
}

/* let X = QUANTITY [| QUANTITY] */
static int read_let(struct reader *r)
{
    const struct word *w = r->words;
    bool has_both = r->n_words == 6;
    if ((r->n_words != 4 && !has_both) || !is(&w[2], "=") ||
        (has_both && !is(&w[4], "|")))
        return fail(r, w[0].text,
                    "a variable is \"let X = ORIGINAL | DIFFUSERS\", or one for both");
    char name = w[1].text[0];
    if (w[1].size != 1 || name < 'A' || name > 'Z')
        return fail_word(r, &w[1], "is no name for a variable: A to Z are");
    uint32_t bit = UINT32_C(1) << (name - 'A');
    if (r->values.declared & bit)
        return fail_word(r, &w[1], "is declared twice");
    struct nwi_rule_variable *row = &r->variables[r->n_variables];
    row->name = name;
    NWI_TRY(quantity(r, &w[3], &row->original));
    NWI_TRY(quantity(r, &w[has_both ? 5 : 3], &row->diffusers));
    r->n_variables++;
    r->values.declared |= bit;
    return NW_OK;
}

static size_t find_feature(const struct reader *r, const struct word *name)
{
    size_t i = 0;
    while (i < r->n_names && !is(name, r->feature_names[i]))
        i++;
    return i;
}

/* when NAME PREDICATE */
static int read_when(struct reader *r)
{
    const struct word *w = r->words;
    void *items = r->features;
    if (r->n_words != 3)
        return fail(r, w[0].text, "a feature is \"when NAME PREDICATE\"");
    size_t bit = find_feature(r, &w[1]);
    if (bit == FEATURES_MOST)
        return fail_word(r, &w[1], "is one feature too many: 32 are possible");
    if (memchr(w[1].text, ',', w[1].size))
        return fail_word(r, &w[1], "is no name for a feature: it has a comma");
    if (!nwi_arena_grow(r->arena, &items, with_end(r->n_features), &r->feature_capacity,
                        sizeof *r->features))
        return nomem(r, sizeof *r->features);
    r->features = items;
    struct nwi_rule_feature *row = &r->features[r->n_features++];
    memset(row, 0, 2 * sizeof *row);
    row->bit = (uint8_t)bit;
    NWI_TRY(copy(r, &w[2], &row->when));
    if (!nwi_predicate_valid(row->when))
        return fail_word(r, &w[2], "is no predicate");
    if (bit < r->n_names)
        return NW_OK;
    r->n_names++;
    return copy(r, &w[1], &r->feature_names[bit]);
}

/* ---- keys of a rule ---- */

static int set_features(struct reader *r, const struct word *value, uint32_t *bits)
{
    const char *end = value->text + value->size;
    for (const char *at = value->text; at <= end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct word name = {at, (size_t)((comma ? comma : end) - at)};
        size_t bit = find_feature(r, &name);
        if (bit == r->n_names)
            return fail_word(r, &name, "is no feature of a line before");
        *bits |= UINT32_C(1) << bit;
        at = name.text + name.size + 1;
    }
    return NW_OK;
}

static int set_squeeze(struct reader *r, const struct word *value,
                       struct nwi_rule *rule)
{
    if (!is(value, "1") && !is(value, "2"))
        return fail_word(r, value, "is neither 1 (ones at the end) nor 2 (all ones)");
    rule->squeeze = (uint8_t)(value->text[0] - '0');
    return NW_OK;
}

static int set_rank(struct reader *r, const struct word *value, struct nwi_rule *rule)
{
    if (is(value, "1C11"))
        rule->rank = NWI_RANK_1C11;
    else if (value->size == 1 && value->text[0] >= '2' && value->text[0] <= '8')
        rule->rank = (uint8_t)(value->text[0] - '0');
    else
        return fail_word(r, value, "is no rank: 2 to 8, or 1C11");
    return NW_OK;
}

static int set_back(struct reader *r, const struct word *value, struct nwi_rule *rule)
{
    if (!is(value, "needed") && !is(value, "unused"))
        return fail_word(r, value, "is neither needed nor unused");
    rule->back = is(value, "needed") ? NWI_DROP_NEEDED : NWI_DROP_UNUSED;
    return NW_OK;
}

/* A note is the rest of the line. */
static int set_note(struct reader *r, const struct word *value, struct nwi_rule *rule)
{
    const char *end = line_end(r);
    while (end > value->text && is_blank(end[-1]))
        end--;
    struct word rest = {value->text, (size_t)(end - value->text)};
    r->n_words = 0; /* nothing more is read */
    if (memchr(rest.text, '\0', rest.size))
        return fail(r, value->text, "a NUL byte");
    return copy(r, &rest, &rule->note);
}

static int set_key(struct reader *r, const struct word *key, const struct word *value,
                   struct nwi_rule *rule)
{
    bool is_drop = rule->op == NWI_RULE_DROP;
    if (is(key, "need"))
        return set_features(r, value, &rule->need);
    if (is(key, "deny"))
        return set_features(r, value, &rule->deny);
    if (is(key, "back_if"))
        return copy(r, value, &rule->back_if);
    if (is_drop && is(key, "back"))
        return set_back(r, value, rule);
    if (is_drop && is(key, "note"))
        return set_note(r, value, rule);
    if (!is_drop && is(key, "sizes"))
        return copy(r, value, &rule->sizes);
    if (!is_drop && is(key, "squeeze"))
        return set_squeeze(r, value, rule);
    if (!is_drop && is(key, "rank"))
        return set_rank(r, value, rule);
    return fail_word(r, key, "is no key of such a rule");
}

static int read_keys(struct reader *r, size_t first, struct nwi_rule *rule)
{
    for (size_t i = first; i < r->n_words; i++) {
        const struct word *word = &r->words[i];
        const char *equals = memchr(word->text, '=', word->size);
        if (!equals)
            return fail_word(r, word, "is no KEY=VALUE");
        struct word key = {word->text, (size_t)(equals - word->text)};
        struct word value = {equals + 1, word->size - key.size - 1};
        NWI_TRY(set_key(r, &key, &value, rule));
    }
    return NW_OK;
}

/* ---- rules ---- */

static const struct {
    const char *name;
    uint8_t op;
} ops[] = {
    {"rename", NWI_RULE_RENAME},   {"split", NWI_RULE_SPLIT},
    {"swap", NWI_RULE_SWAP},       {"transpose", NWI_RULE_TRANSPOSE},
    {"reshape", NWI_RULE_RESHAPE}, {"heads", NWI_RULE_HEADS},
    {"drop", NWI_RULE_DROP},
};

/* The word that a text of the rule was copied from, for the column. */
static const char *place_of(const struct reader *r, const char *side)
{
    size_t size = side ? strlen(side) : 0;
    for (size_t i = 0; side && i < r->n_words; i++) {
        const struct word *word = &r->words[i];
        if (word->size >= size &&
            memcmp(word->text + word->size - size, side, size) == 0)
            return word->text + word->size - size;
    }
    return r->words[0].text;
}

static int check_rule(struct reader *r, const struct nwi_rule *rule)
{
    struct nwi_ready_rule ready;
    struct nw_error local;
    const char *side = NULL;
    nwi_error_clear(&local);
    int code = nwi_rule_compile(rule, &r->values, r->scratch, &ready, &side, &local);
    if (code == NW_OK)
        return NW_OK;
    if (code != NW_E_ARG)
        return nwi_fail(r->err, code, "%s", local.message);
    const char *at = place_of(r, side);
    if (local.offset != NW_OFFSET_NONE)
        at += local.offset;
    return fail(r, at, "%.280s", local.message);
}

static struct nwi_rule *new_rule(struct reader *r)
{
    void *items = r->rules;
    if (!nwi_arena_grow(r->arena, &items, with_end(r->n_rules), &r->rule_capacity,
                        sizeof *r->rules)) {
        (void)nomem(r, sizeof *r->rules);
        return NULL;
    }
    r->rules = items;
    memset(&r->rules[r->n_rules], 0, 2 * sizeof *r->rules);
    return &r->rules[r->n_rules++];
}

static int read_sides(struct reader *r, struct nwi_rule *rule, size_t at)
{
    const struct word *w = r->words;
    bool is_drop = rule->op == NWI_RULE_DROP;
    if (is_drop && r->n_words <= at)
        return fail(r, w[0].text, "drop what?");
    if (!is_drop && (r->n_words < at + 3 || !is(&w[at + 1], "=>")))
        return fail(r, w[0].text, "a rule is \"OP ORIGINAL => DIFFUSERS\"");
    NWI_TRY(copy(r, &w[at], &rule->original));
    rule->diffusers = "";
    rule->note = is_drop ? "dropped by a rule of the caller" : NULL;
    if (!is_drop)
        NWI_TRY(copy(r, &w[at + 2], &rule->diffusers));
    struct word first = w[0]; /* a note takes the words away */
    NWI_TRY(read_keys(r, at + (is_drop ? 1 : 3), rule));
    r->n_words = r->n_words ? r->n_words : at + 1;
    r->words[0] = first;
    return check_rule(r, rule);
}

static int read_rule(struct reader *r)
{
    const struct word *w = r->words;
    size_t n_ops = sizeof ops / sizeof *ops;
    size_t i = 0;
    if (r->n_rules == RULES_MOST)
        return nwi_fail(r->err, NW_E_LIMIT, "over %u rules", RULES_MOST);
    bool has_op = r->n_words < 2 || !is(&w[1], "=>");
    while (has_op && i < n_ops && !is(&w[0], ops[i].name))
        i++;
    if (has_op && i == n_ops)
        return fail_word(r, &w[0],
                         "is none of let, when, rename, split, swap, transpose, "
                         "reshape, heads, drop");
    struct nwi_rule *rule = new_rule(r);
    if (!rule)
        return NW_E_NOMEM;
    rule->op = has_op ? ops[i].op : NWI_RULE_RENAME;
    return read_sides(r, rule, has_op ? 1 : 0);
}

static int read_line(struct reader *r)
{
    NWI_TRY(cut_words(r));
    if (r->n_words == 0)
        return NW_OK;
    bool is_named = r->n_words > 1 && is(&r->words[1], "=>");
    if (!is_named && is(&r->words[0], "let"))
        return read_let(r);
    if (!is_named && is(&r->words[0], "when"))
        return read_when(r);
    return read_rule(r);
}

static int read_all(struct reader *r, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        r->line = text;
        r->line_size = (size_t)((stop ? stop : end) - text);
        r->number++;
        NWI_TRY(read_line(r));
        text = stop ? stop + 1 : end;
    }
    return NW_OK;
}

int nwi_rules_text(const char *text, size_t size, struct nwi_arena *arena,
                   struct nwi_rules *out, struct nw_error *err)
{
    struct nwi_arena scratch;
    nwi_arena_init(&scratch, arena->memory);
    struct reader *r = nwi_arena_zalloc(&scratch, sizeof *r);
    struct nwi_rule_variable *variables = nwi_arena_zalloc(arena, sizeof r->variables);
    int code = NW_OK;
    *out = (struct nwi_rules){0};
    if (r && variables) {
        r->arena = arena;
        r->scratch = &scratch;
        r->err = err;
        code = read_all(r, text, size);
        memcpy(variables, r->variables, sizeof r->variables);
        if (code == NW_OK)
            *out = (struct nwi_rules){
                .variables = variables, .features = r->features, .rules = r->rules};
    } else {
        code = nwi_fail_nomem(err, sizeof *r);
    }
    nwi_arena_release(&scratch);
    return code;
}

int nwi_rules_new(const char *text, size_t size, struct nwi_memory *memory,
                  struct nw_rules **out, struct nw_error *err)
{
    struct nw_rules *rules = nwi_zalloc(memory, sizeof *rules);
    *out = NULL;
    if (!rules)
        return nwi_fail_nomem(err, sizeof *rules);
    rules->memory = nwi_memory_retain(memory);
    nwi_arena_init(&rules->arena, memory);
    int code = nwi_rules_text(text, size, &rules->arena, &rules->rules, err);
    if (code == NW_OK)
        *out = rules;
    else
        nwi_rules_free(rules);
    return code;
}

void nwi_rules_free(struct nw_rules *rules)
{
    if (!rules)
        return;
    struct nwi_memory *memory = rules->memory;
    nwi_arena_release(&rules->arena);
    nwi_free(memory, rules, sizeof *rules);
    nwi_memory_release(memory);
}
