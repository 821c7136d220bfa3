/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "support/support.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

/* ---- files ---- */

char *nwt_path(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    assert_non_null(path);
    (void)snprintf(path, size, "%s/%s", folder, name);
    return path;
}

char *nwt_folder(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = nwt_path(parent && *parent ? parent : "/tmp", "netweight-XXXXXX");
    if (!mkdtemp(path))
        fail_msg("cannot make a folder %s", path);
    return path;
}

static int remove_entry(const char *path, const struct stat *st, int kind,
                        struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

void nwt_remove(char *folder)
{
    if (!folder)
        return;
    if (nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
        fail_msg("cannot remove %s", folder);
    free(folder);
}

void nwt_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wbe");
    if (!file)
        fail_msg("cannot write %s", path);
    size_t written = size ? fwrite(data, 1, size, file) : 0;
    assert_int_equal(fclose(file), 0);
    assert_int_equal(written, size);
}

void *nwt_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        fail_msg("cannot read %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long end = ftell(file);
    assert_true(end >= 0);
    rewind(file);
    char *data = malloc((size_t)end + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)end, file), (size_t)end);
    assert_int_equal(fclose(file), 0);
    data[end] = '\0';
    if (size)
        *size = (size_t)end;
    return data;
}

/* ---- safetensors ---- */

/* Appends size bytes; zeros if data is NULL. */
static void append(struct nwt_buffer *buffer, const void *data, size_t size)
{
    size_t needed = buffer->size + size + 1;
    if (needed > buffer->capacity) {
        buffer->capacity =
            needed > 2 * buffer->capacity ? needed : 2 * buffer->capacity;
        buffer->data = realloc(buffer->data, buffer->capacity);
        assert_non_null(buffer->data);
    }
    if (data && size)
        memcpy(buffer->data + buffer->size, data, size);
    else
        memset(buffer->data + buffer->size, 0, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
}

static void append_text(struct nwt_buffer *buffer, const char *text)
{
    append(buffer, text, strlen(text));
}

static void append_number(struct nwt_buffer *buffer, uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    append_text(buffer, text);
}

static void append_json_string(struct nwt_buffer *buffer, const char *text)
{
    append_text(buffer, "\"");
    for (; *text; text++) {
        char escaped[8];
        unsigned char c = (unsigned char)*text;
        if (c < 0x20) {
            (void)snprintf(escaped, sizeof escaped, "\\u%04x", c);
            append_text(buffer, escaped);
            continue;
        }
        if (c == '"' || c == '\\')
            append_text(buffer, "\\");
        append(buffer, text, 1);
    }
    append_text(buffer, "\"");
}

void nwt_st_begin(struct nwt_safetensors *b)
{
    memset(b, 0, sizeof *b);
}

void nwt_st_add(struct nwt_safetensors *b, const char *name, const char *dtype,
                uint32_t rank, const uint64_t *shape, const void *data, size_t nbytes)
{
    struct nwt_buffer *out = &b->tensors;
    if (out->size)
        append_text(out, ",");
    append_json_string(out, name);
    append_text(out, ":{\"dtype\":");
    append_json_string(out, dtype);
    append_text(out, ",\"shape\":[");
    for (uint32_t i = 0; i < rank; i++) {
        append_text(out, i ? "," : "");
        append_number(out, shape[i]);
    }
    append_text(out, "],\"data_offsets\":[");
    append_number(out, b->data.size);
    append_text(out, ",");
    append_number(out, b->data.size + nbytes);
    append_text(out, "]}");
    append(&b->data, data, nbytes);
}

void nwt_st_metadata(struct nwt_safetensors *b, const char *key, const char *value)
{
    if (b->metadata.size)
        append_text(&b->metadata, ",");
    append_json_string(&b->metadata, key);
    append_text(&b->metadata, ":");
    append_json_string(&b->metadata, value);
}

static void *image_of(const char *header, size_t header_size, const void *data,
                      size_t data_size, size_t *size)
{
    unsigned char *image = malloc(8 + header_size + data_size);
    assert_non_null(image);
    for (int i = 0; i < 8; i++)
        image[i] = (unsigned char)((uint64_t)header_size >> (8 * i));
    memcpy(image + 8, header, header_size);
    if (data_size)
        memcpy(image + 8 + header_size, data, data_size);
    *size = 8 + header_size + data_size;
    return image;
}

void *nwt_st_finish(struct nwt_safetensors *b, size_t *size)
{
    struct nwt_buffer header = {0};
    append_text(&header, "{");
    if (b->metadata.size) {
        append_text(&header, "\"__metadata__\":{");
        append(&header, b->metadata.data, b->metadata.size);
        append_text(&header, b->tensors.size ? "}," : "}");
    }
    append(&header, b->tensors.data, b->tensors.size);
    append_text(&header, "}");
    while (header.size % 8 != 0)
        append_text(&header, " ");
    void *image = image_of(header.data, header.size, b->data.data, b->data.size, size);
    free(header.data);
    free(b->metadata.data);
    free(b->tensors.data);
    free(b->data.data);
    nwt_st_begin(b);
    return image;
}

void nwt_st_write(struct nwt_safetensors *b, const char *path)
{
    size_t size = 0;
    void *image = nwt_st_finish(b, &size);
    nwt_write(path, image, size);
    free(image);
}

void *nwt_raw_safetensors(const char *header_json, const void *data, size_t data_size,
                          size_t *size)
{
    return image_of(header_json, strlen(header_json), data, data_size, size);
}

/* ---- memory ---- */

/* Shows itself where memory is read before it was written. */
#define FRESH 0xA5

static void *counted_alloc(void *ctx, size_t size)
{
    struct nwt_allocator *state = ctx;
    long number = __atomic_fetch_add(&state->calls, 1, __ATOMIC_SEQ_CST);
    if (number == __atomic_load_n(&state->fail_at, __ATOMIC_SEQ_CST))
        return NULL;
    size_t rounded = (size + 63) / 64 * 64;
    if (rounded < size)
        return NULL;
    void *block = aligned_alloc(64, rounded ? rounded : 64);
    if (!block)
        return NULL;
    memset(block, FRESH, size);
    (void)__atomic_add_fetch(&state->live, 1, __ATOMIC_SEQ_CST);
    (void)__atomic_add_fetch(&state->live_bytes, size, __ATOMIC_SEQ_CST);
    return block;
}

static void counted_free(void *ctx, void *block, size_t size)
{
    struct nwt_allocator *state = ctx;
    (void)__atomic_sub_fetch(&state->live, 1, __ATOMIC_SEQ_CST);
    (void)__atomic_sub_fetch(&state->live_bytes, size, __ATOMIC_SEQ_CST);
    free(block);
}

struct nw_allocator nwt_failing_allocator(struct nwt_allocator *state)
{
    return (struct nw_allocator){counted_alloc, counted_free, state};
}

/* ---- random ---- */

uint64_t nwt_random(uint64_t *state)
{
    uint64_t x = *state;
    assert_true(x != 0);
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545F4914F6CDD1Du;
}
