/* SPDX-License-Identifier: Apache-2.0
 * Strict JSON (RFC 8259) from untrusted bytes: a pull reader with byte offsets in errors.
 *
 * Refused: anything after the value but white space, control characters and broken UTF-8 in
 * strings, lone surrogates, leading zeros, nesting deeper than NWI_JSON_DEPTH, a byte order
 * mark. Numbers are handed out as text: no locale, no rounding. Duplicate keys are the
 * consumer's business (the tree refuses them). */
#ifndef NWI_JSON_H
#define NWI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define NWI_JSON_DEPTH 128

enum nwi_json_token {
    NWI_JSON_END, /* the value is complete and only white space follows */
    NWI_JSON_OBJECT_BEGIN,
    NWI_JSON_OBJECT_END,
    NWI_JSON_ARRAY_BEGIN,
    NWI_JSON_ARRAY_END,
    NWI_JSON_KEY,    /* text: decoded key */
    NWI_JSON_STRING, /* text: decoded string */
    NWI_JSON_NUMBER, /* text: as written */
    NWI_JSON_TRUE,
    NWI_JSON_FALSE,
    NWI_JSON_NULL
};

struct nwi_json {
    const char *data; /* [size], borrowed */
    size_t size;
    size_t at;     /* next byte */
    uint64_t base; /* added to offsets in errors: where data begins in its file */
    struct nwi_arena *arena; /* decoded strings that differ from their source go here */
    struct nw_error *err;
    int code; /* code given to syntax errors: NW_E_BAD_HEADER or BAD_CONFIG */

    /* The token read last. */
    const char *text; /* points into data where no escape had to be decoded: then NOT
                              NUL-terminated. Never NULL for KEY, STRING, NUMBER */
    size_t text_size;
    size_t token_at; /* its first byte in data */
    bool text_owned; /* text was decoded: it is on the arena and ends in NUL */

    uint32_t depth;
    int failed;    /* code of the first failure; private */
    uint8_t state; /* what may come next; private */
    bool skipping; /* strings are checked but not decoded; private */
    uint8_t stack[NWI_JSON_DEPTH / 8]; /* one bit a level: 1 = object */
};

void nwi_json_init(struct nwi_json *json, const char *data, size_t size, uint64_t base,
                   int code, struct nwi_arena *arena, struct nw_error *err);

/* Reads the next token. On failure json->err is filled (with the offset) and the code comes
 * back; later calls fail again. */
int nwi_json_next(struct nwi_json *json, enum nwi_json_token *token);

/* Skips the rest of the value whose first token was just read. */
int nwi_json_skip(struct nwi_json *json, enum nwi_json_token token);

/* The source text of the value whose first token was just read; skips it. */
int nwi_json_raw(struct nwi_json *json, enum nwi_json_token token, const char **text,
                 size_t *size);

/* A NUMBER's text as an unsigned integer: digits only, no sign, no fraction, no exponent, fits
 * 64 bits. */
bool nwi_json_u64(const char *text, size_t size, uint64_t *out);

/* ---- tree, for configs and indexes ---- */

enum nwi_json_kind {
    NWI_JSON_IS_NULL,
    NWI_JSON_IS_BOOL,
    NWI_JSON_IS_NUMBER,
    NWI_JSON_IS_STRING,
    NWI_JSON_IS_ARRAY,
    NWI_JSON_IS_OBJECT
};

struct nwi_json_value {
    enum nwi_json_kind kind;
    bool boolean;
    const char *text; /* string (decoded) or number (as written); ends in NUL */
    size_t text_size;
    const char *key; /* name within its object, else NULL; ends in NUL */
    size_t key_size;
    uint64_t offset;     /* of its first byte, base included */
    uint64_t key_offset; /* of its key's first byte, likewise; 0 without a key */
    struct nwi_json_value *first; /* first child */
    struct nwi_json_value *next;  /* next sibling */
    size_t n_children;
};

/* Reads one whole document onto the arena. Duplicate keys are refused (code, naming the key).
 * Linear in the size, also for objects with 200,000 keys. */
int nwi_json_parse(const char *data, size_t size, uint64_t base, int code,
                   struct nwi_arena *arena, struct nwi_json_value **out,
                   struct nw_error *err);

/* The child with that key, or NULL (also if `object` is NULL or no object). Linear. */
const struct nwi_json_value *nwi_json_get(const struct nwi_json_value *object,
                                          const char *key);
/* Its text if it is a string, else NULL. */
const char *nwi_json_string(const struct nwi_json_value *value);

#endif
