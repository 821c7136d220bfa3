/* SPDX-License-Identifier: Apache-2.0
 * What the tests of src/source share: files below one temporary folder, opening them,
 * and what the error says. */
#ifndef NWT_SOURCE_H
#define NWT_SOURCE_H

#define _GNU_SOURCE /* symlink, mkfifo */

#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netweight.h"
#include "support/support.h"

/* "folder/name" without an owner: one of some buffers in turn. */
static inline const char *at(const char *folder, const char *name)
{
    static char paths[64][1024];
    static unsigned next;
    char path[1024];
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(size > 0 && (size_t)size < sizeof path);
    return memcpy(paths[next++ % 64], path, (size_t)size + 1);
}

/* Makes the folders that lead to a file. */
static inline void make_folders(const char *path)
{
    char part[1024];
    for (size_t i = 1; path[i]; i++) {
        if (path[i] != '/')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        (void)mkdir(part, 0755);
    }
}

static inline void write_text(const char *folder, const char *name, const char *text)
{
    const char *path = at(folder, name);
    make_folders(path);
    nwt_write(path, text, strlen(text));
}

static inline void write_bytes(const char *folder, const char *name, const void *data,
                               size_t size)
{
    const char *path = at(folder, name);
    make_folders(path);
    nwt_write(path, data, size);
}

/* A safetensors file with that header and `data_size` zero bytes. */
static inline void write_raw(const char *folder, const char *name, const char *header,
                             size_t data_size)
{
    size_t size = 0;
    char *data = calloc(1, data_size + 1);
    assert_non_null(data);
    void *file = nwt_raw_safetensors(header, data, data_size, &size);
    write_bytes(folder, name, file, size);
    free(file);
    free(data);
}

/* A safetensors file with one-element F32 tensors of value `value`; `names` ends in
 * NULL. */
static inline void write_weights(const char *folder, const char *name,
                                 const char *const *names, float value)
{
    static const uint64_t one = 1;
    struct nwt_safetensors b;
    const char *path = at(folder, name);
    make_folders(path);
    nwt_st_begin(&b);
    for (; *names; names++)
        nwt_st_add(&b, *names, "F32", 1, &one, &value, sizeof value);
    nwt_st_write(&b, path);
}

#define WEIGHTS(folder, name, value, ...)                                              \
    write_weights(folder, name, (const char *const[]){__VA_ARGS__, NULL}, value)

/* Opens and expects success. */
static inline struct nw_checkpoint *open_with(const char *path,
                                              const struct nw_open_options *options)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    assert_ok(nw_open(path, options, &ckpt, &err), &err);
    assert_non_null(ckpt);
    return ckpt;
}

/* Opens and expects a failure, whose description comes back; `file` of it is never
 * empty. */
static inline struct nw_error
refuse_with(const char *path, const struct nw_open_options *options, int code)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    assert_code(nw_open(path, options, &ckpt, &err), code, &err);
    assert_null(ckpt);
    assert_true(err.message[0]);
    if (!err.file[0])
        fail_msg("no file in: %s", err.message);
    return err;
}

static inline void assert_has(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text ? text : "(null)");
}

static inline float value_of(const struct nw_checkpoint *ckpt, const char *component,
                             const char *name)
{
    struct nw_error err;
    size_t i = 0;
    float value = -1;
    assert_ok(nw_checkpoint_find(ckpt, component, name, &i, &err), &err);
    assert_ok(nw_checkpoint_read(ckpt, i, 0, 1, &value, sizeof value, &err), &err);
    return value;
}

/* The row of files with that name; fails if there is none. */
static inline struct nw_stored_file file_of(const struct nw_checkpoint *ckpt,
                                            const char *name)
{
    struct nw_stored_file file = {0};
    for (size_t i = 0; i < nw_checkpoint_file_count(ckpt); i++) {
        assert_int_equal(nw_checkpoint_file(ckpt, i, &file), NW_OK);
        if (strcmp(file.name, name) == 0)
            return file;
    }
    fail_msg("%s is not among the files", name);
    return file;
}

/* The first problem (or note) of that code; fails if there is none. */
static inline struct nw_problem problem_of(const struct nw_checkpoint *ckpt, int code)
{
    struct nw_problem problem = {0};
    for (size_t i = 0; i < nw_checkpoint_problem_count(ckpt); i++) {
        assert_int_equal(nw_checkpoint_problem(ckpt, i, &problem), NW_OK);
        if (problem.code == code)
            return problem;
    }
    fail_msg("no problem %s", nw_code_name(code));
    return problem;
}

static inline size_t count_problems(const struct nw_checkpoint *ckpt, bool note)
{
    size_t n = 0;
    struct nw_problem problem;
    for (size_t i = 0; nw_checkpoint_problem(ckpt, i, &problem) == NW_OK; i++)
        n += (problem.note != 0) == note;
    return n;
}

/* ---- documents ---- */

struct document {
    char text[1 << 16];
    size_t size;
};

static inline int collect(void *ctx, const char *text, size_t size)
{
    struct document *document = ctx;
    assert_true(document->size + size < sizeof document->text);
    memcpy(document->text + document->size, text, size);
    document->size += size;
    document->text[document->size] = '\0';
    return 0;
}

static inline const char *inspect(const struct nw_checkpoint *ckpt, uint32_t flags,
                                  struct document *document)
{
    struct nw_error err;
    document->size = 0;
    assert_ok(nw_checkpoint_json(ckpt, flags, collect, document, &err), &err);
    return document->text;
}

/* The folder that one test works in. */
static inline int make_folder(void **state)
{
    *state = nwt_folder();
    return 0;
}

static inline int drop_folder(void **state)
{
    nwt_remove(*state);
    return 0;
}

#define TEST(function)                                                                 \
    cmocka_unit_test_setup_teardown(function, make_folder, drop_folder)

#endif
