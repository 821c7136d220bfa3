/* SPDX-License-Identifier: Apache-2.0
 * Bytes into the temporaries: workers write where the layout says, several at a time.
 *
 * Dirty pages are sent to the disk as they come, in windows of 8 MiB with up to eight
 * on their way, so that the fsync at the end is short and a small memory cgroup is not
 * filled with pages that cannot be given back. A file is synced and closed by the
 * worker that brings its last byte. */
#define _GNU_SOURCE /* sync_file_range */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/arith.h"
#include "run/output_parts.h"

#define WINDOW_BYTES ((uint64_t)8 << 20)
#define WAIT_MS      1000u

int nwi_output_pwrite(int fd, uint64_t offset, const void *data, size_t size,
                      struct nw_error *err)
{
    const char *at = data;
    while (size > 0) {
        ssize_t n = pwrite(fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return nwi_fail_sys_at(err, n < 0 ? errno : EIO, offset,
                                   "cannot write %zu bytes", size);
        at += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return NW_OK;
}

int nwi_output_fsync(int fd, struct nw_error *err)
{
    int failed = -1;
    do
        failed = fsync(fd);
    while (failed && errno == EINTR);
    /* Some file systems have nothing to sync, and say so. */
    if (failed && errno != EINVAL && errno != EROFS)
        return nwi_fail_sys(err, errno, "cannot bring the file to the disk");
    return NW_OK;
}

int nwi_output_reserve(int fd, uint64_t nbytes, struct nw_error *err)
{
    int failed = -1;
    do
        failed = fallocate(fd, 0, 0, (off_t)nbytes);
    while (failed && errno == EINTR);
    if (failed &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
        return nwi_fail_sys(err, errno, "cannot reserve %llu bytes",
                            (unsigned long long)nbytes);
    return NW_OK;
}

/* ---- open files (everything inside the monitor) ---- */

static struct nwi_output_slot *find_slot(struct nwi_output *output, uint32_t file)
{
    for (size_t i = 0; i < NWI_OUTPUT_SLOTS; i++) {
        struct nwi_output_slot *slot = &output->slots[i];
        if (slot->fd >= 0 && slot->file == file)
            return slot;
    }
    return NULL;
}

/* A free slot, else the one unused for longest; NULL if all are in use. */
static struct nwi_output_slot *free_slot(struct nwi_output *output)
{
    struct nwi_output_slot *best = NULL;
    for (size_t i = 0; i < NWI_OUTPUT_SLOTS; i++) {
        struct nwi_output_slot *slot = &output->slots[i];
        if (slot->fd < 0)
            return slot;
        if (slot->users == 0 && (!best || slot->tick < best->tick))
            best = slot;
    }
    if (best) {
        (void)close(best->fd); /* its pages stay dirty until the file is complete */
        best->fd = -1;
    }
    return best;
}

static int open_slot(struct nwi_output *output, uint32_t file,
                     struct nwi_output_slot *slot, struct nw_error *err)
{
    char name[NWI_OUTPUT_PATH];
    char temp[NWI_OUTPUT_PATH];
    nwi_output_file_name(output, file, name);
    nwi_output_temp_name(output, name, temp);
    int fd = openat(output->root, temp, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        int code = nwi_fail_sys(err, errno, "cannot open the file again");
        return nwi_output_in_file(output, temp, err, code);
    }
    *slot = (struct nwi_output_slot){.fd = fd, .file = file};
    return NW_OK;
}

static int take_slot(struct nwi_output *output, uint32_t file,
                     struct nwi_output_slot **out, struct nw_error *err)
{
    int code = NW_OK;
    nwi_monitor_enter(&output->monitor);
    struct nwi_output_slot *slot = find_slot(output, file);
    while (!slot) {
        slot = free_slot(output);
        if (slot) {
            code = open_slot(output, file, slot, err);
            break;
        }
        (void)nwi_monitor_wait(&output->monitor, WAIT_MS);
        slot = find_slot(output, file);
    }
    if (code == NW_OK) {
        slot->users++;
        slot->tick = ++output->tick;
    }
    nwi_monitor_leave(&output->monitor);
    *out = slot;
    return code;
}

static void leave_slot(struct nwi_output *output, struct nwi_output_slot *slot)
{
    nwi_monitor_enter(&output->monitor);
    slot->users--;
    if (slot->users == 0 && slot->closing) {
        (void)close(slot->fd);
        slot->fd = -1;
    }
    if (slot->users == 0)
        nwi_monitor_signal(&output->monitor);
    nwi_monitor_leave(&output->monitor);
}

void nwi_output_close_slots(struct nwi_output *output)
{
    for (size_t i = 0; i < NWI_OUTPUT_SLOTS; i++) {
        if (output->slots[i].fd >= 0)
            (void)close(output->slots[i].fd);
        output->slots[i].fd = -1;
    }
}

/* ---- write-back ---- */

/* Adds what was written; at the end of a window hands it out to be started, with the
 * oldest of those on their way, to be waited for first. */
static void note_dirty(struct nwi_output *output, struct nwi_output_slot *slot,
                       struct nwi_output_range range, struct nwi_output_range *start,
                       struct nwi_output_range *wait)
{
    nwi_monitor_enter(&output->monitor);
    if (slot->dirty.end == 0)
        slot->dirty = range;
    slot->dirty.begin = nwi_min(slot->dirty.begin, range.begin);
    slot->dirty.end = nwi_max(slot->dirty.end, range.end);
    slot->dirty_bytes += range.end - range.begin;
    if (slot->dirty_bytes >= WINDOW_BYTES) {
        struct nwi_output_range *oldest =
            &slot->windows[slot->n_windows % NWI_OUTPUT_WINDOWS];
        *wait = *oldest;
        *start = slot->dirty;
        *oldest = slot->dirty;
        slot->n_windows++;
        slot->dirty = (struct nwi_output_range){0};
        slot->dirty_bytes = 0;
    }
    nwi_monitor_leave(&output->monitor);
}

static int sync_range(int fd, struct nwi_output_range range, unsigned flags,
                      struct nw_error *err)
{
    if (range.end == 0)
        return NW_OK;
    if (sync_file_range(fd, (off_t)range.begin, (off_t)(range.end - range.begin),
                        flags) == 0)
        return NW_OK;
    /* Only a help: where it is not known, fsync does all of it. A lost write is
     * reported. */
    if (errno != EIO && errno != ENOSPC && errno != EDQUOT)
        return NW_OK;
    return nwi_fail_sys_at(err, errno, range.begin,
                           "cannot bring %llu bytes to the disk",
                           (unsigned long long)(range.end - range.begin));
}

static int send_on(struct nwi_output *output, struct nwi_output_slot *slot,
                   struct nwi_output_range range, struct nw_error *err)
{
    struct nwi_output_range start = {0};
    struct nwi_output_range wait = {0};
    note_dirty(output, slot, range, &start, &wait);
    NWI_TRY(sync_range(slot->fd, start, SYNC_FILE_RANGE_WRITE, err));
    return sync_range(slot->fd, wait, SYNC_FILE_RANGE_WAIT_BEFORE, err);
}

/* The last byte is there. */
static int complete(struct nwi_output *output, struct nwi_output_slot *slot,
                    struct nw_error *err)
{
    NWI_TRY(nwi_output_fsync(slot->fd, err));
    atomic_store(&output->files[slot->file].state, NWI_OUTPUT_SYNCED);
    nwi_monitor_enter(&output->monitor);
    slot->closing = true;
    nwi_monitor_leave(&output->monitor);
    return NW_OK;
}

static int write_range(struct nwi_output *output, struct nwi_output_slot *slot,
                       uint64_t offset, const void *data, size_t nbytes,
                       struct nw_error *err)
{
    struct nwi_output_file *file = &output->files[slot->file];
    struct nwi_output_range range = {offset, offset + nbytes};
    NWI_TRY(nwi_output_pwrite(slot->fd, offset, data, nbytes, err));
    NWI_TRY(send_on(output, slot, range, err));
    uint64_t before = atomic_fetch_sub(&file->left, nbytes);
    assert(before >= nbytes);
    return before == nbytes ? complete(output, slot, err) : NW_OK;
}

int nwi_output_write(void *ctx, size_t target, uint64_t offset, const void *data,
                     size_t nbytes, struct nw_error *err)
{
    struct nwi_output *output = ctx;
    struct nwi_output_place *place = &output->places[target];
    struct nwi_output_slot *slot = NULL;
    if (nbytes == 0)
        return NW_OK;
    NWI_TRY(take_slot(output, place->file, &slot, err));
    int code = write_range(output, slot, place->offset + offset, data, nbytes, err);
    leave_slot(output, slot);
    if (code != NW_OK) {
        char name[NWI_OUTPUT_PATH];
        nwi_output_file_name(output, place->file, name);
        return nwi_output_in_file(output, name, err, code);
    }
    return NW_OK;
}
