/* SPDX-License-Identifier: Apache-2.0
 * What matching and its verdict share. */
#ifndef NWI_MATCHING_H
#define NWI_MATCHING_H

#include "layout/match.h"

enum wanted_state {
    WANTED_MISSING,
    WANTED_LOADED,
    WANTED_TIED,
    WANTED_MISMATCHED,
    WANTED_NOT_ASKED /* `only` or `drop` leave it out */
};

struct matching {
    const struct nwi_match_input *in;
    struct nwi_bindings *out;
    uint8_t *states;         /* [model->n_wanted], enum wanted_state */
    const uint32_t *outputs; /* [model->n_wanted]: output of that name, or NW_NONE */
    const char **names;      /* [model->n_wanted]: on the way out */
    const struct nwi_wanted *first_missing; /* of out->missing; NULL: none */
    size_t mismatched_room;
    size_t harmless_room;
    size_t strangers_room;
    struct nw_error *err;
};

/* Sets out->refused and why, if a policy refuses what was matched. NOMEM. */
int nwi_match_verdict(struct matching *m);

#endif
