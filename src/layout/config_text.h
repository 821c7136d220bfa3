/* SPDX-License-Identifier: Apache-2.0
 * A config as the text of a config.json. */
#ifndef NWI_CONFIG_TEXT_H
#define NWI_CONFIG_TEXT_H

#include "model/architecture.h"

/* The class's name, then every value the config holds (given, or derived over preset), one
 * key a line, on the arena; ends in a newline and a NUL. What it leaves out is the class's
 * default. NOMEM. */
int nwi_config_text_write(const struct nwi_architecture *architecture,
                          const struct nwi_config *config, struct nwi_arena *arena,
                          const char **out, struct nw_error *err);

#endif
