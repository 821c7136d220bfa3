/* SPDX-License-Identifier: Apache-2.0 */
#include "source/pipeline.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "source/config.h"
#include "source/index.h"
#include "source/sort.h"
#include "source/with.h"

/* A component that may have weights. */
struct part {
    const char *name; /* first: compared as a name */
    const char *klass;
    const char *library;
    struct nwi_folder folder;
    const struct nwi_weight_name *lead; /* the set that is taken */
    bool fallback;                      /* not of the variant that was asked for */
};

struct pipeline {
    struct nwi_builder *b;
    const struct nwi_scope *scope;
    const struct nwi_folder *root;
    struct nwi_vector parts; /* struct part */
    bool indexed;            /* there is a model_index.json */
};

static struct part *part_of(const struct pipeline *p, size_t i)
{
    return (struct part *)p->parts.items + i;
}

static int add_part(struct pipeline *p, const struct part *part)
{
    struct part *row = nwi_vector_add(&p->parts, p->b->memory);
    if (!row)
        return nwi_builder_nomem(p->b, sizeof *row);
    *row = *part;
    return NW_OK;
}

static bool is_wanted(const struct pipeline *p, const char *name)
{
    const char *wanted = p->b->options->component;
    return !wanted || strcmp(wanted, name) == 0;
}

/* Reads the subfolder of a part; one without weights is passed over. */
static int take_part(struct pipeline *p, struct part *part, enum nwi_reach *reach)
{
    struct nwi_builder *b = p->b;
    char *path = nwi_path_join(b->arena, p->root->path, part->name);
    char *prefix = nwi_arena_printf(&b->scratch, "%s%s/", p->root->prefix, part->name);
    if (!path || !prefix)
        return nwi_builder_nomem(b, strlen(part->name));
    NWI_TRY(nwi_scope_reach(b, p->scope, path, reach, NULL));
    if (*reach == NWI_REACH_OUTSIDE && nwi_path_kind(path) == NWI_PATH_FOLDER &&
        is_wanted(p, part->name)) {
        struct nwi_place place = {.file = path, .offset = NW_OFFSET_NONE};
        return nwi_builder_problem(
            b, &place, NW_E_UNSAFE_PATH,
            "the folder of a component is a link that leads out of the "
            "pipeline; follow_links (--follow-links) accepts it");
    }
    if (*reach != NWI_REACH_FOLDER)
        return NW_OK;
    NWI_TRY(nwi_folder_read(b, path, prefix, &part->folder));
    return nwi_folder_has_weights(&part->folder) ? add_part(p, part) : NW_OK;
}

/* ---- model_index.json ---- */

static int note_absent(struct pipeline *p, const char *path, const char *name)
{
    struct nwi_place place = {.file = path, .offset = NW_OFFSET_NONE};
    return nwi_builder_note(
        p->b, &place, NW_E_NOT_FOUND,
        "the component %.80s is listed, but its folder is not there", name);
}

/* "unet": ["diffusers", "UNet2DConditionModel"]; everything else is a setting. */
static int read_row(struct pipeline *p, const char *path,
                    const struct nwi_json_value *value)
{
    struct nwi_builder *b = p->b;
    enum nwi_reach reach = NWI_REACH_ABSENT;
    const struct nwi_json_value *library = value->first;
    if (value->key[0] == '_' || value->kind != NWI_JSON_IS_ARRAY ||
        value->n_children != 2 || !nwi_json_string(library) ||
        !nwi_json_string(library->next))
        return NW_OK;
    struct nwi_place place = {.file = path, .offset = value->offset};
    if (!nwi_index_name_is_safe(value->key, value->key_size))
        return nwi_builder_problem(
            b, &place, NW_E_UNSAFE_PATH,
            "a component is named by a path, which is no plain name");
    struct part part = {
        .name = nwi_arena_copy(b->arena, value->key, value->key_size),
        .library = nwi_arena_copy(b->arena, library->text, library->text_size),
        .klass =
            nwi_arena_copy(b->arena, library->next->text, library->next->text_size)};
    if (!part.name || !part.library || !part.klass)
        return nwi_builder_nomem(b, value->key_size);
    NWI_TRY(take_part(p, &part, &reach));
    return reach == NWI_REACH_ABSENT && is_wanted(p, part.name)
               ? note_absent(p, path, part.name)
               : NW_OK;
}

