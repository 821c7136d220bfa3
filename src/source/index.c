/* SPDX-License-Identifier: Apache-2.0
 * Read with the pull reader: a name that is there twice is told from a syntax error,
 * and nothing is built that is not kept. */
#include "source/index.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "source/sort.h"

struct reader {
    struct nwi_builder *b;
    struct nwi_index *index;
    struct nwi_json json;
    struct nw_error failure; /* what the JSON reader says */
    struct nwi_map shards;   /* name -> row of index->shards */
    const char *data;        /* [size], on the scratch arena */
    size_t size;
    bool found; /* there is a weight_map */
};

struct nwi_index_shard *nwi_index_shard(const struct nwi_index *index, size_t row)
{
    return (struct nwi_index_shard *)index->shards.items + row;
}

static struct nwi_index_entry *entry_of(const struct nwi_index *index, size_t row)
{
    return (struct nwi_index_entry *)index->entries.items + row;
}

void nwi_index_release(struct nwi_index *index, struct nwi_memory *memory)
{
    nwi_vector_release(&index->shards, memory);
    nwi_vector_release(&index->entries, memory);
    nwi_map_release(&index->names);
}

/* Backslashes separate paths on other systems: a shard there could be a way out. */
bool nwi_index_name_is_safe(const char *name, size_t size)
{
    bool dots =
        (size == 1 && name[0] == '.') || (size == 2 && memcmp(name, "..", 2) == 0);
    if (size == 0 || dots)
        return false;
    return !memchr(name, '/', size) && !memchr(name, '\\', size) &&
           !memchr(name, '\0', size);
}

/* ---- reading ---- */

static bool token_is(const struct reader *r, const char *word)
{
    return r->json.text_size == strlen(word) &&
           memcmp(r->json.text, word, strlen(word)) == 0;
}

static struct nwi_place place_at(const struct reader *r, const char *tensor,
                                 size_t size)
{
    return (struct nwi_place){.file = r->index->path,
                              .tensor = tensor,
                              .tensor_size = size,
                              .offset = r->json.token_at};
}

static int fail_unsafe(struct reader *r, const struct nwi_index_entry *entry)
{
    char shown[128];
    struct nwi_place place = place_at(r, entry->name, entry->name_size);
    nwi_quote(shown, sizeof shown, r->json.text, r->json.text_size, 80);
    return nwi_builder_problem(
        r->b, &place, NW_E_UNSAFE_PATH,
        "the index names the shard \"%s\", which is no plain file name "
        "but contains a path separator or a parent-directory reference",
        shown);
}

/* The shard whose name was just read becomes a row. */
static int add_shard(struct reader *r, const struct nwi_index_entry *entry,
                     uint32_t row)
{
    struct nwi_index_shard *shard = nwi_vector_add(&r->index->shards, r->b->memory);
    char *name = nwi_arena_copy(&r->b->scratch, r->json.text, r->json.text_size);
    if (!shard || !name)
        return nwi_builder_nomem(r->b, r->json.text_size + sizeof *shard);
    *shard = (struct nwi_index_shard){.name = name,
                                      .tensor = entry->name,
                                      .tensor_size = entry->name_size,
                                      .offset = r->json.token_at,
                                      .file = NW_NONE,
                                      .row = row};
    shard->unsafe = !nwi_index_name_is_safe(r->json.text, r->json.text_size);
    return shard->unsafe ? fail_unsafe(r, entry) : NW_OK;
}

static int take_shard(struct reader *r, struct nwi_index_entry *entry)
{
    uint32_t row = (uint32_t)r->index->shards.n;
    uint32_t existing = NWI_MAP_NONE;
    if (nwi_map_add(&r->shards, r->json.text, r->json.text_size, row, &existing) !=
        NW_OK)
        return nwi_builder_nomem(r->b, r->json.text_size);
    entry->shard = existing == NWI_MAP_NONE ? row : existing;
    if (existing == NWI_MAP_NONE)
        NWI_TRY(add_shard(r, entry, row));
    nwi_index_shard(r->index, entry->shard)->n_tensors++;
    return NW_OK;
}

static int fail_duplicate(struct reader *r)
{
    char shown[128];
    struct nwi_place place = place_at(r, NULL, 0);
    nwi_quote(shown, sizeof shown, r->json.text, r->json.text_size, 80);
    return nwi_builder_problem(r->b, &place, NW_E_DUPLICATE,
                               "the key \"%s\" is in the index twice", shown);
}

