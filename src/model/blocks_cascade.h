/* SPDX-License-Identifier: Apache-2.0
 * Stable Cascade's UNet. */
#ifndef NWI_BLOCKS_CASCADE_H
#define NWI_BLOCKS_CASCADE_H

#include "model/config.h"
#include "source/header.h"

/* timestep_conditioning_type: what a block is told besides the time. */
void nwi_cascade_read_conditions(struct nwi_config *c, struct nwi_config_texts *out);

/* All that the shapes tell. */
void nwi_cascade_derive(struct nwi_config *c, const struct nwi_header *h);

#endif
