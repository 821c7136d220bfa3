/* SPDX-License-Identifier: Apache-2.0
 * How far names and links in a folder may lead: inside the opened folder, or from a
 * snapshot of a hub cache into the blobs of the same entry. Asked before anything is
 * opened. */
#ifndef NWI_SCOPE_H
#define NWI_SCOPE_H

#include <stdbool.h>

#include "source/builder.h"

struct nwi_scope {
    const char *root;  /* the opened folder, canonical; NULL: everything is allowed */
    const char *blobs; /* canonical, with the hub's blobs; NULL if it is no hub cache */
};

/* The scope of the folder `path` (which may be a link itself). Texts go to the scratch
 * arena. */
int nwi_scope_init(struct nwi_builder *b, const char *path, struct nwi_scope *scope);

enum nwi_reach {
    NWI_REACH_FILE,    /* a regular file inside the scope */
    NWI_REACH_FOLDER,  /* a folder, likewise */
    NWI_REACH_ABSENT,  /* nothing there, or a link to nothing */
    NWI_REACH_OUTSIDE, /* it leads out */
    NWI_REACH_OTHER    /* inside, but neither file nor folder */
};

/* *real (may be NULL) gets the canonical path. Never opens anything. */
int nwi_scope_reach(struct nwi_builder *b, const struct nwi_scope *scope,
                    const char *path, enum nwi_reach *reach, const char **real);

/* Opens a file as a new row of files. *row is NW_NONE if that is not to be and opening
 * goes on all the same (a problem that is listed): `absent` (a code) if it is not
 * there, UNSAFE_PATH if it leads out of the scope. */
int nwi_scope_open(struct nwi_builder *b, const struct nwi_scope *scope,
                   const char *name, const char *path, int absent, uint32_t *row);

/* Reads a small text file; *text is NULL if there is none, or it leads out of the
 * scope. */
int nwi_scope_slurp(struct nwi_builder *b, const struct nwi_scope *scope,
                    const char *path, uint64_t limit, char **text, size_t *size);

#endif
