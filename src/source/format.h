/* SPDX-License-Identifier: Apache-2.0
 * Containers: one file and one row each. The content decides, never the suffix. */
#ifndef NWI_FORMAT_H
#define NWI_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nwi_file;
struct nwi_builder; /* builder.h: what a format adds tensors, metadata and problems to
                     */

#define NWI_PROBE_BYTES 4096

/* What a probe may look at. */
struct nwi_probe {
    const uint8_t *head; /* first bytes of the file */
    size_t head_size;    /* at most NWI_PROBE_BYTES; all of a shorter file */
    const uint8_t *tail; /* last bytes of the file; they may overlap the head */
    size_t tail_size;    /* likewise */
    uint64_t total;      /* size of the file */
};

struct nwi_format {
    const char *container; /* as in struct nw_stored_file */
    const char *label;     /* in words, for messages: "torch zip" */
    const char
        *suffix; /* usual, for notes ("suffix says x, content is y"); NULL = none */
    bool (*probe)(const struct nwi_probe *probe); /* is it this? */
    /* Adds everything that file row `file` of the builder holds. NULL: recognised only,
     * gives UNSUPPORTED with the label. */
    int (*parse)(struct nwi_builder *builder, uint32_t file);
};

extern const struct nwi_format *const nwi_formats[]; /* in probe order; NULL ends */

/* Finds out what file row `row` is and adds what it holds. Problems with the file go
 * to the builder: TRUNCATED (too short for any format), WRONG_FORMAT (named in the
 * message), UNSUPPORTED (a container that cannot be read yet), or the format's own. */
int nwi_container_parse(struct nwi_builder *b, uint32_t row);

/* What the content of an open file is ("safetensors"), or NULL: nothing that is known.
 */
const char *nwi_container_name(const struct nwi_file *file);

/* What a file that is no checkpoint is ("git-lfs pointer", "HTML text"): writes one
 * sentence into `message`. False if nothing is recognised. */
bool nwi_foreign_describe(const struct nwi_probe *probe, char *message, size_t size);

/* True if the bytes are a text that begins like a JSON object (white space aside). */
bool nwi_probe_is_json(const struct nwi_probe *probe);

#endif
