/* SPDX-License-Identifier: Apache-2.0
 * Patterns: matching names and rendering them. Matching backtracks over words that begin
 * alike and over {^}, with a stack of its own whose depth the compiler bounds. */
#include "layout/pattern.h"

#include <string.h>

/* A place to come back to: log2(NWI_PATTERN_PATHS) ambiguous tokens and a {^} at most. */
#define TURNS_MOST 8

struct turn {
    size_t at;   /* in the name */
    size_t next; /* word to try, or end of the head */
    uint32_t token;
    uint32_t has_number, has_choice, part;
};

struct walk {
    const struct nwi_pattern *pattern;
    const char *name;
    size_t size;
    struct nwi_match *match;
    size_t at; /* next byte of the name */
    uint32_t token;
    uint32_t n_turns;
    struct turn turns[TURNS_MOST];
    size_t segment_from, segment_end; /* the last segment that a {p} looked for */
};

static void push(struct walk *w, size_t next)
{
    w->turns[w->n_turns++] = (struct turn){
        .at = w->at,
        .next = next,
        .token = w->token,
        .has_number = w->match->has_number,
        .has_choice = w->match->has_choice,
        .part = w->match->part,
    };
}

static bool advance(struct walk *w, size_t size)
{
    w->at += size;
    w->token++;
    return true;
}

static bool begins(const struct walk *w, const struct nwi_word *word)
{
    return w->size - w->at >= word->size &&
           memcmp(w->name + w->at, word->text, word->size) == 0;
}

/* ---- numbers ---- */

/* Digits without leading zeros, at most 2^31; the number of them, 0 if there is none. */
static size_t read_number(const struct walk *w, int64_t *out)
{
    const char *text = w->name + w->at;
    size_t most = w->size - w->at;
    size_t n = 0;
    int64_t value = 0;
    for (; n < most && text[n] >= '0' && text[n] <= '9'; n++) {
        value = value * 10 + (text[n] - '0');
        if (value > NWI_PATTERN_NUMBER || (n == 1 && text[0] == '0'))
            return 0;
    }
    *out = value;
    return n;
}

static bool set_number(struct nwi_match *match, uint8_t letter, int64_t value)
{
    if (value < 0 || value > NWI_PATTERN_NUMBER)
        return false;
    match->numbers[letter] = value;
    match->has_number |= UINT32_C(1) << letter;
    return true;
}

static bool divide(const struct nwi_form *form, int64_t value, struct nwi_match *match)
{
    uint8_t q = form->coefficients[0] >= form->coefficients[1] ? 0 : 1;
    uint8_t r = (uint8_t)(1 - q);
    int64_t divisor = form->coefficients[q];
    if (form->coefficients[r] != 1 || divisor < 1 || value < 0)
        return false;
    return set_number(match, form->captures[q], value / divisor) &&
           set_number(match, form->captures[r], value % divisor);
}

/* Gives the form's unknown captures the numbers that make it `value`. */
static bool solve(const struct nwi_form *form, int64_t value, struct nwi_match *match)
{
    uint8_t unknown[2];
    uint8_t n = 0;
    if (form->unknown || __builtin_sub_overflow(value, form->constant, &value))
        return false;
    for (uint8_t i = 0; i < form->n; i++) {
        uint8_t letter = form->captures[i];
        int64_t term = 0;
        if (!(match->has_number & (UINT32_C(1) << letter)))
            unknown[n++] = i;
        else if (__builtin_mul_overflow(form->coefficients[i], match->numbers[letter],
                                        &term) ||
                 __builtin_sub_overflow(value, term, &value))
            return false;
    }
    if (n == 0)
        return value == 0;
    if (n == 2)
        return divide(form, value, match);
    int64_t coefficient = form->coefficients[unknown[0]];
    /* INT64_MIN / -1 has no result; such a value has no solution either. */
    if (coefficient == 0 || value == INT64_MIN || value % coefficient != 0)
        return false;
    return set_number(match, form->captures[unknown[0]], value / coefficient);
}

static bool take_number(struct walk *w, const struct nwi_token *token)
{
    int64_t value = 0;
    size_t size = read_number(w, &value);
    return size > 0 && solve(&token->form, value, w->match) && advance(w, size);
}

