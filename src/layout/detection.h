/* SPDX-License-Identifier: Apache-2.0
 * What all components of a checkpoint are, as one value: the public detection. */
#ifndef NWI_DETECTION_H
#define NWI_DETECTION_H

#include "layout/detect.h"

struct nwi_detected {
    struct nw_detected info;
    const struct nwi_found *found; /* on the arena */
};

struct nw_detection {
    struct nwi_memory *memory; /* retained */
    struct nwi_arena arena;
    struct nwi_detected *parts; /* by component, as the file has them */
    size_t n;
};

int nwi_detection_new(const struct nw_checkpoint *ckpt, const struct nwi_hints *hints,
                      struct nw_detection **out, struct nw_error *err);

/* The kind of the whole, as `inspect` has it; never NULL. */
const char *nwi_detection_kind(const struct nw_checkpoint *ckpt,
                               const struct nw_detection *detection);

#endif
