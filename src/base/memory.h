/* SPDX-License-Identifier: Apache-2.0
 * All memory of the engine, counted: what is in use, the most there ever was, and a limit.
 *
 * One struct nwi_memory per checkpoint, reference counted, because tensors may outlive every
 * handle. Counters are atomic: workers allocate too. Two kinds of memory: small (objects,
 * arenas; from malloc) and pages (data buffers; anonymous mappings, huge pages where large).
 * With a caller's allocator both come from there. */
#ifndef NWI_MEMORY_H
#define NWI_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netweight.h"

struct nwi_memory;

/* NULL if the allocator refuses. `allocator` may be NULL or all zero: the system's. */
struct nwi_memory *nwi_memory_new(const struct nw_allocator *allocator);
/* A new count with the same allocator: for what must be counted by itself. */
struct nwi_memory *nwi_memory_sibling(const struct nwi_memory *memory);
/* What a struct nwi_memory counts for itself. */
uint64_t nwi_memory_self_bytes(void);
struct nwi_memory *nwi_memory_retain(struct nwi_memory *memory);
void nwi_memory_release(struct nwi_memory *memory);

/* NULL if refused or over the limit; size 0 gives NULL too. Contents undefined. Each counts
 * exactly `size` (pages: nwi_pages_size(size)) until freed with the same size. */
void *nwi_alloc(struct nwi_memory *memory, size_t size);
void *nwi_zalloc(struct nwi_memory *memory, size_t size); /* zeroed */
void nwi_free(struct nwi_memory *memory, void *ptr, size_t size);

/* Data buffers: zeroed by the system where it is the source (do not rely on it with a caller's
 * allocator); aligned to 64 bytes at least, to a page with the system's. From 2 MiB on aligned to
 * that, and huge pages are asked for. */
void *nwi_alloc_pages(struct nwi_memory *memory, size_t size);
void nwi_free_pages(struct nwi_memory *memory, void *ptr, size_t size);

/* Address space that data buffers are cut from one behind the other, so that huge pages cover the
 * seams between them, too: every buffer by itself has up to two ends of small pages, and touching
 * those costs more than all the rest. Zeroed: nothing reserved, every buffer is by itself. For one
 * thread at a time. */
struct nwi_stretch {
    uint8_t *at; /* NULL: nothing reserved */
    size_t left;
};

/* Address space for buffers of `size` bytes together, each as nwi_pages_size counts it; nothing is
 * counted yet. Where there is no address space, or with a caller's allocator, nothing is
 * reserved. Whoever reserves closes. */
void nwi_stretch_reserve(struct nwi_stretch *stretch, const struct nwi_memory *memory,
                         uint64_t size);
/* nwi_alloc_pages out of the stretch while it lasts. Given back by nwi_free_pages, each by
 * itself; parts of a huge page return to the system with its other parts, or when memory is
 * short. */
void *nwi_stretch_alloc(struct nwi_stretch *stretch, struct nwi_memory *memory,
                        size_t size);
/* Gives back what nobody took; buffers stay. */
void nwi_stretch_close(struct nwi_stretch *stretch);

/* What nwi_alloc_pages(size) counts: rounded to pages. */
uint64_t nwi_pages_size(const struct nwi_memory *memory, uint64_t size);

uint64_t nwi_memory_used(const struct nwi_memory *memory);
uint64_t nwi_memory_peak(const struct nwi_memory *memory);
/* Starts a new peak at what is in use now. */
void nwi_memory_reset_peak(struct nwi_memory *memory);
/* UINT64_MAX = none. An allocation that would pass it returns NULL and sets the mark. */
void nwi_memory_set_limit(struct nwi_memory *memory, uint64_t limit_bytes);
/* True if an allocation since set_limit was refused for the limit (BUDGET, not NOMEM). */
bool nwi_memory_hit_limit(const struct nwi_memory *memory);

#endif
