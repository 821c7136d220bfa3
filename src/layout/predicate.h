/* SPDX-License-Identifier: Apache-2.0
 * Questions about names and shapes, written as text so that tables stay readable:
 *
 *     NAME              there is a tensor of that name
 *     NAME[d]=N         its d-th dimension is N (d may be negative: from the end); also != < >
 *     NAME[]=N          its rank is N
 *     PREFIX*           some name begins with that
 *     #PREFIX=N         the list has N modules (nwi_header_count); also != < >
 *     $KEY=VALUE        the caller's hint KEY is VALUE
 *     A|B|C             any of these
 *     !A                not that (the whole alternative list after it)
 *
 * A comparison of what is not there is false; a list that is not there has 0 modules.
 *
 * and numbers that a rule's variables are made of:
 *
 *     NAME[d]           a dimension
 *     #PREFIX           how many modules a list has
 *     <PATTERN          the smallest {i} for which a name matches the pattern
 *     N                 that number
 *
 * each with an optional +N or -N behind it; never negative, and no list without modules. */
#ifndef NWI_PREDICATE_H
#define NWI_PREDICATE_H

#include "source/header.h"

/* The caller's answers to what a file cannot tell: "KEY=VALUE". */
struct nwi_hints {
    const char *const *items; /* [n], borrowed */
    size_t n;
};

/* The value of that hint, or NULL. */
const char *nwi_hint(const struct nwi_hints *hints, const char *key);

/* `hints` may be NULL. A text that is no predicate is false (a test reads every table). */
bool nwi_predicate_holds(const char *text, const struct nwi_header *header,
                         const struct nwi_hints *hints);
bool nwi_predicate_valid(const char *text);

/* NW_OK, NOT_FOUND (what it asks for is not there), NOMEM. */
int nwi_quantity_get(const char *text, const struct nwi_header *header, int64_t *out);
/* NW_OK, ARG (no quantity), NOMEM. `scratch` is for patterns. */
int nwi_quantity_check(const char *text, struct nwi_arena *scratch);

#endif
