/* SPDX-License-Identifier: Apache-2.0
 * A yaml document. Whatever is in it: a mistake is one of three codes, with a message; a
 * tree keeps to its bounds, and its numbers are JSON's; the config of every class is told or
 * refused likewise. */
#include "check.h"
#include "layout/yaml.h"

static void check_code(int code, const struct nw_error *err)
{
    require(code == err->code);
    require(code == NW_OK || err->message[0] != '\0');
    require(code == NW_OK || code == NW_E_BAD_CONFIG || code == NW_E_UNSUPPORTED ||
            code == NW_E_LIMIT);
}

static size_t check_tree(const struct nwi_json_value *value, size_t depth)
{
    size_t nodes = 1;
    size_t children = 0;
    bool branch = value->kind == NWI_JSON_IS_ARRAY || value->kind == NWI_JSON_IS_OBJECT;
    bool text = value->kind == NWI_JSON_IS_STRING || value->kind == NWI_JSON_IS_NUMBER;
    require(depth <= NWI_YAML_DEPTH + (branch ? 0 : 1));
    require(!text || value->text[value->text_size] == '\0');
    require(branch || !value->first);
    for (const struct nwi_json_value *v = value->first; v; v = v->next) {
        require((v->key != NULL) == (value->kind == NWI_JSON_IS_OBJECT));
        require(!v->key || v->key[v->key_size] == '\0');
        nodes += check_tree(v, depth + 1) + (v->key != NULL);
        children++;
    }
    require(children == value->n_children);
    return nodes;
}

/* A number is one that JSON knows. */
static void check_numbers(const struct nwi_json_value *value, struct nwi_arena *arena)
{
    struct nwi_json_value *again = NULL;
    struct nw_error err;
    nwi_error_clear(&err);
    if (value->kind == NWI_JSON_IS_NUMBER)
        require(nwi_json_parse(value->text, value->text_size, 0, NW_E_BAD_CONFIG, arena,
                               &again, &err) == NW_OK &&
                again->kind == NWI_JSON_IS_NUMBER);
    for (const struct nwi_json_value *v = value->first; v; v = v->next)
        check_numbers(v, arena);
}

static void check_class(const char *text, size_t size, const char *klass,
                        struct nwi_arena *arena)
{
    struct nwi_json_value *config = NULL;
    struct nw_error err;
    nwi_error_clear(&err);
    int code = nwi_yaml_config(text, size, klass, arena, &config, &err);
    check_code(code, &err);
    require((code == NW_OK) == (config != NULL));
    if (code != NW_OK)
        return;
    require(config->kind == NWI_JSON_IS_OBJECT);
    require(check_tree(config, 1) < NWI_YAML_NODES + 100);
    check_numbers(config, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const classes[] = {"UNet2DConditionModel", "AutoencoderKL",
                                          "ControlNetModel", "CLIPTextModel", NULL};
    const char *text = (const char *)data;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_json_value *root = NULL;
    struct nwi_arena arena;
    struct nw_error err;
    require(memory != NULL);
    nwi_arena_init(&arena, memory);
    nwi_error_clear(&err);
    int code = nwi_yaml_parse(text, size, &arena, &root, &err);
    check_code(code, &err);
    require((code == NW_OK) == (root != NULL));
    if (root) {
        require(check_tree(root, 1) <= NWI_YAML_NODES);
        check_numbers(root, &arena);
    }
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        check_class(text, size, classes[i], &arena);
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
    return 0;
}
