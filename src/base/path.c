/* SPDX-License-Identifier: Apache-2.0
 * Paths and folders. */
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

enum nwi_path_kind nwi_path_kind(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return NWI_PATH_ABSENT;
    if (S_ISDIR(st.st_mode))
        return NWI_PATH_FOLDER;
    return S_ISREG(st.st_mode) ? NWI_PATH_FILE : NWI_PATH_OTHER;
}

bool nwi_path_is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

char *nwi_path_real(const char *path, struct nwi_arena *arena)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return NULL;
    return nwi_arena_copy(arena, real, strlen(real));
}

char *nwi_path_join(struct nwi_arena *arena, const char *dir, const char *name)
{
    size_t size = dir ? strlen(dir) : 0;
    if (size == 0)
        return nwi_arena_copy(arena, name, strlen(name));
    return nwi_arena_printf(arena, "%s%s%s", dir, dir[size - 1] == '/' ? "" : "/",
                            name);
}

/* Length without trailing slashes, and *base: where the last part begins in that. */
static size_t split(const char *path, size_t *base)
{
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] == '/')
        size--;
    *base = size;
    while (*base > 0 && path[*base - 1] != '/')
        (*base)--;
    return size;
}

const char *nwi_path_base(const char *path)
{
    size_t base = 0;
    (void)split(path, &base);
    return path + base;
}

char *nwi_path_dir(struct nwi_arena *arena, const char *path)
{
    size_t base = 0;
    (void)split(path, &base);
    size_t size = base;
    while (size > 0 && path[size - 1] == '/')
        size--;
    if (size > 0)
        return nwi_arena_copy(arena, path, size);
    return nwi_arena_copy(arena, path[0] == '/' ? "/" : ".", 1);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Adds every name in the order of the system. */
static int list(DIR *folder, struct nwi_arena *arena, char ***names, size_t *n,
                struct nw_error *err)
{
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        /* Of a stream nobody else has. NOLINTNEXTLINE(concurrency-mt-unsafe) */
        const struct dirent *entry = readdir(folder);
        if (!entry && errno != 0)
            return nwi_fail_sys(err, errno, "cannot list the folder");
        if (!entry)
            return NW_OK;
        if (is_dots(entry->d_name))
            continue;
        size_t size = strlen(entry->d_name);
        char *name = nwi_arena_copy(arena, entry->d_name, size);
        if (!name)
            return nwi_fail_nomem(err, size + 1);
        if (!nwi_arena_grow(arena, (void **)names, *n, &capacity, sizeof **names))
            return nwi_fail_nomem(err, 2 * capacity * sizeof **names);
        (*names)[(*n)++] = name;
    }
}

int nwi_folder_list(const char *path, struct nwi_arena *arena, char ***names, size_t *n,
                    struct nw_error *err)
{
    *names = NULL;
    *n = 0;
    DIR *folder = opendir(path);
    if (!folder) {
        int code = nwi_fail_sys(err, errno, "cannot open the folder");
        return nwi_error_in_file(err, code, path);
    }
    int code = list(folder, arena, names, n, err);
    (void)closedir(folder);
    if (code != NW_OK) {
        *names = NULL;
        *n = 0;
        return nwi_error_in_file(err, code, path);
    }
    if (*n > 1)
        qsort(*names, *n, sizeof **names, compare_names);
    return NW_OK;
}
