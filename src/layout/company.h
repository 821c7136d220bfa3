/* SPDX-License-Identifier: Apache-2.0
 * What a component is written as beside its denoiser: whose rules its original names follow
 * and what stands before them in one file. */
#ifndef NWI_COMPANY_H
#define NWI_COMPANY_H

#include "layout/detect.h"

struct nwi_company {
    const struct nwi_rules *rules; /* NULL: names stay */
    const char *prefix;            /* "" if none is known. On the arena, or static */
};

struct nwi_company_input {
    const struct nw_checkpoint *ckpt;
    uint32_t component;
    const struct nwi_detection *own; /* the parts of that component */
    const struct nwi_found *part;    /* one of them */
    const struct nwi_hints *hints;
    const char *klass; /* that it is loaded as; NULL: not known */
};

/* The denoiser is looked for among the parts, then in the other components. NOMEM, IO. */
int nwi_company_find(const struct nwi_company_input *in, struct nwi_arena *arena,
                     struct nwi_company *out, struct nw_error *err);

#endif
