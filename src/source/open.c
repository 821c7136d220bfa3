/* SPDX-License-Identifier: Apache-2.0
 * What a path is: a file, an index, a model folder, a pipeline folder, a hub cache
 * entry, or the id of one in a cache. */
#include <string.h>

#include "base/arith.h"
#include "source/config.h"
#include "source/folder.h"
#include "source/format.h"
#include "source/hub.h"
#include "source/names.h"
#include "source/pipeline.h"
#include "source/with.h"

static int fail_path(struct nwi_builder *b, int code, const char *path,
                     const char *message)
{
    (void)nwi_fail(b->err, code, "%s", message);
    return nwi_error_in_file(b->err, code, path);
}

/* ---- one container ---- */

/* Takes `file` over. */
static int open_container(struct nwi_builder *b, struct nwi_file *file,
                          const char *path, const char *stem,
                          struct nwi_component *component)
{
    uint32_t row = 0;
    component->info.name = "";
    component->names.memory = b->memory;
    component->stem = stem;
    int code = nwi_builder_begin_component(b, component);
    if (code != NW_OK) {
        nwi_file_release(file);
        return code;
    }
    NWI_TRY(nwi_builder_add_file(b, nwi_path_base(path), path, file, &row));
    NWI_TRY(nwi_container_parse(b, row));
    NWI_TRY(nwi_builder_end_component(b, NULL));
    return nwi_builder_add_variant(b, "", 0);
}

/* "model" of "x/model.safetensors", on the arena. */
static const char *stem_of(struct nwi_builder *b, const char *path)
{
    struct nwi_weight_name name = nwi_weight_name(nwi_path_base(path));
    if (name.form != NWI_NAME_OTHER && name.form != NWI_NAME_TEMPORARY)
        return nwi_arena_copy(b->arena, name.stem, name.stem_size);
    return nwi_arena_copy(b->arena, name.name, strcspn(name.name, "."));
}

/* Takes `file` over. */
static int open_weights_file(struct nwi_builder *b, struct nwi_file *file,
                             const char *path)
{
    struct nwi_scope scope;
    struct nwi_component component = {0};
    const char *stem = stem_of(b, path);
    const char *folder = nwi_path_dir(&b->scratch, path);
    int code = stem && folder ? nwi_scope_init(b, folder, &scope)
                              : nwi_builder_nomem(b, strlen(path));
    if (code != NW_OK) {
        nwi_file_release(file);
        return code;
    }
    NWI_TRY(open_container(b, file, path, stem, &component));
    /* A model's config lies beside it; that of something else does no harm. */
    return nwi_config_read(b, &scope, folder, "config.json", false,
                           nwi_builder_component(b));
}

/* ---- folders ---- */

static int open_model(struct nwi_builder *b, const struct nwi_scope *scope,
                      const struct nwi_folder *folder,
                      const struct nwi_weight_name *lead)
{
    struct nwi_component component = {.info.name = "", .names.memory = b->memory};
    NWI_TRY(nwi_folder_variants(b, folder));
    NWI_TRY(nwi_config_read(b, scope, folder->path, "config.json", true, &component));
    NWI_TRY(nwi_folder_load(b, scope, folder, lead, NULL, &component));
    NWI_TRY(nwi_folder_ignore(b, scope, folder, lead));
    NWI_TRY(nwi_folder_others(b, scope, folder, NW_NONE));
    return nwi_pipeline_others(b, scope, folder);
}

static int open_folder(struct nwi_builder *b, const struct nwi_scope *scope,
                       const char *path)
{
    struct nwi_folder folder;
    bool taken = false;
    const char *variant = b->options->variant ? b->options->variant : "";
    NWI_TRY(nwi_folder_read(b, path, "", &folder));
    NWI_TRY(nwi_pipeline_open(b, scope, &folder, &taken));
    if (taken)
        return NW_OK;
    const struct nwi_weight_name *lead = nwi_folder_choose(b, &folder, variant);
    if (!lead)
        return nwi_folder_fail(b, &folder, variant);
    /* A component that is asked for may be a part of the file: plans look for it there. */
    return open_model(b, scope, &folder, lead);
}

