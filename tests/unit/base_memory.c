/* SPDX-License-Identifier: Apache-2.0
 * Counting, limits and arenas. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/arith.h"
#include "support/support.h"
#include "test.h"

#define N_THREADS 8

static void sizes_do_not_wrap(void **state)
{
    (void)state;
    uint64_t out = 0;
    assert_true(nwi_add(UINT64_MAX - 1, 1, &out));
    assert_true(out == UINT64_MAX);
    assert_false(nwi_add(UINT64_MAX, 1, &out));
    assert_true(nwi_mul(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1, &out));
    assert_false(nwi_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
    assert_true(nwi_mul(0, UINT64_MAX, &out));
    assert_int_equal(out, 0);
    assert_int_equal(nwi_sub_floor(3, 5), 0);
    assert_int_equal(nwi_sub_floor(5, 3), 2);
    assert_int_equal(nwi_round_up(0, 64), 0);
    assert_int_equal(nwi_round_up(1, 64), 64);
    assert_int_equal(nwi_round_up(64, 64), 64);
}

static void everything_is_counted(void **state)
{
    (void)state;
    struct nwt_allocator counts = {.fail_at = -1};
    struct nw_allocator allocator = nwt_failing_allocator(&counts);
    struct nwi_memory *memory = nwi_memory_new(&allocator);
    uint64_t self = nwi_memory_used(memory);
    assert_int_equal(self, nwi_memory_self_bytes());
    assert_int_equal(self, counts.live_bytes);
    void *a = nwi_alloc(memory, 1000);
    unsigned char *b = nwi_zalloc(memory, 24);
    void *c = nwi_alloc_pages(memory, 5000);
    assert_int_equal(nwi_memory_used(memory), self + 6024);
    assert_int_equal(counts.live_bytes, self + 6024);
    assert_int_equal(nwi_pages_size(memory, 5000), 5000);
    for (int i = 0; i < 24; i++)
        assert_int_equal(b[i], 0);
    nwi_free(memory, a, 1000);
    assert_int_equal(nwi_memory_peak(memory), self + 6024);
    nwi_memory_reset_peak(memory);
    assert_int_equal(nwi_memory_peak(memory), self + 5024);
    nwi_free(memory, b, 24);
    nwi_free_pages(memory, c, 5000);
    nwi_free(memory, NULL, 77);
    nwi_free_pages(memory, NULL, 77);
    assert_int_equal(nwi_memory_used(memory), self);
    nwi_memory_release(memory);
    assert_int_equal(counts.live, 0);
    assert_int_equal(counts.live_bytes, 0);
}

static void references_keep_it_alive(void **state)
{
    (void)state;
    struct nwt_allocator counts = {.fail_at = -1};
    struct nw_allocator allocator = nwt_failing_allocator(&counts);
    struct nwi_memory *memory = nwi_memory_new(&allocator);
    struct nwi_memory *sibling = nwi_memory_sibling(memory);
    assert_ptr_equal(nwi_memory_retain(memory), memory);
    nwi_memory_release(memory);
    void *block = nwi_alloc(memory, 10);
    assert_int_equal(counts.live, 3);
    assert_int_equal(nwi_memory_used(sibling), nwi_memory_self_bytes());
    nwi_free(memory, block, 10);
    nwi_memory_release(memory);
    nwi_memory_release(sibling);
    nwi_memory_release(NULL);
    assert_int_equal(counts.live, 0);
    counts.fail_at = counts.calls;
    assert_null(nwi_memory_new(&allocator));
}

static void system_pages(void **state)
{
    (void)state;
    const size_t huge_page = (size_t)2 << 20;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct nwi_memory *memory = nwi_memory_new(NULL);
    uint64_t self = nwi_memory_used(memory);
    const size_t sizes[] = {1, page, page + 1, huge_page - 1, 3 * huge_page + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i];
        bool huge = size >= huge_page;
        uint64_t rounded = nwi_pages_size(memory, size);
        assert_int_equal(rounded, (size + page - 1) / page * page);
        char *data = nwi_alloc_pages(memory, size);
        assert_non_null(data);
        assert_int_equal((uintptr_t)data % (huge ? huge_page : page), 0);
        assert_int_equal(nwi_memory_used(memory), self + rounded);
        assert_int_equal(data[0] | data[size - 1], 0);
        memset(data, 1, rounded);
        nwi_free_pages(memory, data, size);
        assert_int_equal(nwi_memory_used(memory), self);
    }
    nwi_memory_release(memory);
}

static bool is_mapped(void *page_start)
{
    unsigned char in_memory;
    return mincore(page_start, (size_t)sysconf(_SC_PAGESIZE), &in_memory) == 0;
}

static void a_stretch_is_cut_up(void **state)
{
    (void)state;
    const size_t huge_page = (size_t)2 << 20;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct nwi_stretch stretch;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    uint64_t self = nwi_memory_used(memory);
    nwi_stretch_reserve(&stretch, memory, 3 * huge_page);
    assert_int_equal(nwi_memory_used(memory), self); /* address space only */
    char *a = nwi_stretch_alloc(&stretch, memory, huge_page + 1);
    char *b = nwi_stretch_alloc(&stretch, memory, page);
    char *large = nwi_stretch_alloc(&stretch, memory, 2 * huge_page);
    assert_non_null(a);
    assert_non_null(large);
    assert_int_equal((uintptr_t)a % huge_page, 0);
    assert_ptr_equal(b, a + huge_page + page);
    assert_true(large + 2 * huge_page <= a || large >= a + 3 * huge_page);
    assert_int_equal(nwi_memory_used(memory), self + 3 * huge_page + 2 * page);
    memset(a, 1, huge_page + 1);
    assert_int_equal(b[0] | b[page - 1], 0);
    memset(b, 2, page);
    char *rest = b + page;
    assert_true(is_mapped(rest));
    nwi_stretch_close(&stretch);
    assert_false(is_mapped(rest));
    nwi_free_pages(memory, a, huge_page + 1);
    assert_false(is_mapped(a));
    assert_int_equal(b[0] + b[page - 1], 4); /* a neighbour that went changes nothing */
    nwi_free_pages(memory, b, page);
    nwi_free_pages(memory, large, 2 * huge_page);
    assert_int_equal(nwi_memory_used(memory), self);
    nwi_memory_release(memory);
}

