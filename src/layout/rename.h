/* SPDX-License-Identifier: Apache-2.0
 * The caller's own renaming: rules "GLOB=REPLACEMENT" or "PATTERN=PATTERN", then a prefix.
 *
 * The first rule that matches the whole name rewrites it. Of a glob, each `*` of the
 * replacement stands for what the next `*` of the glob matched. A rule with a `{` on its left
 * is a pair of patterns in the grammar of rules.h, without variables and parts. There are no
 * escapes, and the first `=` is the one that separates. */
#ifndef NWI_RENAME_H
#define NWI_RENAME_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "layout/pattern.h"

struct nwi_rename_rule {
    const char *glob; /* borrowed; no NUL behind it */
    size_t glob_size;
    const char *replacement; /* borrowed */
    size_t replacement_size;
    struct nwi_pattern from; /* of a pair of patterns; no tokens: it is a glob */
    struct nwi_pattern to;
};

/* Valid as long as the options and the arena it was made from. */
struct nwi_renamer {
    struct nwi_arena *arena;             /* borrowed; new names go there */
    const struct nwi_rename_rule *rules; /* [n_rules], on the arena */
    size_t n_rules;
    const char *prefix; /* borrowed; "" if there is none */
    size_t prefix_size;
};

/* ARG naming the rule: no `=`, more stars in the replacement than captures in the glob, or a
 * pattern that is none or takes what the left one does not capture. */
int nwi_renamer_init(struct nwi_renamer *renamer, const struct nw_load_options *options,
                     struct nwi_arena *arena, struct nw_error *err);

/* *out ends in NUL: the name itself, or a new one on the arena. NOMEM; ARG (there is no such
 * name, a number would be negative); LIMIT. */
int nwi_renamer_apply(const struct nwi_renamer *renamer, const char *name, size_t size,
                      const char **out, size_t *out_size, struct nw_error *err);

#endif
