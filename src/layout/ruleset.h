/* SPDX-License-Identifier: Apache-2.0
 * Rules made ready for one header: variables and features answered, patterns compiled and
 * checked against each other, and an index from the beginning of a name to the rules that
 * can match it. */
#ifndef NWI_RULESET_H
#define NWI_RULESET_H

#include "layout/pattern.h"
#include "layout/rules.h"

/* One number of `sizes`; a star shares what is left. */
struct nwi_size {
    struct nwi_form form; /* without captures */
    bool is_star;
};

struct nwi_ready_rule {
    const struct nwi_rule *rule;
    struct nwi_pattern original;
    struct nwi_pattern diffusers;
    struct nwi_pattern back_if; /* without the `!` */
    struct nwi_size *sizes;     /* [n_sizes] */
    uint32_t n_sizes;
    bool back_if_not;
    bool is_active; /* its features hold */
};

struct nwi_rule_node;

/* Rows by the literal beginnings of their patterns. */
struct nwi_rule_index {
    const struct nwi_rule_node *root; /* NULL: no rules */
};

struct nwi_rule_set {
    struct nwi_ready_rule *rules; /* [n], in order */
    size_t n;
    struct nwi_ready_rule *post; /* [n_post] */
    size_t n_post;
    struct nwi_rule_index index; /* of the side that names are matched with */
    struct nwi_rule_index post_index;
    struct nwi_values values;
    uint32_t features;
};

/* Without a header every feature holds and no variable has a value: all that can be wrong
 * with a table is still found. ARG naming the pattern and what is wrong; LIMIT (a variable
 * over 2^31); NOMEM. Everything on the arena, which outlives the set. */
int nwi_rule_set_init(struct nwi_rule_set *set, const struct nwi_rules *rules,
                      enum nwi_direction direction, const struct nwi_header *header,
                      const struct nwi_hints *hints, struct nwi_arena *arena,
                      struct nw_error *err);

/* One row. `side`, if not NULL: the offending pattern's text (rule->original, ->diffusers,
 * ->sizes or ->back_if), for who knows where it stands. */
int nwi_rule_compile(const struct nwi_rule *rule, const struct nwi_values *values,
                     struct nwi_arena *arena, struct nwi_ready_rule *out,
                     const char **side, struct nw_error *err);

/* rule_index.c */

int nwi_rule_index_init(struct nwi_rule_index *index,
                        const struct nwi_ready_rule *rules, size_t n,
                        enum nwi_direction direction, struct nwi_arena *arena,
                        struct nw_error *err);
/* The rows that may match the name, in order; *n of them. */
const uint32_t *nwi_rule_index_find(const struct nwi_rule_index *index,
                                    const char *name, size_t size, size_t *n);

#endif
