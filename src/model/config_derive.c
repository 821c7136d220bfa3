/* SPDX-License-Identifier: Apache-2.0
 * Values that the shapes of a file tell, and what a given config says otherwise. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "model/config.h"

/* A new value at the head of the derived ones; NULL if there is no memory. */
static struct nwi_json_value *add(struct nwi_config *config, const char *key,
                                  enum nwi_json_kind kind)
{
    struct nwi_json_value *value = nwi_arena_zalloc(config->arena, sizeof *value);
    if (!value) {
        if (config->code == NW_OK)
            config->code = nwi_fail_nomem(config->err, sizeof *value);
        return NULL;
    }
    value->kind = kind;
    value->key = key;
    value->key_size = strlen(key);
    value->next = config->derived;
    config->derived = value;
    return value;
}

static void set_number(struct nwi_config *config, struct nwi_json_value *value,
                       int64_t number)
{
    value->text = nwi_arena_printf(config->arena, "%" PRId64, number);
    if (!value->text) {
        value->text = "0";
        if (config->code == NW_OK)
            config->code = nwi_fail_nomem(config->err, 24);
    }
    value->text_size = strlen(value->text);
}

static void set_text(struct nwi_json_value *value, const char *text)
{
    value->text = text;
    value->text_size = strlen(text);
}

void nwi_config_derive(struct nwi_config *config, const char *key, int64_t number)
{
    struct nwi_json_value *value =
        number < 0 ? NULL : add(config, key, NWI_JSON_IS_NUMBER);
    if (value)
        set_number(config, value, number);
}

int64_t nwi_layers_told(struct nwi_config *config, const char *key, int64_t n_found)
{
    return n_found > 0 || nwi_config_has(config, key) ? n_found : 1;
}

void nwi_config_derive_layers(struct nwi_config *config, const char *key,
                              int64_t n_found)
{
    nwi_config_derive(config, key, nwi_layers_told(config, key, n_found));
}

void nwi_config_derive_ratio(struct nwi_config *config, const char *key, int64_t part,
                             int64_t whole)
{
    char digits[40] = "";
    bool good = false;
    for (int n = 1; n <= 17 && part > 0 && whole > 0 && !good; n++) {
        double ratio = 0;
        nwi_write_real(((double)part + 0.5) / (double)whole, n, digits, sizeof digits);
        (void)nwi_parse_real(digits, &ratio);
        double scaled = ratio * (double)whole;
        good = scaled >= (double)part && scaled < (double)part + 1;
    }
    struct nwi_json_value *value = good ? add(config, key, NWI_JSON_IS_NUMBER) : NULL;
    if (!value)
        return;
    const char *text = nwi_arena_copy(config->arena, digits, strlen(digits));
    if (!text && config->code == NW_OK)
        config->code = nwi_fail_nomem(config->err, sizeof digits);
    set_text(value, text ? text : "0");
}

void nwi_config_derive_bool(struct nwi_config *config, const char *key, bool truth)
{
    struct nwi_json_value *value = add(config, key, NWI_JSON_IS_BOOL);
    if (value)
        value->boolean = truth;
}

void nwi_config_derive_null(struct nwi_config *config, const char *key)
{
    (void)add(config, key, NWI_JSON_IS_NULL);
}

void nwi_config_derive_text(struct nwi_config *config, const char *key,
                            const char *text)
{
    struct nwi_json_value *value = add(config, key, NWI_JSON_IS_STRING);
    if (value)
        set_text(value, text);
}

/* n fresh items of an array; NULL if there is no memory (or nothing to add). */
static struct nwi_json_value *add_list(struct nwi_config *config, const char *key,
                                       enum nwi_json_kind kind, size_t n)
{
    struct nwi_json_value *list = add(config, key, NWI_JSON_IS_ARRAY);
    if (!list || n == 0)
        return NULL;
    struct nwi_json_value *items = nwi_arena_zalloc(config->arena, n * sizeof *items);
    if (!items) {
        if (config->code == NW_OK)
            config->code = nwi_fail_nomem(config->err, n * sizeof *items);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        items[i].kind = kind;
        items[i].next = i + 1 < n ? &items[i + 1] : NULL;
    }
    list->first = items;
    list->n_children = n;
    return items;
}

void nwi_config_derive_ints(struct nwi_config *config, const char *key,
                            const int64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] < 0)
            return;
    }
    struct nwi_json_value *items = add_list(config, key, NWI_JSON_IS_NUMBER, n);
    for (size_t i = 0; items && i < n; i++)
        set_number(config, &items[i], values[i]);
}

