/* SPDX-License-Identifier: Apache-2.0
 * Components that are taken from other files: the "NAME=PATH" of nw_open_options.with. */
#ifndef NWI_WITH_H
#define NWI_WITH_H

#include "source/builder.h"

/* ARG: an entry is NULL, has no name or no path, or a name comes twice. */
int nwi_with_check(const struct nw_open_options *options, struct nw_error *err);

/* The file that component is to come from, or NULL. */
const char *nwi_with_path(const struct nw_open_options *options, const char *name);

/* Adds the file as the component (named, with whatever config was found for it). */
int nwi_with_load(struct nwi_builder *b, const char *path,
                  struct nwi_component *component);

/* Adds every entry that no component of the folder has taken. */
int nwi_with_rest(struct nwi_builder *b);

#endif
