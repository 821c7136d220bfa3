/* SPDX-License-Identifier: Apache-2.0
 * The handle: making a skeleton from a config or a caller's table, reading it, freeing it. */
#include "model/model.h"

#include <string.h>

#include "base/error.h"

struct nw_model *nwi_model_new(struct nwi_memory *memory)
{
    struct nw_model *model = nwi_zalloc(memory, sizeof *model);
    if (!model)
        return NULL;
    model->refs = 1;
    model->memory = nwi_memory_retain(memory);
    model->klass = "";
    nwi_arena_init(&model->arena, memory);
    return model;
}

struct nw_model *nwi_model_retain(struct nw_model *model)
{
    __atomic_fetch_add(&model->refs, 1, __ATOMIC_RELAXED);
    return model;
}

void nw_model_free(struct nw_model *model)
{
    if (!model || __atomic_sub_fetch(&model->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    struct nwi_memory *memory = model->memory;
    if (model->names.slots)
        nwi_map_release(&model->names);
    nwi_arena_release(&model->arena);
    nwi_free(memory, model, sizeof *model);
    nwi_memory_release(memory);
}

/* ---- the names ---- */

int nwi_model_index(struct nw_model *model, int code_if_twice, struct nw_error *err)
{
    if (nwi_map_init(&model->names, model->memory, model->n_wanted) != NW_OK)
        return nwi_fail_nomem(err, model->n_wanted * sizeof(void *));
    for (size_t i = 0; i < model->n_wanted; i++) {
        const struct nwi_wanted *wanted = &model->wanted[i];
        uint32_t existing = NWI_MAP_NONE;
        if (nwi_map_add(&model->names, wanted->name, wanted->name_size, (uint32_t)i,
                        &existing) != NW_OK)
            return nwi_fail_nomem(err, model->n_wanted * sizeof(void *));
        if (existing != NWI_MAP_NONE) {
            int code =
                nwi_fail(err, code_if_twice, "the model wants this tensor twice");
            return nwi_error_in_tensor(err, code, wanted->name);
        }
    }
    return NW_OK;
}

/* ---- from a config ---- */

/* Replaces deprecated keys of the given config by what they are called now; the tree is
 * the config's own. A key that is there under both names keeps the new one. */
static void apply_aliases(struct nwi_config *config,
                          const struct nwi_key_alias *aliases)
{
    for (; aliases && aliases->old; aliases++) {
        struct nwi_json_value *value = NULL;
        if (!config->given || nwi_json_get(config->given, aliases->now))
            continue;
        for (value = config->given->first; value; value = value->next) {
            if (strcmp(value->key, aliases->old) == 0)
                break;
        }
        if (!value)
            continue;
        value->key = aliases->now;
        value->key_size = strlen(aliases->now);
    }
}

static int keep_unknown(struct nw_model *model, const struct nwi_config *config,
                        struct nw_error *err)
{
    size_t n = 0;
    while (nwi_config_unknown(config, n))
        n++;
    model->unknown_keys = nwi_arena_array(&model->arena, n, sizeof(char *));
    if (!model->unknown_keys)
        return nwi_fail_nomem(err, n * sizeof(char *));
    for (size_t i = 0; i < n; i++) {
        const char *key = nwi_config_unknown(config, i);
        model->unknown_keys[i] = nwi_arena_copy(&model->arena, key, strlen(key));
        if (!model->unknown_keys[i])
            return nwi_fail_nomem(err, strlen(key));
    }
    model->n_unknown_keys = n;
    return NW_OK;
}

static int build(struct nw_model *model, const struct nwi_architecture *architecture,
                 struct nwi_config *config, struct nw_error *err)
{
    struct nwi_module module = {.model = model, .config = config};
    model->klass = architecture->klass;
    model->library = architecture->library;
    model->keep_fp32 = architecture->keep_fp32;
    model->harmless = architecture->harmless;
    model->optional = architecture->optional;
    apply_aliases(config, architecture->aliases);
    architecture->build(&module, config);
    nwi_config_known(config, architecture->plain_keys);
    if (config->code != NW_OK)
        return config->code;
    NWI_TRY(nwi_model_index(model, NW_E_BAD_CONFIG, err));
    return keep_unknown(model, config, err);
}

int nwi_model_build(const struct nwi_architecture *architecture,
                    struct nwi_config *config, struct nwi_memory *memory,
                    struct nw_model **out, struct nw_error *err)
{
    struct nw_model *model = nwi_model_new(memory);
    if (!model)
        return nwi_fail_nomem(err, sizeof *model);
    int code = build(model, architecture, config, err);
    if (code != NW_OK) {
        nw_model_free(model);
        return code;
    }
    *out = model;
    return NW_OK;
}

static const struct nwi_architecture *pick(struct nwi_config *config, const char *klass)
{
    if (!klass)
        return nwi_architecture_of(config);
    const struct nwi_architecture *found = nwi_architecture_find(klass);
    if (!found)
        nwi_config_fail(config, NW_E_UNSUPPORTED,
                        "this version does not know the class %.100s", klass);
    return found;
}

int nwi_model_from_json(const char *json, size_t size, const char *klass,
                        struct nwi_memory *memory, struct nw_model **out,
                        struct nw_error *err)
{
    struct nwi_arena arena;
    struct nwi_config config;
    struct nwi_json_value *root = NULL;
    int code = NW_OK;
    nwi_arena_init(&arena, memory);
    if (json)
        code = nwi_json_parse(json, size, 0, NW_E_BAD_CONFIG, &arena, &root, err);
    if (code == NW_OK && root && root->kind != NWI_JSON_IS_OBJECT)
        code = nwi_fail(err, NW_E_BAD_CONFIG, "the config is no JSON object");
    if (code == NW_OK) {
        nwi_config_init(&config, root, NULL, &arena, err);
        const struct nwi_architecture *architecture = pick(&config, klass);
        code = architecture ? nwi_model_build(architecture, &config, memory, out, err)
                            : config.code;
    }
    nwi_arena_release(&arena);
    return code;
}
