/* SPDX-License-Identifier: Apache-2.0
 * Rows are added in their final order: by component, file, offset. */
#include "source/builder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/system.h"
#include "source/index.h"
#include "source/quantised.h"

/* ---- vectors ---- */

static bool enlarge(struct nwi_vector *vector, struct nwi_memory *memory)
{
    size_t capacity = vector->capacity ? vector->capacity * 2 : 8;
    uint64_t nbytes = 0;
    if (!nwi_mul(capacity, vector->item_size, &nbytes))
        return false;
    void *items = nwi_alloc(memory, (size_t)nbytes);
    if (!items)
        return false;
    size_t old = vector->capacity * vector->item_size;
    if (vector->items) {
        memcpy(items, vector->items, vector->n * vector->item_size);
        nwi_free(memory, vector->items, old);
    }
    vector->items = items;
    vector->capacity = capacity;
    return true;
}

void *nwi_vector_add(struct nwi_vector *vector, struct nwi_memory *memory)
{
    if (vector->n == vector->capacity && !enlarge(vector, memory))
        return NULL;
    char *item = (char *)vector->items + vector->n++ * vector->item_size;
    memset(item, 0, vector->item_size);
    return item;
}

void nwi_vector_release(struct nwi_vector *vector, struct nwi_memory *memory)
{
    if (vector->items)
        nwi_free(memory, vector->items, vector->capacity * vector->item_size);
    vector->items = NULL;
    vector->n = 0;
    vector->capacity = 0;
}

/* ---- beginning and end ---- */

int nwi_builder_nomem(struct nwi_builder *b, uint64_t nbytes)
{
    return nwi_fail_nomem(b->err, nbytes);
}

uint64_t nwi_builder_header_limit(const struct nwi_builder *b)
{
    return b->options->header_limit ? b->options->header_limit : NWI_HEADER_LIMIT;
}

int nwi_builder_init(struct nwi_builder *b, const struct nw_open_options *options,
                     struct nwi_memory *memory, struct nw_error *err)
{
    struct nw_checkpoint *ckpt = nwi_zalloc(memory, sizeof *ckpt);
    if (!ckpt)
        return nwi_fail_nomem(err, sizeof *ckpt);
    ckpt->refs = 1;
    ckpt->memory = nwi_memory_retain(memory);
    ckpt->cpu_mask = nwi_cpu_detect();
    if (options->cpu_mask)
        ckpt->cpu_mask &= options->cpu_mask | NW_CPU_SCALAR;
    nwi_arena_init(&ckpt->arena, memory);
    *b = (struct nwi_builder){
        .ckpt = ckpt,
        .options = options,
        .err = err,
        .memory = memory,
        .arena = &ckpt->arena,
        .files.item_size = sizeof(struct nwi_source_file),
        .tensors.item_size = sizeof(struct nwi_stored),
        .components.item_size = sizeof(struct nwi_component),
        .metadata.item_size = sizeof(struct nw_metadata),
        .problems.item_size = sizeof(struct nw_problem),
        .variants.item_size = sizeof(const char *),
        .others.item_size = sizeof(struct nwi_other_file),
    };
    nwi_arena_init(&b->scratch, memory);
    return NW_OK;
}

void nwi_builder_release(struct nwi_builder *b)
{
    if (!b->memory)
        return;
    struct nwi_source_file *files = b->files.items;
    for (size_t i = 0; i < b->files.n; i++)
        nwi_file_release(files[i].file);
    struct nwi_component *components = b->components.items;
    for (size_t i = 0; i < b->components.n; i++)
        nwi_map_release(&components[i].names);
    struct nwi_vector *vectors[] = {&b->files,    &b->tensors,  &b->components,
                                    &b->metadata, &b->problems, &b->variants,
                                    &b->others};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        nwi_vector_release(vectors[i], b->memory);
    nwi_arena_release(&b->scratch);
    nw_checkpoint_free(b->ckpt);
    b->ckpt = NULL;
    b->memory = NULL;
}

/* Moves a vector onto the arena, at exactly its size. */
static int pack(struct nwi_builder *b, struct nwi_vector *vector, void *out, size_t *n)
{
    void *items = NULL;
    if (vector->n) {
        items = nwi_arena_array(b->arena, vector->n, vector->item_size);
        if (!items)
            return nwi_builder_nomem(b, vector->n * vector->item_size);
        memcpy(items, vector->items, vector->n * vector->item_size);
    }
    memcpy(out, &items, sizeof items);
    *n = vector->n;
    nwi_vector_release(vector, b->memory);
    return NW_OK;
}

