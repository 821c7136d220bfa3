/* SPDX-License-Identifier: Apache-2.0
 * Where an output goes: one file or a folder, and whether it may be written. All names
 * below the root are reached through its descriptor. */
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "run/output_parts.h"

int nwi_output_in_file(const struct nwi_output *output, const char *name,
                       struct nw_error *err, int code)
{
    char path[2 * NWI_OUTPUT_PATH];
    (void)snprintf(path, sizeof path, "%s/%s", output->root_path, name);
    return nwi_error_in_file(err, code, path);
}

static int open_root(struct nwi_output *output, struct nw_error *err)
{
    output->root = open(output->root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->root >= 0)
        return NW_OK;
    int code = nwi_fail_sys(err, errno, "cannot open the folder to write to");
    return nwi_error_in_file(err, code, output->root_path);
}

/* ---- one file ---- */

static int check_single(const char *path, bool overwrite, struct nw_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return NW_OK; /* what is wrong with the path, opening its folder will tell */
    if (S_ISLNK(st.st_mode) && stat(path, &st) != 0)
        st.st_mode = S_IFREG; /* a link to nothing: replaced like a link to a file */
    if (S_ISDIR(st.st_mode))
        return nwi_fail(
            err, NW_E_ARG,
            "a folder of that name exists, and .safetensors asks for a file");
    if (!S_ISREG(st.st_mode))
        return nwi_fail(err, NW_E_ARG, "what exists there is no regular file");
    if (!overwrite)
        return nwi_fail(err, NW_E_ARG,
                        "the file exists (overwrite allows to replace it)");
    return NW_OK;
}

static int open_single(struct nwi_output *output, const char *path,
                       struct nw_error *err)
{
    if (output->n_sets > 1)
        return nwi_fail(err, NW_E_ARG,
                        "%zu components cannot go into one file: give a folder",
                        output->n_sets);
    if (output->variant)
        return nwi_fail(
            err, NW_E_ARG,
            "a variant is part of a folder's names: give a folder, or put it "
            "into the name of the file");
    int code = check_single(path, output->overwrite, err);
    if (code != NW_OK)
        return nwi_error_in_file(err, code, path);
    output->root_path = nwi_path_dir(&output->arena, path);
    const char *base = nwi_path_base(path);
    output->single = nwi_arena_copy(&output->arena, base, strlen(base));
    if (!output->root_path || !output->single)
        return nwi_fail_nomem(err, strlen(path) + 1);
    return open_root(output, err);
}

/* ---- a folder ---- */

static int make_root(struct nwi_output *output, const char *path, struct nw_error *err)
{
    output->root_path = nwi_arena_copy(&output->arena, path, strlen(path));
    if (!output->root_path)
        return nwi_fail_nomem(err, strlen(path) + 1);
    if (mkdir(path, 0777) == 0) {
        output->root_created = true;
    } else if (errno != EEXIST) {
        int code = nwi_fail_sys(err, errno, "cannot make the folder");
        return nwi_error_in_file(err, code, path);
    } else if (nwi_path_kind(path) != NWI_PATH_FOLDER) {
        int code = nwi_fail(err, NW_E_ARG,
                            "what exists there is no folder (a name that ends in "
                            ".safetensors asks for a file)");
        return nwi_error_in_file(err, code, path);
    }
    return open_root(output, err);
}

int nwi_output_each_name(const struct nwi_output *output, const char *folder,
                         int (*fn)(void *ctx, const char *name), void *ctx,
                         struct nw_error *err)
{
    int fd = openat(output->root, folder[0] ? folder : ".",
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return NW_OK;
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        int code = nwi_fail_sys(err, errno, "cannot list the folder");
        if (fd >= 0)
            (void)close(fd);
        return nwi_output_in_file(output, folder, err, code);
    }
    int code = NW_OK;
    while (code == NW_OK) {
        errno = 0;
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this stream */
        const struct dirent *entry = readdir(entries);
        if (!entry && errno != 0)
            code = nwi_fail_sys(err, errno, "cannot list the folder");
        if (!entry)
            break;
        code = fn(ctx, entry->d_name);
    }
    (void)closedir(entries);
    return nwi_output_in_file(output, folder, err, code);
}

struct search {
    const struct nwi_output *output;
    const struct nwi_output_set *set;
    struct nw_error *err;
};

