/* SPDX-License-Identifier: Apache-2.0
 * Blocks are chained newest first; only the head has room left. A request that would
 * waste much of a fresh block gets one of its own, behind the head. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"

#if defined(__SANITIZE_ADDRESS__)
#define NWI_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NWI_ASAN 1
#endif
#endif

#ifdef NWI_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(ptr, size)   __asan_poison_memory_region(ptr, size)
#define UNPOISON(ptr, size) __asan_unpoison_memory_region(ptr, size)
#define GAP                 ALIGNMENT
#else
#define POISON(ptr, size)   ((void)0)
#define UNPOISON(ptr, size) ((void)0)
#define GAP                 0u
#endif

#define ALIGNMENT     ((size_t)16)
#define FIRST_BLOCK   ((size_t)4 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20)

struct nwi_arena_block {
    struct nwi_arena_block *next; /* older */
    size_t size;                  /* of the block, this struct included */
    size_t used;                  /* from the start of the block */
    size_t unused;                /* keeps sizeof a multiple of ALIGNMENT */
};

_Static_assert(sizeof(struct nwi_arena_block) % 16 == 0, "data after it is aligned");

void nwi_arena_init(struct nwi_arena *arena, struct nwi_memory *memory)
{
    arena->memory = memory;
    arena->head = NULL;
    arena->next_size = FIRST_BLOCK;
}

void nwi_arena_release(struct nwi_arena *arena)
{
    struct nwi_arena_block *block = arena->head;
    while (block) {
        struct nwi_arena_block *next = block->next;
        UNPOISON(block, block->size);
        nwi_free(arena->memory, block, block->size);
        block = next;
    }
    arena->head = NULL;
    arena->next_size = FIRST_BLOCK;
}

static struct nwi_arena_block *new_block(struct nwi_arena *arena, size_t size)
{
    struct nwi_arena_block *block = nwi_alloc(arena->memory, size);
    if (!block)
        return NULL;
    block->next = NULL;
    block->size = size;
    block->used = sizeof *block;
    POISON(block + 1, size - sizeof *block);
    return block;
}

static void *take(struct nwi_arena_block *block, size_t need, size_t size)
{
    char *ptr = (char *)block + block->used;
    block->used += need;
    UNPOISON(ptr, size);
    (void)size;
    return ptr;
}

static void *take_own_block(struct nwi_arena *arena, size_t need, size_t size)
{
    struct nwi_arena_block *block = new_block(arena, sizeof *block + need);
    if (!block)
        return NULL;
    if (arena->head) {
        block->next = arena->head->next;
        arena->head->next = block;
    } else {
        arena->head = block;
    }
    return take(block, need, size);
}

void *nwi_arena_alloc(struct nwi_arena *arena, size_t size)
{
    struct nwi_arena_block *head = arena->head;
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t need = (size_t)nwi_round_up(size ? size : 1, ALIGNMENT) + GAP;
    if (head && head->size - head->used >= need)
        return take(head, need, size);
    if (need > arena->next_size / 4)
        return take_own_block(arena, need, size);
    struct nwi_arena_block *block = new_block(arena, arena->next_size);
    if (!block)
        return NULL;
    block->next = head;
    arena->head = block;
    if (arena->next_size < LARGEST_BLOCK)
        arena->next_size *= 2;
    return take(block, need, size);
}

void *nwi_arena_zalloc(struct nwi_arena *arena, size_t size)
{
    void *ptr = nwi_arena_alloc(arena, size);
    if (ptr)
        memset(ptr, 0, size);
    return ptr;
}

void *nwi_arena_array(struct nwi_arena *arena, size_t n, size_t size)
{
    uint64_t total = 0;
    if (!nwi_mul(n, size, &total))
        return NULL;
    return nwi_arena_alloc(arena, (size_t)total);
}

char *nwi_arena_copy(struct nwi_arena *arena, const char *text, size_t size)
{
    if (size == SIZE_MAX)
        return NULL;
    char *copy = nwi_arena_alloc(arena, size + 1);
    if (!copy)
        return NULL;
    if (size)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *nwi_arena_printf(struct nwi_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = size < 0 ? NULL : nwi_arena_alloc(arena, (size_t)size + 1);
    if (!text)
        return NULL;
    va_start(args, format);
    (void)vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}

bool nwi_arena_grow(struct nwi_arena *arena, void **items, size_t n, size_t *capacity,
                    size_t item_size)
{
    if (n < *capacity)
        return true;
    if (*capacity > SIZE_MAX / 2)
        return false;
    size_t larger = *capacity ? *capacity * 2 : 8;
    void *grown = nwi_arena_array(arena, larger, item_size);
    if (!grown)
        return false;
    /* memcpy: *items is declared by the caller with its own pointer type. */
    void *old = NULL;
    memcpy(&old, items, sizeof old);
    if (n)
        memcpy(grown, old, n * item_size);
    memcpy(items, &grown, sizeof grown);
    *capacity = larger;
    return true;
}