static int list_unlisted(struct nwi_builder *b)
{
    if (b->n_unlisted == 0)
        return NW_OK;
    struct nw_problem *last = nwi_vector_add(&b->problems, b->memory);
    char *message = nwi_arena_printf(
        b->arena, "%" PRIu64 " more problems are not listed", b->n_unlisted);
    if (!last || !message)
        return nwi_builder_nomem(b, sizeof *last);
    *last = (struct nw_problem){.code = b->unlisted_code,
                                .note = !b->unlisted_problem,
                                .offset = NW_OFFSET_NONE,
                                .message = message};
    return NW_OK;
}

static int pack_rows(struct nwi_builder *b)
{
    struct nw_checkpoint *ckpt = b->ckpt;
    NWI_TRY(pack(b, &b->tensors, &ckpt->tensors, &ckpt->n_tensors));
    NWI_TRY(pack(b, &b->components, &ckpt->components, &ckpt->n_components));
    NWI_TRY(pack(b, &b->files, &ckpt->files, &ckpt->n_files));
    NWI_TRY(pack(b, &b->metadata, &ckpt->metadata, &ckpt->n_metadata));
    NWI_TRY(pack(b, &b->variants, &ckpt->variants, &ckpt->n_variants));
    return pack(b, &b->others, &ckpt->others, &ckpt->n_others);
}

static int finish(struct nwi_builder *b)
{
    NWI_TRY(pack_rows(b));
    NWI_TRY(nwi_quantised_recognise(b));
    NWI_TRY(list_unlisted(b));
    return pack(b, &b->problems, &b->ckpt->problems, &b->ckpt->n_problems);
}

int nwi_builder_finish(struct nwi_builder *b, struct nw_checkpoint **out)
{
    int code = finish(b);
    if (code == NW_OK) {
        *out = b->ckpt;
        b->ckpt = NULL;
    }
    nwi_builder_release(b);
    return code;
}

/* ---- problems ---- */

/* Notes and problems share the limit; a problem past it must still refuse the
 * checkpoint. */
bool nwi_builder_is_full(const struct nwi_builder *b)
{
    return b->problems.n >= NWI_PROBLEM_LIMIT;
}

static int count_unlisted(struct nwi_builder *b, int code, bool note)
{
    if (b->n_unlisted == 0 || (!note && !b->unlisted_problem))
        b->unlisted_code = code;
    b->unlisted_problem |= !note;
    b->n_unlisted++;
    return NW_OK;
}

static const char *keep(struct nwi_builder *b, const char *text, size_t size)
{
    return text ? nwi_arena_copy(b->arena, text, size) : NULL;
}

static int add_problem(struct nwi_builder *b, const struct nwi_place *place, int code,
                       bool note, const char *message)
{
    if (nwi_builder_is_full(b))
        return count_unlisted(b, code, note);
    struct nw_problem *problem = nwi_vector_add(&b->problems, b->memory);
    if (!problem)
        return nwi_builder_nomem(b, sizeof *problem);
    *problem = (struct nw_problem){
        .code = code,
        .note = note,
        .offset = place->offset,
        .file = keep(b, place->file, place->file ? strlen(place->file) : 0),
        .tensor = keep(b, place->tensor, place->tensor_size),
        .message = keep(b, message, strlen(message)),
    };
    bool refused = !problem->message || (place->file && !problem->file) ||
                   (place->tensor && !problem->tensor);
    return refused ? nwi_builder_nomem(b, strlen(message)) : NW_OK;
}

static int fail_with(struct nwi_builder *b, const struct nwi_place *place, int code,
                     const char *message)
{
    (void)nwi_fail_at(b->err, code, place->offset, "%s", message);
    code = nwi_error_in_file(b->err, code, place->file);
    if (!place->tensor)
        return code;
    char *name = nwi_arena_copy(&b->scratch, place->tensor, place->tensor_size);
    return nwi_error_in_tensor(b->err, code, name);
}

/* Names from files stand in messages: control characters would act on a terminal. */
static void disarm(char *message)
{
    for (; *message; message++) {
        if ((unsigned char)*message < 0x20 || *message == 0x7F)
            *message = '?';
    }
}

