/* SPDX-License-Identifier: Apache-2.0
 * Original yaml configs (v1-inference.yaml, sd_xl_base.yaml, cldm_v15.yaml ...) as configs
 * of the classes of diffusers: UNet2DConditionModel, AutoencoderKL, ControlNetModel, and
 * the text encoders they name. Needs libyaml (a build option); without it UNSUPPORTED. */
#ifndef NWI_YAML_H
#define NWI_YAML_H

#include <stdbool.h>

#include "base/json.h"

/* True for names that end in .yaml or .yml. */
bool nwi_yaml_is_name(const char *path);

/* What the document says about a model of class `klass`, as a config tree on the arena.
 * BAD_CONFIG (no yaml, or no such part in it), UNSUPPORTED (another class, or built without
 * libyaml), LIMIT (deep nesting, aliases, too many nodes), NOMEM. */
int nwi_yaml_config(const char *text, size_t size, const char *klass,
                    struct nwi_arena *arena, struct nwi_json_value **out,
                    struct nw_error *err);

#endif
