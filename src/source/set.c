/* SPDX-License-Identifier: Apache-2.0
 * Taking a set: its files are checked for being there and inside the folder before the
 * first of them is opened. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "source/folder.h"
#include "source/format.h"
#include "source/index.h"

struct set {
    struct nwi_builder *b;
    const struct nwi_scope *scope;
    const struct nwi_folder *folder;
    const char *remark; /* for the first file, or NULL */
    struct nwi_index index;
    bool indexed;
};

/* The path of a file of the folder, and its name in the list of files. */
static int paths(struct nwi_builder *b, const struct nwi_folder *folder,
                 const char *base, const char **path, const char **name)
{
    *path = nwi_path_join(&b->scratch, folder->path, base);
    *name = nwi_arena_printf(&b->scratch, "%s%s", folder->prefix, base);
    return *path && *name ? NW_OK : nwi_builder_nomem(b, strlen(folder->path));
}

static int take_remark(struct set *set, uint32_t row)
{
    const char *remark = set->remark;
    set->remark = NULL;
    return remark ? nwi_builder_remark(set->b, row, "%s", remark) : NW_OK;
}

static int open_file(struct set *set, const char *base, uint32_t *row)
{
    const char *path = NULL;
    const char *name = NULL;
    NWI_TRY(paths(set->b, set->folder, base, &path, &name));
    NWI_TRY(nwi_scope_open(set->b, set->scope, name, path, NW_E_MISSING_SHARD, row));
    return *row == NW_NONE ? NW_OK : take_remark(set, *row);
}

static int parse_file(struct set *set, const char *base, uint32_t *row)
{
    NWI_TRY(open_file(set, base, row));
    return *row == NW_NONE ? NW_OK : nwi_container_parse(set->b, *row);
}

/* ---- what is missing ---- */

static const char *temporary_in(const struct nwi_folder *folder)
{
    for (size_t i = 0; i < folder->n; i++) {
        if (folder->names[i].form == NWI_NAME_TEMPORARY)
            return folder->names[i].name;
    }
    return NULL;
}

/* What an interrupted save left can be finished by hand: says so. */
static void print_rescue(const struct nwi_folder *folder, char *out, size_t size)
{
    char shown[128];
    const char *temporary = temporary_in(folder);
    out[0] = '\0';
    if (!temporary)
        return;
    nwi_quote(shown, sizeof shown, temporary, strlen(temporary), 100);
    (void)snprintf(
        out, size,
        "; an interrupted save lies beside it (%s) and is finished by renaming its "
        "files",
        shown);
}

static int fail_missing(struct set *set, const struct nwi_index_shard *shard,
                        const char *path)
{
    char rescue[256];
    char tensor[128];
    char more[48] = "";
    struct nwi_place place = {.file = path,
                              .tensor = shard->tensor,
                              .tensor_size = shard->tensor_size,
                              .offset = NW_OFFSET_NONE};
    print_rescue(set->folder, rescue, sizeof rescue);
    nwi_quote(tensor, sizeof tensor, shard->tensor, shard->tensor_size, 80);
    if (shard->n_tensors > 1)
        (void)snprintf(more, sizeof more, " and %" PRIu64 " more",
                       shard->n_tensors - 1);
    return nwi_builder_problem(set->b, &place, NW_E_MISSING_SHARD,
                               "%.80s is not there, which is required according to the "
                               "checkpoint index for %s%s%s",
                               shard->name, tensor, more, rescue);
}

/* Marks what cannot be opened, without opening anything. */
static int check_shard(struct set *set, struct nwi_index_shard *shard)
{
    const char *path = NULL;
    const char *name = NULL;
    enum nwi_reach reach = NWI_REACH_ABSENT;
    if (shard->unsafe)
        return NW_OK;
    NWI_TRY(paths(set->b, set->folder, shard->name, &path, &name));
    NWI_TRY(nwi_scope_reach(set->b, set->scope, path, &reach, NULL));
    if (reach == NWI_REACH_FILE)
        return NW_OK;
    shard->unsafe = true;
    if (reach == NWI_REACH_ABSENT)
        return fail_missing(set, shard, path);
    uint32_t row = NW_NONE;
    return nwi_scope_open(set->b, set->scope, name, path, NW_E_MISSING_SHARD, &row);
}

/* ---- the three kinds of set ---- */