int nwi_builder_problem(struct nwi_builder *b, const struct nwi_place *place, int code,
                        const char *format, ...)
{
    char message[sizeof b->err->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    disarm(message);
    if (b->options->flags & NW_OPEN_REPORT)
        return add_problem(b, place, code, false, message);
    return fail_with(b, place, code, message);
}

int nwi_builder_note(struct nwi_builder *b, const struct nwi_place *place, int code,
                     const char *format, ...)
{
    char message[sizeof b->err->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    disarm(message);
    return add_problem(b, place, code, true, message);
}

/* The second group of enum nw_code, and what may be said about one file of several. */
static bool is_about_files(int code)
{
    return code >= NW_E_NOT_FOUND || code == NW_E_UNSUPPORTED || code == NW_E_LIMIT;
}

int nwi_builder_absorb(struct nwi_builder *b, const struct nw_error *failure)
{
    bool report = b->options->flags & NW_OPEN_REPORT;
    if (!report || !is_about_files(failure->code)) {
        if (b->err->code == NW_OK)
            *b->err = *failure;
        return b->err->code;
    }
    struct nwi_place place = {.file = failure->file[0] ? failure->file : NULL,
                              .tensor = failure->tensor[0] ? failure->tensor : NULL,
                              .tensor_size = strlen(failure->tensor),
                              .offset = failure->offset};
    return add_problem(b, &place, failure->code, false, failure->message);
}

/* ---- rows ---- */

int nwi_builder_add_file(struct nwi_builder *b, const char *name, const char *path,
                         struct nwi_file *file, uint32_t *row)
{
    struct nwi_source_file *source = nwi_vector_add(&b->files, b->memory);
    if (!source) {
        nwi_file_release(file);
        return nwi_builder_nomem(b, sizeof *source);
    }
    source->file = file;
    source->info.nbytes = file ? file->identity.size : 0;
    source->info.name = nwi_arena_copy(b->arena, name, strlen(name));
    source->info.path = nwi_arena_copy(b->arena, path, strlen(path));
    *row = (uint32_t)(b->files.n - 1);
    if (!source->info.name || !source->info.path)
        return nwi_builder_nomem(b, strlen(name) + strlen(path));
    return NW_OK;
}

struct nwi_source_file *nwi_builder_file(struct nwi_builder *b, uint32_t row)
{
    return (struct nwi_source_file *)b->files.items + row;
}

int nwi_builder_remark(struct nwi_builder *b, uint32_t row, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct nwi_source_file *file = nwi_builder_file(b, row);
    const char *old = file->info.reason;
    file->info.reason =
        nwi_arena_printf(b->arena, "%s%s%s", old ? old : "", old ? "; " : "", text);
    return file->info.reason ? NW_OK : nwi_builder_nomem(b, sizeof text);
}

int nwi_builder_add_tensor(struct nwi_builder *b, const struct nwi_stored *tensor)
{
    if (b->tensors.n >= NW_NONE)
        return nwi_fail(b->err, NW_E_LIMIT, "more than %u tensors", NW_NONE);
    struct nwi_stored *row = nwi_vector_add(&b->tensors, b->memory);
    if (!row)
        return nwi_builder_nomem(b, b->tensors.n * sizeof *row);
    *row = *tensor;
    row->component = nwi_builder_component_row(b);
    row->companion_of = NW_NONE;
    return NW_OK;
}

int nwi_builder_add_metadata(struct nwi_builder *b, const struct nw_metadata *metadata)
{
    struct nw_metadata *row = nwi_vector_add(&b->metadata, b->memory);
    if (!row)
        return nwi_builder_nomem(b, sizeof *row);
    *row = *metadata;
    row->component = nwi_builder_component_row(b);
    return NW_OK;
}

int nwi_builder_add_other(struct nwi_builder *b, const struct nwi_other_file *other)
{
    struct nwi_other_file *row = nwi_vector_add(&b->others, b->memory);
    if (!row)
        return nwi_builder_nomem(b, sizeof *row);
    *row = *other;
    return NW_OK;
}

/* Keeps the list sorted, which puts "" first. */
int nwi_builder_add_variant(struct nwi_builder *b, const char *variant, size_t size)
{
    const char *copy = nwi_arena_copy(b->arena, variant, size);
    if (!copy)
        return nwi_builder_nomem(b, size + 1);
    size_t at = 0;
    const char **rows = b->variants.items;
    while (at < b->variants.n && strcmp(rows[at], copy) < 0)
        at++;
    if (at < b->variants.n && strcmp(rows[at], copy) == 0)
        return NW_OK;
    if (!nwi_vector_add(&b->variants, b->memory))
        return nwi_builder_nomem(b, sizeof *rows);
    rows = b->variants.items;
    memmove(rows + at + 1, rows + at, (b->variants.n - 1 - at) * sizeof *rows);
    rows[at] = copy;
    return NW_OK;
}

/* ---- components ---- */

struct nwi_component *nwi_builder_component(struct nwi_builder *b)
{
    return (struct nwi_component *)b->components.items + b->components.n - 1;
}

uint32_t nwi_builder_component_row(const struct nwi_builder *b)
{
    return (uint32_t)(b->components.n - 1);
}

int nwi_builder_begin_component(struct nwi_builder *b,
                                const struct nwi_component *component)
{
    struct nwi_component *row = nwi_vector_add(&b->components, b->memory);
    if (!row)
        return nwi_builder_nomem(b, sizeof *row);
    *row = *component;
    row->first_tensor = (uint32_t)b->tensors.n;
    b->names_dirty = false;
    return NW_OK;
}

int nwi_builder_reserve_names(struct nwi_builder *b, size_t n)
{
    struct nwi_map *names = &nwi_builder_component(b)->names;
    if (names->slots || nwi_map_init(names, b->memory, n) == NW_OK)
        return NW_OK;
    return nwi_builder_nomem(b, n);
}

int nwi_builder_enter_name(struct nwi_builder *b, const char *name, size_t size,
                           uint32_t file, bool *taken)
{
    const struct nwi_stored *rows = b->tensors.items;
    uint32_t row = (uint32_t)b->tensors.n;
    uint32_t existing = NWI_MAP_NONE;
    if (nwi_map_add(&nwi_builder_component(b)->names, name, size, row, &existing) !=
        NW_OK)
        return nwi_builder_nomem(b, size);
    *taken =
        existing != NWI_MAP_NONE && (existing >= row || rows[existing].file == file);
    b->names_dirty |= existing != NWI_MAP_NONE;
    return NW_OK;
}

/* Two rows have one name: takes the name from the one that does not count. */
static int settle(struct nwi_builder *b, const struct nwi_index *index, uint32_t first,
                  uint32_t second)
{
    struct nwi_stored *rows = b->tensors.items;
    struct nwi_stored *a = &rows[first];
    struct nwi_stored *z = &rows[second];
    uint32_t wanted = index ? nwi_index_file(index, z->name, z->name_size) : NW_NONE;
    bool decided = a->file != z->file && (wanted == a->file || wanted == z->file);
    struct nwi_stored *loser = wanted == z->file ? a : z;
    struct nwi_place place = {.file = nwi_builder_file(b, loser->file)->info.path,
                              .tensor = loser->name,
                              .tensor_size = loser->name_size,
                              .offset = loser->offset};
    const char *in_a = nwi_builder_file(b, a->file)->info.name;
    const char *in_z = nwi_builder_file(b, z->file)->info.name;
    loser->name = NULL;
    if (decided)
        return nwi_builder_note(
            b, &place, NW_E_DUPLICATE,
            "the tensor is in %s and in %s; the index takes it from %s", in_a, in_z,
            loser == a ? in_z : in_a);
    return nwi_builder_problem(b, &place, NW_E_DUPLICATE,
                               "the tensor is in %s and in %s", in_a, in_z);
}

/* Fills the map of the newest component; *lost counts rows that lost their name. */
static int map_names(struct nwi_builder *b, const struct nwi_index *index, size_t *lost)
{
    struct nwi_component *component = nwi_builder_component(b);
    const struct nwi_stored *rows = b->tensors.items;
    size_t first = component->first_tensor;
    *lost = 0;
    nwi_map_release(&component->names);
    if (nwi_map_init(&component->names, b->memory, b->tensors.n - first) != NW_OK)
        return nwi_builder_nomem(b, b->tensors.n - first);
    for (size_t i = first; i < b->tensors.n; i++) {
        uint32_t existing = NWI_MAP_NONE;
        if (nwi_map_add(&component->names, rows[i].name, rows[i].name_size, (uint32_t)i,
                        &existing) != NW_OK)
            return nwi_builder_nomem(b, b->tensors.n - first);
        if (existing == NWI_MAP_NONE || !rows[existing].name)
            continue;
        NWI_TRY(settle(b, index, existing, (uint32_t)i));
        ++*lost;
    }
    return NW_OK;
}

static void drop_nameless(struct nwi_builder *b, size_t first)
{
    struct nwi_stored *rows = b->tensors.items;
    size_t n = first;
    for (size_t i = first; i < b->tensors.n; i++) {
        if (rows[i].name)
            rows[n++] = rows[i];
    }
    b->tensors.n = n;
}

/* True if what was entered while the tensors came is as good as a new map. */
static bool is_settled(const struct nwi_builder *b,
                       const struct nwi_component *component)
{
    size_t n = b->tensors.n - component->first_tensor;
    bool spacious =
        component->names.bits > 8 && (size_t)1 << component->names.bits > 16 * n;
    return !b->names_dirty && component->names.n == n && !spacious;
}

int nwi_builder_end_component(struct nwi_builder *b, const struct nwi_index *index)
{
    struct nwi_component *component = nwi_builder_component(b);
    size_t lost = is_settled(b, component) ? 0 : 1;
    while (lost) {
        NWI_TRY(map_names(b, index, &lost));
        if (lost)
            drop_nameless(b, component->first_tensor);
    }
    const struct nwi_stored *rows = b->tensors.items;
    component->n_tensors = (uint32_t)(b->tensors.n - component->first_tensor);
    component->info.n_tensors = component->n_tensors;
    for (size_t i = component->first_tensor; i < b->tensors.n; i++)
        component->info.nbytes += rows[i].nbytes;
    return NW_OK;
}
