/* SPDX-License-Identifier: Apache-2.0
 * The counters and the two sources. `used` is raised before memory is asked for and
 * lowered after it is given back, so it is never too low. */
#define _GNU_SOURCE

#include "base/memory.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arith.h"

#define HUGE_PAGE ((size_t)2 << 20)

struct nwi_memory {
    struct nw_allocator allocator; /* alloc is NULL: the system's */
    size_t page_size;              /* of the system */
    atomic_int refs;
    atomic_bool hit_limit;
    _Atomic uint64_t used; /* bytes, this struct included */
    _Atomic uint64_t peak;
    _Atomic uint64_t limit; /* UINT64_MAX: none */
};

static void *source_alloc(const struct nw_allocator *allocator, size_t size)
{
    return allocator->alloc ? allocator->alloc(allocator->ctx, size) : malloc(size);
}

static void source_free(const struct nw_allocator *allocator, void *ptr, size_t size)
{
    if (allocator->alloc)
        allocator->free(allocator->ctx, ptr, size);
    else
        free(ptr);
}

struct nwi_memory *nwi_memory_new(const struct nw_allocator *allocator)
{
    struct nw_allocator source = {0};
    if (allocator && allocator->alloc)
        source = *allocator;
    struct nwi_memory *memory = source_alloc(&source, sizeof *memory);
    if (!memory)
        return NULL;
    memset(memory, 0, sizeof *memory);
    memory->allocator = source;
    memory->page_size = (size_t)sysconf(_SC_PAGESIZE);
    atomic_init(&memory->refs, 1);
    atomic_init(&memory->hit_limit, false);
    atomic_init(&memory->used, sizeof *memory);
    atomic_init(&memory->peak, sizeof *memory);
    atomic_init(&memory->limit, UINT64_MAX);
    return memory;
}

struct nwi_memory *nwi_memory_sibling(const struct nwi_memory *memory)
{
    return nwi_memory_new(&memory->allocator);
}

uint64_t nwi_memory_self_bytes(void)
{
    return sizeof(struct nwi_memory);
}

struct nwi_memory *nwi_memory_retain(struct nwi_memory *memory)
{
    if (memory)
        atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
    return memory;
}

void nwi_memory_release(struct nwi_memory *memory)
{
    if (!memory || atomic_fetch_sub(&memory->refs, 1) != 1)
        return;
    struct nw_allocator source = memory->allocator;
    source_free(&source, memory, sizeof *memory);
}

/* Counts size bytes if the limit allows; *now gets what is in use with them. */
static bool count(struct nwi_memory *memory, uint64_t size, uint64_t *now)
{
    uint64_t limit = atomic_load(&memory->limit);
    uint64_t used = atomic_load(&memory->used);
    do {
        if (!nwi_add(used, size, now) || *now > limit) {
            atomic_store(&memory->hit_limit, true);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&memory->used, &used, *now));
    return true;
}

static void uncount(struct nwi_memory *memory, uint64_t size)
{
    uint64_t before = atomic_fetch_sub(&memory->used, size);
    assert(before >= size);
    (void)before;
}

static void note_peak(struct nwi_memory *memory, uint64_t now)
{
    uint64_t peak = atomic_load(&memory->peak);
    while (now > peak && !atomic_compare_exchange_weak(&memory->peak, &peak, now))
        continue;
}

void *nwi_alloc(struct nwi_memory *memory, size_t size)
{
    uint64_t now = 0;
    if (size == 0 || !count(memory, size, &now))
        return NULL;
    void *ptr = source_alloc(&memory->allocator, size);
    if (ptr)
        note_peak(memory, now);
    else
        uncount(memory, size);
    return ptr;
}

void *nwi_zalloc(struct nwi_memory *memory, size_t size)
{
    void *ptr = nwi_alloc(memory, size);
    if (ptr)
        memset(ptr, 0, size);
    return ptr;
}

void nwi_free(struct nwi_memory *memory, void *ptr, size_t size)
{
    if (!ptr)
        return;
    source_free(&memory->allocator, ptr, size);
    uncount(memory, size);
}

