/* SPDX-License-Identifier: Apache-2.0
 * Original yaml configs (v1-inference.yaml, sd_xl_base.yaml, cldm_v15.yaml ...) as configs
 * of the classes of diffusers. Needs libyaml (a build option); without it UNSUPPORTED.
 * What libyaml allocates while it reads is malloc's, not counted, and freed before these
 * functions return: a few times the longest text of a document, and documents are small. */
#ifndef NWI_YAML_H
#define NWI_YAML_H

#include <stdbool.h>

#include "base/json.h"

#define NWI_YAML_DEPTH 64u          /* lists and mappings within each other */
#define NWI_YAML_NODES 100000u      /* keys and values */
#define NWI_YAML_BYTES (16u << 20u) /* of a document */

/* True for names that end in .yaml or .yml. */
bool nwi_yaml_is_name(const char *path);

/* One document as a tree on the arena. Plain words mean what they mean in YAML 1.1: null,
 * true or yes or on, numbers in decimal digits (other spellings of numbers stay strings);
 * keys are strings. Offsets are 0. BAD_CONFIG (no yaml, a second document, a key that occurs
 * twice or is no scalar, a tag), UNSUPPORTED (built without libyaml), LIMIT (the bounds
 * above, anchors and aliases), NOMEM. */
int nwi_yaml_parse(const char *text, size_t size, struct nwi_arena *arena,
                   struct nwi_json_value **out, struct nw_error *err);

/* What the document says about a model of class `klass` (NULL: none is known), as a config
 * tree on the arena: see nwi_yaml_ldm. */
int nwi_yaml_config(const char *text, size_t size, const char *klass,
                    struct nwi_arena *arena, struct nwi_json_value **out,
                    struct nw_error *err);

#endif
