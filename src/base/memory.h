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
 * allocator); aligned to 64 bytes at least, to a page with the system's. `huge` asks for huge
 * pages and 2 MiB alignment of the address. */
void *nwi_alloc_pages(struct nwi_memory *memory, size_t size, bool huge);
void nwi_free_pages(struct nwi_memory *memory, void *ptr, size_t size);
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
