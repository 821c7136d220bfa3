/* SPDX-License-Identifier: Apache-2.0 */
#include "source/with.h"

#include <string.h>

#include "base/error.h"
#include "source/config.h"
#include "source/folder.h"
#include "source/format.h"

/* Bytes of the name of an entry. */
static size_t name_size(const char *entry)
{
    return strcspn(entry, "=");
}

static bool is_named(const char *entry, const char *name, size_t size)
{
    return name_size(entry) == size && memcmp(entry, name, size) == 0;
}

int nwi_with_check(const struct nw_open_options *options, struct nw_error *err)
{
    for (size_t i = 0; i < options->n_with; i++) {
        const char *entry = options->with[i];
        if (!entry)
            return nwi_fail(err, NW_E_ARG, "an entry of \"with\" is NULL");
        size_t size = name_size(entry);
        if (size == 0 || !entry[size] || !entry[size + 1])
            return nwi_fail(err, NW_E_ARG, "\"%.100s\" is no NAME=FILE (with)", entry);
        for (size_t k = 0; k < i; k++) {
            if (is_named(options->with[k], entry, size))
                return nwi_fail(err, NW_E_ARG, "\"%.*s\" comes from two files (with)",
                                (int)(size > 100 ? 100 : size), entry);
        }
    }
    return NW_OK;
}

const char *nwi_with_path(const struct nw_open_options *options, const char *name)
{
    for (size_t i = 0; name && i < options->n_with; i++) {
        if (is_named(options->with[i], name, strlen(name)))
            return options->with[i] + strlen(name) + 1;
    }
    return NULL;
}

/* Its name says nothing about the weights it becomes: those are named for the class. */
static int load_file(struct nwi_builder *b, const char *path,
                     struct nwi_component *component)
{
    struct nwi_file *file = NULL;
    uint32_t row = 0;
    NWI_TRY(nwi_file_open(path, false, b->memory, &file, b->err));
    int code = nwi_builder_begin_component(b, component);
    if (code != NW_OK) {
        nwi_file_release(file);
        return code;
    }
    NWI_TRY(nwi_builder_add_file(b, nwi_path_base(path), path, file, &row));
    NWI_TRY(nwi_container_parse(b, row));
    return nwi_builder_end_component(b, NULL);
}

/* A model's folder: its own config says what it is, before any other that was found. */
static int load_folder(struct nwi_builder *b, const char *path,
                       struct nwi_component *component)
{
    struct nwi_scope scope;
    struct nwi_folder folder;
    NWI_TRY(nwi_scope_init(b, path, &scope));
    NWI_TRY(nwi_folder_read(b, path, "", &folder));
    const struct nwi_weight_name *lead = nwi_folder_choose(b, &folder, "");
    if (!lead)
        return nwi_folder_fail(b, &folder, "");
    NWI_TRY(nwi_config_read(b, &scope, path, "config.json", true, component));
    return nwi_folder_load(b, &scope, &folder, lead, NULL, component);
}

int nwi_with_load(struct nwi_builder *b, const char *path,
                  struct nwi_component *component)
{
    component->names.memory = b->memory;
    return nwi_path_kind(path) == NWI_PATH_FOLDER ? load_folder(b, path, component)
                                                  : load_file(b, path, component);
}

static bool is_taken(const struct nwi_builder *b, const char *entry)
{
    const struct nwi_component *components = b->components.items;
    for (size_t i = 0; i < b->components.n; i++) {
        const char *name = components[i].info.name;
        if (name && is_named(entry, name, strlen(name)))
            return true;
    }
    return false;
}

int nwi_with_rest(struct nwi_builder *b)
{
    for (size_t i = 0; i < b->options->n_with; i++) {
        const char *entry = b->options->with[i];
        struct nwi_component component = {0};
        if (is_taken(b, entry))
            continue;
        component.info.name = nwi_arena_copy(b->arena, entry, name_size(entry));
        if (!component.info.name)
            return nwi_builder_nomem(b, name_size(entry));
        NWI_TRY(nwi_with_load(b, entry + name_size(entry) + 1, &component));
    }
    return NW_OK;
}
