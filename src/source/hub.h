/* SPDX-License-Identifier: Apache-2.0
 * Hub caches, without the network:
 *
 *     <cache>/models--<org>--<name>/
 *         refs/<revision>           text: the commit
 *         snapshots/<commit>/...    the files, mostly links to
 *         blobs/<etag>
 *         .no_exist/...             what is known not to be there: of no use here */
#ifndef NWI_HUB_H
#define NWI_HUB_H

#include <stdbool.h>

#include "source/builder.h"

/* *entry: the folder is an entry of a hub cache. */
int nwi_hub_is_entry(struct nwi_builder *b, const char *path, bool *entry);

/* The snapshot of an entry that options->revision names ("main" if it is NULL), on the
 * scratch arena. NOT_FOUND with what there is instead. */
int nwi_hub_snapshot(struct nwi_builder *b, const char *entry, const char **snapshot);

/* The entry of "org/name" in options->cache_dir; NOT_FOUND naming both. */
int nwi_hub_find(struct nwi_builder *b, const char *id, const char **entry);

#endif
