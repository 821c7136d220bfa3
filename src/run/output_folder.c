/* SPDX-License-Identifier: Apache-2.0
 * The files of a folder that hold no weights: copied as content, links resolved, and
 * the dtype of configs brought up to date. What is there already with the same bytes is
 * left alone, so that a folder can be converted onto itself. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "run/output_parts.h"

#define CONFIG_MOST 16777216u /* bytes; what is larger is copied as it is */
#define PIECE       16384u    /* bytes copied or compared at a time */

/* ---- which files, and where to ---- */

void nwi_output_count_others(const struct nwi_output *output, size_t *n, size_t *nbytes)
{
    const struct nw_checkpoint *ckpt = output->ckpt;
    *n = ckpt->n_others + output->n_sets;
    *nbytes = 0;
    for (size_t i = 0; i < ckpt->n_others; i++)
        *nbytes += strlen(ckpt->others[i].name) + 1;
    for (size_t i = 0; i < output->n_sets; i++)
        *nbytes += strlen(output->sets[i].folder) + sizeof "/config.json";
    if (output->parts)
        *n += NWI_PIPELINE_OTHERS;
}

/* True if the name is taken by a config of a component (the first n of others), is one
 * of the weights' own names, or a temporary that someone left. */
static bool is_taken(const struct nwi_output *output, size_t n_configs,
                     const char *name)
{
    size_t final_size = 0;
    uint64_t pid = 0;
    uint32_t numbers[2];
    const char *base = nwi_path_base(name);
    if (nwi_output_is_temp(base, &final_size, &pid))
        return true;
    for (size_t i = 0; i < n_configs; i++) {
        if (strcmp(output->others[i].name, name) == 0)
            return true;
    }
    for (size_t i = 0; i < output->n_sets; i++) {
        const struct nwi_output_set *set = &output->sets[i];
        size_t size = strlen(set->folder);
        bool beside = (size_t)(base - name) == size + (size > 0) &&
                      strncmp(name, set->folder, size) == 0;
        if (beside &&
            nwi_save_kind(base, set->stem, output->variant, numbers) != NWI_SAVE_NONE)
            return true;
    }
    return false;
}

int nwi_output_add_other(struct nwi_output *output, const char *name, const char *path,
                         const char *text, const char *dtype, struct nw_error *err)
{
    if (output->n_others == output->others_room)
        return nwi_fail(err, NW_E_LIMIT,
                        "more than %zu files would be copied beside the weights",
                        output->others_room);
    char *copy = nwi_arena_copy(&output->arena, name, strlen(name));
    if (!copy)
        return nwi_fail_nomem(err, strlen(name) + 1);
    output->others[output->n_others++] = (struct nwi_output_other){
        .name = copy,
        .path = path,
        .text = text,
        .dtype = dtype,
        .last = output->pipeline && strcmp(name, "model_index.json") == 0,
    };
    return NW_OK;
}

static int add_configs(struct nwi_output *output, struct nw_error *err)
{
    char name[NWI_OUTPUT_PATH];
    for (size_t i = 0; i < output->n_sets; i++) {
        const struct nwi_output_set *set = &output->sets[i];
        const struct nw_plan *plan = set->plan;
        const char *path = plan->bindings.config_path;
        const char *text = plan->bindings.config_text;
        if (!path && !text)
            path = plan->ckpt->components[plan->component].config_path;
        if (!path && !text)
            continue;
        nwi_output_join(set->folder, "config.json", name);
        NWI_TRY(nwi_output_add_other(output, name, text ? NULL : path, text, set->dtype,
                                     err));
    }
    return NW_OK;
}

static bool is_written(const struct nwi_output *output, uint32_t component)
{
    for (size_t i = 0; i < output->n_sets; i++) {
        if (output->sets[i].plan->component == component)
            return true;
    }
    return false;
}

/* Name below the root of a file of the input, or NULL if it does not go along: what
 * belongs to a component that is not written, and, where one component of a pipeline
 * becomes a folder of its own, all that is not in that component's folder. */
static const char *name_of(const struct nwi_output *output,
                           const struct nwi_other_file *other)
{
    if (other->component != NW_NONE && !is_written(output, other->component))
        return NULL;
    if (output->pipeline || !output->ckpt->is_pipeline)
        return other->name;
    if (other->component == NW_NONE)
        return NULL;
    const char *folder = output->ckpt->components[other->component].info.name;
    size_t size = strlen(folder);
    if (size && nwi_starts_with(other->name, folder) && other->name[size] == '/')
        return other->name + size + 1;
    return other->name;
}

static int add_others(struct nwi_output *output, struct nw_error *err)
{
    size_t n_configs = output->n_others;
    for (size_t i = 0; i < output->ckpt->n_others; i++) {
        const struct nwi_other_file *other = &output->ckpt->others[i];
        const char *name = name_of(output, other);
        if (name && !is_taken(output, n_configs, name))
            NWI_TRY(nwi_output_add_other(output, name, other->path, NULL, NULL, err));
    }
    return NW_OK;
}

