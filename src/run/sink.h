/* SPDX-License-Identifier: Apache-2.0
 * A sink: where results go. Memory, a file or folder, or the caller's callbacks.
 * Targets are counted over all plans of a run, plans in order. */
#ifndef NWI_SINK_H
#define NWI_SINK_H

#include "plan/plan.h"

struct nwi_sink {
    void *ctx;
    /* *dst = where the target's bytes go, or NULL: they come through write. Called once
     * a target in plan order, never twice at a time. */
    int (*place)(void *ctx, size_t target, void **dst, struct nw_error *err);
    /* Bytes of a target that has no destination; worker threads, several at a time;
     * ranges in any order. NULL if place always gives one. */
    int (*write)(void *ctx, size_t target, uint64_t offset, const void *data,
                 size_t nbytes, struct nw_error *err);
    /* After the target's last byte; worker threads. May be NULL. */
    int (*done)(void *ctx, size_t target, struct nw_error *err);
};

#endif