void nwi_config_derive_texts(struct nwi_config *config, const char *key,
                             const char *const *values, size_t n)
{
    struct nwi_json_value *items = add_list(config, key, NWI_JSON_IS_STRING, n);
    for (size_t i = 0; items && i < n; i++)
        set_text(&items[i], values[i]);
}

void nwi_config_derive_inner(struct nwi_config *config, const char *key,
                             const struct nwi_config *inner)
{
    struct nwi_json_value *last = NULL;
    if (config->code == NW_OK)
        config->code = inner->code;
    for (struct nwi_json_value *v = inner->derived; v; v = v->next) {
        char *path = nwi_arena_printf(config->arena, "%s.%s", key, v->key);
        if (!path) {
            if (config->code == NW_OK)
                config->code = nwi_fail_nomem(config->err, v->key_size);
            return;
        }
        v->key = path;
        v->key_size = strlen(path);
        last = v;
    }
    if (!last)
        return;
    last->next = config->derived;
    config->derived = inner->derived;
}

/* ---- afterwards ---- */

static bool is_asked(const struct nwi_config *config, const char *key)
{
    for (size_t i = 0; i < config->n_asked; i++) {
        if (strcmp(config->asked[i], key) == 0)
            return true;
    }
    return false;
}

const char *nwi_config_unknown(const struct nwi_config *config, size_t i)
{
    if (!config->given)
        return NULL;
    for (const struct nwi_json_value *v = config->given->first; v; v = v->next) {
        if (v->key[0] == '_' || strcmp(v->key, "quantization_config") == 0 ||
            is_asked(config, v->key))
            continue;
        if (i-- == 0)
            return v->key;
    }
    return NULL;
}

static bool same_number(const char *a, const char *b)
{
    double x = 0;
    double y = 1;
    return nwi_parse_real(a, &x) && nwi_parse_real(b, &y) && x == y;
}

static bool same_value(const struct nwi_json_value *a, const struct nwi_json_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case NWI_JSON_IS_NULL:
        return true;
    case NWI_JSON_IS_BOOL:
        return a->boolean == b->boolean;
    case NWI_JSON_IS_NUMBER:
        return same_number(a->text, b->text);
    case NWI_JSON_IS_STRING:
        return strcmp(a->text, b->text) == 0;
    case NWI_JSON_IS_ARRAY:
    case NWI_JSON_IS_OBJECT:
        break;
    }
    if (a->n_children != b->n_children)
        return false;
    const struct nwi_json_value *x = a->first;
    for (const struct nwi_json_value *y = b->first; x && y; x = x->next, y = y->next) {
        if (!same_value(x, y))
            return false;
    }
    return true;
}

/* A value as a person reads it; long lists are cut. */
static const char *show(const struct nwi_config *config,
                        const struct nwi_json_value *value)
{
    char list[160] = "[";
    size_t size = 1;
    if (value->kind == NWI_JSON_IS_NULL)
        return "null";
    if (value->kind == NWI_JSON_IS_BOOL)
        return value->boolean ? "true" : "false";
    if (value->kind == NWI_JSON_IS_NUMBER || value->kind == NWI_JSON_IS_STRING)
        return value->text;
    if (value->kind == NWI_JSON_IS_OBJECT)
        return "{...}";
    for (const struct nwi_json_value *v = value->first; v; v = v->next) {
        const char *text = v->text ? v->text : "...";
        int n = snprintf(list + size, sizeof list - size, "%s%s", text,
                         v->next ? ", " : "");
        if (n < 0 || (size_t)n >= sizeof list - size - 1)
            break;
        size += (size_t)n;
    }
    list[size] = ']';
    const char *text = nwi_arena_copy(config->arena, list, size + 1);
    return text ? text : "?";
}

/* What the given config says under a derived key, whose dots lead into objects. */
static const struct nwi_json_value *find_given(const struct nwi_json_value *object,
                                               const char *key)
{
    size_t size = strcspn(key, ".");
    const struct nwi_json_value *value = NULL;
    if (!object || object->kind != NWI_JSON_IS_OBJECT)
        return NULL;
    for (value = object->first; value; value = value->next) {
        if (value->key_size == size && strncmp(value->key, key, size) == 0)
            break;
    }
    return key[size] == '.' ? find_given(value, key + size + 1) : value;
}

bool nwi_config_conflict(const struct nwi_config *config, size_t i,
                         struct nwi_config_conflict *out)
{
    for (const struct nwi_json_value *v = config->derived; v; v = v->next) {
        const struct nwi_json_value *given = find_given(config->given, v->key);
        if (!given || same_value(given, v) || i-- > 0)
            continue;
        *out =
            (struct nwi_config_conflict){v->key, show(config, given), show(config, v)};
        return true;
    }
    return false;
}
