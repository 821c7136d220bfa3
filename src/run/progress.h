/* SPDX-License-Identifier: Apache-2.0
 * Progress of work on the calling thread: bytes done, told to the caller, who may
 * cancel. */
#ifndef NWI_PROGRESS_H
#define NWI_PROGRESS_H

#include "base/error.h"

struct nwi_progress {
    nw_progress_fn *call; /* NULL: nobody listens */
    void *ctx;
    uint64_t done;
    uint64_t total;
};

/* CANCELLED if the callback asked to stop. */
static inline int nwi_progress_add(struct nwi_progress *progress, uint64_t nbytes,
                                   struct nw_error *err)
{
    progress->done += nbytes;
    if (progress->call &&
        progress->call(progress->ctx, progress->done, progress->total))
        return nwi_fail(err, NW_E_CANCELLED, "cancelled after %llu of %llu bytes",
                        (unsigned long long)progress->done,
                        (unsigned long long)progress->total);
    return NW_OK;
}

#endif
