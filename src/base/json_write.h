/* SPDX-License-Identifier: Apache-2.0
 * Writes compact JSON through a callback, buffered; commas and escapes are its business. */
#ifndef NWI_JSON_WRITE_H
#define NWI_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netweight.h"

struct nwi_json_writer {
    nw_write_fn *write;
    void *ctx;
    bool failed; /* the callback said no: all later calls do nothing */
    bool comma;  /* a value stands before */
    size_t used;
    uint64_t written; /* bytes so far, buffered ones included */
    char buffer[4096];
};

void nwi_json_writer_init(struct nwi_json_writer *w, nw_write_fn *write, void *ctx);
/* Sends what is buffered. NW_OK, or NW_E_CANCELLED if the callback ever returned non-zero. */
int nwi_json_writer_finish(struct nwi_json_writer *w);

void nwi_json_object(struct nwi_json_writer *w);     /* { */
void nwi_json_object_end(struct nwi_json_writer *w); /* } */
void nwi_json_array(struct nwi_json_writer *w);      /* [ */
void nwi_json_array_end(struct nwi_json_writer *w);  /* ] */
void nwi_json_key(struct nwi_json_writer *w, const char *key);
void nwi_json_key_n(struct nwi_json_writer *w, const char *key, size_t size);

/* Values. Strings: `"`, `\` and control characters are escaped, everything else is passed on
 * as UTF-8 (the same bytes as serde_json and python's ensure_ascii=False). Bytes that are no
 * UTF-8 (paths may hold them) become U+FFFD. */
void nwi_json_str(struct nwi_json_writer *w, const char *text); /* NULL writes null */
void nwi_json_str_n(struct nwi_json_writer *w, const char *text, size_t size);
void nwi_json_uint(struct nwi_json_writer *w, uint64_t value);
void nwi_json_real(struct nwi_json_writer *w, double value); /* null if not finite */
void nwi_json_bool(struct nwi_json_writer *w, bool value);
void nwi_json_null(struct nwi_json_writer *w);
/* JSON text that is known to be valid, as it is. */
void nwi_json_raw_value(struct nwi_json_writer *w, const char *text, size_t size);

/* Shorthand: key and value. */
void nwi_json_put_str(struct nwi_json_writer *w, const char *key, const char *text);
void nwi_json_put_uint(struct nwi_json_writer *w, const char *key, uint64_t value);

#endif
