/* SPDX-License-Identifier: Apache-2.0
 * Open inputs. Reads go through read_part(), one row of behaviour a kind. */
#define _GNU_SOURCE

#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arith.h"

/* Linux moves at most 0x7ffff000 bytes a call; a round number below that keeps the
 * following reads aligned. */
#define LARGEST_READ ((size_t)1 << 30)

static struct nwi_file_identity identity_of(const struct stat *st)
{
    return (struct nwi_file_identity){
        .size = (uint64_t)st->st_size,
        .device = (uint64_t)st->st_dev,
        .inode = (uint64_t)st->st_ino,
        .n_links = (uint64_t)st->st_nlink,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
    };
}

/* A file of that kind without anything in it. NULL if refused. */
static struct nwi_file *new_file(enum nwi_file_kind kind, const char *path,
                                 struct nwi_memory *memory)
{
    struct nwi_file *file = nwi_zalloc(memory, sizeof *file);
    size_t path_size = strlen(path) + 1;
    char *copy = file ? nwi_alloc(memory, path_size) : NULL;
    if (!copy) {
        nwi_free(memory, file, sizeof *file);
        return NULL;
    }
    memcpy(copy, path, path_size);
    file->kind = kind;
    file->fd = -1;
    file->path = copy;
    file->path_size = path_size;
    file->memory = nwi_memory_retain(memory);
    file->refs = 1;
    return file;
}

static int refused(const char *path, struct nw_error *err)
{
    int code = nwi_fail_nomem(err, sizeof(struct nwi_file) + strlen(path) + 1);
    return nwi_error_in_file(err, code, path);
}

/* Takes the descriptor over, also on failure. */
static int adopt(int fd, const char *path, struct nwi_memory *memory,
                 struct nwi_file **out, struct nw_error *err)
{
    struct stat st;
    struct nwi_file *file = NULL;
    int code = NW_OK;
    if (fstat(fd, &st) != 0)
        code = nwi_fail_sys(err, errno, "cannot stat the file");
    else if (S_ISDIR(st.st_mode))
        code = nwi_fail(err, NW_E_ARG, "a folder where a file is needed");
    else if (!S_ISREG(st.st_mode))
        code = nwi_fail(err, NW_E_ARG,
                        "not a regular file, so it cannot be read at offsets");
    else
        file = new_file(NWI_FILE_FD, path, memory);
    if (!file) {
        (void)close(fd);
        return code == NW_OK ? refused(path, err) : nwi_error_in_file(err, code, path);
    }
    file->fd = fd;
    file->identity = identity_of(&st);
    *out = file;
    return NW_OK;
}

static int fail_open(const char *path, bool no_follow, int sys, struct nw_error *err)
{
    int code = NW_OK;
    if (no_follow && sys == ELOOP)
        code = nwi_fail(err, NW_E_UNSAFE_PATH,
                        "the path is a link, which is not followed");
    else if (sys == ENXIO || sys == ENODEV) /* a socket, or a device without a driver */
        code = nwi_fail(err, NW_E_ARG,
                        "not a regular file, so it cannot be read at offsets");
    else
        code = nwi_fail_sys(err, sys, "cannot open the file");
    return nwi_error_in_file(err, code, path);
}

int nwi_file_open(const char *path, bool no_follow, struct nwi_memory *memory,
                  struct nwi_file **out, struct nw_error *err)
{
    /* O_NONBLOCK: a FIFO nobody writes to must not hang. Taken off again, because
     * io_uring heeds it on regular files. */
    int flags =
        O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (no_follow ? O_NOFOLLOW : 0);
    *out = NULL;
    int fd = open(path, flags);
    if (fd < 0)
        return fail_open(path, no_follow, errno, err);
    NWI_TRY(adopt(fd, path, memory, out, err));
    int now = fcntl(fd, F_GETFL);
    if (now >= 0)
        (void)fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
    return NW_OK;
}

int nwi_file_from_fd(int fd, const char *name, struct nwi_memory *memory,
                     struct nwi_file **out, struct nw_error *err)
{
    const char *path = name ? name : "(descriptor)";
    *out = NULL;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) {
        int code = nwi_fail(err, NW_E_ARG, "descriptor %d is not open for reading", fd);
        return nwi_error_in_file(err, code, path);
    }
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        int code = nwi_fail_sys(err, errno, "cannot duplicate descriptor %d", fd);
        return nwi_error_in_file(err, code, path);
    }
    return adopt(own, path, memory, out, err);
}