static int parse_index(struct pipeline *p, const char *path, const char *text,
                       size_t size)
{
    struct nw_error failure;
    struct nwi_json_value *index = NULL;
    nwi_error_clear(&failure);
    int code = nwi_json_parse(text, size, 0, NW_E_BAD_CONFIG, &p->b->scratch, &index,
                              &failure);
    if (code == NW_OK && index->kind != NWI_JSON_IS_OBJECT)
        code = nwi_fail_at(&failure, NW_E_BAD_CONFIG, 0,
                           "model_index.json is not a JSON object");
    if (code != NW_OK) {
        (void)nwi_error_in_file(&failure, code, path);
        return nwi_builder_absorb(p->b, &failure);
    }
    p->indexed = true;
    for (const struct nwi_json_value *v = index->first; v; v = v->next)
        NWI_TRY(read_row(p, path, v));
    return NW_OK;
}

static int read_index(struct pipeline *p)
{
    char *text = NULL;
    size_t size = 0;
    uint32_t row = 0;
    struct nwi_builder *b = p->b;
    char *path = nwi_path_join(b->arena, p->root->path, "model_index.json");
    if (!path)
        return nwi_builder_nomem(b, strlen(p->root->path));
    NWI_TRY(nwi_scope_slurp(b, p->scope, path, NWI_CONFIG_LIMIT, &text, &size));
    if (!text)
        return NW_OK;
    NWI_TRY(parse_index(p, path, text, size));
    if (p->parts.n == 0)
        return NW_OK;
    NWI_TRY(nwi_builder_add_file(b, "model_index.json", path, NULL, &row));
    nwi_builder_file(b, row)->info.container = "config";
    nwi_builder_file(b, row)->info.nbytes = size;
    nwi_builder_file(b, row)->info.used = 1;
    return NW_OK;
}

/* ---- without it ---- */

static bool has_config(const struct nwi_folder *folder)
{
    for (size_t i = 0; i < folder->n; i++) {
        if (strcmp(folder->names[i].name, "config.json") == 0)
            return true;
    }
    return false;
}

static int find_parts(struct pipeline *p)
{
    bool config = false;
    for (size_t i = 0; i < p->root->n; i++) {
        enum nwi_reach reach = NWI_REACH_ABSENT;
        struct part part = {.name = p->root->names[i].name};
        if (part.name[0] != '.')
            NWI_TRY(take_part(p, &part, &reach));
    }
    for (size_t i = 0; i < p->parts.n; i++) {
        struct part *part = part_of(p, i);
        config |= has_config(&part->folder);
        part->name = nwi_arena_copy(p->b->arena, part->name, strlen(part->name));
        if (!part->name)
            return nwi_builder_nomem(p->b, 256);
    }
    if (!config)
        p->parts.n = 0;
    return NW_OK;
}

static int sort_parts(struct pipeline *p)
{
    size_t size = p->parts.n * sizeof(struct part);
    if (p->parts.n < 2)
        return NW_OK;
    void *spare = nwi_alloc(p->b->memory, size);
    if (!spare)
        return nwi_builder_nomem(p->b, size);
    nwi_sort(p->parts.items, spare, p->parts.n, sizeof(struct part), nwi_compare_names);
    nwi_free(p->b->memory, spare, size);
    return NW_OK;
}

/* ---- choosing ---- */

static int fail_component(struct pipeline *p)
{
    char list[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < p->parts.n; i++) {
        const char *name = part_of(p, i)->name;
        if (used + strlen(name) + 8 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     used ? ", " : "", name);
    }
    int code = nwi_fail(
        p->b->err, NW_E_NOT_FOUND,
        "the pipeline has no weights for the component \"%.80s\"; there are: %s",
        p->b->options->component, list);
    return nwi_error_in_file(p->b->err, code, p->root->path);
}

/* Keeps only the component that was asked for. */
static int restrict_parts(struct pipeline *p)
{
    for (size_t i = 0; i < p->parts.n; i++) {
        if (!is_wanted(p, part_of(p, i)->name))
            continue;
        if (p->b->options->component) {
            *part_of(p, 0) = *part_of(p, i);
            p->parts.n = 1;
        }
        return NW_OK;
    }
    return fail_component(p);
}

/* A component without the variant falls back to its default one, unless none has it. */
static int choose(struct pipeline *p)
{
    const char *variant = p->b->options->variant ? p->b->options->variant : "";
    size_t n_found = 0;
    for (size_t i = 0; i < p->parts.n; i++) {
        struct part *part = part_of(p, i);
        if (nwi_with_path(p->b->options, part->name)) {
            n_found++;
            continue;
        }
        NWI_TRY(nwi_folder_variants(p->b, &part->folder));
        part->lead = nwi_folder_choose(p->b, &part->folder, variant);
        n_found += part->lead != NULL;
        if (!part->lead && variant[0]) {
            part->lead = nwi_folder_choose(p->b, &part->folder, "");
            part->fallback = true;
        }
        if (!part->lead)
            return nwi_folder_fail(p->b, &part->folder, variant);
    }
    return n_found ? NW_OK : nwi_folder_fail(p->b, &part_of(p, 0)->folder, variant);
}

