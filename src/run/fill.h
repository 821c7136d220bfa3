/* SPDX-License-Identifier: Apache-2.0
 * Results that no file holds: zeros, ones, identity matrices, counted positions. */
#ifndef NWI_FILL_H
#define NWI_FILL_H

#include "plan/plan.h"

/* Elements [first, first + n) of a target with NW_OP_FILL, in its dtype (whole bytes an
 * element) into dst. */
void nwi_fill_elements(const struct nwi_target *target, uint64_t first, size_t n,
                       void *dst);

#endif
