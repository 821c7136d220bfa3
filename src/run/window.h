/* SPDX-License-Identifier: Apache-2.0
 * Reading a file through a mapping that cannot fault.
 *
 * A page that is cut off while it is mapped raises SIGBUS when it is touched. So a run maps a
 * file only while it holds a read lease on it (fcntl(2), F_SETLEASE): whoever wants to open it
 * for writing, or to truncate it, waits until the lease is given back, or until the system's
 * lease-break-time (45 s by default) has passed. Every unit asks whether the lease is whole
 * before it touches a page; once somebody waits, no unit enters any more and the last one
 * inside gives the lease back. Nobody gets a signal: the lease has no owner.
 *
 * No lease (another's file without CAP_LEASE, open for writing somewhere, a file system without
 * leases): no window, and the run reads by pread. */
#ifndef NWI_WINDOW_H
#define NWI_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

struct nwi_window {
    int fd;             /* an open file of its own, which holds the lease; -1: none */
    const uint8_t *map; /* [size] */
    size_t size;
    atomic_int users;    /* units inside */
    atomic_bool closing; /* the lease is lost or to be given back: nobody enters */
};

/* True if the file can be read this way. Nothing is left to close if not. */
bool nwi_window_open(struct nwi_window *window, const struct nwi_file *file);
void nwi_window_close(struct nwi_window *window);

/* Enters, and brings [begin, end) of the file in. False: read otherwise. */
bool nwi_window_enter(struct nwi_window *window, uint64_t begin, uint64_t end);
/* Leaves, and lets the pages of the range go. */
void nwi_window_leave(struct nwi_window *window, uint64_t begin, uint64_t end);

#endif
