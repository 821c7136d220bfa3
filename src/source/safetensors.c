/* SPDX-License-Identifier: Apache-2.0
 * safetensors:
 *
 *     u64 little-endian   N, length of the header
 *     N bytes             header: one JSON object in UTF-8, padded with spaces
 *     rest                data: the tensors, row major, little-endian
 *
 * The header maps each tensor name to {"dtype", "shape", "data_offsets": [begin, end)},
 * offsets counted from the start of the data; "__metadata__" maps strings to strings.
 * Sorted by their offsets the tensors tile the data exactly. Further fields of a tensor
 * are ignored, as the reference reader does. */
#include "source/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/json.h"
#include "source/builder.h"
#include "source/extents.h"
#include "tensor/dtype.h"

#define LENGTH_BYTES 8 /* the header begins here */

struct reader {
    struct nwi_builder *b;
    uint32_t file; /* row */
    const char *path;
    char *header; /* [header_size] */
    size_t header_size;
    struct nwi_json json;
    struct nw_error failure; /* what the JSON reader says */
    bool has_metadata;       /* __metadata__ was met */
    struct nwi_vector extents;
    struct nwi_vector shape;   /* uint64_t, of the entry being read */
    struct nwi_vector offsets; /* uint64_t, likewise */
};

enum field { FIELD_DTYPE = 1 << 0, FIELD_SHAPE = 1 << 1, FIELD_OFFSETS = 1 << 2 };

static const struct {
    const char *name;
    enum field bit;
} fields[] = {
    {"dtype", FIELD_DTYPE}, {"shape", FIELD_SHAPE}, {"data_offsets", FIELD_OFFSETS}};

#define N_FIELDS (sizeof fields / sizeof fields[0])

#define ENTRY_BYTES 128 /* of the header, about, for one tensor */

/* One tensor of the header. */
struct entry {
    const char *name; /* on the checkpoint's arena */
    size_t name_size;
    uint64_t at;     /* its key, in the file */
    const char *tag; /* in the header, or on the scratch arena */
    size_t tag_size;
    uint32_t seen; /* enum field */
    bool bad;      /* a problem was found: it cannot become a tensor */
};

