/* SPDX-License-Identifier: Apache-2.0
 * The tree over the pull reader: no recursion, values and texts on the reader's arena.
 */
#include <string.h>

#include "base/json.h"
#include "base/map.h"

/* Up to here keys are compared with each other, above with a map. */
#define FEW_KEYS 8

/* An array or object that is still open. */
struct level {
    struct nwi_json_value *value;
    struct nwi_json_value **link; /* where the next child is hung in */
};

struct builder {
    struct nwi_json json;
    struct level levels[NWI_JSON_DEPTH + 1]; /* [0] holds the root alone */
    const char *key;                         /* of the value that comes next, or NULL */
    size_t key_size;
    uint64_t key_offset;
};

static int refused(struct builder *b, size_t nbytes)
{
    return nwi_fail_nomem(b->json.err, nbytes);
}

/* The text of the token just read, ending in NUL. NULL if refused. */
static const char *keep_text(struct builder *b)
{
    if (b->json.text_owned)
        return b->json.text;
    return nwi_arena_copy(b->json.arena, b->json.text, b->json.text_size);
}

static int take_key(struct builder *b)
{
    b->key = keep_text(b);
    b->key_size = b->json.text_size;
    b->key_offset = b->json.base + b->json.token_at;
    return b->key ? NW_OK : refused(b, b->json.text_size + 1);
}

static enum nwi_json_kind kind_of(enum nwi_json_token token)
{
    if (token == NWI_JSON_OBJECT_BEGIN)
        return NWI_JSON_IS_OBJECT;
    if (token == NWI_JSON_ARRAY_BEGIN)
        return NWI_JSON_IS_ARRAY;
    if (token == NWI_JSON_STRING)
        return NWI_JSON_IS_STRING;
    if (token == NWI_JSON_NUMBER)
        return NWI_JSON_IS_NUMBER;
    return token == NWI_JSON_NULL ? NWI_JSON_IS_NULL : NWI_JSON_IS_BOOL;
}

/* Makes the value whose first token was just read and hangs it under `parent`. */
static int take_value(struct builder *b, enum nwi_json_token token,
                      struct level *parent)
{
    struct nwi_json_value *value = nwi_arena_zalloc(b->json.arena, sizeof *value);
    if (!value)
        return refused(b, sizeof *value);
    value->kind = kind_of(token);
    value->boolean = token == NWI_JSON_TRUE;
    value->offset = b->json.base + b->json.token_at;
    value->key = b->key;
    value->key_size = b->key ? b->key_size : 0;
    value->key_offset = b->key ? b->key_offset : 0;
    b->key = NULL;
    if (token == NWI_JSON_STRING || token == NWI_JSON_NUMBER) {
        value->text = keep_text(b);
        value->text_size = b->json.text_size;
        if (!value->text)
            return refused(b, b->json.text_size + 1);
    }
    *parent->link = value;
    parent->link = &value->next;
    if (parent->value)
        parent->value->n_children++;
    if (token == NWI_JSON_OBJECT_BEGIN || token == NWI_JSON_ARRAY_BEGIN)
        b->levels[b->json.depth] = (struct level){value, &value->first};
    return NW_OK;
}

static int fail_duplicate(struct builder *b, const struct nwi_json_value *value)
{
    char key[128];
    nwi_quote(key, sizeof key, value->key, value->key_size, 80);
    return nwi_fail_at(b->json.err, b->json.code, value->key_offset,
                       "the key \"%s\" occurs twice in one JSON object", key);
}

static bool same_key(const struct nwi_json_value *a, const struct nwi_json_value *b)
{
    return a->key_size == b->key_size && memcmp(a->key, b->key, a->key_size) == 0;
}

static int check_few_keys(struct builder *b, const struct nwi_json_value *object)
{
    for (const struct nwi_json_value *v = object->first; v; v = v->next) {
        for (const struct nwi_json_value *u = object->first; u != v; u = u->next) {
            if (same_key(u, v))
                return fail_duplicate(b, v);
        }
    }
    return NW_OK;
}

static int check_many_keys(struct builder *b, const struct nwi_json_value *object)
{
    struct nwi_map keys;
    uint32_t row = 0;
    int code = nwi_map_init(&keys, b->json.arena->memory, object->n_children);
    if (code != NW_OK)
        return refused(b, object->n_children);
    for (const struct nwi_json_value *v = object->first; v; v = v->next) {
        uint32_t existing = NWI_MAP_NONE;
        code = nwi_map_add(&keys, v->key, v->key_size, row++, &existing);
        if (code == NW_OK && existing != NWI_MAP_NONE)
            code = fail_duplicate(b, v);
        if (code != NW_OK)
            break;
    }
    nwi_map_release(&keys);
    return code;
}

static int check_keys(struct builder *b, const struct nwi_json_value *object)
{
    if (object->n_children <= FEW_KEYS)
        return check_few_keys(b, object);
    return check_many_keys(b, object);
}

static int take(struct builder *b, enum nwi_json_token token, uint32_t depth)
{
    if (token == NWI_JSON_KEY)
        return take_key(b);
    if (token == NWI_JSON_OBJECT_END)
        return check_keys(b, b->levels[depth].value);
    if (token == NWI_JSON_ARRAY_END)
        return NW_OK;
    return take_value(b, token, &b->levels[depth]);
}

int nwi_json_parse(const char *data, size_t size, uint64_t base, int code,
                   struct nwi_arena *arena, struct nwi_json_value **out,
                   struct nw_error *err)
{
    struct builder b = {.key = NULL};
    struct nwi_json_value *root = NULL;
    *out = NULL;
    nwi_json_init(&b.json, data, size, base, code, arena, err);
    b.levels[0] = (struct level){NULL, &root};
    for (;;) {
        enum nwi_json_token token = NWI_JSON_END;
        uint32_t depth = b.json.depth;
        NWI_TRY(nwi_json_next(&b.json, &token));
        if (token == NWI_JSON_END)
            break;
        NWI_TRY(take(&b, token, depth));
    }
    *out = root;
    return NW_OK;
}

const struct nwi_json_value *nwi_json_get(const struct nwi_json_value *object,
                                          const char *key)
{
    if (!object || object->kind != NWI_JSON_IS_OBJECT)
        return NULL;
    size_t size = strlen(key);
    const struct nwi_json_value *child = object->first;
    while (child && (child->key_size != size || memcmp(child->key, key, size) != 0))
        child = child->next;
    return child;
}

const char *nwi_json_string(const struct nwi_json_value *value)
{
    return value && value->kind == NWI_JSON_IS_STRING ? value->text : NULL;
}