/* ---- words ---- */

static bool take_word(struct walk *w, const struct nwi_token *token, size_t first)
{
    struct nwi_match *match = w->match;
    bool is_choice = token->kind == NWI_TOKEN_CHOICE;
    uint32_t bit = is_choice ? UINT32_C(1) << token->letter : 0;
    for (size_t k = first; k < token->n_words; k++) {
        if ((match->has_choice & bit) && match->choices[token->letter] != k)
            continue;
        match->steps++;
        if (!begins(w, &token->words[k]))
            continue;
        if (token->ambiguous && k + 1 < token->n_words)
            push(w, k + 1);
        if (is_choice)
            match->choices[token->letter] = (uint16_t)k;
        else
            match->part = (uint32_t)k;
        match->has_choice |= bit;
        return advance(w, token->words[k].size);
    }
    return false;
}

/* Up to the next dot; not empty. Names that ask again within one segment cost nothing. */
static bool take_leaf(struct walk *w)
{
    if (w->at < w->segment_from || w->at >= w->segment_end) {
        const char *from = w->name + w->at;
        const char *dot = memchr(from, '.', w->size - w->at);
        w->segment_from = w->at;
        w->segment_end = dot ? (size_t)(dot - w->name) : w->size;
    }
    if (w->segment_end == w->at)
        return false;
    w->match->leaf = (struct nwi_word){w->name + w->at, w->segment_end - w->at};
    return advance(w, w->segment_end - w->at);
}

static bool take_tail(struct walk *w)
{
    w->match->tail = (struct nwi_word){w->name + w->at, w->size - w->at};
    return advance(w, w->size - w->at);
}

/* The head ends where the text behind it is next found, at `from` or later. */
static bool take_head(struct walk *w, size_t from)
{
    const struct nwi_word *text = &w->pattern->tokens[w->token + 1].text;
    while (from < w->size) {
        const char *found = memchr(w->name + from, text->text[0], w->size - from);
        size_t at = found ? (size_t)(found - w->name) : w->size;
        w->match->steps++;
        if (w->size - at < text->size)
            return false;
        from = at + 1;
        if (memcmp(w->name + at, text->text, text->size) != 0)
            continue;
        push(w, from);
        w->match->head = (struct nwi_word){w->name, at};
        return advance(w, at);
    }
    return false;
}

/* ---- the walk ---- */

static bool take(struct walk *w)
{
    const struct nwi_token *token = &w->pattern->tokens[w->token];
    w->match->steps++;
    switch ((enum nwi_token_kind)token->kind) {
    case NWI_TOKEN_TEXT:
        return begins(w, &token->text) && advance(w, token->text.size);
    case NWI_TOKEN_NUMBER:
        return take_number(w, token);
    case NWI_TOKEN_CHOICE:
    case NWI_TOKEN_PARTS:
        return take_word(w, token, 0);
    case NWI_TOKEN_LEAF:
        return take_leaf(w);
    case NWI_TOKEN_TAIL:
        return take_tail(w);
    case NWI_TOKEN_HEAD:
        return take_head(w, 1);
    }
    return false;
}

/* Goes on at the last place where something else could have been taken. */
static bool turn_back(struct walk *w)
{
    while (w->n_turns > 0) {
        const struct turn *turn = &w->turns[--w->n_turns];
        const struct nwi_token *token = &w->pattern->tokens[turn->token];
        size_t next = turn->next;
        w->at = turn->at;
        w->token = turn->token;
        w->match->has_number = turn->has_number;
        w->match->has_choice = turn->has_choice;
        w->match->part = turn->part;
        if (token->kind == NWI_TOKEN_HEAD ? take_head(w, next)
                                          : take_word(w, token, next))
            return true;
    }
    return false;
}