static bool equals(const char *text, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

/* Where the token just read stands in the file. */
static uint64_t token_offset(const struct reader *r)
{
    return LENGTH_BYTES + r->json.token_at;
}

static struct nwi_place place_of(const struct reader *r, const struct entry *entry,
                                 uint64_t offset)
{
    return (struct nwi_place){.file = r->path,
                              .tensor = entry ? entry->name : NULL,
                              .tensor_size = entry ? entry->name_size : 0,
                              .offset = offset};
}

/* A problem with an entry, at the token just read. */
static int spoil(struct reader *r, struct entry *entry, int code, const char *message)
{
    struct nwi_place place = place_of(r, entry, token_offset(r));
    entry->bad = true;
    return nwi_builder_problem(r->b, &place, code, "%s", message);
}

/* ---- metadata ---- */

static int keep_metadata(struct reader *r, const char *key, size_t key_size,
                         const char *value, size_t value_size)
{
    struct nw_metadata row = {.key = nwi_arena_copy(r->b->arena, key, key_size),
                              .key_size = key_size,
                              .value = nwi_arena_copy(r->b->arena, value, value_size),
                              .value_size = value_size,
                              .file = r->file};
    if (!row.key || !row.value)
        return nwi_builder_nomem(r->b, key_size + value_size);
    return nwi_builder_add_metadata(r->b, &row);
}

/* A value that is no string: kept as its JSON text where that is tolerated. */
static int odd_metadata(struct reader *r, enum nwi_json_token token, const char *key,
                        size_t key_size)
{
    char shown[128];
    const char *raw = NULL;
    size_t raw_size = 0;
    struct nwi_place place = place_of(r, NULL, token_offset(r));
    NWI_TRY(nwi_json_raw(&r->json, token, &raw, &raw_size));
    nwi_quote(shown, sizeof shown, key, key_size, 80);
    if (!(r->b->options->tolerate & NW_TOLERATE_METADATA))
        return nwi_builder_problem(r->b, &place, NW_E_BAD_HEADER,
                                   "the metadata value of \"%s\" is not a string",
                                   shown);
    NWI_TRY(nwi_builder_note(
        r->b, &place, NW_E_BAD_HEADER,
        "the metadata value of \"%s\" is not a string, kept as JSON text", shown));
    return keep_metadata(r, key, key_size, raw, raw_size);
}

static int duplicate_key(struct reader *r, const char *where, const char *key,
                         size_t size)
{
    char shown[128];
    struct nwi_place place = place_of(r, NULL, token_offset(r));
    nwi_quote(shown, sizeof shown, key, size, 80);
    return nwi_builder_problem(r->b, &place, NW_E_DUPLICATE,
                               "the key \"%s\" is in %s twice", shown, where);
}

static int read_metadata_value(struct reader *r, struct nwi_map *keys)
{
    enum nwi_json_token token = NWI_JSON_END;
    const char *key = r->json.text;
    size_t key_size = r->json.text_size;
    uint32_t existing = NWI_MAP_NONE;
    if (nwi_map_add(keys, key, key_size, 0, &existing) != NW_OK)
        return nwi_builder_nomem(r->b, key_size);
    if (existing != NWI_MAP_NONE)
        NWI_TRY(duplicate_key(r, "the metadata", key, key_size));
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (existing != NWI_MAP_NONE)
        return nwi_json_skip(&r->json, token);
    if (token != NWI_JSON_STRING)
        return odd_metadata(r, token, key, key_size);
    return keep_metadata(r, key, key_size, r->json.text, r->json.text_size);
}

static int read_metadata_object(struct reader *r)
{
    struct nwi_map keys;
    enum nwi_json_token token = NWI_JSON_END;
    if (nwi_map_init(&keys, r->b->memory, 0) != NW_OK)
        return nwi_builder_nomem(r->b, 0);
    int code = nwi_json_next(&r->json, &token);
    while (code == NW_OK && token == NWI_JSON_KEY) {
        code = read_metadata_value(r, &keys);
        if (code == NW_OK)
            code = nwi_json_next(&r->json, &token);
    }
    nwi_map_release(&keys);
    return code;
}

static int read_metadata(struct reader *r)
{
    enum nwi_json_token token = NWI_JSON_END;
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (token == NWI_JSON_NULL)
        return NW_OK;
    if (token == NWI_JSON_OBJECT_BEGIN)
        return read_metadata_object(r);
    struct nwi_place place = place_of(r, NULL, token_offset(r));
    NWI_TRY(nwi_builder_problem(r->b, &place, NW_E_BAD_HEADER,
                                "__metadata__ is not a JSON object"));
    return nwi_json_skip(&r->json, token);
}

/* ---- one tensor ---- */

static int odd_number(struct reader *r, struct entry *entry, enum nwi_json_token token,
                      const char *what)
{
    char message[160];
    char shown[64];
    const char *raw = NULL;
    size_t raw_size = 0;
    size_t at = r->json.token_at;
    NWI_TRY(nwi_json_raw(&r->json, token, &raw, &raw_size));
    nwi_quote(shown, sizeof shown, raw, raw_size, 40);
    (void)snprintf(message, sizeof message,
                   "%s holds %s, not a whole number from 0 to 18446744073709551615",
                   what, shown);
    r->json.token_at = at;
    return entry->bad ? NW_OK : spoil(r, entry, NW_E_BAD_HEADER, message);
}

static int read_number(struct reader *r, struct entry *entry, enum nwi_json_token token,
                       const char *what, struct nwi_vector *out)
{
    uint64_t number = 0;
    if (token != NWI_JSON_NUMBER ||
        !nwi_json_u64(r->json.text, r->json.text_size, &number))
        return odd_number(r, entry, token, what);
    uint64_t *item = nwi_vector_add(out, r->b->memory);
    if (!item)
        return nwi_builder_nomem(r->b, out->n * sizeof *item);
    *item = number;
    return NW_OK;
}

/* An array of whole numbers, as text: 1.0, "1" and true are none. */
static int read_numbers(struct reader *r, struct entry *entry, const char *what,
                        struct nwi_vector *out)
{
    enum nwi_json_token token = NWI_JSON_END;
    out->n = 0;
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (token != NWI_JSON_ARRAY_BEGIN)
        return odd_number(r, entry, token, what);
    NWI_TRY(nwi_json_next(&r->json, &token));
    while (token != NWI_JSON_ARRAY_END) {
        NWI_TRY(read_number(r, entry, token, what, out));
        NWI_TRY(nwi_json_next(&r->json, &token));
    }
    return NW_OK;
}

static int read_tag(struct reader *r, struct entry *entry)
{
    enum nwi_json_token token = NWI_JSON_END;
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (token == NWI_JSON_STRING) {
        entry->tag = r->json.text;
        entry->tag_size = r->json.text_size;
        return NW_OK;
    }
    NWI_TRY(spoil(r, entry, NW_E_BAD_HEADER, "dtype is not a string"));
    return nwi_json_skip(&r->json, token);
}

static int read_offsets(struct reader *r, struct entry *entry)
{
    NWI_TRY(read_numbers(r, entry, "data_offsets", &r->offsets));
    if (r->offsets.n == 2 || entry->bad)
        return NW_OK;
    return spoil(r, entry, NW_E_BAD_HEADER, "data_offsets are not two numbers");
}

static int read_field(struct reader *r, struct entry *entry)
{
    enum nwi_json_token token = NWI_JSON_END;
    uint32_t bit = 0;
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (equals(r->json.text, r->json.text_size, fields[i].name))
            bit = (uint32_t)fields[i].bit;
    }
    if (bit & entry->seen) {
        entry->bad = true;
        NWI_TRY(duplicate_key(r, "one tensor", r->json.text, r->json.text_size));
        bit = 0;
    }
    entry->seen |= bit;
    if (bit == FIELD_DTYPE)
        return read_tag(r, entry);
    if (bit == FIELD_SHAPE)
        return read_numbers(r, entry, "shape", &r->shape);
    if (bit == FIELD_OFFSETS)
        return read_offsets(r, entry);
    NWI_TRY(nwi_json_next(&r->json, &token));
    return nwi_json_skip(&r->json, token);
}