static int load_part(struct pipeline *p, const struct part *part)
{
    struct nwi_builder *b = p->b;
    char remark[200] = "";
    struct nwi_component component = {
        .info = {.name = part->name, .klass = part->klass, .library = part->library},
        .names.memory = b->memory};
    char *config = nwi_arena_printf(&b->scratch, "%sconfig.json", part->folder.prefix);
    if (!config)
        return nwi_builder_nomem(b, strlen(part->folder.prefix));
    if (part->fallback)
        (void)snprintf(remark, sizeof remark,
                       "the variant %.80s is not there, the default is taken",
                       b->options->variant);
    NWI_TRY(nwi_config_read(b, p->scope, part->folder.path, config, true, &component));
    const char *with = nwi_with_path(b->options, part->name);
    if (with)
        return nwi_with_load(b, with, &component);
    NWI_TRY(nwi_folder_load(b, p->scope, &part->folder, part->lead,
                            remark[0] ? remark : NULL, &component));
    NWI_TRY(nwi_folder_ignore(b, p->scope, &part->folder, part->lead));
    return nwi_folder_others(b, p->scope, &part->folder, nwi_builder_component_row(b));
}

static int load_parts(struct pipeline *p)
{
    NWI_TRY(sort_parts(p));
    NWI_TRY(restrict_parts(p));
    NWI_TRY(choose(p));
    for (size_t i = 0; i < p->parts.n; i++)
        NWI_TRY(load_part(p, part_of(p, i)));
    return NW_OK;
}

/* What stands beside the components; with one that was asked for it does not matter. */
static int load(struct pipeline *p)
{
    NWI_TRY(load_parts(p));
    if (p->b->options->component)
        return NW_OK;
    NWI_TRY(nwi_folder_ignore(p->b, p->scope, p->root, NULL));
    NWI_TRY(nwi_folder_others(p->b, p->scope, p->root, NW_NONE));
    return nwi_pipeline_others(p->b, p->scope, p->root);
}

int nwi_pipeline_open(struct nwi_builder *b, const struct nwi_scope *scope,
                      const struct nwi_folder *folder, bool *taken)
{
    struct pipeline p = {
        .b = b, .scope = scope, .root = folder, .parts.item_size = sizeof(struct part)};
    int code = read_index(&p);
    if (code == NW_OK && p.parts.n == 0 && !nwi_folder_has_weights(folder))
        code = find_parts(&p);
    *taken = code == NW_OK && p.parts.n > 0;
    if (*taken) {
        b->ckpt->is_pipeline = true;
        code = load(&p);
    }
    nwi_vector_release(&p.parts, b->memory);
    return code;
}

/* ---- the rest ---- */

static bool is_component(const struct nwi_builder *b, const char *path)
{
    const struct nwi_component *components = b->components.items;
    for (size_t i = 0; i < b->components.n; i++) {
        if (components[i].info.folder && strcmp(components[i].info.folder, path) == 0)
            return true;
    }
    return false;
}

static int others_below(struct nwi_builder *b, const struct nwi_scope *scope,
                        const struct nwi_folder *folder, const char *name)
{
    struct nwi_folder below;
    enum nwi_reach reach = NWI_REACH_ABSENT;
    char *path = nwi_path_join(&b->scratch, folder->path, name);
    char *prefix = nwi_arena_printf(&b->scratch, "%s%s/", folder->prefix, name);
    if (!path || !prefix)
        return nwi_builder_nomem(b, strlen(name));
    NWI_TRY(nwi_scope_reach(b, scope, path, &reach, NULL));
    if (reach != NWI_REACH_FOLDER || is_component(b, path))
        return NW_OK;
    NWI_TRY(nwi_folder_read(b, path, prefix, &below));
    return nwi_folder_others(b, scope, &below, NW_NONE);
}

int nwi_pipeline_others(struct nwi_builder *b, const struct nwi_scope *scope,
                        const struct nwi_folder *folder)
{
    for (size_t i = 0; i < folder->n; i++) {
        if (folder->names[i].name[0] != '.')
            NWI_TRY(others_below(b, scope, folder, folder->names[i].name));
    }
    return NW_OK;
}
