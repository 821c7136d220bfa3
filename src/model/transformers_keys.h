/* SPDX-License-Identifier: Apache-2.0
 * What the classes of transformers have in common besides modules. */
#ifndef NWI_TRANSFORMERS_KEYS_H
#define NWI_TRANSFORMERS_KEYS_H

#include <stddef.h>

/* Config keys that shape no tensor of the classes that name this list: those of every
 * PreTrainedConfig of this and earlier versions (generation settings stood there once),
 * and those of activations, dropout, rotary embeddings and token ids. NULL ends it. */
extern const char *const nwi_transformers_keys[];

/* Buffers that old files hold and newer classes compute: every class lets them go. */
extern const char *const nwi_transformers_harmless[];

#endif