bool nwi_pattern_match(const struct nwi_pattern *pattern, const char *name, size_t size,
                       struct nwi_match *match)
{
    struct walk w;
    w.pattern = pattern;
    w.name = name;
    w.size = size;
    w.match = match;
    w.at = 0;
    w.token = 0;
    w.n_turns = 0;
    w.segment_from = 0;
    w.segment_end = 0;
    match->has_number = 0;
    match->has_choice = 0;
    match->part = NW_NONE;
    for (;;) {
        bool at_end = w.token == pattern->n_tokens;
        if (at_end && w.at == size)
            return true;
        if ((at_end || !take(&w)) && !turn_back(&w))
            return false;
    }
}

/* ---- rendering ---- */

static int form_value(const struct nwi_form *form, const struct nwi_match *match,
                      int64_t *out)
{
    int64_t value = form->constant;
    if (form->unknown)
        return NW_E_NOT_FOUND;
    for (uint8_t i = 0; i < form->n; i++) {
        int64_t number = match->numbers[form->captures[i]];
        int64_t other = form->coefficients[1 - i];
        int64_t term = 0;
        if (!(match->has_number & (UINT32_C(1) << form->captures[i])))
            return NW_E_NOT_FOUND;
        bool is_remainder = form->n == 2 && form->coefficients[i] == 1 && other >= 1 &&
                            (i == 1 || other != 1);
        if (is_remainder && number >= other)
            return NW_E_NOT_FOUND;
        if (__builtin_mul_overflow(form->coefficients[i], number, &term) ||
            __builtin_add_overflow(value, term, &value))
            return NW_E_LIMIT;
    }
    if (value < 0)
        return NW_E_NOT_FOUND;
    *out = value;
    return value > NWI_PATTERN_NUMBER ? NW_E_LIMIT : NW_OK;
}

/* Decimal digits into `buffer` (of 20), from its end; they last as long as it does. */
static struct nwi_word digits(int64_t value, char *buffer)
{
    size_t at = 20;
    do {
        buffer[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return (struct nwi_word){buffer + at, 20 - at};
}

static int alternative(const struct nwi_token *token, bool is_known, uint32_t k,
                       struct nwi_word *out)
{
    if (!is_known || k >= token->n_words)
        return NW_E_NOT_FOUND;
    *out = token->words[k];
    return NW_OK;
}

static int word_of(const struct nwi_token *token, const struct nwi_match *match,
                   uint32_t part, char *buffer, struct nwi_word *out)
{
    int64_t value = 0;
    uint32_t bit = UINT32_C(1) << token->letter;
    switch ((enum nwi_token_kind)token->kind) {
    case NWI_TOKEN_TEXT:
        *out = token->text;
        return NW_OK;
    case NWI_TOKEN_NUMBER:
        NWI_TRY(form_value(&token->form, match, &value));
        *out = digits(value, buffer);
        return NW_OK;
    case NWI_TOKEN_CHOICE:
        return alternative(token, (match->has_choice & bit) != 0,
                           match->choices[token->letter], out);
    case NWI_TOKEN_PARTS:
        return alternative(token, true, part, out);
    case NWI_TOKEN_LEAF:
        *out = match->leaf;
        return NW_OK;
    case NWI_TOKEN_TAIL:
        *out = match->tail;
        return NW_OK;
    case NWI_TOKEN_HEAD:
        *out = match->head;
        return NW_OK;
    }
    return NW_E_NOT_FOUND;
}

int nwi_pattern_render(const struct nwi_pattern *pattern, const struct nwi_match *match,
                       uint32_t part, struct nwi_arena *arena, const char **name,
                       size_t *size)
{
    char buffer[20];
    struct nwi_word word;
    size_t total = 0;
    *name = NULL;
    *size = 0;
    for (uint32_t i = 0; i < pattern->n_tokens; i++) {
        NWI_TRY(word_of(&pattern->tokens[i], match, part, buffer, &word));
        total += word.size; /* each is part of a name or a pattern in memory */
    }
    char *text = nwi_arena_alloc(arena, total + 1);
    if (!text)
        return NW_E_NOMEM;
    for (uint32_t i = 0; i < pattern->n_tokens; i++) {
        NWI_TRY(word_of(&pattern->tokens[i], match, part, buffer, &word));
        if (word.size > 0)
            memcpy(text + *size, word.text, word.size);
        *size += word.size;
    }
    text[*size] = '\0';
    *name = text;
    return NW_OK;
}
