/* SPDX-License-Identifier: Apache-2.0
 * Patterns: text to tokens. */
#include <string.h>

#include "layout/pattern.h"

#define QUOTE_CHARS 120 /* of a pattern in a message */

/* What one compilation works with. */
struct compiler {
    const char *at; /* next byte */
    const char *end;
    const struct nwi_values *values;
    struct nwi_arena *arena;
    struct nwi_pattern *out;
    struct nwi_token *tokens;
    uint32_t paths; /* product of the tokens' ambiguities */
    bool nomem;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* ---- forms ---- */

/* One factor: its number, or the letter of a capture. */
struct factor {
    int64_t value;
    int letter; /* -1: a number */
};

static const char *parse_number(const char **text, const char *end, int64_t *out)
{
    int64_t value = 0;
    for (; *text < end && is_digit(**text); ++*text) {
        value = value * 10 + (**text - '0');
        if (value > NWI_PATTERN_NUMBER)
            return "a number is over 2^31";
    }
    *out = value;
    return NULL;
}

static const char *parse_variable(char name, const struct nwi_values *values,
                                  struct nwi_form *form, int64_t *out)
{
    uint32_t bit = UINT32_C(1) << (name - 'A');
    if (!values || !(values->declared & bit))
        return "no such variable";
    if (values->known & bit)
        *out = values->value[name - 'A'];
    else
        form->unknown = true;
    return NULL;
}

static const char *parse_factor(const char **text, const char *end,
                                const struct nwi_values *values, struct nwi_form *form,
                                struct factor *out)
{
    *out = (struct factor){1, -1};
    if (*text == end)
        return "a number, variable or capture is missing";
    char c = **text;
    if (is_digit(c))
        return parse_number(text, end, &out->value);
    const char *problem = NULL;
    if (is_upper(c))
        problem = parse_variable(c, values, form, &out->value);
    else if (!is_lower(c))
        problem = "not a number, variable or capture";
    else if (c == 'p')
        problem = "p is no capture of its own";
    else
        out->letter = c - 'a';
    *text += problem ? 0 : 1;
    return problem;
}

/* Adds coefficient * letter. */
static const char *add_capture(struct nwi_form *form, int letter, int64_t coefficient)
{
    uint8_t i = 0;
    while (i < form->n && form->captures[i] != letter)
        i++;
    if (i == 2)
        return "more than two captures";
    if (i == form->n) {
        form->captures[form->n++] = (uint8_t)letter;
        form->coefficients[i] = 0;
    }
    if (__builtin_add_overflow(form->coefficients[i], coefficient,
                               &form->coefficients[i]))
        return "a coefficient is too large";
    return NULL;
}

static const char *add_term(struct nwi_form *form, bool negative, struct factor a,
                            struct factor b)
{
    int64_t value = 0;
    if (a.letter >= 0 && b.letter >= 0)
        return "two captures are multiplied";
    if (__builtin_mul_overflow(a.value, b.value, &value))
        return "a number is too large";
    value = negative ? -value : value;
    if (a.letter >= 0 || b.letter >= 0)
        return add_capture(form, a.letter >= 0 ? a.letter : b.letter, value);
    return __builtin_add_overflow(form->constant, value, &form->constant)
               ? "a number is too large"
               : NULL;
}

/* FACTOR or FACTOR*FACTOR, with the sign before it already read. */
static const char *parse_term(const char **text, const char *end, bool negative,
                              const struct nwi_values *values, struct nwi_form *form)
{
    struct factor a = {1, -1};
    struct factor b = {1, -1};
    const char *problem = parse_factor(text, end, values, form, &a);
    if (!problem && *text < end && **text == '*') {
        ++*text;
        problem = parse_factor(text, end, values, form, &b);
    }
    return problem ? problem : add_term(form, negative, a, b);
}

static const char *parse_sum(const char **text, const char *end,
                             const struct nwi_values *values, struct nwi_form *form)
{
    bool negative = false;
    *form = (struct nwi_form){0};
    for (;;) {
        const char *problem = parse_term(text, end, negative, values, form);
        if (problem || *text == end || **text == ',')
            return problem;
        if (**text != '+' && **text != '-')
            return "not + or -";
        negative = **text == '-';
        ++*text;
    }
}

const char *nwi_form_parse(const char **text, const char *end,
                           const struct nwi_values *values, struct nwi_form *form)
{
    const char *problem = parse_sum(text, end, values, form);
    return problem || form->n == 0 ? problem : "a capture has no value here";
}

/* ---- tokens ---- */

static struct nwi_token *new_token(struct compiler *c, uint8_t kind)
{
    struct nwi_token *token = &c->tokens[c->out->n_tokens++];
    memset(token, 0, sizeof *token);
    token->kind = kind;
    return token;
}

/* How many of the words a name can begin with at once. */
static uint32_t ambiguity(const struct nwi_token *token)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < token->n_words; i++) {
        const struct nwi_word *word = &token->words[i];
        uint32_t n = 0;
        for (uint32_t k = 0; k < token->n_words; k++) {
            const struct nwi_word *begin = &token->words[k];
            n += begin->size <= word->size &&
                 memcmp(begin->text, word->text, begin->size) == 0;
        }
        most = n > most ? n : most;
    }
    return most;
}

