/* SPDX-License-Identifier: Apache-2.0
 * libyaml's events as a tree: no recursion, values and texts on the arena. */
#include "layout/yaml.h"

#include "base/error.h"
#include "base/text.h"

#ifdef NWI_HAVE_YAML

#include <string.h>
#include <yaml.h>

#include "base/map.h"
#include "layout/yaml_ldm.h"

/* A list or mapping that is still open. */
struct level {
    struct nwi_json_value *value; /* NULL at level 0, which holds the root alone */
    struct nwi_json_value **link; /* where the next child is hung in */
};

struct builder {
    struct nwi_arena *arena;
    struct nw_error *err;
    yaml_parser_t parser;
    struct level levels[NWI_YAML_DEPTH + 1];
    size_t depth;
    size_t n_nodes;
    size_t n_documents;
    struct nwi_json_value *root;
    const char *key; /* of the value that comes next, or NULL */
    size_t key_size;
};

static unsigned long line_of(const yaml_event_t *event)
{
    return (unsigned long)event->start_mark.line + 1;
}

/* ---- what a plain word means ---- */

static bool is_any(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

static bool is_null(const char *text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return is_any(text, words);
}

static bool is_true(const char *text)
{
    static const char *const words[] = {"true", "True", "TRUE", "yes", "Yes",
                                        "YES",  "on",   "On",   "ON",  NULL};
    return is_any(text, words);
}

static bool is_false(const char *text)
{
    static const char *const words[] = {"false", "False", "FALSE", "no",  "No",
                                        "NO",    "off",   "Off",   "OFF", NULL};
    return is_any(text, words);
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* The parts of a decimal number: [sign] whole [. part] [e exponent]. */
struct number {
    bool negative;
    const char *whole; /* may be empty if there is a part */
    size_t n_whole;
    bool has_point;
    const char *part;
    size_t n_part;
    const char *exponent; /* "e-04" to the end, or "" */
};

static bool read_number(const char *text, struct number *out)
{
    *out = (struct number){.negative = *text == '-'};
    text += *text == '-' || *text == '+';
    out->whole = text;
    out->n_whole = count_digits(text);
    text += out->n_whole;
    out->has_point = *text == '.';
    text += out->has_point;
    out->part = text;
    out->n_part = out->has_point ? count_digits(text) : 0;
    text += out->n_part;
    out->exponent = text;
    if (out->n_whole + out->n_part == 0)
        return false;
    /* 010 is eight, and no number that a config means. */
    if (!out->has_point && out->n_whole > 1 && out->whole[0] == '0')
        return false;
    if (*text != 'e' && *text != 'E')
        return *text == '\0';
    text++;
    text += *text == '-' || *text == '+';
    return *text != '\0' && text[count_digits(text)] == '\0';
}

/* As JSON spells it: no plus, no leading zero, digits on both sides of the point. */
static const char *spell_number(struct builder *b, const struct number *number)
{
    const char *whole = number->whole;
    size_t n_whole = number->n_whole;
    for (; n_whole > 1 && *whole == '0'; n_whole--)
        whole++;
    return nwi_arena_printf(
        b->arena, "%s%.*s%s%.*s%s", number->negative ? "-" : "",
        n_whole ? (int)n_whole : 1, n_whole ? whole : "0", number->has_point ? "." : "",
        number->n_part ? (int)number->n_part : (int)number->has_point,
        number->n_part ? number->part : "0", number->exponent);
}

/* ---- building ---- */

static int take_scalar(struct builder *b, const yaml_event_t *event,
                       struct nwi_json_value *value)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t size = event->data.scalar.length;
    struct number number;
    bool plain = event->data.scalar.plain_implicit && strlen(text) == size;
    value->kind = NWI_JSON_IS_STRING;
    if (plain && is_null(text)) {
        value->kind = NWI_JSON_IS_NULL;
        return NW_OK;
    }
    if (plain && (is_true(text) || is_false(text))) {
        value->kind = NWI_JSON_IS_BOOL;
        value->boolean = is_true(text);
        return NW_OK;
    }
    if (plain && read_number(text, &number)) {
        value->kind = NWI_JSON_IS_NUMBER;
        value->text = spell_number(b, &number);
        value->text_size = value->text ? strlen(value->text) : 0;
    } else {
        value->text = nwi_arena_copy(b->arena, text, size);
        value->text_size = size;
    }
    return value->text ? NW_OK : nwi_fail_nomem(b->err, size + 1);
}

static int open_level(struct builder *b, const yaml_event_t *event,
                      struct nwi_json_value *value)
{
    if (b->depth == NWI_YAML_DEPTH)
        return nwi_fail(b->err, NW_E_LIMIT,
                        "line %lu of the yaml is nested deeper than %u", line_of(event),
                        NWI_YAML_DEPTH);
    b->levels[++b->depth] = (struct level){value, &value->first};
    return NW_OK;
}

static int take_value(struct builder *b, const yaml_event_t *event)
{
    struct level *parent = &b->levels[b->depth];
    struct nwi_json_value *value = nwi_arena_zalloc(b->arena, sizeof *value);
    if (!value)
        return nwi_fail_nomem(b->err, sizeof *value);
    value->key = b->key;
    value->key_size = b->key ? b->key_size : 0;
    b->key = NULL;
    *parent->link = value;
    parent->link = &value->next;
    if (parent->value)
        parent->value->n_children++;
    if (event->type == YAML_SCALAR_EVENT)
        return take_scalar(b, event, value);
    value->kind = event->type == YAML_MAPPING_START_EVENT ? NWI_JSON_IS_OBJECT
                                                          : NWI_JSON_IS_ARRAY;
    return open_level(b, event, value);
}

static bool wants_key(const struct builder *b)
{
    const struct nwi_json_value *parent = b->levels[b->depth].value;
    return parent && parent->kind == NWI_JSON_IS_OBJECT && !b->key;
}

static int take_key(struct builder *b, const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT)
        return nwi_fail(b->err, NW_E_BAD_CONFIG,
                        "line %lu of the yaml has a key that is no text",
                        line_of(event));
    b->key_size = event->data.scalar.length;
    b->key =
        nwi_arena_copy(b->arena, (const char *)event->data.scalar.value, b->key_size);
    return b->key ? NW_OK : nwi_fail_nomem(b->err, b->key_size + 1);
}