static int read_entry(struct reader *r)
{
    enum nwi_json_token token = NWI_JSON_END;
    uint32_t row = (uint32_t)r->index->entries.n;
    uint32_t existing = NWI_MAP_NONE;
    struct nwi_index_entry entry = {.name = r->json.text,
                                    .name_size = (uint32_t)r->json.text_size};
    if (nwi_map_add(&r->index->names, entry.name, entry.name_size, row, &existing) !=
        NW_OK)
        return nwi_builder_nomem(r->b, entry.name_size);
    if (existing != NWI_MAP_NONE)
        NWI_TRY(fail_duplicate(r));
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (existing != NWI_MAP_NONE)
        return nwi_json_skip(&r->json, token);
    if (token != NWI_JSON_STRING)
        return nwi_fail_at(&r->failure, NW_E_BAD_HEADER, r->json.token_at,
                           "a shard in weight_map is not a string");
    NWI_TRY(take_shard(r, &entry));
    struct nwi_index_entry *kept = nwi_vector_add(&r->index->entries, r->b->memory);
    if (!kept)
        return nwi_builder_nomem(r->b, r->index->entries.n * sizeof *kept);
    *kept = entry;
    return NW_OK;
}

/* The members of an object that was just begun, each by `member` when its key is read. */
static int read_members(struct reader *r, int (*member)(struct reader *r))
{
    enum nwi_json_token token = NWI_JSON_END;
    NWI_TRY(nwi_json_next(&r->json, &token));
    while (token == NWI_JSON_KEY) {
        NWI_TRY(member(r));
        NWI_TRY(nwi_json_next(&r->json, &token));
    }
    return NW_OK;
}

static int read_weight_map(struct reader *r)
{
    enum nwi_json_token token = NWI_JSON_END;
    if (r->found)
        NWI_TRY(fail_duplicate(r));
    r->found = true;
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (token != NWI_JSON_OBJECT_BEGIN)
        return nwi_fail_at(&r->failure, NW_E_BAD_HEADER, r->json.token_at,
                           "weight_map is not a JSON object");
    return read_members(r, read_entry);
}

/* Only total_size matters, and only if it is a whole number. */
static int read_metadata_member(struct reader *r)
{
    enum nwi_json_token token = NWI_JSON_END;
    bool total = token_is(r, "total_size");
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (total && token == NWI_JSON_NUMBER)
        r->index->has_total_size =
            nwi_json_u64(r->json.text, r->json.text_size, &r->index->total_size);
    return nwi_json_skip(&r->json, token);
}

static int read_member(struct reader *r)
{
    enum nwi_json_token token = NWI_JSON_END;
    if (token_is(r, "weight_map"))
        return read_weight_map(r);
    bool metadata = token_is(r, "metadata");
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (metadata && token == NWI_JSON_OBJECT_BEGIN)
        return read_members(r, read_metadata_member);
    return nwi_json_skip(&r->json, token);
}

static int read_json(struct reader *r)
{
    enum nwi_json_token token = NWI_JSON_END;
    nwi_json_init(&r->json, r->data, r->size, 0, NW_E_BAD_HEADER, &r->b->scratch,
                  &r->failure);
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (token != NWI_JSON_OBJECT_BEGIN)
        return nwi_fail_at(&r->failure, NW_E_BAD_HEADER, 0,
                           "the index is not a JSON object");
    NWI_TRY(read_members(r, read_member));
    return nwi_json_next(&r->json, &token);
}

static int load(struct reader *r, const struct nwi_file *file)
{
    uint64_t limit = nwi_builder_header_limit(r->b);
    uint64_t size = file->identity.size;
    if (size > limit)
        return nwi_fail_at(&r->failure, NW_E_LIMIT, 0,
                           "index of %" PRIu64 " bytes, the limit is %" PRIu64
                           "; header_limit (--header-limit) raises it",
                           size, limit);
    char *data = nwi_arena_alloc(&r->b->scratch, (size_t)size);
    if (!data)
        return nwi_builder_nomem(r->b, size);
    r->data = data;
    r->size = (size_t)size;
    return nwi_file_read(file, 0, data, r->size, &r->failure);
}

/* ---- order ---- */

static int compare_shards(const void *a, const void *b)
{
    const struct nwi_index_shard *x = a;
    const struct nwi_index_shard *y = b;
    return strcmp(x->name, y->name);
}

static int sort_shards(struct nwi_builder *b, struct nwi_index *index)
{
    size_t n = index->shards.n;
    size_t size = n * sizeof(struct nwi_index_shard);
    if (n < 2)
        return NW_OK;
    uint32_t *new_row = nwi_arena_array(&b->scratch, n, sizeof *new_row);
    void *spare = nwi_alloc(b->memory, size);
    if (!new_row || !spare) {
        nwi_free(b->memory, spare, size);
        return nwi_builder_nomem(b, size);
    }
    nwi_sort(index->shards.items, spare, n, sizeof(struct nwi_index_shard),
             compare_shards);
    nwi_free(b->memory, spare, size);
    for (size_t i = 0; i < n; i++)
        new_row[nwi_index_shard(index, i)->row] = (uint32_t)i;
    for (size_t i = 0; i < index->entries.n; i++)
        entry_of(index, i)->shard = new_row[entry_of(index, i)->shard];
    return NW_OK;
}