static void a_stretch_knows_the_limit(void **state)
{
    (void)state;
    const size_t huge_page = (size_t)2 << 20;
    struct nwi_stretch stretch;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    nwi_stretch_reserve(&stretch, memory, 2 * huge_page);
    nwi_memory_set_limit(memory, nwi_memory_used(memory) + huge_page);
    assert_null(nwi_stretch_alloc(&stretch, memory, huge_page + 1));
    assert_true(nwi_memory_hit_limit(memory));
    void *a = nwi_stretch_alloc(&stretch, memory, huge_page);
    assert_non_null(a);
    nwi_stretch_close(&stretch);
    nwi_free_pages(memory, a, huge_page);
    nwi_memory_release(memory);
}

/* A caller's allocator is asked for every buffer, and so is the system where a stretch cannot be
 * had. */
static void without_a_stretch(void **state)
{
    (void)state;
    struct nwi_stretch stretch;
    struct nwt_allocator counts = {.fail_at = -1};
    struct nw_allocator allocator = nwt_failing_allocator(&counts);
    struct nwi_memory *memories[] = {nwi_memory_new(&allocator), nwi_memory_new(NULL)};
    const uint64_t wanted[] = {8 << 20, UINT64_MAX};
    for (size_t i = 0; i < 2; i++) {
        nwi_stretch_reserve(&stretch, memories[i], wanted[i]);
        assert_null(stretch.at);
        void *a = nwi_stretch_alloc(&stretch, memories[i], 5000);
        assert_non_null(a);
        nwi_stretch_close(&stretch);
        nwi_free_pages(memories[i], a, 5000);
        nwi_memory_release(memories[i]);
    }
    assert_int_equal(counts.live, 0);
}

