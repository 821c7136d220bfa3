/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/config_text.h"

#include <string.h>

#include "base/error.h"
#include "base/json_write.h"

/* Text that grows on an arena. */
struct text {
    struct nwi_arena *arena;
    char *bytes;
    size_t size;
    size_t room;
};

static int append(void *ctx, const char *bytes, size_t size)
{
    struct text *text = ctx;
    if (text->size + size + 1 > text->room) {
        size_t room = 2 * (text->size + size) + 256;
        char *more = nwi_arena_alloc(text->arena, room);
        if (!more)
            return 1;
        if (text->size)
            memcpy(more, text->bytes, text->size);
        text->bytes = more;
        text->room = room;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
    return 0;
}

static void put_value(struct nwi_json_writer *w, const struct nwi_json_value *value)
{
    bool object = value->kind == NWI_JSON_IS_OBJECT;
    switch (value->kind) {
    case NWI_JSON_IS_NULL:
        nwi_json_null(w);
        return;
    case NWI_JSON_IS_BOOL:
        nwi_json_bool(w, value->boolean);
        return;
    case NWI_JSON_IS_NUMBER:
        nwi_json_raw_value(w, value->text, value->text_size);
        return;
    case NWI_JSON_IS_STRING:
        nwi_json_str_n(w, value->text, value->text_size);
        return;
    case NWI_JSON_IS_ARRAY:
    case NWI_JSON_IS_OBJECT:
        break;
    }
    if (object)
        nwi_json_object(w);
    else
        nwi_json_array(w);
    for (const struct nwi_json_value *v = value->first; v; v = v->next) {
        if (object)
            nwi_json_key_n(w, v->key, v->key_size);
        put_value(w, v); /* NOLINT(misc-no-recursion): the parser bounds the depth */
    }
    if (object)
        nwi_json_object_end(w);
    else
        nwi_json_array_end(w);
}

/* A line of the document: ",\n  KEY: VALUE". */
static int put_line(struct text *text, const struct nwi_json_value *value)
{
    struct nwi_json_writer w;
    if (append(text, ",\n  ", 4) != 0)
        return 1;
    nwi_json_writer_init(&w, append, text);
    nwi_json_str_n(&w, value->key, value->key_size);
    if (nwi_json_writer_finish(&w) != NW_OK || append(text, ": ", 2) != 0)
        return 1;
    nwi_json_writer_init(&w, append, text);
    put_value(&w, value);
    return nwi_json_writer_finish(&w) != NW_OK;
}

/* True if the key has a value that stands before this one. */
static bool is_hidden(const struct nwi_json_value *first,
                      const struct nwi_json_value *value)
{
    for (const struct nwi_json_value *v = first; v && v != value; v = v->next) {
        if (strcmp(v->key, value->key) == 0)
            return true;
    }
    return false;
}

static int put_list(struct text *text, const struct nwi_json_value *first,
                    const struct nwi_json_value *over)
{
    for (const struct nwi_json_value *v = first; v; v = v->next) {
        bool hidden = is_hidden(first, v) || (over && is_hidden(over, v));
        if (v->key[0] != '_' && !hidden && put_line(text, v) != 0)
            return 1;
    }
    return 0;
}

int nwi_config_text_write(const struct nwi_architecture *architecture,
                          const struct nwi_config *config, struct nwi_arena *arena,
                          const char **out, struct nw_error *err)
{
    struct text text = {.arena = arena};
    bool diffusers = strcmp(architecture->library, "diffusers") == 0;
    const char *head = nwi_arena_printf(arena,
                                        diffusers ? "{\n  \"_class_name\": \"%s\""
                                                  : "{\n  \"architectures\": [\"%s\"]",
                                        architecture->klass);
    bool failed = !head || append(&text, head, strlen(head)) != 0;
    if (!failed && !diffusers && architecture->model_type) {
        const char *type = nwi_arena_printf(arena, ",\n  \"model_type\": \"%s\"",
                                            architecture->model_type);
        failed = !type || append(&text, type, strlen(type)) != 0;
    }
    if (!failed && config->given)
        failed = put_list(&text, config->given->first, NULL) != 0;
    else if (!failed)
        failed = put_list(&text, config->derived, NULL) != 0 ||
                 put_list(&text, config->preset ? config->preset->first : NULL,
                          config->derived) != 0;
    failed = failed || append(&text, "\n}\n", 3) != 0;
    if (failed)
        return nwi_fail_nomem(err, text.size);
    *out = text.bytes;
    return NW_OK;
}
