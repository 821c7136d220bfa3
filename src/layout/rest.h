/* SPDX-License-Identifier: Apache-2.0
 * What a file holds beside the part that a plan is of: names that no plan would tell. */
#ifndef NWI_REST_H
#define NWI_REST_H

#include "layout/bindings.h"
#include "layout/detect.h"

struct nwi_rest {
    struct nwi_left_out *items; /* without a reason: nobody knows it */
    size_t n;
    size_t room;
};

bool nwi_rest_add(struct nwi_rest *rest, const char *name, const char *reason,
                  struct nwi_arena *arena);

struct nwi_rest_input {
    const struct nw_checkpoint *ckpt;
    uint32_t component;
    const struct nwi_detection *detection;
    const struct nwi_found *part; /* that the plan is of */
    const bool *averaged; /* which tensors of the component were taken as averages, by
                             their row in it; NULL: none was asked for */
    struct nwi_arena *arena;
};

/* Adds every tensor outside `part` and all others that have a class. NOMEM. */
int nwi_rest_list(const struct nwi_rest_input *in, struct nwi_rest *rest,
                  struct nw_error *err);

#endif
