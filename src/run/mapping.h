/* SPDX-License-Identifier: Apache-2.0
 * A private mapping of a whole file, shared by the tensors that lie in it. Writable:
 * what is written stays with this process. */
#ifndef NWI_MAPPING_H
#define NWI_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

struct nwi_mapping {
    int refs;                  /* atomic */
    struct nwi_memory *memory; /* retained; this record is counted there */
    uint8_t *data;             /* [size] */
    size_t size;
};

/* IO with errno if the system refuses. */
int nwi_mapping_new(const struct nwi_file *file, struct nwi_memory *memory,
                    struct nwi_mapping **out, struct nw_error *err);
struct nwi_mapping *nwi_mapping_retain(struct nwi_mapping *mapping);
void nwi_mapping_release(struct nwi_mapping *mapping);

/* Gives the whole pages within [data, data + nbytes) back: nobody looks at them any
 * more. */
void nwi_mapping_drop(struct nwi_mapping *mapping, void *data, size_t nbytes);
/* Brings every page of the range in; `file` is what was mapped. CHANGED if it is no longer
 * what it was when it was opened and a page could not be read for it, else IO. */
int nwi_mapping_populate(const struct nwi_mapping *mapping, const struct nwi_file *file,
                         const void *data, size_t nbytes, struct nw_error *err);

#endif
