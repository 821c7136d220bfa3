/* SPDX-License-Identifier: Apache-2.0
 * Rules from a caller's text: the grammar stands at nw_rules_from_text in netweight.h. */
#ifndef NWI_RULES_TEXT_H
#define NWI_RULES_TEXT_H

#include "layout/rules.h"

/* What a caller's rules are behind struct nw_rules. */
struct nw_rules {
    struct nwi_memory *memory; /* retained */
    struct nwi_arena arena;
    struct nwi_rules rules;
};

/* Everything on the arena; `text` may be freed. ARG with line and column, LIMIT, NOMEM. */
int nwi_rules_text(const char *text, size_t size, struct nwi_arena *arena,
                   struct nwi_rules *out, struct nw_error *err);

/* nw_rules_from_text. */
int nwi_rules_new(const char *text, size_t size, struct nwi_memory *memory,
                  struct nw_rules **out, struct nw_error *err);
void nwi_rules_free(struct nw_rules *rules);

#endif