static int open_index(struct set *set, const struct nwi_weight_name *lead)
{
    uint32_t row = NW_NONE;
    bool found = false;
    NWI_TRY(open_file(set, lead->name, &row));
    if (row == NW_NONE)
        return NW_OK;
    struct nwi_source_file *source = nwi_builder_file(set->b, row);
    struct nwi_file *file = source->file;
    source->file = NULL;
    source->info.container = "index";
    source->info.used = 1;
    set->indexed = true;
    int code = nwi_index_read(set->b, file, source->info.path, &set->index, &found);
    nwi_file_release(file);
    NWI_TRY(code);
    if (found)
        return lead->form == NWI_NAME_INDEX_LEGACY
                   ? nwi_builder_remark(set->b, row,
                                        "old spelling of a variant's index")
                   : NW_OK;
    struct nwi_place place = {.file = set->index.path, .offset = NW_OFFSET_NONE};
    return nwi_builder_problem(set->b, &place, NW_E_BAD_HEADER,
                               "the index has no weight_map");
}

static int load_indexed(struct set *set, const struct nwi_weight_name *lead)
{
    NWI_TRY(open_index(set, lead));
    for (size_t i = 0; i < set->index.shards.n; i++)
        NWI_TRY(check_shard(set, nwi_index_shard(&set->index, i)));
    for (size_t i = 0; i < set->index.shards.n; i++) {
        struct nwi_index_shard *shard = nwi_index_shard(&set->index, i);
        if (!shard->unsafe)
            NWI_TRY(parse_file(set, shard->name, &shard->file));
    }
    return NW_OK;
}

/* Shards whose index is absent: which of them belong together nobody can tell. */
static int load_unindexed(struct set *set, const struct nwi_weight_name *lead)
{
    char rescue[256];
    const char *path = NULL;
    const char *name = NULL;
    uint32_t row = NW_NONE;
    if (lead->n_shards == 1)
        return parse_file(set, lead->name, &row);
    NWI_TRY(paths(set->b, set->folder, lead->name, &path, &name));
    struct nwi_place place = {.file = path, .offset = NW_OFFSET_NONE};
    print_rescue(set->folder, rescue, sizeof rescue);
    return nwi_builder_problem(
        set->b, &place, NW_E_MISSING_SHARD,
        "shard %" PRIu32 " of %" PRIu32
        " without an index: the .index.json that belongs to it is absent%s",
        lead->shard, lead->n_shards, rescue);
}

static int load(struct set *set, const struct nwi_weight_name *lead)
{
    uint32_t row = NW_NONE;
    if (lead->form == NWI_NAME_SINGLE)
        NWI_TRY(parse_file(set, lead->name, &row));
    else if (lead->form == NWI_NAME_SHARD)
        NWI_TRY(load_unindexed(set, lead));
    else
        NWI_TRY(load_indexed(set, lead));
    NWI_TRY(nwi_builder_end_component(set->b, set->indexed ? &set->index : NULL));
    return set->indexed ? nwi_index_compare(set->b, &set->index) : NW_OK;
}

int nwi_folder_load(struct nwi_builder *b, const struct nwi_scope *scope,
                    const struct nwi_folder *folder, const struct nwi_weight_name *lead,
                    const char *remark, struct nwi_component *component)
{
    struct set set = {.b = b, .scope = scope, .folder = folder, .remark = remark};
    component->stem = nwi_arena_copy(b->arena, lead->stem, lead->stem_size);
    component->info.folder =
        nwi_arena_copy(b->arena, folder->path, strlen(folder->path));
    if (!component->stem || !component->info.folder)
        return nwi_builder_nomem(b, strlen(folder->path));
    NWI_TRY(nwi_builder_begin_component(b, component));
    int code = load(&set, lead);
    nwi_index_release(&set.index, b->memory);
    return code;
}

/* ---- what is left in the folder ---- */

static void print_reason(const struct nwi_weight_name *name,
                         const struct nwi_weight_name *lead, char *out, size_t size)
{
    if (name->form == NWI_NAME_TEMPORARY)
        (void)snprintf(out, size, "left by an interrupted save");
    else if (name->type == NWI_TYPE_FOREIGN)
        (void)snprintf(out, size, "weights for another framework");
    else if (!lead)
        (void)snprintf(out, size, "beside the components of a pipeline");
    else if (name->type != lead->type)
        (void)snprintf(out, size, "another format; %.200s is taken", lead->name);
    else if (name->variant_size != lead->variant_size ||
             memcmp(name->variant, lead->variant, lead->variant_size) != 0)
        (void)snprintf(out, size, "another variant (%.*s); %.200s is taken",
                       name->variant_size ? (int)name->variant_size : 7,
                       name->variant_size ? name->variant : "default", lead->name);
    else
        (void)snprintf(out, size, "another set; %.200s is taken", lead->name);
}