/* A folder as given, or a hub cache entry; the subfolder is looked for below it. */
static int open_folder_path(struct nwi_builder *b, const char *path)
{
    struct nwi_scope scope;
    const char *subfolder = b->options->subfolder;
    bool entry = false;
    NWI_TRY(nwi_hub_is_entry(b, path, &entry));
    if (entry)
        NWI_TRY(nwi_hub_snapshot(b, path, &path));
    NWI_TRY(nwi_scope_init(b, path, &scope));
    if (!subfolder || !subfolder[0])
        return open_folder(b, &scope, path);
    const char *below = nwi_path_join(&b->scratch, path, subfolder);
    enum nwi_reach reach = NWI_REACH_ABSENT;
    if (!below)
        return nwi_builder_nomem(b, strlen(path) + strlen(subfolder));
    NWI_TRY(nwi_scope_reach(b, &scope, below, &reach, NULL));
    if (reach == NWI_REACH_OUTSIDE)
        return fail_path(b, NW_E_UNSAFE_PATH, below,
                         "the subfolder leads out of the folder");
    if (reach != NWI_REACH_FOLDER)
        return fail_path(b, NW_E_NOT_FOUND, below, "no such subfolder");
    return open_folder(b, &scope, below);
}

/* ---- a path to a JSON file ---- */

static int open_index_path(struct nwi_builder *b, const char *path)
{
    struct nwi_scope scope;
    struct nwi_folder folder;
    const char *dir = nwi_path_dir(&b->scratch, path);
    struct nwi_weight_name lead = nwi_weight_name(nwi_path_base(path));
    if (!dir)
        return nwi_builder_nomem(b, strlen(path));
    if (lead.form != NWI_NAME_INDEX && lead.form != NWI_NAME_INDEX_LEGACY)
        lead = (struct nwi_weight_name){.name = lead.name,
                                        .stem = lead.name,
                                        .stem_size = strcspn(lead.name, "."),
                                        .variant = "",
                                        .form = NWI_NAME_INDEX,
                                        .stem_rank = NWI_STEM_OTHER};
    NWI_TRY(nwi_scope_init(b, dir, &scope));
    NWI_TRY(nwi_folder_read(b, dir, "", &folder));
    return open_model(b, &scope, &folder, &lead);
}

static int read_head(const struct nwi_file *file, uint8_t head[NWI_PROBE_BYTES],
                     struct nwi_probe *probe, struct nw_error *err)
{
    uint64_t total = file->identity.size;
    size_t size = (size_t)nwi_min(total, NWI_PROBE_BYTES);
    *probe = (struct nwi_probe){.head = head, .head_size = size, .total = total};
    return nwi_file_read(file, 0, head, size, err);
}

/* An index by its name, or by what stands near its beginning. */
static bool is_index(const struct nwi_probe *probe, const char *path)
{
    static const char key[] = "\"weight_map\"";
    enum nwi_name_form form = nwi_weight_name(nwi_path_base(path)).form;
    if (form == NWI_NAME_INDEX || form == NWI_NAME_INDEX_LEGACY)
        return true;
    for (size_t i = 0; i + sizeof key - 1 <= probe->head_size; i++) {
        if (memcmp(probe->head + i, key, sizeof key - 1) == 0)
            return true;
    }
    return false;
}

static bool is_named(const char *path, const char *name)
{
    return strcmp(nwi_path_base(path), name) == 0;
}

/* *other is set if the file is JSON that stands for a folder or a set: then it was
 * opened. */
static int open_json(struct nwi_builder *b, const struct nwi_probe *probe,
                     const char *path, bool *other)
{
    *other = true;
    if (is_named(path, "config.json") || is_named(path, "model_index.json")) {
        const char *dir = nwi_path_dir(&b->scratch, path);
        return dir ? open_folder_path(b, dir) : nwi_builder_nomem(b, strlen(path));
    }
    *other = is_index(probe, path);
    if (!*other)
        return NW_OK;
    return open_index_path(b, path);
}

