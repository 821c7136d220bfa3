/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "find.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"
#include "text.h"

#define DEPTH_MAX 40 /* folders in folders; ends loops of links too */

struct search {
    const struct cli *cli;
    cli_found_fn *found;
    void *ctx;
    struct nw_error *err;
};

static bool looks_like_one(const char *name)
{
    static const char *const suffixes[] = {".safetensors", ".sft", ".gguf", ".ckpt",
                                           ".pt",          ".pth", ".bin",  ".dduf"};
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t suffix = strlen(suffixes[i]);
        if (size > suffix && strcmp(name + size - suffix, suffixes[i]) == 0)
            return true;
    }
    return false;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int search_folder(const struct search *s, const char *path, unsigned depth);

/* One entry of a folder; `name` is NULL if files do not count. */
static int search_entry(const struct search *s, const char *path, const char *name,
                        unsigned depth)
{
    struct stat info;
    bool link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    bool there = stat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        return link && !s->cli->options.follow_links ? 0
                                                     : search_folder(s, path, depth);
    bool wanted = name != NULL && looks_like_one(name);
    return wanted && (!there || S_ISREG(info.st_mode)) ? s->found(s->ctx, path, NULL)
                                                       : 0;
}

static int search_below(const struct search *s, const char *path, bool folders_only,
                        unsigned depth)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, visible, alphasort);
    int stop = 0;
    if (n < 0) {
        s->err->sys = errno;
        (void)cli_error(s->err, errno == ENOMEM ? NW_E_NOMEM : NW_E_IO,
                        "the folder cannot be read");
        (void)snprintf(s->err->file, sizeof s->err->file, "%s", path);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        struct cli_text child = {0};
        cli_text_printf(&child, "%s%s%s", path,
                        path[strlen(path) - 1] == '/' ? "" : "/", entries[i]->d_name);
        cli_text_add(&child, "", 1); /* the NUL */
        if (stop == 0 && child.failed) {
            (void)cli_error(s->err, NW_E_NOMEM, "out of memory");
            stop = 1;
        } else if (stop == 0) {
            stop = search_entry(s, child.data, folders_only ? NULL : entries[i]->d_name,
                                depth + 1);
        }
        cli_text_release(&child);
        free(entries[i]);
    }
    free(entries);
    return stop;
}

/* Weights without any config, in the folder itself: more may lie below it, which is not so for
 * the folder of a model, a pipeline, or an entry of a hub cache. */
static bool is_loose(const struct nw_checkpoint *ckpt, const char *folder)
{
    size_t size = strlen(folder);
    size_t n = nw_checkpoint_file_count(ckpt);
    for (size_t i = 0; i < n; i++) {
        struct nw_stored_file file;
        if (nw_checkpoint_file(ckpt, i, &file) != NW_OK || !file.used)
            continue;
        bool config = file.container != NULL && strcmp(file.container, "config") == 0;
        if (config || strncmp(file.path, folder, size) != 0 ||
            strchr(file.path + size + 1, '/') != NULL)
            return false;
    }
    return true;
}

static int search_folder(const struct search *s, const char *path, unsigned depth)
{
    struct nw_checkpoint *ckpt = NULL;
    struct nw_error err;
    int code = cli_open(s->cli, path, &ckpt, &err);
    if (code == NW_OK) {
        bool deeper = depth < DEPTH_MAX && is_loose(ckpt, path);
        int stop = s->found(s->ctx, path, ckpt);
        return stop != 0 || !deeper ? stop : search_below(s, path, true, depth);
    }
    /* Nothing here that could be a model, or only files that are told one by one: look below.
     * Anything else is a model that is broken, which `found` will say. */
    bool none = code == NW_E_NOT_FOUND || code == NW_E_UNSUPPORTED || code == NW_E_ARG;
    if (!none || depth >= DEPTH_MAX)
        return s->found(s->ctx, path, NULL);
    return search_below(s, path, false, depth);
}

int cli_find(const struct cli *cli, const char *path, cli_found_fn *found, void *ctx,
             struct nw_error *err)
{
    struct search s = {cli, found, ctx, err};
    struct stat info;
    *err = (struct nw_error){.offset = NW_OFFSET_NONE};
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        (void)found(ctx, path, NULL);
    else
        (void)search_folder(&s, path, 0);
    return err->code;
}