static int fail_duplicate(struct builder *b, const struct nwi_json_value *value)
{
    char key[128];
    nwi_quote(key, sizeof key, value->key, value->key_size, 80);
    return nwi_fail(b->err, NW_E_BAD_CONFIG,
                    "the key \"%s\" occurs twice in one yaml mapping", key);
}

/* No key twice in a mapping that is complete. */
static int check_keys(struct builder *b, const struct nwi_json_value *object)
{
    struct nwi_map keys;
    uint32_t row = 0;
    if (object->kind != NWI_JSON_IS_OBJECT)
        return NW_OK;
    int code = nwi_map_init(&keys, b->arena->memory, object->n_children);
    for (const struct nwi_json_value *v = object->first; v && code == NW_OK;
         v = v->next) {
        uint32_t existing = NWI_MAP_NONE;
        code = nwi_map_add(&keys, v->key, v->key_size, row++, &existing);
        if (code == NW_OK && existing != NWI_MAP_NONE)
            code = fail_duplicate(b, v);
    }
    nwi_map_release(&keys);
    return code == NW_E_NOMEM ? nwi_fail_nomem(b->err, object->n_children) : code;
}

/* ---- events ---- */

struct properties {
    const yaml_char_t *anchor;
    const yaml_char_t *tag;
};

static struct properties properties_of(const yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT)
        return (struct properties){event->data.scalar.anchor, event->data.scalar.tag};
    if (event->type == YAML_MAPPING_START_EVENT)
        return (struct properties){event->data.mapping_start.anchor,
                                   event->data.mapping_start.tag};
    return (struct properties){event->data.sequence_start.anchor,
                               event->data.sequence_start.tag};
}

