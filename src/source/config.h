/* SPDX-License-Identifier: Apache-2.0
 * What opening wants to know of config.json: the class, and whether it speaks of
 * quantisation. */
#ifndef NWI_CONFIG_H
#define NWI_CONFIG_H

#include "source/scope.h"

/* Reads <folder>/config.json, if there is one, into a component: config_path, klass and
 * library (unless they are known already), quant_method. Adds it to files under `name`.
 * One that cannot be understood is BAD_CONFIG, or a note if it only happens to lie
 * there (`strict` false). */
int nwi_config_read(struct nwi_builder *b, const struct nwi_scope *scope,
                    const char *folder, const char *name, bool strict,
                    struct nwi_component *component);

#endif
