/* SPDX-License-Identifier: Apache-2.0
 * A JSON document as the library writes it, collected and read back. */
#ifndef NWT_DOCUMENT_H
#define NWT_DOCUMENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "test.h"

struct nwt_document {
    char *text; /* ends in NUL; NULL until something was written */
    size_t size;
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nwi_json_value *root; /* NULL until parsed */
};

/* A nw_write_fn; ctx is a struct nwt_document, all zero at first. */
static inline int nwt_document_write(void *ctx, const char *text, size_t size)
{
    struct nwt_document *document = ctx;
    document->text = realloc(document->text, document->size + size + 1);
    assert_non_null(document->text);
    memcpy(document->text + document->size, text, size);
    document->size += size;
    document->text[document->size] = '\0';
    return 0;
}

static inline void nwt_document_parse(struct nwt_document *document)
{
    struct nw_error err;
    nwi_error_clear(&err);
    document->memory = nwi_memory_new(NULL);
    assert_non_null(document->memory);
    nwi_arena_init(&document->arena, document->memory);
    assert_ok(nwi_json_parse(document->text, document->size, 0, NW_E_BAD_CONFIG,
                             &document->arena, &document->root, &err),
              &err);
}

static inline void nwt_document_release(struct nwt_document *document)
{
    if (document->memory) {
        nwi_arena_release(&document->arena);
        nwi_memory_release(document->memory);
    }
    free(document->text);
    memset(document, 0, sizeof *document);
}

/* The value at "key/0/key" (indices into arrays as digits), or NULL. */
static inline const struct nwi_json_value *nwt_at(const struct nwt_document *document,
                                                  const char *path)
{
    const struct nwi_json_value *value = document->root;
    while (value && *path) {
        size_t size = strcspn(path, "/");
        size_t left = value->kind == NWI_JSON_IS_ARRAY ? strtoul(path, NULL, 10) : 0;
        const struct nwi_json_value *child = value->first;
        bool by_key = value->kind == NWI_JSON_IS_OBJECT;
        while (child &&
               (by_key ? child->key_size != size || memcmp(child->key, path, size) != 0
                       : left-- > 0))
            child = child->next;
        value = child;
        path += size + (path[size] == '/');
    }
    return value;
}

/* What stands there as text: strings and numbers as they are, "null", "true", "false";
 * "[n]" and "{n}" with the number of children; "-" where there is nothing. `buffer`
 * holds 32 bytes. */
static inline const char *nwt_text_at(const struct nwt_document *document,
                                      const char *path, char *buffer)
{
    const struct nwi_json_value *value = nwt_at(document, path);
    if (!value)
        return "-";
    switch (value->kind) {
    case NWI_JSON_IS_NULL:
        return "null";
    case NWI_JSON_IS_BOOL:
        return value->boolean ? "true" : "false";
    case NWI_JSON_IS_ARRAY:
    case NWI_JSON_IS_OBJECT:
        (void)snprintf(buffer, 32, value->kind == NWI_JSON_IS_ARRAY ? "[%zu]" : "{%zu}",
                       value->n_children);
        return buffer;
    case NWI_JSON_IS_NUMBER:
    case NWI_JSON_IS_STRING:
        break;
    }
    return value->text;
}

#define assert_at(document, path, expected)                                            \
    do {                                                                               \
        char assert_at_buffer[32];                                                     \
        const char *assert_at_got = nwt_text_at(document, path, assert_at_buffer);     \
        if (strcmp(assert_at_got, expected) != 0)                                      \
            fail_msg("%s is %s, expected %s in %s", path, assert_at_got, expected,     \
                     (document)->text);                                                \
    } while (0)

#endif
