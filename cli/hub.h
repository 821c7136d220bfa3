/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_HUB_H
#define CLI_HUB_H

#include "text.h"

/* Adds the folder of the hub cache, as huggingface_hub finds it: HF_HUB_CACHE, else
 * HUGGINGFACE_HUB_CACHE, else hub in HF_HOME, which is huggingface in XDG_CACHE_HOME or
 * in
 * ~/.cache; "~" and "$NAME" expanded. Adds nothing if there is no home. */
void cli_hub_cache(struct cli_text *out);

#endif
