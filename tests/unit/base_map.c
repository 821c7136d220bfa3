/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/thread.h"
#include "support/support.h"
#include "test.h"

#define MANY 200000

static void an_empty_map_allocates_nothing(void **state)
{
    (void)state;
    struct nwt_allocator counts = {.fail_at = -1};
    struct nw_allocator allocator = nwt_failing_allocator(&counts);
    struct nwi_memory *memory = nwi_memory_new(&allocator);
    struct nwi_map map;
    assert_int_equal(nwi_map_init(&map, memory, 0), NW_OK);
    assert_int_equal(counts.live, 1); /* the struct nwi_memory */
    assert_int_equal(nwi_map_find(&map, "a", 1), NWI_MAP_NONE);
    nwi_map_release(&map);
    nwi_memory_release(memory);
    assert_int_equal(counts.live, 0);
}

static void names_are_any_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t size;
    } rows[] = {{"", 0},       {"a", 1},    {"a\0", 2},      {"a\0\0\0\0\0\0\0", 8},
                {"\0", 1},     {"\0\0", 2}, {"12345678", 8}, {"123456789", 9},
                {"1234567", 7}};
    const uint32_t n = sizeof rows / sizeof rows[0];
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_map map;
    uint32_t existing = 0;
    assert_int_equal(nwi_map_init(&map, memory, 2), NW_OK);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(nwi_map_add(&map, rows[i].name, rows[i].size, i, &existing),
                         NW_OK);
        assert_int_equal(existing, NWI_MAP_NONE);
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(nwi_map_find(&map, rows[i].name, rows[i].size), i);
        assert_int_equal(nwi_map_add(&map, rows[i].name, rows[i].size, 99, &existing),
                         NW_OK);
        assert_int_equal(existing, i);
    }
    assert_int_equal(map.n, n);
    assert_int_equal(nwi_map_find(&map, "b", 1), NWI_MAP_NONE);
    nwi_map_release(&map);
    nwi_memory_release(memory);
}

/* names[i] is 24 bytes from i * 24 on. */
static char *many_names(void)
{
    char *names = malloc((size_t)MANY * 24);
    assert_non_null(names);
    for (int i = 0; i < MANY; i++)
        (void)snprintf(names + (size_t)i * 24, 24, "blocks.%06d.weight", i);
    return names;
}

static void many_names_in_linear_time(void **state)
{
    (void)state;
    char *names = many_names();
    struct nwi_memory *memory = nwi_memory_new(NULL);
    for (size_t reserved = 0; reserved <= MANY; reserved += MANY) {
        struct nwi_map map;
        uint32_t existing = 0;
        double start = nwi_now();
        assert_int_equal(nwi_map_init(&map, memory, reserved), NW_OK);
        uint64_t used = nwi_memory_used(memory);
        for (uint32_t i = 0; i < MANY; i++) {
            const char *name = names + (size_t)i * 24;
            assert_int_equal(nwi_map_add(&map, name, strlen(name), i, &existing),
                             NW_OK);
        }
        if (reserved)
            assert_int_equal(nwi_memory_used(memory), used);
        for (uint32_t i = 0; i < MANY; i++) {
            const char *name = names + (size_t)i * 24;
            assert_int_equal(nwi_map_find(&map, name, strlen(name)), i);
        }
        assert_true(nwi_now() - start < 20); /* quadratic would take minutes */
        nwi_map_release(&map);
    }
    nwi_memory_release(memory);
    free(names);
}

static void a_refused_growth_changes_nothing(void **state)
{
    (void)state;
    static const char names[] = "abcdefghijklmnopqrstuvwxyz";
    for (long fail_at = 1;; fail_at++) {
        struct nwt_allocator counts = {.fail_at = fail_at};
        struct nw_allocator allocator = nwt_failing_allocator(&counts);
        struct nwi_memory *memory = nwi_memory_new(&allocator);
        struct nwi_map map;
        uint32_t existing = 0;
        uint32_t n = 0;
        int code = nwi_map_init(&map, memory, 1);
        while (code == NW_OK && n < 26) {
            code = nwi_map_add(&map, names + n, 1, n, &existing);
            n += code == NW_OK;
        }
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(nwi_map_find(&map, names + i, 1), i);
        if (n < 26)
            assert_int_equal(nwi_map_find(&map, names + n, 1), NWI_MAP_NONE);
        nwi_map_release(&map);
        nwi_memory_release(memory);
        assert_int_equal(counts.live, 0);
        assert_int_equal(counts.live_bytes, 0);
        if (n == 26)
            break;
        assert_int_equal(code, NW_E_NOMEM);
    }
}

static void too_many_are_refused(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_map map;
    nwi_memory_set_limit(memory, 1 << 20);
    assert_int_equal(nwi_map_init(&map, memory, SIZE_MAX), NW_E_NOMEM);
    nwi_map_release(&map);
    assert_int_equal(nwi_map_init(&map, memory, (size_t)1 << 31), NW_E_NOMEM);
    nwi_map_release(&map);
    nwi_memory_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_allocates_nothing),
        cmocka_unit_test(names_are_any_bytes),
        cmocka_unit_test(many_names_in_linear_time),
        cmocka_unit_test(a_refused_growth_changes_nothing),
        cmocka_unit_test(too_many_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