int nwi_index_read(struct nwi_builder *b, const struct nwi_file *file, const char *path,
                   struct nwi_index *index, bool *found)
{
    struct reader r = {.b = b, .index = index, .shards.memory = b->memory};
    *index = (struct nwi_index){.path = path,
                                .shards.item_size = sizeof(struct nwi_index_shard),
                                .entries.item_size = sizeof(struct nwi_index_entry),
                                .names.memory = b->memory};
    nwi_error_clear(&r.failure);
    int code = load(&r, file);
    if (code == NW_OK)
        code = read_json(&r);
    nwi_map_release(&r.shards);
    *found = r.found || code != NW_OK;
    if (r.failure.code != NW_OK) {
        (void)nwi_error_in_file(&r.failure, code, path);
        code = nwi_builder_absorb(b, &r.failure);
        index->shards.n = 0; /* what stands before the fault says little */
        index->entries.n = 0;
        index->has_total_size = false;
        nwi_map_release(&index->names);
    }
    return code == NW_OK ? sort_shards(b, index) : code;
}

/* ---- use ---- */

uint32_t nwi_index_file(const struct nwi_index *index, const char *name, size_t size)
{
    uint32_t row = nwi_map_find(&index->names, name, size);
    return row == NWI_MAP_NONE
               ? NW_NONE
               : nwi_index_shard(index, entry_of(index, row)->shard)->file;
}

/* A problem, or a note where the shards are to be believed. */
static int mismatch(struct nwi_builder *b, const struct nwi_place *place,
                    const char *what, const char *shard)
{
    if (b->options->tolerate & NW_TOLERATE_INDEX)
        return nwi_builder_note(b, place, NW_E_INDEX_MISMATCH, "%s %s", what, shard);
    return nwi_builder_problem(b, place, NW_E_INDEX_MISMATCH, "%s %s", what, shard);
}

static int compare_entry(struct nwi_builder *b, const struct nwi_index *index,
                         const struct nwi_index_entry *entry)
{
    const struct nwi_component *component = nwi_builder_component(b);
    const struct nwi_stored *tensors = b->tensors.items;
    const struct nwi_index_shard *shard = nwi_index_shard(index, entry->shard);
    struct nwi_place place = {.file = index->path,
                              .tensor = entry->name,
                              .tensor_size = entry->name_size,
                              .offset = NW_OFFSET_NONE};
    if (shard->file == NW_NONE)
        return NW_OK;
    uint32_t row = nwi_map_find(&component->names, entry->name, entry->name_size);
    if (row == NWI_MAP_NONE)
        return mismatch(b, &place, "the index names a tensor that is not in",
                        shard->name);
    if (tensors[row].file == shard->file)
        return NW_OK;
    return mismatch(b, &place, "the tensor is not where the index says, but in",
                    nwi_builder_file(b, tensors[row].file)->info.name);
}

static int compare_total(struct nwi_builder *b, const struct nwi_index *index)
{
    const struct nwi_component *component = nwi_builder_component(b);
    struct nwi_place place = {.file = index->path, .offset = NW_OFFSET_NONE};
    for (size_t i = 0; i < index->shards.n; i++) {
        if (nwi_index_shard(index, i)->file == NW_NONE)
            return NW_OK;
    }
    if (!index->has_total_size || index->total_size == component->info.nbytes)
        return NW_OK;
    return nwi_builder_note(b, &place, NW_E_INDEX_MISMATCH,
                            "the index states %" PRIu64
                            " bytes, the tensors have %" PRIu64,
                            index->total_size, component->info.nbytes);
}

int nwi_index_compare(struct nwi_builder *b, const struct nwi_index *index)
{
    const struct nwi_stored *tensors = b->tensors.items;
    for (size_t i = 0; i < index->entries.n; i++)
        NWI_TRY(compare_entry(b, index, entry_of(index, i)));
    for (size_t i = nwi_builder_component(b)->first_tensor; i < b->tensors.n; i++) {
        const struct nwi_stored *tensor = &tensors[i];
        const struct nwi_source_file *file = nwi_builder_file(b, tensor->file);
        struct nwi_place place = {.file = file->info.path,
                                  .tensor = tensor->name,
                                  .tensor_size = tensor->name_size,
                                  .offset = tensor->offset};
        if (nwi_map_find(&index->names, tensor->name, tensor->name_size) ==
            NWI_MAP_NONE)
            NWI_TRY(mismatch(b, &place, "the index does not name this tensor of",
                             file->info.name));
    }
    return compare_total(b, index);
}