static int check_fields(struct reader *r, struct entry *entry)
{
    char message[64];
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (entry->seen & (uint32_t)fields[i].bit)
            continue;
        (void)snprintf(message, sizeof message, "the tensor has no %s", fields[i].name);
        NWI_TRY(spoil(r, entry, NW_E_BAD_HEADER, message));
    }
    return NW_OK;
}

/* "[2, 3]", cut where it grows long. */
static void print_shape(const struct nwi_vector *shape, char *out, size_t size)
{
    const uint64_t *dims = shape->items;
    size_t used = (size_t)snprintf(out, size, "[");
    for (size_t i = 0; i < shape->n && used + 30 < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%" PRIu64, i ? ", " : "",
                                 dims[i]);
    (void)snprintf(out + used, size - used, "]");
}

static int fail_extent(struct reader *r, struct entry *entry, uint64_t nbytes)
{
    char shape[160];
    const uint64_t *offsets = r->offsets.items;
    struct nwi_place place = place_of(r, entry, entry->at);
    print_shape(&r->shape, shape, sizeof shape);
    entry->bad = true;
    return nwi_builder_problem(r->b, &place, NW_E_BAD_EXTENT,
                               "%.*s %s takes %" PRIu64 " bytes, its offsets %" PRIu64
                               " to %" PRIu64 " hold %" PRIu64,
                               (int)nwi_min(entry->tag_size, 32), entry->tag, shape,
                               nbytes, offsets[0], offsets[1], offsets[1] - offsets[0]);
}

