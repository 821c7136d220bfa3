/* SPDX-License-Identifier: Apache-2.0
 * Reading values out of a config, whatever it is made of. */
#include "model/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"

#define NUMBER_MOST ((int64_t)1 << 20) /* products of three of them fit 63 bits */

void nwi_config_init(struct nwi_config *config, const struct nwi_json_value *given,
                     const struct nwi_json_value *preset, struct nwi_arena *arena,
                     struct nw_error *err)
{
    *config = (struct nwi_config){
        .arena = arena, .given = given, .preset = preset, .err = err};
}

/* ---- failing ---- */

void nwi_config_fail(struct nwi_config *config, int code, const char *format, ...)
{
    char message[256];
    va_list args;
    if (config->code != NW_OK)
        return;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    config->code = code;
    (void)nwi_fail(config->err, code, "%s", message);
}

static void fail_nomem(struct nwi_config *config, size_t size)
{
    if (config->code != NW_OK)
        return;
    config->code = NW_E_NOMEM;
    (void)nwi_fail_nomem(config->err, size);
}

static void fail_type(struct nwi_config *config, const char *key, const char *wanted)
{
    nwi_config_fail(config, NW_E_BAD_CONFIG, "\"%s\" of the config is not %s", key,
                    wanted);
}

/* ---- finding ---- */

static void note_asked(struct nwi_config *config, const char *key)
{
    for (size_t i = 0; i < config->n_asked; i++) {
        if (config->asked[i] == key || strcmp(config->asked[i], key) == 0)
            return;
    }
    void *items = (void *)(uintptr_t)config->asked;
    if (!nwi_arena_grow(config->arena, &items, config->n_asked, &config->asked_room,
                        sizeof *config->asked)) {
        fail_nomem(config, sizeof *config->asked);
        return;
    }
    const char **asked = items;
    asked[config->n_asked++] = key;
    config->asked = asked;
}

static const struct nwi_json_value *find_derived(const struct nwi_config *config,
                                                 const char *key)
{
    for (const struct nwi_json_value *v = config->derived; v; v = v->next) {
        if (strcmp(v->key, key) == 0)
            return v;
    }
    return NULL;
}

const struct nwi_json_value *nwi_config_raw(struct nwi_config *config, const char *key)
{
    note_asked(config, key);
    if (config->code != NW_OK)
        return NULL;
    if (config->given)
        return nwi_json_get(config->given, key);
    const struct nwi_json_value *derived = find_derived(config, key);
    return derived ? derived : nwi_json_get(config->preset, key);
}

/* NULL also for null. */
static const struct nwi_json_value *find_value(struct nwi_config *config,
                                               const char *key)
{
    const struct nwi_json_value *value = nwi_config_raw(config, key);
    return value && value->kind == NWI_JSON_IS_NULL ? NULL : value;
}

bool nwi_config_has(struct nwi_config *config, const char *key)
{
    return find_value(config, key) != NULL;
}

void nwi_config_known(struct nwi_config *config, const char *const *keys)
{
    for (; keys && *keys; keys++)
        note_asked(config, *keys);
}

/* ---- numbers ---- */

static bool read_real(const struct nwi_json_value *value, double *out)
{
    return value->kind == NWI_JSON_IS_NUMBER && nwi_parse_real(value->text, out);
}

static bool read_int(const struct nwi_json_value *value, int64_t *out)
{
    double real = 0;
    if (value->kind == NWI_JSON_IS_BOOL) {
        *out = value->boolean;
        return true;
    }
    if (!read_real(value, &real) || !(real >= (double)-NUMBER_MOST) ||
        !(real <= (double)NUMBER_MOST))
        return false;
    *out = (int64_t)real;
    return (double)*out == real;
}

int64_t nwi_config_int_or_null(struct nwi_config *config, const char *key,
                               int64_t fallback)
{
    const struct nwi_json_value *value = nwi_config_raw(config, key);
    int64_t out = fallback;
    if (!value)
        return fallback;
    if (value->kind == NWI_JSON_IS_NULL)
        return NWI_NULL;
    if (!read_int(value, &out)) {
        fail_type(config, key, "a whole number of a sensible size");
        return fallback;
    }
    return out;
}

int64_t nwi_config_int(struct nwi_config *config, const char *key, int64_t fallback)
{
    int64_t out = nwi_config_int_or_null(config, key, fallback);
    if (out != NWI_NULL)
        return out;
    fail_type(config, key, "a number, but null");
    return fallback;
}

int64_t nwi_config_count(struct nwi_config *config, const char *key, int64_t fallback)
{
    int64_t n = nwi_config_int(config, key, fallback);
    if (n < 0)
        nwi_config_fail(config, NW_E_BAD_CONFIG, "\"%s\" of the config is %lld", key,
                        (long long)n);
    else if (n > NWI_CONFIG_DEPTH)
        nwi_config_fail(config, NW_E_LIMIT, "\"%s\" of the config is %lld, at most %d",
                        key, (long long)n, NWI_CONFIG_DEPTH);
    else
        return n;
    return 0;
}

double nwi_config_real(struct nwi_config *config, const char *key, double fallback)
{
    const struct nwi_json_value *value = find_value(config, key);
    double out = fallback;
    if (value && !read_real(value, &out))
        fail_type(config, key, "a number");
    return out;
}

bool nwi_config_bool(struct nwi_config *config, const char *key, bool fallback)
{
    const struct nwi_json_value *value = nwi_config_raw(config, key);
    int64_t number = 0;
    if (!value)
        return fallback;
    if (value->kind == NWI_JSON_IS_NULL)
        return false;
    if (!read_int(value, &number))
        fail_type(config, key, "true or false");
    return number != 0;
}

/* ---- texts ---- */