/* Size and container of a file that is not used; failures to open it do not matter. */
static int describe(struct nwi_builder *b, const char *path, uint32_t row)
{
    struct nw_error failure;
    struct nwi_file *file = NULL;
    nwi_error_clear(&failure);
    if (nwi_file_open(path, false, b->memory, &file, &failure) != NW_OK)
        return failure.code == NW_E_NOMEM ? nwi_builder_absorb(b, &failure) : NW_OK;
    struct nwi_source_file *source = nwi_builder_file(b, row);
    source->info.nbytes = file->identity.size;
    if (!source->info.container)
        source->info.container = nwi_container_name(file);
    nwi_file_release(file);
    return NW_OK;
}

static int ignore_one(struct nwi_builder *b, const struct nwi_scope *scope,
                      const struct nwi_folder *folder,
                      const struct nwi_weight_name *name,
                      const struct nwi_weight_name *lead)
{
    char reason[300];
    const char *path = NULL;
    const char *shown = NULL;
    enum nwi_reach reach = NWI_REACH_ABSENT;
    uint32_t row = NW_NONE;
    NWI_TRY(paths(b, folder, name->name, &path, &shown));
    NWI_TRY(nwi_scope_reach(b, scope, path, &reach, NULL));
    if (reach == NWI_REACH_FOLDER)
        return NW_OK;
    NWI_TRY(nwi_builder_add_file(b, shown, path, NULL, &row));
    print_reason(name, lead, reason, sizeof reason);
    NWI_TRY(nwi_builder_remark(b, row, "%s", reason));
    if (name->form == NWI_NAME_INDEX || name->form == NWI_NAME_INDEX_LEGACY)
        nwi_builder_file(b, row)->info.container = "index";
    return reach == NWI_REACH_FILE ? describe(b, path, row) : NW_OK;
}

static int ignore_unlisted(struct nwi_builder *b, const struct nwi_scope *scope,
                           const struct nwi_folder *folder,
                           const struct nwi_weight_name *lead,
                           const struct nwi_map *listed)
{
    size_t prefix = strlen(folder->prefix);
    for (size_t i = 0; i < folder->n; i++) {
        const struct nwi_weight_name *name = &folder->names[i];
        if (name->form == NWI_NAME_OTHER)
            continue;
        char *shown = nwi_arena_printf(&b->scratch, "%s%s", folder->prefix, name->name);
        if (!shown)
            return nwi_builder_nomem(b, prefix + strlen(name->name));
        if (nwi_map_find(listed, shown, strlen(shown)) == NWI_MAP_NONE)
            NWI_TRY(ignore_one(b, scope, folder, name, lead));
    }
    return NW_OK;
}

int nwi_folder_ignore(struct nwi_builder *b, const struct nwi_scope *scope,
                      const struct nwi_folder *folder,
                      const struct nwi_weight_name *lead)
{
    struct nwi_map listed;
    uint32_t existing = NWI_MAP_NONE;
    size_t n = b->files.n;
    int code = nwi_map_init(&listed, b->memory, n);
    for (size_t i = 0; code == NW_OK && i < n; i++) {
        const char *name = nwi_builder_file(b, (uint32_t)i)->info.name;
        code = nwi_map_add(&listed, name, strlen(name), (uint32_t)i, &existing);
    }
    if (code != NW_OK)
        code = nwi_builder_nomem(b, n);
    else
        code = ignore_unlisted(b, scope, folder, lead, &listed);
    nwi_map_release(&listed);
    return code;
}

static int other_one(struct nwi_builder *b, const struct nwi_scope *scope,
                     const struct nwi_folder *folder, const char *base,
                     uint32_t component)
{
    struct nwi_other_file other = {.component = component};
    enum nwi_reach reach = NWI_REACH_ABSENT;
    other.path = nwi_path_join(b->arena, folder->path, base);
    other.name = nwi_arena_printf(b->arena, "%s%s", folder->prefix, base);
    if (!other.path || !other.name)
        return nwi_builder_nomem(b, strlen(base));
    NWI_TRY(nwi_scope_reach(b, scope, other.path, &reach, NULL));
    if (reach == NWI_REACH_FILE)
        return nwi_builder_add_other(b, &other);
    if (reach != NWI_REACH_OUTSIDE || nwi_path_kind(other.path) != NWI_PATH_FILE)
        return NW_OK;
    struct nwi_place place = {.file = other.path, .offset = NW_OFFSET_NONE};
    return nwi_builder_note(b, &place, NW_E_UNSAFE_PATH,
                            "a link that leads out of its folder: left aside");
}

int nwi_folder_others(struct nwi_builder *b, const struct nwi_scope *scope,
                      const struct nwi_folder *folder, uint32_t component)
{
    for (size_t i = 0; i < folder->n; i++) {
        const struct nwi_weight_name *name = &folder->names[i];
        if (name->form == NWI_NAME_OTHER && name->name[0] != '.')
            NWI_TRY(other_one(b, scope, folder, name->name, component));
    }
    return NW_OK;
}