int nwi_file_from_memory(const void *data, size_t size, const char *name,
                         struct nwi_memory *memory, struct nwi_file **out,
                         struct nw_error *err)
{
    const char *path = name ? name : "(memory)";
    *out = NULL;
    if (!data && size) {
        int code = nwi_fail(err, NW_E_ARG, "no data, but %zu bytes of it", size);
        return nwi_error_in_file(err, code, path);
    }
    struct nwi_file *file = new_file(NWI_FILE_MEMORY, path, memory);
    if (!file)
        return refused(path, err);
    file->data = data;
    file->identity.size = size;
    *out = file;
    return NW_OK;
}

int nwi_file_from_input(const struct nw_input *input, const char *name,
                        struct nwi_memory *memory, struct nwi_file **out,
                        struct nw_error *err)
{
    const char *path = name ? name : "(input)";
    *out = NULL;
    if (!input || !input->read_at) {
        int code = nwi_fail(err, NW_E_ARG, "an input without read_at");
        return nwi_error_in_file(err, code, path);
    }
    struct nwi_file *file = new_file(NWI_FILE_INPUT, path, memory);
    if (!file)
        return refused(path, err);
    file->input = *input;
    file->identity.size = input->size_bytes;
    *out = file;
    return NW_OK;
}

struct nwi_file *nwi_file_retain(struct nwi_file *file)
{
    if (file)
        (void)__atomic_add_fetch(&file->refs, 1, __ATOMIC_RELAXED);
    return file;
}