static void *map_pages(size_t size)
{
    void *ptr =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

/* Maps one huge page more than needed and gives back what lies outside the aligned
 * part. */
static void *map_huge(size_t size)
{
    if (size > SIZE_MAX - HUGE_PAGE)
        return NULL;
    char *start = map_pages(size + HUGE_PAGE);
    if (!start)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)start % HUGE_PAGE) % HUGE_PAGE;
    char *aligned = start + before;
    if (before)
        (void)munmap(start, before);
    (void)munmap(aligned + size, HUGE_PAGE - before);
    (void)madvise(aligned, size, MADV_HUGEPAGE);
    return aligned;
}

uint64_t nwi_pages_size(const struct nwi_memory *memory, uint64_t size)
{
    uint64_t page = memory->page_size;
    if (memory->allocator.alloc)
        return size;
    return size > UINT64_MAX - page ? UINT64_MAX : nwi_round_up(size, page);
}

static void *cut_stretch(struct nwi_stretch *stretch, size_t size)
{
    if (size > stretch->left)
        return NULL;
    void *ptr = stretch->at;
    stretch->at += size;
    stretch->left -= size;
    return ptr;
}

/* Counts the pages and has them made; `stretch` may be NULL. */
static void *counted_pages(struct nwi_memory *memory, size_t size,
                           struct nwi_stretch *stretch)
{
    if (memory->allocator.alloc)
        return nwi_alloc(memory, size);
    uint64_t rounded = nwi_pages_size(memory, size);
    uint64_t now = 0;
    if (size == 0 || !count(memory, rounded, &now))
        return NULL;
    void *ptr = stretch ? cut_stretch(stretch, (size_t)rounded) : NULL;
    if (!ptr)
        ptr = rounded >= HUGE_PAGE ? map_huge((size_t)rounded)
                                   : map_pages((size_t)rounded);
    if (ptr)
        note_peak(memory, now);
    else
        uncount(memory, rounded);
    return ptr;
}

void *nwi_alloc_pages(struct nwi_memory *memory, size_t size)
{
    return counted_pages(memory, size, NULL);
}

void nwi_free_pages(struct nwi_memory *memory, void *ptr, size_t size)
{
    if (memory->allocator.alloc) {
        nwi_free(memory, ptr, size);
        return;
    }
    if (!ptr)
        return;
    uint64_t rounded = nwi_pages_size(memory, size);
    (void)munmap(ptr, (size_t)rounded);
    uncount(memory, rounded);
}

void nwi_stretch_reserve(struct nwi_stretch *stretch, const struct nwi_memory *memory,
                         uint64_t size)
{
    *stretch = (struct nwi_stretch){0};
    if (memory->allocator.alloc || size < HUGE_PAGE || size > SIZE_MAX)
        return;
    stretch->at = map_huge((size_t)nwi_pages_size(memory, size));
    stretch->left = stretch->at ? (size_t)nwi_pages_size(memory, size) : 0;
}

void *nwi_stretch_alloc(struct nwi_stretch *stretch, struct nwi_memory *memory,
                        size_t size)
{
    return counted_pages(memory, size, stretch);
}

void nwi_stretch_close(struct nwi_stretch *stretch)
{
    if (stretch->left)
        (void)munmap(stretch->at, stretch->left);
    *stretch = (struct nwi_stretch){0};
}

uint64_t nwi_memory_used(const struct nwi_memory *memory)
{
    return atomic_load(&memory->used);
}

uint64_t nwi_memory_peak(const struct nwi_memory *memory)
{
    return atomic_load(&memory->peak);
}

void nwi_memory_reset_peak(struct nwi_memory *memory)
{
    atomic_store(&memory->peak, atomic_load(&memory->used));
}

void nwi_memory_set_limit(struct nwi_memory *memory, uint64_t limit_bytes)
{
    atomic_store(&memory->limit, limit_bytes);
    atomic_store(&memory->hit_limit, false);
}

bool nwi_memory_hit_limit(const struct nwi_memory *memory)
{
    return atomic_load(&memory->hit_limit);
}