/* An unknown type: its extent is what its offsets say. */
static int odd_dtype(struct reader *r, const struct entry *entry)
{
    char tag[64];
    struct nwi_place place = place_of(r, entry, entry->at);
    nwi_quote(tag, sizeof tag, entry->tag, entry->tag_size, 40);
    if (r->b->options->tolerate & NW_TOLERATE_DTYPE)
        return nwi_builder_note(r->b, &place, NW_E_UNSUPPORTED_TYPE,
                                "unknown dtype \"%s\": the tensor is listed only", tag);
    return nwi_builder_problem(r->b, &place, NW_E_UNSUPPORTED_TYPE,
                               "unknown dtype \"%s\"", tag);
}

/* Shape, type and offsets agree. */
static int check_extent(struct reader *r, struct entry *entry, int dtype)
{
    struct nw_error failure;
    const uint64_t *offsets = r->offsets.items;
    struct nwi_place place = place_of(r, entry, entry->at);
    uint64_t nbytes = 0;
    uint64_t end = 0;
    if (offsets[0] > offsets[1] ||
        !nwi_add(offsets[1], LENGTH_BYTES + r->header_size, &end) || end > INT64_MAX) {
        entry->bad = true;
        return nwi_builder_problem(r->b, &place, NW_E_BAD_EXTENT,
                                   "data_offsets run from %" PRIu64 " to %" PRIu64,
                                   offsets[0], offsets[1]);
    }
    if (dtype == NW_DTYPE_UNKNOWN)
        return odd_dtype(r, entry);
    nwi_error_clear(&failure);
    if (nwi_tensor_bytes(dtype, r->shape.items, (uint32_t)r->shape.n, NULL, &nbytes,
                         &failure) != NW_OK) {
        entry->bad = true;
        return nwi_builder_problem(r->b, &place, failure.code, "%s", failure.message);
    }
    return nbytes == offsets[1] - offsets[0] ? NW_OK : fail_extent(r, entry, nbytes);
}

static int add_tensor(struct reader *r, const struct entry *entry, int dtype)
{
    static const uint64_t no_dims[1];
    struct nwi_arena *arena = r->b->arena;
    const uint64_t *offsets = r->offsets.items;
    const struct nwi_dtype_info *info = nwi_dtype_info(dtype);
    struct nwi_stored row = {
        .name = entry->name,
        .name_size = (uint32_t)entry->name_size,
        .shape = no_dims,
        .rank = (uint32_t)r->shape.n,
        .offset = LENGTH_BYTES + r->header_size + offsets[0],
        .nbytes = offsets[1] - offsets[0],
        .dtype = (uint8_t)dtype,
        .dtype_text = dtype == NW_DTYPE_UNKNOWN || !info
                          ? nwi_arena_copy(arena, entry->tag, entry->tag_size)
                          : info->name,
        .file = r->file,
    };
    if (row.rank) {
        uint64_t *shape = nwi_arena_array(arena, r->shape.n, sizeof *shape);
        if (shape)
            memcpy(shape, r->shape.items, r->shape.n * sizeof *shape);
        row.shape = shape;
    }
    if (!row.dtype_text || !row.shape)
        return nwi_builder_nomem(r->b,
                                 entry->name_size + r->shape.n * sizeof(uint64_t));
    return nwi_builder_add_tensor(r->b, &row);
}

/* Notes what the entry takes of the data, even where it is no good: else each bad
 * tensor would leave a hole as well. */
static int add_extent(struct reader *r, const struct entry *entry, uint32_t row)
{
    const uint64_t *offsets = r->offsets.items;
    if (!(entry->seen & FIELD_OFFSETS) || r->offsets.n != 2 ||
        offsets[0] > offsets[1] || offsets[1] > INT64_MAX)
        return NW_OK;
    struct nwi_extent *extent = nwi_vector_add(&r->extents, r->b->memory);
    if (!extent)
        return nwi_builder_nomem(r->b, r->extents.n * sizeof *extent);
    *extent = (struct nwi_extent){.begin = offsets[0],
                                  .end = offsets[1],
                                  .name = entry->name,
                                  .name_size = (uint32_t)entry->name_size,
                                  .row = row};
    return NW_OK;
}