/* The words between `separator`s from c->at to `end`. */
static const char *parse_words(struct compiler *c, const char *end, char separator,
                               struct nwi_token *token)
{
    size_t n = 1;
    for (const char *at = c->at; at < end; at++)
        n += *at == separator;
    if (n > NWI_PATTERN_WORDS)
        return "more than 256 alternatives";
    struct nwi_word *words = nwi_arena_array(c->arena, n, sizeof *words);
    if (!words) {
        c->nomem = true;
        return "";
    }
    token->words = words;
    token->n_words = (uint16_t)n;
    for (const char *at = c->at; n-- > 0; words++) {
        const char *stop = memchr(at, separator, (size_t)(end - at));
        words->text = at;
        words->size = (size_t)((stop ? stop : end) - at);
        at = stop ? stop + 1 : end;
    }
    uint32_t degree = ambiguity(token);
    token->ambiguous = degree > 1;
    c->paths *= degree;
    return c->paths > NWI_PATTERN_PATHS ? "too many alternatives that begin alike"
                                        : NULL;
}

static const char *parse_choice(struct compiler *c, const char *end)
{
    struct nwi_token *token = new_token(c, NWI_TOKEN_CHOICE);
    struct nwi_pattern *out = c->out;
    uint8_t letter = (uint8_t)(*c->at - 'a');
    uint32_t bit = UINT32_C(1) << letter;
    if (*c->at == 'p')
        return "p is no capture of its own";
    if (out->numbers & bit)
        return "the letter is a number elsewhere";
    token->letter = letter;
    c->at += 2;
    const char *problem = parse_words(c, end, '|', token);
    if (problem)
        return problem;
    if ((out->choices & bit) && out->n_choices[letter] != token->n_words)
        return "the letter has another number of alternatives elsewhere";
    out->choices |= bit;
    out->n_choices[letter] = token->n_words;
    c->at = end;
    return NULL;
}

static const char *parse_parts(struct compiler *c, const char *end)
{
    struct nwi_token *token = new_token(c, NWI_TOKEN_PARTS);
    if (c->out->n_parts > 0)
        return "parts stand twice";
    const char *problem = parse_words(c, end, ',', token);
    if (problem)
        return problem;
    c->out->n_parts = token->n_words;
    c->at = end;
    return NULL;
}

/* Two captures that no earlier token gives: one must be a remainder. Coefficients made of
 * variables are only known where they have values. */
static const char *check_form(const struct nwi_form *form, uint32_t before)
{
    for (uint8_t i = 0; i < form->n; i++) {
        if (form->coefficients[i] == 0 && !form->unknown)
            return "a capture has the coefficient 0";
    }
    if (form->n < 2 || form->unknown || (before & (UINT32_C(1) << form->captures[0])) ||
        (before & (UINT32_C(1) << form->captures[1])))
        return NULL;
    int64_t a = form->coefficients[0];
    int64_t b = form->coefficients[1];
    return (a == 1 && b >= 1) || (b == 1 && a >= 1)
               ? NULL
               : "two captures, and neither is a remainder";
}

static const char *parse_form(struct compiler *c, const char *end)
{
    struct nwi_token *token = new_token(c, NWI_TOKEN_NUMBER);
    struct nwi_form *form = &token->form;
    const char *problem = parse_sum(&c->at, end, c->values, form);
    if (!problem && c->at < end)
        problem = "not + or -";
    if (problem)
        return problem;
    for (uint8_t i = 0; i < form->n; i++) {
        if (c->out->choices & (UINT32_C(1) << form->captures[i]))
            return "the letter is an alternative elsewhere";
    }
    problem = check_form(form, c->out->numbers);
    for (uint8_t i = 0; i < form->n; i++)
        c->out->numbers |= UINT32_C(1) << form->captures[i];
    return problem;
}

