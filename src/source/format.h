/* SPDX-License-Identifier: Apache-2.0
 * Containers: one file and one row each. The content decides, never the suffix. */
#ifndef NWI_FORMAT_H
#define NWI_FORMAT_H

#include "source/catalog.h"

struct nwi_builder; /* builder.h: what a format adds tensors, metadata and problems to */

struct nwi_format {
    const char *container; /* as in struct nw_stored_file */
    const char *suffix;    /* usual, for notes ("suffix says x, content is y"); NULL = none */
    /* Is it this? `head` holds the first `size` bytes (at most NWI_PROBE_BYTES; all of a
     * shorter file), `total` is the file's size. */
    bool (*probe)(const uint8_t *head, size_t size, uint64_t total);
    /* Adds everything that file row `file` of the builder holds. NULL: recognised only, gives
     * UNSUPPORTED with the container's name. */
    int (*parse)(struct nwi_builder *builder, uint32_t file, struct nw_error *err);
};

#define NWI_PROBE_BYTES 4096

extern const struct nwi_format *const nwi_formats[]; /* in probe order; NULL ends */

#endif
