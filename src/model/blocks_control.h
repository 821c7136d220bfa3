/* SPDX-License-Identifier: Apache-2.0
 * What control nets of transformers end in (diffusers 0.42.1, models/controlnets). */
#ifndef NWI_BLOCKS_CONTROL_H
#define NWI_BLOCKS_CONTROL_H

#include "model/module.h"

/* NAME.0, NAME.1 ... [n]: what each block hands to the transformer, nothing at first. */
void nwi_control_outputs(struct nwi_module *m, const char *name, int64_t n,
                         int64_t dim);

#endif
