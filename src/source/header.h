/* SPDX-License-Identifier: Apache-2.0
 * Names and shapes, wherever they come from: what one component of a file holds once its
 * prefix is off, or what a layout's rules made of it. Detection, rules and configs that
 * are derived from shapes all ask here. */
#ifndef NWI_HEADER_H
#define NWI_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"

struct nwi_header_row {
    const char *name; /* ends in NUL */
    const uint64_t *shape;
    size_t name_size;
    uint32_t rank;
    uint32_t source; /* row of the catalog's tensors, or NW_NONE */
};

/* Rows and map are the owner's; everything borrowed from an arena that outlives it. */
struct nwi_header {
    const struct nwi_header_row *rows; /* [n] */
    size_t n;
    struct nwi_map names; /* name -> row */
};

/* Builds the map over `rows`, which stay borrowed. NW_OK, NW_E_NOMEM, or NW_E_DUPLICATE
 * (two rows of one name; err names it). */
int nwi_header_init(struct nwi_header *header, const struct nwi_header_row *rows,
                    size_t n, struct nwi_memory *memory, struct nw_error *err);
void nwi_header_release(struct nwi_header *header);

/* The row of that name, or NULL. */
const struct nwi_header_row *nwi_header_find(const struct nwi_header *header,
                                             const char *name);
bool nwi_header_has(const struct nwi_header *header, const char *name);

/* shape[dim] of that tensor, counted from the end if dim is negative; -1 if there is no
 * such tensor or dimension, or it is larger than INT64_MAX. */
int64_t nwi_header_dim(const struct nwi_header *header, const char *name, int dim);
/* Its rank, -1 if there is no such tensor. */
int nwi_header_rank(const struct nwi_header *header, const char *name);

/* How many consecutive modules a list has: 1 + the largest i for which a name begins with
 * `prefix`, then i in decimal, then "." or the end of the name ("transformer_blocks." ->
 * 19). 0 if there is none. Linear in the header. */
int64_t nwi_header_count(const struct nwi_header *header, const char *prefix);

/* True if any name begins with that. Linear. */
bool nwi_header_any(const struct nwi_header *header, const char *prefix);

#endif
