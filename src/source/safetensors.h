/* SPDX-License-Identifier: Apache-2.0
 * The row of safetensors. */
#ifndef NWI_SAFETENSORS_H
#define NWI_SAFETENSORS_H

#include "source/format.h"

extern const struct nwi_format nwi_format_safetensors;

#endif