static int refuse_earlier(void *ctx, const char *name)
{
    const struct search *search = ctx;
    uint32_t numbers[2];
    if (nwi_save_kind(name, search->set->stem, search->output->variant, numbers) ==
        NWI_SAVE_NONE)
        return NW_OK;
    char path[NWI_OUTPUT_PATH];
    nwi_output_join(search->set->folder, name, path);
    int code = nwi_fail(search->err, NW_E_ARG,
                        "the folder holds weights of that name (overwrite allows to "
                        "replace them)");
    return nwi_output_in_file(search->output, path, search->err, code);
}

static bool is_safe(const char *name)
{
    for (const char *part = name;; part++) {
        size_t size = strcspn(part, "/");
        if (size == 0 || size > 255 || (size == 1 && part[0] == '.') ||
            (size == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += size;
        if (*part == '\0')
            return (size_t)(part - name) < NWI_OUTPUT_PATH / 2;
    }
}

static bool is_there(const struct nwi_output *output, const char *folder)
{
    struct stat st;
    return fstatat(output->root, folder, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static int make_one(struct nwi_output *output, const char *folder, struct nw_error *err)
{
    if (is_there(output, folder))
        return NW_OK;
    char *name = nwi_arena_copy(&output->arena, folder, strlen(folder));
    if (!name ||
        !nwi_arena_grow(&output->arena, (void **)&output->folders, output->n_folders,
                        &output->folders_room, sizeof *output->folders))
        return nwi_fail_nomem(err, strlen(folder) + 1);
    if (mkdirat(output->root, folder, 0777) == 0) {
        output->folders[output->n_folders++] = name;
        return NW_OK;
    }
    int code = nwi_fail_sys(err, errno, "cannot make the folder");
    return nwi_output_in_file(output, folder, err, code);
}

int nwi_output_make_folder(struct nwi_output *output, const char *name,
                           struct nw_error *err)
{
    char part[NWI_OUTPUT_PATH];
    if (name[0] == '\0')
        return NW_OK;
    if (!is_safe(name)) {
        int code = nwi_fail(err, NW_E_UNSAFE_PATH, "the name leaves the output folder");
        return nwi_output_in_file(output, name, err, code);
    }
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        memcpy(part, name, (size_t)(slash - name));
        part[slash - name] = '\0';
        NWI_TRY(make_one(output, part, err));
    }
    return make_one(output, name, err);
}

static int open_folder(struct nwi_output *output, const char *path,
                       struct nw_error *err)
{
    NWI_TRY(make_root(output, path, err));
    for (size_t i = 0; i < output->n_sets && !output->overwrite; i++) {
        struct search search = {output, &output->sets[i], err};
        NWI_TRY(nwi_output_each_name(output, output->sets[i].folder, refuse_earlier,
                                     &search, err));
    }
    for (size_t i = 0; i < output->n_sets; i++)
        NWI_TRY(nwi_output_make_folder(output, output->sets[i].folder, err));
    return NW_OK;
}

int nwi_output_open_target(struct nwi_output *output, const char *path,
                           struct nw_error *err)
{
    if (path[0] == '\0')
        return nwi_fail(err, NW_E_ARG, "the path to write to is empty");
    if (strlen(path) >= NWI_OUTPUT_PATH)
        return nwi_fail(err, NW_E_ARG, "the path to write to is longer than %u bytes",
                        NWI_OUTPUT_PATH - 1);
    if (nwi_ends_with(path, ".gguf"))
        return nwi_fail(err, NW_E_UNSUPPORTED, "GGUF files cannot be written yet");
    return nwi_ends_with(path, ".safetensors") ? open_single(output, path, err)
                                               : open_folder(output, path, err);
}

/* ---- temporaries ---- */

int nwi_output_create(const struct nwi_output *output, const char *name, int *fd,
                      struct nw_error *err)
{
    char temp[NWI_OUTPUT_PATH];
    struct stat old;
    nwi_output_temp_name(output, name, temp);
    *fd = openat(output->root, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                 0666);
    if (*fd < 0) {
        int code = nwi_fail_sys(err, errno, "cannot create the file");
        return nwi_output_in_file(output, temp, err, code);
    }
    if (fstatat(output->root, name, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(old.st_mode))
        (void)fchmod(*fd, old.st_mode & 0777);
    return NW_OK;
}
