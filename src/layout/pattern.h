/* SPDX-License-Identifier: Apache-2.0
 * Patterns of rules.h, compiled once into tokens: names are matched against one side of a
 * rule, what they captured is rendered through the other.
 *
 * What the grammar asks beyond rules.h:
 *   - {*} is the last token, {^} the first, with text behind it; {p} is never a letter of
 *     its own ({p:a|b} and {1+p} are errors); none of the three stands twice;
 *   - a form has at most two captures; if a name gives two unknown ones, one of them has
 *     the coefficient 1 and is the remainder;
 *   - alternatives that begin like others cost backtracking; their product in one pattern
 *     is bounded, so that no name can make matching slow: it takes at most
 *     NWI_PATTERN_PATHS * (size of the name + 1) tries of each token.
 * Names are bytes with a size. Numbers over 2^31 never match. */
#ifndef NWI_PATTERN_H
#define NWI_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define NWI_PATTERN_LETTERS 26
#define NWI_PATTERN_PATHS   64u  /* ways to read one name that a pattern may have */
#define NWI_PATTERN_WORDS   256u /* alternatives, or parts, of one token */
#define NWI_PATTERN_NUMBER  (INT64_C(1) << 31) /* largest number in a name */

/* What the UPPER-case variables stand for. */
struct nwi_values {
    int64_t value[NWI_PATTERN_LETTERS];
    uint32_t declared; /* bits: the table has that variable */
    uint32_t known;    /* bits: it has a value here; a token without never matches */
};

/* constant + sum of coefficient * capture. */
struct nwi_form {
    int64_t constant;
    int64_t coefficients[2];
    uint8_t captures[2]; /* letters, 0 to 25 */
    uint8_t n;           /* captures in use */
    bool unknown;        /* it needs a variable that has no value */
};

enum nwi_token_kind {
    NWI_TOKEN_TEXT,
    NWI_TOKEN_NUMBER,
    NWI_TOKEN_CHOICE, /* {a:x|y} */
    NWI_TOKEN_PARTS,  /* {q,k,v} */
    NWI_TOKEN_LEAF,   /* {p} */
    NWI_TOKEN_TAIL,   /* {*} */
    NWI_TOKEN_HEAD    /* {^} */
};

struct nwi_word {
    const char *text; /* borrowed from the pattern; no NUL behind it */
    size_t size;
};

struct nwi_token {
    uint8_t kind;                 /* enum nwi_token_kind */
    uint8_t letter;               /* CHOICE: 0 to 25 */
    bool ambiguous;               /* CHOICE, PARTS: one word begins like another */
    uint16_t n_words;             /* CHOICE, PARTS */
    struct nwi_word text;         /* TEXT */
    const struct nwi_word *words; /* CHOICE, PARTS: on the arena */
    struct nwi_form form;         /* NUMBER */
};

struct nwi_pattern {
    const char *text; /* borrowed */
    const struct nwi_token *tokens;
    uint32_t n_tokens;
    uint32_t numbers; /* bits: letters that are numbers here */
    uint32_t choices; /* bits: letters that are alternatives */
    uint16_t n_choices[NWI_PATTERN_LETTERS];
    uint16_t n_parts; /* of PARTS, else 0 */
    bool has_leaf, has_tail, has_head;
};

/* What a name was matched to. Zero it once; every match begins anew, `steps` adds up. */
struct nwi_match {
    int64_t numbers[NWI_PATTERN_LETTERS];
    uint16_t choices[NWI_PATTERN_LETTERS];
    uint32_t has_number; /* bits */
    uint32_t has_choice;
    uint32_t part; /* NW_NONE: the pattern has no parts */
    struct nwi_word leaf, tail, head;
    uint64_t steps; /* tokens tried: what matching costs, whatever the clock says */
};

/* `text` stays borrowed, `values` (NULL: no variables) does not. ARG with the byte of the
 * pattern in the message and in .offset; NOMEM. */
int nwi_pattern_compile(const char *text, const struct nwi_values *values,
                        struct nwi_arena *arena, struct nwi_pattern *out,
                        struct nw_error *err);

/* A sum as it stands in braces, but without captures; [*text, end) is consumed up to
 * the end or a comma. NULL, or what is wrong at *text. */
const char *nwi_form_parse(const char **text, const char *end,
                           const struct nwi_values *values, struct nwi_form *form);

/* The whole name. */
bool nwi_pattern_match(const struct nwi_pattern *pattern, const char *name, size_t size,
                       struct nwi_match *match);

/* The name that the captures make, on the arena, with a NUL behind it. `part` counts where
 * the pattern has parts. NW_OK, NOT_FOUND (a capture is missing, a number would be
 * negative, a remainder not smaller than its divisor: there is no such name), LIMIT (a
 * number over 2^31), NOMEM. */
int nwi_pattern_render(const struct nwi_pattern *pattern, const struct nwi_match *match,
                       uint32_t part, struct nwi_arena *arena, const char **name,
                       size_t *size);

#endif
