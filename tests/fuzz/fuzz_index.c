/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as the JSON files of a folder: index, config.json, model_index.json. One inode
 * under three names in a small folder of real weights; nothing outside may be opened. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/stat.h>

#include "check.h"

static const char weights[] =
    "\x37\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],"
    "\"data_offsets\":[0,4]}} 0123";

static const char *const folders[] = {"", "unet", "vae"};
static const char *const files[] = {"unet/a.safetensors", "unet/b.safetensors",
                                    "vae/model.safetensors"};
static const char *const jsons[] = {"model_index.json", "unet/config.json",
                                    "unet/model.safetensors.index.json",
                                    "vae/model.safetensors.index.fp16.json"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static char root[64]; /* "" before the first input */

static const char *below(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void remove_all(void)
{
    for (size_t i = 0; i < COUNT(files); i++)
        (void)unlink(below(files[i]));
    for (size_t i = 0; i < COUNT(jsons); i++)
        (void)unlink(below(jsons[i]));
    for (size_t i = COUNT(folders); i-- > 0;)
        (void)rmdir(below(folders[i]));
}

static void write_file(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0);
    require(write(fd, data, size) == (ssize_t)size);
    (void)close(fd);
}

static void make_all(void)
{
    char first[256];
    (void)snprintf(root, sizeof root, "%s/netweight-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(root) != NULL);
    require(atexit(remove_all) == 0);
    for (size_t i = 1; i < COUNT(folders); i++)
        require(mkdir(below(folders[i]), 0700) == 0);
    for (size_t i = 0; i < COUNT(files); i++)
        write_file(below(files[i]), weights, sizeof weights - 1);
    (void)snprintf(first, sizeof first, "%s", below(jsons[0]));
    write_file(first, "", 0);
    for (size_t i = 1; i < COUNT(jsons); i++)
        require(link(first, below(jsons[i])) == 0);
}

static void check_inside(const struct nw_checkpoint *ckpt)
{
    char real[4096];
    for (size_t i = 0; i < ckpt->n_files; i++) {
        if (!ckpt->files[i].file)
            continue;
        require(realpath(ckpt->files[i].info.path, real) != NULL);
        require(strncmp(real, root, strlen(root)) == 0);
    }
}

static void open_path(const char *name, uint32_t flags, const char *variant)
{
    struct nw_open_options options = NW_OPTIONS_INIT(options);
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    options.flags = flags;
    options.variant = variant;
    int code = nw_open(below(name), &options, &ckpt, &err);
    require(code == err.code);
    if (code != NW_OK) {
        require(ckpt == NULL && err.message[0] != '\0' && err.file[0] != '\0');
        return;
    }
    check_checkpoint(ckpt);
    check_inside(ckpt);
    nw_checkpoint_free(ckpt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!root[0])
        make_all();
    write_file(below(jsons[0]), data, size);
    open_path("", 0, NULL);
    open_path("", NW_OPEN_REPORT, "fp16");
    open_path("unet", NW_OPEN_REPORT, NULL);
    open_path("unet/model.safetensors.index.json", 0, NULL);
    return 0;
}
