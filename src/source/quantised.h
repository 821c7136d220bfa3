/* SPDX-License-Identifier: Apache-2.0
 * Recognises quantised layers by the names, types and shapes of their tensors. */
#ifndef NWI_QUANTISED_H
#define NWI_QUANTISED_H

#include "source/builder.h"

/* Marks weights and companions of the packed checkpoint (scheme, companion_of,
 * quantised) and lists the schemes. Reads the few bytes of comfy_quant tensors, which
 * are descriptions in JSON: the only tensor bytes that opening reads. Companions
 * without their weight, and scales beside a weight that needs none, are notes. */
int nwi_quantised_recognise(struct nwi_builder *b);

#endif