static int finish_entry(struct reader *r, struct entry *entry)
{
    uint32_t row = (uint32_t)r->b->tensors.n;
    NWI_TRY(check_fields(r, entry));
    if (!entry->bad) {
        int dtype = nwi_dtype_from_tag(entry->tag, entry->tag_size);
        dtype = dtype < 0 ? NW_DTYPE_UNKNOWN : dtype;
        NWI_TRY(check_extent(r, entry, dtype));
        if (!entry->bad)
            NWI_TRY(add_tensor(r, entry, dtype));
    }
    return add_extent(r, entry, entry->bad ? NW_NONE : row);
}

static int read_fields(struct reader *r, struct entry *entry)
{
    enum nwi_json_token token = NWI_JSON_END;
    NWI_TRY(nwi_json_next(&r->json, &token));
    while (token == NWI_JSON_KEY) {
        NWI_TRY(read_field(r, entry));
        NWI_TRY(nwi_json_next(&r->json, &token));
    }
    return NW_OK;
}

static int read_entry(struct reader *r, struct entry *entry)
{
    enum nwi_json_token token = NWI_JSON_END;
    r->offsets.n = 0;
    r->shape.n = 0;
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (token != NWI_JSON_OBJECT_BEGIN) {
        NWI_TRY(spoil(r, entry, NW_E_BAD_HEADER, "the entry is not a JSON object"));
        return nwi_json_skip(&r->json, token);
    }
    NWI_TRY(read_fields(r, entry));
    return finish_entry(r, entry);
}

/* ---- the header ---- */

static int read_metadata_key(struct reader *r)
{
    enum nwi_json_token token = NWI_JSON_END;
    if (!r->has_metadata) {
        r->has_metadata = true;
        return read_metadata(r);
    }
    NWI_TRY(duplicate_key(r, "the header", r->json.text, r->json.text_size));
    NWI_TRY(nwi_json_next(&r->json, &token));
    return nwi_json_skip(&r->json, token);
}

static int read_key(struct reader *r)
{
    struct entry entry = {.name_size = r->json.text_size, .at = token_offset(r)};
    size_t n_tensors = r->b->tensors.n;
    bool taken = false;
    if (equals(r->json.text, r->json.text_size, "__metadata__"))
        return read_metadata_key(r);
    entry.name = nwi_arena_copy(r->b->arena, r->json.text, entry.name_size);
    if (!entry.name)
        return nwi_builder_nomem(r->b, entry.name_size + 1);
    NWI_TRY(nwi_builder_enter_name(r->b, entry.name, entry.name_size, r->file, &taken));
    if (taken) {
        entry.bad = true;
        NWI_TRY(duplicate_key(r, "the header", entry.name, entry.name_size));
    }
    int code = read_entry(r, &entry);
    r->b->names_dirty |= r->b->tensors.n == n_tensors;
    if (r->failure.code == NW_OK)
        return code;
    return nwi_error_in_tensor(&r->failure, code, entry.name);
}

static int read_header(struct reader *r)
{
    enum nwi_json_token token = NWI_JSON_END;
    NWI_TRY(nwi_json_next(&r->json, &token));
    if (token != NWI_JSON_OBJECT_BEGIN)
        return nwi_fail_at(&r->failure, NW_E_BAD_HEADER, token_offset(r),
                           "the header is not a JSON object");
    NWI_TRY(nwi_json_next(&r->json, &token));
    while (token == NWI_JSON_KEY) {
        NWI_TRY(read_key(r));
        NWI_TRY(nwi_json_next(&r->json, &token));
    }
    return nwi_json_next(&r->json, &token);
}