static int open_file_path(struct nwi_builder *b, const char *path)
{
    struct nwi_file *file = NULL;
    struct nwi_probe probe;
    uint8_t head[NWI_PROBE_BYTES];
    bool other = false;
    if (b->options->subfolder && b->options->subfolder[0])
        return fail_path(b, NW_E_ARG, path,
                         "a subfolder was given, but the path is a file");
    NWI_TRY(nwi_file_open(path, false, b->memory, &file, b->err));
    int code = read_head(file, head, &probe, b->err);
    if (code == NW_OK && nwi_probe_is_json(&probe))
        code = open_json(b, &probe, path, &other);
    if (code == NW_OK && !other)
        return open_weights_file(b, file, path);
    nwi_file_release(file);
    return code;
}

/* ---- entry points ---- */

static int open_id(struct nwi_builder *b, const char *id)
{
    const char *entry = NULL;
    int code = nwi_hub_find(b, id, &entry);
    return code == NW_OK ? open_folder_path(b, entry)
                         : nwi_error_in_file(b->err, code, id);
}

static int open_any(struct nwi_builder *b, const char *path)
{
    b->ckpt->path = nwi_arena_copy(b->arena, path, strlen(path));
    if (!b->ckpt->path)
        return nwi_builder_nomem(b, strlen(path));
    enum nwi_path_kind kind = nwi_path_kind(path);
    if (kind == NWI_PATH_FILE)
        return open_file_path(b, path);
    if (kind == NWI_PATH_FOLDER)
        return open_folder_path(b, path);
    if (kind == NWI_PATH_OTHER)
        return fail_path(b, NW_E_ARG, path, "neither a regular file nor a folder");
    return open_id(b, path);
}

static int open_all(struct nwi_builder *b, const char *path)
{
    NWI_TRY(open_any(b, path));
    return nwi_with_rest(b);
}

static int end(struct nwi_builder *b, int code, struct nw_checkpoint **out)
{
    if (code == NW_OK)
        return nwi_builder_finish(b, out);
    nwi_builder_release(b);
    return code;
}

static const struct nw_open_options defaults = {.size = sizeof defaults};

int nwi_open_path(const char *path, const struct nw_open_options *options,
                  struct nw_checkpoint **out, struct nw_error *err)
{
    struct nwi_builder b = {0};
    struct nw_error own;
    *out = NULL;
    nwi_error_clear(&own);
    err = err ? err : &own;
    options = options ? options : &defaults;
    struct nwi_memory *memory = nwi_memory_new(&options->allocator);
    if (!memory)
        return nwi_fail_nomem(err, sizeof(struct nw_checkpoint));
    int code = nwi_with_check(options, err);
    if (code == NW_OK)
        code = nwi_builder_init(&b, options, memory, err);
    if (code == NW_OK)
        code = end(&b, open_all(&b, path), out);
    nwi_memory_release(memory);
    return nwi_error_in_file(err, code, path);
}

int nwi_open_file(struct nwi_file *file, const struct nw_open_options *options,
                  struct nwi_memory *memory, struct nw_checkpoint **out,
                  struct nw_error *err)
{
    struct nwi_builder b = {0};
    struct nwi_component component = {0};
    struct nw_error own;
    *out = NULL;
    nwi_error_clear(&own);
    err = err ? err : &own;
    options = options ? options : &defaults;
    int code = nwi_builder_init(&b, options, memory, err);
    if (code != NW_OK) {
        nwi_file_release(file);
        return code;
    }
    const char *stem = stem_of(&b, file->path);
    b.ckpt->path = nwi_arena_copy(b.arena, file->path, strlen(file->path));
    if (stem && b.ckpt->path) {
        code = open_container(&b, file, file->path, stem, &component);
    } else {
        nwi_file_release(file);
        code = nwi_builder_nomem(&b, sizeof component);
    }
    return end(&b, code, out);
}
