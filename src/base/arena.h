/* SPDX-License-Identifier: Apache-2.0
 * Bump allocation for what dies with its handle: names, shapes, rows. Nothing is freed alone.
 * Under AddressSanitizer a poisoned gap follows each block. */
#ifndef NWI_ARENA_H
#define NWI_ARENA_H

#include <stddef.h>

#include "base/memory.h"

struct nwi_arena_block;

struct nwi_arena {
    struct nwi_memory *memory;    /* counted; borrowed */
    struct nwi_arena_block *head; /* newest; NULL until the first allocation */
    size_t next_size; /* of the next block: doubles from 4 KiB up to 1 MiB */
};

void nwi_arena_init(struct nwi_arena *arena, struct nwi_memory *memory);
void nwi_arena_release(struct nwi_arena *arena);

/* Aligned to 16 bytes. NULL if refused; size 0 gives a unique non-NULL pointer. */
void *nwi_arena_alloc(struct nwi_arena *arena, size_t size);
void *nwi_arena_zalloc(struct nwi_arena *arena, size_t size);
/* n * size, NULL also if that overflows. */
void *nwi_arena_array(struct nwi_arena *arena, size_t n, size_t size);
/* Copies and NUL-terminates. */
char *nwi_arena_copy(struct nwi_arena *arena, const char *text, size_t size);
char *nwi_arena_printf(struct nwi_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Grows an array that lives on the arena: room for one more element at *items (capacity
 * doubles; the old copy stays until the arena goes). False if refused. */
bool nwi_arena_grow(struct nwi_arena *arena, void **items, size_t n, size_t *capacity,
                    size_t item_size);

#endif