static void impossible_sizes(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    uint64_t self = nwi_memory_used(memory);
    volatile size_t most = SIZE_MAX; /* volatile: compilers warn of such sizes */
    assert_null(nwi_alloc(memory, 0));
    assert_null(nwi_alloc_pages(memory, 0));
    assert_null(nwi_alloc(memory, most));
    assert_null(nwi_alloc_pages(memory, most));
    assert_null(nwi_alloc_pages(memory, most - (1 << 21)));
    assert_true(nwi_pages_size(memory, UINT64_MAX) == UINT64_MAX);
    assert_int_equal(nwi_memory_used(memory), self);
    assert_int_equal(nwi_memory_peak(memory), self);
    nwi_memory_release(memory);
}

static void the_limit_is_exact(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    uint64_t self = nwi_memory_used(memory);
    nwi_memory_set_limit(memory, self + 100);
    void *a = nwi_alloc(memory, 60);
    assert_non_null(a);
    assert_false(nwi_memory_hit_limit(memory));
    assert_null(nwi_alloc(memory, 41));
    assert_true(nwi_memory_hit_limit(memory));
    void *b = nwi_alloc(memory, 40);
    assert_non_null(b);
    assert_null(nwi_alloc_pages(memory, 1));
    assert_int_equal(nwi_memory_peak(memory), self + 100);
    nwi_memory_set_limit(memory, UINT64_MAX);
    assert_false(nwi_memory_hit_limit(memory));
    void *c = nwi_alloc(memory, 41);
    assert_non_null(c);
    nwi_free(memory, a, 60);
    nwi_free(memory, b, 40);
    nwi_free(memory, c, 41);
    nwi_memory_release(memory);
}

struct hammer {
    struct nwi_memory *memory;
    uint64_t seed;
    uint64_t refused;
};

static void *hammer(void *arg)
{
    struct hammer *h = arg;
    void *blocks[16] = {0};
    size_t sizes[16] = {0};
    for (int i = 0; i < 20000; i++) {
        size_t at = nwt_random(&h->seed) % 16;
        nwi_free(h->memory, blocks[at], sizes[at]);
        sizes[at] = 1 + nwt_random(&h->seed) % 512;
        blocks[at] = nwi_alloc(h->memory, sizes[at]);
        h->refused += blocks[at] == NULL;
    }
    for (int i = 0; i < 16; i++)
        nwi_free(h->memory, blocks[i], sizes[i]);
    return NULL;
}

static void threads_count_together(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    uint64_t self = nwi_memory_used(memory);
    const uint64_t limit = self + 16384; /* about half of what the threads want */
    pthread_t threads[N_THREADS];
    struct hammer hammers[N_THREADS];
    uint64_t refused = 0;
    nwi_memory_set_limit(memory, limit);
    for (int i = 0; i < N_THREADS; i++) {
        hammers[i] = (struct hammer){memory, 77u + (unsigned)i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, &hammers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        refused += hammers[i].refused;
    }
    assert_int_equal(nwi_memory_used(memory), self);
    assert_in_range(nwi_memory_peak(memory), self + 1, limit);
    assert_int_equal(nwi_memory_hit_limit(memory), refused > 0);
    nwi_memory_release(memory);
}

/* ---- arena ---- */

static void arena_blocks_do_not_overlap(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    uint64_t self = nwi_memory_used(memory);
    struct nwi_arena arena;
    uint64_t seed = 42;
    unsigned char *blocks[500];
    size_t sizes[500];
    nwi_arena_init(&arena, memory);
    assert_int_equal(nwi_memory_used(memory), self);
    for (size_t i = 0; i < 500; i++) {
        sizes[i] = i % 50 == 0 ? 100000 + i : nwt_random(&seed) % 200;
        blocks[i] = nwi_arena_alloc(&arena, sizes[i]);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i & 255), sizes[i]);
    }
    for (size_t i = 0; i < 500; i++) {
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(blocks[i][k], i & 255);
    }
    nwi_arena_release(&arena);
    assert_int_equal(nwi_memory_used(memory), self);
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
}

