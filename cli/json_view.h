/* SPDX-License-Identifier: Apache-2.0
 * Reads the documents the library writes, in place and without allocating. They are
 * valid, compact JSON; on anything else every function finds nothing. */
#ifndef CLI_JSON_VIEW_H
#define CLI_JSON_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* The text of one value. All zero: no value. */
struct cli_json {
    const char *at;
    size_t size;
};

/* Member `key` of an object; all zero if there is none. `key` needs no escapes. */
struct cli_json cli_json_get(struct cli_json object, const char *key);

/* Walks the elements of an array: start with {0}. false at the end. */
bool cli_json_next(struct cli_json array, struct cli_json *element);

/* The same for the members of an object; both start with {0}. */
bool cli_json_member(struct cli_json object, struct cli_json *key,
                     struct cli_json *value);

size_t cli_json_count(struct cli_json array);

/* Integers without sign, and true = 1; else 0. */
uint64_t cli_json_uint(struct cli_json value);

/* "null" or no value. */
bool cli_json_is_null(struct cli_json value);

/* Whether it is the string `text`, which needs no escapes. */
bool cli_json_is(struct cli_json value, const char *text);

/* Puts `,"key":value` before the last brace of a document; nothing if there is no
 * value. */
void cli_json_splice(struct cli_text *document, const char *key, struct cli_json value);

/* Adds a string decoded, or any other value as it is written; not made safe to print.
 */
void cli_json_decode(struct cli_json value, struct cli_text *out);

#endif