/* ---- writing one ---- */

static int fail_input(const struct nwi_output_other *other, struct nw_error *err)
{
    int code = nwi_fail_sys(err, errno, "cannot read a file that belongs to the model");
    return nwi_error_in_file(err, code, other->path);
}

/* read, but for interrupts. */
static ssize_t read_piece(int fd, uint64_t offset, char *piece)
{
    ssize_t got = -1;
    do
        got = pread(fd, piece, PIECE, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got;
}

static int copy(struct nwi_output_other *other, int fd, struct nw_error *err)
{
    char piece[PIECE];
    ssize_t got = 0;
    uint64_t at = 0;
    int code = NW_OK;
    int in = open(other->path, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return fail_input(other, err);
    while (code == NW_OK && (got = read_piece(in, at, piece)) > 0) {
        code = nwi_output_pwrite(fd, at, piece, (size_t)got, err);
        at += (uint64_t)got;
    }
    if (code == NW_OK && got < 0)
        code = fail_input(other, err);
    (void)close(in);
    return code;
}

static int rewrite(const struct nwi_output *output,
                   const struct nwi_output_other *other, int fd, struct nw_error *err)
{
    struct nwi_arena arena;
    char *text = NULL;
    size_t size = 0;
    int code = NW_OK;
    nwi_arena_init(&arena, output->memory);
    if (other->path)
        code = nwi_file_slurp(other->path, CONFIG_MOST, &arena, &text, &size, err);
    if (code == NW_OK)
        code = nwi_output_config_write(other->path ? text : other->text,
                                       other->path ? size : strlen(other->text),
                                       other->dtype, fd, &arena, err);
    nwi_arena_release(&arena);
    return other->path ? nwi_error_in_file(err, code, other->path) : code;
}

/* True if the file at `name` holds the same bytes as fd. */
static bool is_same(const struct nwi_output *output, const char *name, int fd,
                    uint64_t size)
{
    char a[PIECE];
    char b[PIECE];
    struct stat st;
    int old = openat(output->root, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (old < 0)
        return false;
    bool same =
        fstat(old, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
    for (uint64_t at = 0; same && at < size;) {
        ssize_t got = read_piece(fd, at, a);
        same =
            got > 0 && read_piece(old, at, b) == got && memcmp(a, b, (size_t)got) == 0;
        at += same ? (uint64_t)got : 0;
    }
    (void)close(old);
    return same;
}

/* Keeps the temporary if it changes anything, and if it may. */
static int settle(struct nwi_output *output, struct nwi_output_other *other, int fd,
                  struct nw_error *err)
{
    char temp[NWI_OUTPUT_PATH];
    struct stat st;
    if (fstat(fd, &st) != 0)
        return nwi_fail_sys(err, errno, "cannot look at the file that was written");
    other->nbytes = (uint64_t)st.st_size;
    /* model_index.json is replaced while the rest changes, even if it stays the same. */
    if (!other->last && is_same(output, other->name, fd, other->nbytes)) {
        nwi_output_temp_name(output, other->name, temp);
        (void)unlinkat(output->root, temp, 0);
        other->state = NWI_OUTPUT_ABSENT;
        return NW_OK;
    }
    if (!output->overwrite &&
        fstatat(output->root, other->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !is_same(output, other->name, fd, other->nbytes))
        return nwi_fail(err, NW_E_ARG,
                        "the file exists and differs (overwrite allows to replace it)");
    NWI_TRY(nwi_output_fsync(fd, err));
    other->state = NWI_OUTPUT_SYNCED;
    return NW_OK;
}

static int write_other(struct nwi_output *output, struct nwi_output_other *other,
                       struct nw_error *err)
{
    char folder[NWI_OUTPUT_PATH];
    int fd = -1;
    nwi_output_folder_of(other->name, folder);
    NWI_TRY(nwi_output_make_folder(output, folder, err));
    NWI_TRY(nwi_output_create(output, other->name, &fd, err));
    other->state = NWI_OUTPUT_TEMPORARY;
    int code = NW_OK;
    if (other->dtype)
        code = rewrite(output, other, fd, err);
    else if (other->text)
        code = nwi_output_pwrite(fd, 0, other->text, strlen(other->text), err);
    else
        code = copy(other, fd, err);
    if (code == NW_OK)
        code = settle(output, other, fd, err);
    (void)close(fd);
    return nwi_output_in_file(output, other->name, err, code);
}

int nwi_output_write_others(struct nwi_output *output, struct nw_error *err)
{
    if (output->single)
        return NW_OK;
    NWI_TRY(add_configs(output, err));
    if (output->parts && output->pipeline)
        NWI_TRY(nwi_output_add_pipeline(output, err));
    else if (!output->parts)
        NWI_TRY(add_others(output, err));
    for (size_t i = 0; i < output->n_others; i++)
        NWI_TRY(write_other(output, &output->others[i], err));
    return NW_OK;
}