static void arena_of_nothing(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_arena arena;
    volatile size_t most = SIZE_MAX;
    nwi_arena_init(&arena, memory);
    nwi_memory_set_limit(memory, 1 << 30); /* sanitizers stop at impossible mallocs */
    void *a = nwi_arena_alloc(&arena, 0);
    void *b = nwi_arena_alloc(&arena, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    assert_null(nwi_arena_alloc(&arena, most));
    assert_null(nwi_arena_alloc(&arena, most / 2 - 64));
    assert_null(nwi_arena_array(&arena, most / 8 + 1, 8));
    assert_null(nwi_arena_copy(&arena, "", most));
    assert_non_null(nwi_arena_array(&arena, 0, 8));
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
}

static void large_requests_keep_the_open_block(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_arena arena;
    nwi_arena_init(&arena, memory);
    assert_non_null(nwi_arena_alloc(&arena, 16));
    uint64_t used = nwi_memory_used(memory);
    assert_non_null(nwi_arena_alloc(&arena, 1 << 20));
    uint64_t with_large = nwi_memory_used(memory);
    assert_in_range(with_large - used, 1 << 20, (1 << 20) + 128);
    assert_non_null(nwi_arena_alloc(&arena, 16));
    assert_int_equal(nwi_memory_used(memory), with_large);
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
}

static void arena_texts(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_arena arena;
    nwi_arena_init(&arena, memory);
    const unsigned char *zeros = nwi_arena_zalloc(&arena, 300);
    for (int i = 0; i < 300; i++)
        assert_int_equal(zeros[i], 0);
    assert_memory_equal(nwi_arena_copy(&arena, "ab\0cd", 5), "ab\0cd\0", 6);
    assert_string_equal(nwi_arena_copy(&arena, NULL, 0), "");
    assert_string_equal(nwi_arena_printf(&arena, "%s-%d", "x", 12), "x-12");
    const char *wide = nwi_arena_printf(&arena, "%9000d", 7);
    assert_int_equal(strlen(wide), 9000);
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
}

static void arena_arrays_grow(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_arena arena;
    uint64_t *items = NULL;
    size_t capacity = 0;
    nwi_arena_init(&arena, memory);
    for (size_t n = 0; n < 10000; n++) {
        assert_true(
            nwi_arena_grow(&arena, (void **)&items, n, &capacity, sizeof *items));
        assert_true(capacity > n);
        items[n] = n * n;
    }
    for (size_t n = 0; n < 10000; n++)
        assert_int_equal(items[n], n * n);
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
}

static bool use_arena(struct nwi_arena *arena)
{
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (size_t n = 0; n < 3000; n++) {
        if (!nwi_arena_grow(arena, (void **)&items, n, &capacity, sizeof *items))
            return false;
        items[n] = (uint32_t)n;
    }
    for (size_t i = 0; i < 200; i++) {
        if (!nwi_arena_alloc(arena, 10 * i) || !nwi_arena_printf(arena, "%zu", i))
            return false;
    }
    return true;
}

static void arena_survives_every_refusal(void **state)
{
    (void)state;
    bool done = false;
    for (long fail_at = 1; !done; fail_at++) {
        struct nwt_allocator counts = {.fail_at = fail_at};
        struct nw_allocator allocator = nwt_failing_allocator(&counts);
        struct nwi_memory *memory = nwi_memory_new(&allocator);
        struct nwi_arena arena;
        nwi_arena_init(&arena, memory);
        done = use_arena(&arena);
        assert_true(done || counts.calls == fail_at + 1);
        assert_int_equal(nwi_memory_used(memory), counts.live_bytes);
        nwi_arena_release(&arena);
        nwi_memory_release(memory);
        assert_int_equal(counts.live, 0);
        assert_int_equal(counts.live_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_do_not_wrap),
        cmocka_unit_test(everything_is_counted),
        cmocka_unit_test(references_keep_it_alive),
        cmocka_unit_test(system_pages),
        cmocka_unit_test(a_stretch_is_cut_up),
        cmocka_unit_test(a_stretch_knows_the_limit),
        cmocka_unit_test(without_a_stretch),
        cmocka_unit_test(impossible_sizes),
        cmocka_unit_test(the_limit_is_exact),
        cmocka_unit_test(threads_count_together),
        cmocka_unit_test(arena_blocks_do_not_overlap),
        cmocka_unit_test(arena_of_nothing),
        cmocka_unit_test(large_requests_keep_the_open_block),
        cmocka_unit_test(arena_texts),
        cmocka_unit_test(arena_arrays_grow),
        cmocka_unit_test(arena_survives_every_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
