/* SPDX-License-Identifier: Apache-2.0
 * The readers that wait for every read: pread (the page cache, or a caller's input),
 * direct (O_DIRECT), mmap (a mapping under a lease: run/window.h). */
#define _GNU_SOURCE

#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arith.h"

static const struct nwi_file *unit_file(const struct nwi_worker *worker,
                                        const struct nwi_slot *slot)
{
    return worker->run->ckpt->files[slot->unit.file].file;
}

static int read_in_place(struct nwi_worker *worker, struct nwi_slot *slot,
                         struct nw_error *err)
{
    struct nwi_piece piece;
    slot->data = NULL;
    for (size_t at = slot->unit.first_step;
         nwi_unit_piece(worker->run, &slot->unit, &at, &piece);) {
        uint8_t *dst = (uint8_t *)piece.state->dst + piece.dst_offset;
        NWI_TRY(nwi_file_read(unit_file(worker, slot), piece.offset, dst,
                              (size_t)piece.nbytes, err));
    }
    return NW_OK;
}

int nwi_read_buffered(struct nwi_worker *worker, struct nwi_slot *slot,
                      struct nw_error *err)
{
    slot->data = slot->buffer;
    return nwi_file_read(unit_file(worker, slot), slot->unit.begin, slot->buffer,
                         (size_t)(slot->unit.end - slot->unit.begin), err);
}

static int submit(struct nwi_worker *worker, struct nwi_slot *slot,
                  struct nw_error *err)
{
    (void)worker;
    (void)slot;
    (void)err;
    return NW_OK;
}

/* Synchronous readers have one slot: it is the busy one. */
static int wait_pread(struct nwi_worker *worker, struct nwi_slot **out,
                      struct nw_error *err)
{
    struct nwi_slot *slot = *out = &worker->slots[0];
    if (nwi_unit_in_place(worker->run, &slot->unit))
        return read_in_place(worker, slot, err);
    return nwi_read_buffered(worker, slot, err);
}

void nwi_direct_range(const struct nwi_unit *unit, uint64_t *begin, uint64_t *end)
{
    *begin = unit->begin & ~(uint64_t)(NWI_DIRECT_ALIGN - 1);
    *end = nwi_round_up(unit->end, NWI_DIRECT_ALIGN);
}

/* Reads until `need` bytes are there; false on any obstacle: the buffered read tells
 * it. */
static bool pread_direct(int fd, uint8_t *buffer, uint64_t size, uint64_t need,
                         uint64_t offset)
{
    uint64_t done = 0;
    while (done < need) {
        ssize_t got =
            pread(fd, buffer + done, (size_t)(size - done), (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (uint64_t)got;
        if (done < need && done % NWI_DIRECT_ALIGN)
            return false;
    }
    return true;
}

static int wait_direct(struct nwi_worker *worker, struct nwi_slot **out,
                       struct nw_error *err)
{
    struct nwi_slot *slot = *out = &worker->slots[0];
    int fd = worker->run->direct_fds[slot->unit.file];
    uint64_t begin;
    uint64_t end;
    nwi_direct_range(&slot->unit, &begin, &end);
    slot->data = slot->buffer + (slot->unit.begin - begin);
    if (fd >= 0 &&
        pread_direct(fd, slot->buffer, end - begin, slot->unit.end - begin, begin))
        return NW_OK;
    return nwi_read_buffered(worker, slot, err);
}

bool nwi_direct_open(struct nwi_run *run)
{
    for (size_t i = 0; i < run->ckpt->n_files; i++) {
        const struct nwi_file *file = run->ckpt->files[i].file;
        run->direct_fds[i] = -1;
        if (!file || file->kind != NWI_FILE_FD)
            continue;
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
        run->direct_fds[i] = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
        if (run->direct_fds[i] < 0)
            return false;
    }
    return true;
}

void nwi_direct_close(struct nwi_run *run)
{
    for (size_t i = 0; run->direct_fds && i < run->ckpt->n_files; i++) {
        if (run->direct_fds[i] >= 0)
            (void)close(run->direct_fds[i]);
    }
}

/* Whatever is in the way, the buffered read does it or says why not. */
static int wait_mmap(struct nwi_worker *worker, struct nwi_slot **out,
                     struct nw_error *err)
{
    struct nwi_slot *slot = *out = &worker->slots[0];
    struct nwi_window *window = &worker->run->windows[slot->unit.file];
    slot->in_window = nwi_window_enter(window, slot->unit.begin, slot->unit.end);
    if (!slot->in_window)
        return nwi_read_buffered(worker, slot, err);
    slot->data = window->map + slot->unit.begin;
    return NW_OK;
}

static void release_mmap(struct nwi_worker *worker, struct nwi_slot *slot)
{
    if (slot->in_window)
        nwi_window_leave(&worker->run->windows[slot->unit.file], slot->unit.begin,
                         slot->unit.end);
    slot->in_window = false;
}

bool nwi_windows_open(struct nwi_run *run)
{
    bool all = true;
    for (size_t i = 0; all && i < run->ckpt->n_files; i++) {
        const struct nwi_file *file = run->ckpt->files[i].file;
        all = !file || nwi_window_open(&run->windows[i], file);
    }
    return all;
}

void nwi_windows_close(struct nwi_run *run)
{
    for (size_t i = 0; run->windows && i < run->ckpt->n_files; i++)
        nwi_window_close(&run->windows[i]);
}

const struct nwi_reader nwi_reader_pread = {
    .name = "pread",
    .in_place = true,
    .depth = 1,
    .unit_bytes = 512u << 10, /* the source of a cast stays in the L2 cache */
    .submit = submit,
    .wait = wait_pread,
};

const struct nwi_reader nwi_reader_mmap = {
    .name = "mmap",
    .depth = 1,
    .unit_bytes = 8u << 20, /* few page-table flushes, and little mapped at a time */
    .submit = submit,
    .wait = wait_mmap,
    .release = release_mmap,
};

const struct nwi_reader nwi_reader_direct = {
    .name = "direct",
    .direct = true,
    .depth = 1,
    .unit_bytes = 4u << 20,
    .submit = submit,
    .wait = wait_direct,
};