static int take_node(struct builder *b, const yaml_event_t *event)
{
    struct properties properties = properties_of(event);
    if (properties.anchor)
        return nwi_fail(b->err, NW_E_LIMIT,
                        "line %lu of the yaml has an anchor, which is not read",
                        line_of(event));
    if (properties.tag)
        return nwi_fail(b->err, NW_E_BAD_CONFIG,
                        "line %lu of the yaml has a tag, which is not read",
                        line_of(event));
    if (++b->n_nodes > NWI_YAML_NODES)
        return nwi_fail(b->err, NW_E_LIMIT, "the yaml has more than %u keys and values",
                        NWI_YAML_NODES);
    return wants_key(b) ? take_key(b, event) : take_value(b, event);
}

static int take_event(struct builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return nwi_fail(b->err, NW_E_LIMIT,
                        "line %lu of the yaml has an alias, which is not read",
                        line_of(event));
    case YAML_SCALAR_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return take_node(b, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return check_keys(b, b->levels[b->depth--].value);
    case YAML_DOCUMENT_START_EVENT:
        if (b->n_documents++ > 0)
            return nwi_fail(b->err, NW_E_BAD_CONFIG,
                            "line %lu of the yaml begins a second document",
                            line_of(event));
        return NW_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return NW_OK;
}

static int fail_parse(struct builder *b)
{
    const yaml_parser_t *parser = &b->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return nwi_fail_nomem(b->err, 0);
    return nwi_fail(b->err, NW_E_BAD_CONFIG, "line %lu is no yaml: %.200s",
                    (unsigned long)parser->problem_mark.line + 1,
                    parser->problem ? parser->problem : "unknown");
}

static int read_events(struct builder *b)
{
    bool more = true;
    while (more) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event))
            return fail_parse(b);
        int code = take_event(b, &event);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (code != NW_OK)
            return code;
    }
    return b->root ? NW_OK : nwi_fail(b->err, NW_E_BAD_CONFIG, "the yaml is empty");
}

int nwi_yaml_parse(const char *text, size_t size, struct nwi_arena *arena,
                   struct nwi_json_value **out, struct nw_error *err)
{
    struct builder b = {.arena = arena, .err = err};
    *out = NULL;
    if (size > NWI_YAML_BYTES)
        return nwi_fail(err, NW_E_LIMIT, "the yaml has %zu bytes, more than %u", size,
                        NWI_YAML_BYTES);
    if (!yaml_parser_initialize(&b.parser))
        return nwi_fail_nomem(err, sizeof b.parser);
    b.levels[0] = (struct level){NULL, &b.root};
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, size);
    int code = read_events(&b);
    yaml_parser_delete(&b.parser);
    if (code == NW_OK)
        *out = b.root;
    return code;
}

int nwi_yaml_config(const char *text, size_t size, const char *klass,
                    struct nwi_arena *arena, struct nwi_json_value **out,
                    struct nw_error *err)
{
    struct nwi_json_value *root = NULL;
    *out = NULL;
    NWI_TRY(nwi_yaml_parse(text, size, arena, &root, err));
    return nwi_yaml_ldm(root, klass, arena, out, err);
}

#else

int nwi_yaml_parse(const char *text, size_t size, struct nwi_arena *arena,
                   struct nwi_json_value **out, struct nw_error *err)
{
    (void)text;
    (void)size;
    (void)arena;
    *out = NULL;
    return nwi_fail(err, NW_E_UNSUPPORTED, "this build reads no yaml (libyaml)");
}

int nwi_yaml_config(const char *text, size_t size, const char *klass,
                    struct nwi_arena *arena, struct nwi_json_value **out,
                    struct nw_error *err)
{
    (void)klass;
    return nwi_yaml_parse(text, size, arena, out, err);
}

#endif

bool nwi_yaml_is_name(const char *path)
{
    return nwi_ends_with(path, ".yaml") || nwi_ends_with(path, ".yml");
}