static const char *parse_leaf(struct compiler *c)
{
    if (c->out->has_leaf)
        return "{p} stands twice";
    c->out->has_leaf = true;
    (void)new_token(c, NWI_TOKEN_LEAF);
    c->at++;
    return NULL;
}

static const char *parse_tail(struct compiler *c)
{
    if (c->at + 2 != c->end)
        return "{*} is not the last";
    c->out->has_tail = true;
    (void)new_token(c, NWI_TOKEN_TAIL);
    c->at++;
    return NULL;
}

static const char *parse_head(struct compiler *c)
{
    if (c->out->n_tokens > 0)
        return "{^} is not the first";
    if (c->at + 2 >= c->end || c->at[2] == '{')
        return "{^} has no text behind it";
    c->out->has_head = true;
    (void)new_token(c, NWI_TOKEN_HEAD);
    c->at++;
    return NULL;
}

/* c->at is behind the brace, `end` at the closing one. */
static const char *parse_braces(struct compiler *c, const char *end)
{
    size_t size = (size_t)(end - c->at);
    if (size == 0)
        return "nothing in the braces";
    if (size == 1 && *c->at == 'p')
        return parse_leaf(c);
    if (size == 1 && *c->at == '*')
        return parse_tail(c);
    if (size == 1 && *c->at == '^')
        return parse_head(c);
    if (size >= 2 && is_lower(*c->at) && c->at[1] == ':')
        return parse_choice(c, end);
    if (memchr(c->at, ',', size))
        return parse_parts(c, end);
    return parse_form(c, end);
}

static void parse_text(struct compiler *c)
{
    const char *from = c->at;
    while (c->at < c->end && *c->at != '{' && *c->at != '}')
        c->at++;
    struct nwi_token *token = new_token(c, NWI_TOKEN_TEXT);
    token->text = (struct nwi_word){from, (size_t)(c->at - from)};
}

static const char *parse_token(struct compiler *c)
{
    if (*c->at == '}')
        return "} without {";
    if (*c->at != '{') {
        parse_text(c);
        return NULL;
    }
    const char *end = memchr(c->at, '}', (size_t)(c->end - c->at));
    if (!end)
        return "{ without }";
    if (memchr(c->at + 1, '{', (size_t)(end - c->at - 1)))
        return "{ within {";
    c->at++;
    const char *problem = parse_braces(c, end);
    c->at += problem ? 0 : 1;
    return problem;
}

/* No fewer than there will be: each begins at a brace, or behind one. */
static size_t count_tokens(const char *text, size_t size)
{
    size_t n = 1;
    for (size_t i = 0; i < size; i++)
        n += 2 * (size_t)(text[i] == '{');
    return n;
}

int nwi_pattern_compile(const char *text, const struct nwi_values *values,
                        struct nwi_arena *arena, struct nwi_pattern *out,
                        struct nw_error *err)
{
    size_t size = strlen(text);
    size_t n = count_tokens(text, size);
    struct compiler c = {.at = text,
                         .end = text + size,
                         .values = values,
                         .arena = arena,
                         .out = out,
                         .paths = 1};
    *out = (struct nwi_pattern){.text = text};
    if (n > UINT16_MAX)
        return nwi_fail(err, NW_E_ARG, "a pattern has over %u tokens",
                        (unsigned)UINT16_MAX);
    c.tokens = nwi_arena_array(arena, n, sizeof *c.tokens);
    if (!c.tokens)
        return nwi_fail_nomem(err, n * sizeof *c.tokens);
    out->tokens = c.tokens;
    while (c.at < c.end) {
        const char *problem = parse_token(&c);
        if (!problem)
            continue;
        if (c.nomem)
            return nwi_fail_nomem(err, NWI_PATTERN_WORDS * sizeof(struct nwi_word));
        char quoted[2 * QUOTE_CHARS];
        size_t place = (size_t)(c.at - text);
        nwi_quote(quoted, sizeof quoted, text, size, QUOTE_CHARS);
        return nwi_fail_at(err, NW_E_ARG, place, "pattern \"%s\", byte %zu: %s", quoted,
                           place, problem);
    }
    return NW_OK;
}