/* The length, before anything is allocated for it. Failures go to r->failure. */
static int read_length(struct reader *r, const struct nwi_file *file)
{
    uint8_t bytes[LENGTH_BYTES];
    uint64_t n = 0;
    uint64_t total = file->identity.size;
    uint64_t limit = nwi_builder_header_limit(r->b);
    NWI_TRY(nwi_file_read(file, 0, bytes, sizeof bytes, &r->failure));
    for (size_t i = 0; i < sizeof bytes; i++)
        n |= (uint64_t)bytes[i] << (8 * i);
    if (n > INT64_MAX - LENGTH_BYTES)
        return nwi_fail_at(&r->failure, NW_E_BAD_HEADER, 0,
                           "header length %" PRIu64
                           " is larger than any file, this one has "
                           "%" PRIu64 " bytes",
                           n, total);
    if (n > total - LENGTH_BYTES)
        return nwi_fail_at(&r->failure, NW_E_TRUNCATED, total,
                           "header ends at %" PRIu64 ", file %" PRIu64 " bytes long",
                           n + LENGTH_BYTES, total);
    if (n > limit)
        return nwi_fail_at(&r->failure, NW_E_LIMIT, 0,
                           "header of %" PRIu64 " bytes, the limit is %" PRIu64
                           "; header_limit (--header-limit) raises it",
                           n, limit);
    r->header_size = (size_t)n;
    return NW_OK;
}

static int load_header(struct reader *r)
{
    const struct nwi_file *file = nwi_builder_file(r->b, r->file)->file;
    NWI_TRY(read_length(r, file));
    nwi_builder_file(r->b, r->file)->data_start = LENGTH_BYTES + r->header_size;
    r->header = nwi_alloc(r->b->memory, r->header_size + 1);
    if (!r->header)
        return nwi_builder_nomem(r->b, r->header_size + 1);
    return nwi_file_read(file, LENGTH_BYTES, r->header, r->header_size, &r->failure);
}

static int read_file(struct reader *r)
{
    size_t first_row = r->b->tensors.n;
    NWI_TRY(load_header(r));
    NWI_TRY(nwi_builder_reserve_names(r->b, r->header_size / ENTRY_BYTES));
    nwi_json_init(&r->json, r->header, r->header_size, LENGTH_BYTES, NW_E_BAD_HEADER,
                  &r->b->scratch, &r->failure);
    int code = read_header(r);
    /* Also what stands before a fault of the header is kept in order. */
    NWI_TRY(nwi_extents_sort(r->b, &r->extents, first_row));
    if (code != NW_OK)
        return code;
    return nwi_extents_check(r->b, &r->extents, r->file, LENGTH_BYTES + r->header_size);
}

static int parse(struct nwi_builder *b, uint32_t file)
{
    struct reader r = {.b = b,
                       .file = file,
                       .path = nwi_builder_file(b, file)->info.path,
                       .extents.item_size = sizeof(struct nwi_extent),
                       .shape.item_size = sizeof(uint64_t),
                       .offsets.item_size = sizeof(uint64_t)};
    nwi_error_clear(&r.failure);
    int code = read_file(&r);
    if (r.header)
        nwi_free(b->memory, r.header, r.header_size + 1);
    nwi_vector_release(&r.extents, b->memory);
    nwi_vector_release(&r.shape, b->memory);
    nwi_vector_release(&r.offsets, b->memory);
    if (r.failure.code == NW_OK || b->err->code != NW_OK)
        return code;
    (void)nwi_error_in_file(&r.failure, code, r.path);
    return nwi_builder_absorb(b, &r.failure);
}

/* A plausible length, then a JSON object (white space may stand before it). */
static bool probe(const struct nwi_probe *probe)
{
    size_t at = LENGTH_BYTES;
    if (probe->head_size <= LENGTH_BYTES || probe->head[5] || probe->head[6] ||
        probe->head[7])
        return false;
    while (at < probe->head_size && probe->head[at] &&
           strchr(" \t\r\n", probe->head[at]))
        at++;
    return at < probe->head_size && probe->head[at] == '{';
}

const struct nwi_format nwi_format_safetensors = {.container = "safetensors",
                                                  .label = "safetensors",
                                                  .suffix = ".safetensors",
                                                  .probe = probe,
                                                  .parse = parse};