void nwi_file_release(struct nwi_file *file)
{
    if (!file || __atomic_sub_fetch(&file->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    struct nwi_memory *memory = file->memory;
    if (file->fd >= 0)
        (void)close(file->fd);
    nwi_free(memory, file->path, file->path_size);
    nwi_free(memory, file, sizeof *file);
    nwi_memory_release(memory);
}

/* ---- reading ---- */

/* What is left from offset on in a source of known size, at most `size`. */
static size_t clamp(uint64_t total, uint64_t offset, size_t size)
{
    return (size_t)nwi_min(nwi_sub_floor(total, offset), size);
}

/* Each returns 0 or an errno; *got is 0 at the end of the file, else at least 1. */
static int read_fd(const struct nwi_file *file, uint64_t offset, void *dst, size_t size,
                   size_t *got)
{
    ssize_t n = 0;
    *got = 0;
    if (offset > INT64_MAX)
        return 0;
    /* An offset near the largest off_t would make the kernel refuse the sum. */
    size = (size_t)nwi_min(size, nwi_min(LARGEST_READ, (uint64_t)INT64_MAX - offset));
    do {
        n = pread(file->fd, dst, size, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno;
    *got = (size_t)n;
    return 0;
}

static int read_memory(const struct nwi_file *file, uint64_t offset, void *dst,
                       size_t size, size_t *got)
{
    *got = clamp(file->identity.size, offset, size);
    if (*got)
        memcpy(dst, (const char *)file->data + offset, *got);
    return 0;
}

static int read_input(const struct nwi_file *file, uint64_t offset, void *dst,
                      size_t size, size_t *got)
{
    size_t n = clamp(file->identity.size, offset, size);
    int sys = n ? file->input.read_at(file->input.ctx, offset, dst, n) : 0;
    *got = sys == 0 ? n : 0;
    return sys;
}

static int read_part(const struct nwi_file *file, uint64_t offset, void *dst,
                     size_t size, size_t *got)
{
    if (file->kind == NWI_FILE_FD)
        return read_fd(file, offset, dst, size, got);
    if (file->kind == NWI_FILE_MEMORY)
        return read_memory(file, offset, dst, size, got);
    return read_input(file, offset, dst, size, got);
}

int nwi_file_read_some(const struct nwi_file *file, uint64_t offset, void *dst,
                       size_t size, size_t *got, struct nw_error *err)
{
    *got = 0;
    while (*got < size) {
        size_t n = 0;
        uint64_t at = offset + *got;
        int sys = read_part(file, at, (char *)dst + *got, size - *got, &n);
        if (sys != 0) {
            int code =
                nwi_fail_sys_at(err, sys, at, "cannot read %zu bytes at byte %" PRIu64,
                                size - *got, at);
            *got = 0;
            return nwi_error_in_file(err, code, file->path);
        }
        if (n == 0)
            break;
        *got += n;
    }
    return NW_OK;
}

/* The file ended at `at`, before `size` bytes from `offset` on were there. */
static int fail_end(const struct nwi_file *file, uint64_t offset, size_t size,
                    uint64_t at, struct nw_error *err)
{
    uint64_t opened = file->identity.size;
    int code = NW_OK;
    if (at < opened)
        code = nwi_fail_at(err, NW_E_CHANGED, at,
                           "the file ends at byte %" PRIu64 ", but had %" PRIu64
                           " bytes when it was opened",
                           at, opened);
    else
        code = nwi_fail_at(err, NW_E_TRUNCATED, at,
                           "%zu bytes are needed from byte %" PRIu64
                           ", but the file ends at byte %" PRIu64,
                           size, offset, opened);
    return nwi_error_in_file(err, code, file->path);
}

int nwi_file_read(const struct nwi_file *file, uint64_t offset, void *dst, size_t size,
                  struct nw_error *err)
{
    size_t got = 0;
    NWI_TRY(nwi_file_read_some(file, offset, dst, size, &got, err));
    return got == size ? NW_OK : fail_end(file, offset, size, offset + got, err);
}

int nwi_file_slurp(const char *path, uint64_t limit, struct nwi_arena *arena,
                   char **out, size_t *out_size, struct nw_error *err)
{
    struct nwi_file *file = NULL;
    char *text = NULL;
    *out = NULL;
    *out_size = 0;
    int code = nwi_file_open(path, false, arena->memory, &file, err);
    if (code != NW_OK)
        return code;
    assert(file);
    uint64_t size = file->identity.size;
    if (size > limit || size >= SIZE_MAX) {
        code =
            nwi_fail(err, NW_E_LIMIT,
                     "the file has %" PRIu64 " bytes, more than the limit of %" PRIu64,
                     size, limit);
        goto out;
    }
    text = nwi_arena_alloc(arena, (size_t)size + 1);
    if (!text) {
        code = nwi_fail_nomem(err, size + 1);
        goto out;
    }
    code = nwi_file_read(file, 0, text, (size_t)size, err);
    if (code != NW_OK)
        goto out;
    text[size] = '\0';
    *out = text;
    *out_size = (size_t)size;
out:
    nwi_file_release(file);
    return nwi_error_in_file(err, code, path);
}

/* ---- identity ---- */

static int fail_changed(const struct nwi_file *file, const char *what, int64_t before,
                        int64_t now, struct nw_error *err)
{
    int code =
        nwi_fail(err, NW_E_CHANGED,
                 "%s changed from %" PRId64 " to %" PRId64 " while the file was in use",
                 what, before, now);
    return nwi_error_in_file(err, code, file->path);
}

int nwi_file_check_unchanged(const struct nwi_file *file, struct nw_error *err)
{
    struct stat st;
    const struct nwi_file_identity *was = &file->identity;
    if (file->kind != NWI_FILE_FD)
        return NW_OK;
    if (fstat(file->fd, &st) != 0) {
        int code = nwi_fail_sys(err, errno, "cannot stat the file");
        return nwi_error_in_file(err, code, file->path);
    }
    struct nwi_file_identity is = identity_of(&st);
    if (is.size != was->size)
        return fail_changed(file, "the size in bytes", (int64_t)was->size,
                            (int64_t)is.size, err);
    if (is.inode != was->inode || is.device != was->device)
        return fail_changed(file, "the inode", (int64_t)was->inode, (int64_t)is.inode,
                            err);
    if (is.mtime_ns != was->mtime_ns)
        return fail_changed(file, "the modification time in ns", was->mtime_ns,
                            is.mtime_ns, err);
    /* A name that came or went (the file was deleted or replaced) changes no byte. */
    if (is.ctime_ns != was->ctime_ns && is.n_links == was->n_links)
        return fail_changed(file, "the change time in ns", was->ctime_ns, is.ctime_ns,
                            err);
    return NW_OK;
}