const char *nwi_config_text(struct nwi_config *config, const char *key,
                            const char *fallback)
{
    const struct nwi_json_value *value = nwi_config_raw(config, key);
    if (!value)
        return fallback;
    if (value->kind == NWI_JSON_IS_NULL)
        return NULL;
    if (value->kind != NWI_JSON_IS_STRING) {
        fail_type(config, key, "a text");
        return fallback;
    }
    return value->text;
}

bool nwi_config_is(struct nwi_config *config, const char *key, const char *fallback,
                   const char *value)
{
    const char *text = nwi_config_text(config, key, fallback);
    return text && strcmp(text, value) == 0;
}

/* ---- lists ---- */

static void fail_long(struct nwi_config *config, const char *key, size_t n)
{
    nwi_config_fail(config, NW_E_LIMIT,
                    "\"%s\" of the config has %zu items, at most %u are possible", key,
                    n, NWI_CONFIG_LIST);
}

static void read_ints(struct nwi_config *config, const char *key,
                      const struct nwi_json_value *value, struct nwi_config_ints *out)
{
    if (value->n_children > NWI_CONFIG_LIST) {
        fail_long(config, key, value->n_children);
        return;
    }
    for (const struct nwi_json_value *item = value->first; item; item = item->next) {
        out->at[out->n] = NWI_NULL;
        if (item->kind != NWI_JSON_IS_NULL && !read_int(item, &out->at[out->n]))
            fail_type(config, key, "a list of whole numbers");
        out->n++;
    }
}

void nwi_config_ints(struct nwi_config *config, const char *key,
                     struct nwi_config_ints *out)
{
    const struct nwi_json_value *value = find_value(config, key);
    *out = (struct nwi_config_ints){.given = value != NULL};
    if (!value)
        return;
    if (value->kind == NWI_JSON_IS_ARRAY) {
        read_ints(config, key, value, out);
        return;
    }
    out->scalar = true;
    out->n = 1;
    if (!read_int(value, &out->at[0]))
        fail_type(config, key, "a number or a list of them");
}

void nwi_config_ints_or(struct nwi_config *config, const char *key,
                        const int64_t *fallback, size_t n, struct nwi_config_ints *out)
{
    const struct nwi_json_value *value = nwi_config_raw(config, key);
    if (value) {
        nwi_config_ints(config, key, out);
        return;
    }
    *out = (struct nwi_config_ints){.n = n};
    if (n)
        memcpy(out->at, fallback, n * sizeof *fallback);
}

void nwi_config_spread(struct nwi_config *config, const char *key,
                       struct nwi_config_ints *list, size_t n)
{
    if (n > NWI_CONFIG_LIST) {
        fail_long(config, key, n);
        return;
    }
    if (list->scalar) {
        for (size_t i = 1; i < n; i++)
            list->at[i] = list->at[0];
        list->n = n;
        list->scalar = false;
    }
    if (list->n != n)
        nwi_config_fail(config, NW_E_BAD_CONFIG,
                        "\"%s\" of the config has %zu items, %zu are needed", key,
                        list->n, n);
}

void nwi_config_texts(struct nwi_config *config, const char *key,
                      struct nwi_config_texts *out)
{
    const struct nwi_json_value *value = find_value(config, key);
    *out = (struct nwi_config_texts){.given = value != NULL};
    if (!value)
        return;
    if (value->kind != NWI_JSON_IS_ARRAY) {
        fail_type(config, key, "a list of texts");
        return;
    }
    if (value->n_children > NWI_CONFIG_LIST) {
        fail_long(config, key, value->n_children);
        return;
    }
    for (const struct nwi_json_value *item = value->first; item; item = item->next) {
        out->at[out->n++] = nwi_json_string(item);
        if (!nwi_json_string(item) && item->kind != NWI_JSON_IS_NULL)
            fail_type(config, key, "a list of texts");
    }
}

void nwi_config_texts_or(struct nwi_config *config, const char *key,
                         const char *const *fallback, size_t n,
                         struct nwi_config_texts *out)
{
    if (nwi_config_raw(config, key)) {
        nwi_config_texts(config, key, out);
        return;
    }
    *out = (struct nwi_config_texts){.n = n};
    if (n)
        memcpy(out->at, fallback, n * sizeof *fallback);
}

/* ---- nested configs ---- */

/* The derived values whose keys are `key`, a dot and more, as values of that object; in
 * their order. */
static struct nwi_json_value *derived_inside(struct nwi_config *config, const char *key)
{
    struct nwi_json_value *first = NULL;
    struct nwi_json_value **end = &first;
    size_t size = strlen(key);
    for (const struct nwi_json_value *v = config->derived; v; v = v->next) {
        if (strncmp(v->key, key, size) != 0 || v->key[size] != '.')
            continue;
        struct nwi_json_value *copy = nwi_arena_alloc(config->arena, sizeof *copy);
        if (!copy) {
            fail_nomem(config, sizeof *copy);
            break;
        }
        *copy = *v;
        copy->key += size + 1;
        copy->key_size -= size + 1;
        copy->next = NULL;
        *end = copy;
        end = &copy->next;
    }
    return first;
}

void nwi_config_inner(struct nwi_config *config, const char *key,
                      struct nwi_config *out)
{
    const struct nwi_json_value *value = find_value(config, key);
    if (value && value->kind != NWI_JSON_IS_OBJECT) {
        fail_type(config, key, "an object");
        value = NULL;
    }
    nwi_config_init(out, config->given ? value : NULL, config->given ? NULL : value,
                    config->arena, config->err);
    if (!config->given)
        out->derived = derived_inside(config, key);
    out->code = config->code;
}

void nwi_config_join(struct nwi_config *config, const struct nwi_config *inner)
{
    if (config->code == NW_OK)
        config->code = inner->code;
}
