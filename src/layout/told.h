/* SPDX-License-Identifier: Apache-2.0
 * A model that only the shapes tell may lack what the file has: the one tensor that would
 * have told of it is not there, and what stands beside that has become unexpected. */
#ifndef NWI_TOLD_H
#define NWI_TOLD_H

#include "layout/bindings.h"
#include "layout/rules.h"
#include "model/skeleton.h"

struct nwi_told_input {
    const struct nwi_header *given; /* names as the rules took them */
    const struct nw_model *model;
    const struct nwi_rules *rules; /* of the family, for names that are its class's
                                      own; NULL: there are none */
    const struct nw_checkpoint *ckpt;
    const struct nwi_hints *hints;
    struct nwi_arena *arena;
};

/* Refuses (MISSING) if one of out->strangers is the family's beyond doubt: the rules have a
 * name of their own for its layer, or know its place where the model has its like in
 * another, or it is a bias whose weight is wanted or not there. NOMEM. */
int nwi_told_check(const struct nwi_told_input *input, struct nwi_bindings *out,
                   struct nw_error *err);

#endif
