/* SPDX-License-Identifier: Apache-2.0
 * io_uring: each worker keeps several direct reads in flight on a ring of its own. What
 * comes back short or failed is read again through the page cache, which does it or
 * says why not. */
#ifdef NWI_HAVE_URING
#define _GNU_SOURCE

#include "run/run.h"

#include <errno.h>
#include <liburing.h>
#include <string.h>

#include "base/arith.h"

struct uring {
    struct io_uring ring;
};

_Static_assert(sizeof(struct uring) <= NWI_READER_STATE_BYTES,
               "it lives in the worker");

static struct uring *uring_of(struct nwi_worker *worker)
{
    return (struct uring *)(void *)worker->reader_state;
}

bool nwi_uring_works(void)
{
    struct io_uring ring;
    if (io_uring_queue_init(1, &ring, 0) < 0)
        return false;
    io_uring_queue_exit(&ring);
    return true;
}

static int open_ring(struct nwi_worker *worker, struct nw_error *err)
{
    int sys = io_uring_queue_init(NWI_SLOTS_MOST, &uring_of(worker)->ring, 0);
    if (sys < 0)
        return nwi_fail_sys(err, -sys, "cannot set io_uring up");
    return NW_OK;
}

/* Reads still in flight write into the ring's buffers: they are waited for. */
static void drain(struct nwi_worker *worker, struct uring *uring)
{
    for (uint32_t i = 0; i < worker->n_slots; i++) {
        struct io_uring_cqe *cqe;
        if (!worker->slots[i].busy)
            continue;
        while (io_uring_wait_cqe(&uring->ring, &cqe) == -EINTR)
            ;
        io_uring_cqe_seen(&uring->ring, cqe);
    }
}

static void close_ring(struct nwi_worker *worker)
{
    drain(worker, uring_of(worker));
    io_uring_queue_exit(&uring_of(worker)->ring);
}

static int submit(struct nwi_worker *worker, struct nwi_slot *slot,
                  struct nw_error *err)
{
    struct uring *uring = uring_of(worker);
    uint64_t begin;
    uint64_t end;
    nwi_direct_range(&slot->unit, &begin, &end);
    struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
    if (!sqe)
        return nwi_fail(err, NW_E_IO, "the submission queue of io_uring is full");
    io_uring_prep_read(sqe, worker->run->direct_fds[slot->unit.file], slot->buffer,
                       (unsigned)(end - begin), begin);
    io_uring_sqe_set_data(sqe, slot);
    int sys = io_uring_submit(&uring->ring);
    if (sys < 0)
        return nwi_fail_sys(err, -sys, "io_uring takes no read");
    return NW_OK;
}

static int wait_one(struct nwi_worker *worker, struct nwi_slot **out,
                    struct nw_error *err)
{
    struct uring *uring = uring_of(worker);
    struct io_uring_cqe *cqe = NULL;
    int sys;
    while ((sys = io_uring_wait_cqe(&uring->ring, &cqe)) == -EINTR)
        ;
    if (sys < 0)
        return nwi_fail_sys(err, -sys, "cannot wait for io_uring");
    struct nwi_slot *slot = io_uring_cqe_get_data(cqe);
    int64_t got = cqe->res;
    io_uring_cqe_seen(&uring->ring, cqe);
    *out = slot;
    uint64_t begin;
    uint64_t end;
    nwi_direct_range(&slot->unit, &begin, &end);
    if (got < (int64_t)(slot->unit.end - begin))
        return nwi_read_buffered(worker, slot, err);
    slot->data = slot->buffer + (slot->unit.begin - begin);
    return NW_OK;
}

const struct nwi_reader nwi_reader_uring = {
    .name = "uring",
    .direct = true,
    .depth = NWI_SLOTS_MOST,
    .unit_bytes = 2u << 20,
    .open = open_ring,
    .close = close_ring,
    .submit = submit,
    .wait = wait_one,
};
#else
/* An empty unit is no C: say that there is nothing here. */
typedef int nwi_no_uring;
#endif
