/* SPDX-License-Identifier: Apache-2.0
 * Where what a file gives meets what a model wants: every wanted tensor ends as loaded,
 * tied, by rule, missing or mismatched, every given one as claimed, harmless or
 * unexpected. */
#ifndef NWI_MATCH_H
#define NWI_MATCH_H

#include "layout/rules.h"
#include "layout/select.h"
#include "model/skeleton.h"

struct nwi_match_input {
    const struct nw_checkpoint *ckpt;
    const struct nwi_header *given;       /* names as the rules took them */
    const struct nwi_mapping_of *mapping; /* of `given`, into the model's names */
    const struct nw_model *model;         /* NULL: whatever the rules made is wanted */
    const struct nw_load_options *options;
    struct nwi_selector
        *selector; /* of the names on the way out; NULL: takes all, no new
                                      names (they get another layout afterwards) */
    struct nwi_arena *arena;
    const struct nwi_left_out *rest; /* [n_rest], of the file beside `given`; without a
                                        reason: nobody knows it */
    size_t n_rest;
    bool *
        used; /* [given->n], all false: is told which went into an item; NULL: not asked */
};

/* Fills the items and the lists of *out; sets `refused` as the options' policies say. NOMEM;
 * ARG (init without a fill rule); LIMIT. */
int nwi_match(const struct nwi_match_input *input, struct nwi_bindings *out,
              struct nw_error *err);

bool nwi_names_add(struct nwi_names *names, const char *name, struct nwi_arena *arena);

#endif
