/* SPDX-License-Identifier: Apache-2.0
 * What the tests of the file sink share: small checkpoints, and outputs filled by hand.
 */
#ifndef NWT_RUN_OUTPUT_SCENE_H
#define NWT_RUN_OUTPUT_SCENE_H

#define _GNU_SOURCE /* lstat, symlink */

#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/output_parts.h"
#include "support/support.h"

/* An open checkpoint, and one plan for each of its components. */
struct scene {
    struct nw_checkpoint *ckpt;
    struct nw_plan *plans[4];
    size_t n_plans;
    struct nwi_memory *memory; /* of the output */
    struct nw_error err;
};

/* U8 tensors "t00", "t01" ... of the given sizes, every byte of number i is value + i.
 */
static inline void scene_source(const char *path, const uint64_t *sizes, size_t n,
                                uint8_t value)
{
    struct nwt_safetensors b;
    char name[32];
    nwt_st_begin(&b);
    for (size_t i = 0; i < n; i++) {
        uint8_t *data = malloc((size_t)sizes[i] + 1);
        assert_non_null(data);
        memset(data, value + (int)i, (size_t)sizes[i]);
        (void)snprintf(name, sizeof name, "t%02zu", i);
        nwt_st_add(&b, name, "U8", 1, &sizes[i], data, (size_t)sizes[i]);
        free(data);
    }
    nwt_st_write(&b, path);
}

static inline void scene_open_as(struct scene *scene, const char *path,
                                 const struct nw_open_options *open_options,
                                 struct nw_load_options load)
{
    *scene = (struct scene){0};
    load.size = sizeof load;
    load.flags |= NW_LOAD_TO_FILE;
    assert_ok(nw_open(path, open_options, &scene->ckpt, &scene->err), &scene->err);
    scene->n_plans = nw_checkpoint_component_count(scene->ckpt);
    assert_in_range(scene->n_plans, 1, 4);
    for (size_t i = 0; i < scene->n_plans; i++) {
        load.component = scene->ckpt->components[i].info.name;
        assert_ok(nw_plan_create(scene->ckpt, &load, &scene->plans[i], &scene->err),
                  &scene->err);
    }
    scene->memory = nwi_memory_sibling(scene->ckpt->memory);
    assert_non_null(scene->memory);
}

static inline void scene_open(struct scene *scene, const char *path)
{
    scene_open_as(scene, path, NULL, (struct nw_load_options){0});
}

static inline void scene_close(struct scene *scene)
{
    for (size_t i = 0; i < scene->n_plans; i++)
        nw_plan_free(scene->plans[i]);
    nw_checkpoint_free(scene->ckpt);
    nwi_memory_release(scene->memory);
}

static inline int scene_begin(struct scene *scene, const char *path,
                              const struct nw_write_options *options,
                              struct nwi_output **out)
{
    nwi_error_clear(&scene->err);
    return nwi_output_begin(scene->plans, scene->n_plans, path, options, scene->memory,
                            out, &scene->err);
}

/* Every byte of target i becomes value + i. */
static inline int scene_fill(struct scene *scene, struct nwi_output *output,
                             uint8_t value)
{
    struct nwi_sink sink = nwi_output_sink(output);
    size_t number = 0;
    int code = NW_OK;
    for (size_t p = 0; p < scene->n_plans; p++) {
        const struct nw_plan *plan = scene->plans[p];
        for (size_t i = 0; code == NW_OK && i < plan->n_targets; i++, number++) {
            size_t size = (size_t)plan->targets[i].info.nbytes;
            uint8_t *data = malloc(size + 1);
            assert_non_null(data);
            memset(data, value + (int)i, size);
            code = sink.write(sink.ctx, number, 0, data, size, &scene->err);
            free(data);
        }
    }
    return code;
}

/* Begins, fills and commits. */
static inline int scene_save(struct scene *scene, const char *path,
                             const struct nw_write_options *options, uint8_t value)
{
    struct nwi_output *output = NULL;
    int code = scene_begin(scene, path, options, &output);
    if (code == NW_OK)
        code = scene_fill(scene, output, value);
    if (code == NW_OK)
        code = nwi_output_commit(output, &scene->err);
    nwi_output_free(output);
    return code;
}

/* The value with which the tensors at `path` were filled, -1 if they do not agree on
 * one, or minus the code with which opening is refused, less 1000. */
static inline int scene_variant_value(const char *path, const char *variant)
{
    struct nw_checkpoint *ckpt = NULL;
    struct nw_error err;
    struct nw_open_options options = {.size = sizeof options, .variant = variant};
    int code = nw_open(path, &options, &ckpt, &err);
    if (code != NW_OK)
        return -1000 - code;
    int value = -2;
    for (size_t i = 0; i < nw_checkpoint_tensor_count(ckpt); i++) {
        struct nw_stored_tensor stored;
        assert_int_equal(nw_checkpoint_tensor(ckpt, i, &stored), NW_OK);
        uint8_t *data = malloc((size_t)stored.nbytes + 1);
        assert_non_null(data);
        uint64_t n_rows = stored.rank ? stored.shape[0] : 1;
        assert_ok(
            nw_checkpoint_read(ckpt, i, 0, n_rows, data, (size_t)stored.nbytes, &err),
            &err);
        for (size_t k = 0; k < stored.nbytes; k++) {
            int now = data[k] - (int)strtol(stored.name + 1, NULL, 10);
            value = value == -2 || value == now ? now : -1;
        }
        free(data);
    }
    nw_checkpoint_free(ckpt);
    return value;
}

static inline int scene_value(const char *path)
{
    return scene_variant_value(path, NULL);
}

static inline bool scene_has(const char *folder, const char *name)
{
    char *path = nwt_path(folder, name);
    struct stat st;
    bool there = lstat(path, &st) == 0;
    free(path);
    return there;
}

static inline void scene_text(const char *folder, const char *name, const char *text)
{
    char *path = nwt_path(folder, name);
    nwt_write(path, text, strlen(text));
    free(path);
}

static inline void scene_folder(const char *folder, const char *name)
{
    char *path = nwt_path(folder, name);
    assert_int_equal(mkdir(path, 0777), 0);
    free(path);
}

/* Fails unless the file holds that text. */
static inline void scene_expect(const char *folder, const char *name, const char *text)
{
    char *path = nwt_path(folder, name);
    char *data = nwt_read(path, NULL);
    assert_string_equal(data, text);
    free(data);
    free(path);
}

/* Number of entries, temporaries included. */
static inline size_t scene_count(const char *folder)
{
    size_t n = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    while (readdir(entries))
        n++;
    assert_int_equal(closedir(entries), 0);
    return n - 2;
}

#endif
