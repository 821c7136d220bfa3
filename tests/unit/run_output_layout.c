/* SPDX-License-Identifier: Apache-2.0
 * Shards, the order in a file, headers and the index, byte for byte. */
#include "run_output_scene.h"

/* The shard of each tensor, as digits from 1, for sizes ending in 0. */
static void check_pack(const char *folder, uint64_t max, const char *expected,
                       const uint64_t *sizes, size_t n)
{
    struct scene scene;
    struct nwi_output *output = NULL;
    struct nw_write_options options = {.max_shard_bytes = max,
                                       .flags = NW_WRITE_OVERWRITE};
    char *source = nwt_path(folder, "in.safetensors");
    char *target = nwt_path(folder, "out");
    char got[16] = "";
    scene_source(source, sizes, n, 1);
    scene_open(&scene, source);
    assert_ok(scene_begin(&scene, target, &options, &output), &scene.err);
    for (size_t i = 0; i < n; i++)
        got[i] = (char)('1' + output->places[i].file);
    assert_string_equal(got, expected);
    nwi_output_free(output);
    assert_false(scene_has(folder, "out"));
    scene_close(&scene);
    free(target);
    free(source);
}

#define CHECK_PACK(folder, max, expected, ...)                                         \
    check_pack(folder, max, expected, (const uint64_t[]){__VA_ARGS__},                 \
               sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void test_pack(void **state)
{
    char *folder = nwt_folder();
    (void)state;
    CHECK_PACK(folder, 10, "122333", 6, 6, 2, 6, 2, 2);
    CHECK_PACK(folder, 10, "2123", 3, 12, 4, 5);
    CHECK_PACK(folder, 10, "11", 5, 5);
    CHECK_PACK(folder, 10, "112", 5, 5, 1);
    CHECK_PACK(folder, 10, "1", 12);
    CHECK_PACK(folder, 10, "12", 12, 11);
    CHECK_PACK(folder, 1, "12", 1, 1);
    CHECK_PACK(folder, 10, "111", 10, 0, 0);
    CHECK_PACK(folder, 0, "111", 10, 20, 30);
    CHECK_PACK(folder, 1, "2134", 1, 2, 1, 1);
    nwt_remove(folder);
}

static void test_no_tensors(void **state)
{
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    char *target = nwt_path(folder, "out");
    struct scene scene;
    struct nw_write_options options = {.max_shard_bytes = 1};
    (void)state;
    scene_source(source, NULL, 0, 0);
    scene_open(&scene, source);
    assert_ok(scene_save(&scene, target, &options, 0), &scene.err);
    char *path = nwt_path(target, "model.safetensors");
    size_t size = 0;
    char *data = nwt_read(path, &size);
    assert_int_equal(size, 16);
    assert_memory_equal(data, "\x08\0\0\0\0\0\0\0{}      ", 16);
    free(data);
    free(path);
    scene_close(&scene);
    free(target);
    free(source);
    nwt_remove(folder);
}

/* Widest types first, then names in byte order; the header that safetensors writes. */
static void test_header(void **state)
{
    static const char expected[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"z\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
        "\"B\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[8,16]},"
        "\"a\\n\xC3\xA9\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[16,20]},"
        "\"h\":{\"dtype\":\"F16\",\"shape\":[0,3],\"data_offsets\":[20,20]},"
        "\"f\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[20,23]}}";
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    char *target = nwt_path(folder, "out.safetensors");
    struct scene scene;
    struct nwt_safetensors b;
    struct nw_write_options options = {0};
    (void)state;
    nwt_st_begin(&b);
    nwt_st_metadata(&b, "format", "pt");
    nwt_st_add(&b, "f", "BOOL", 1, (const uint64_t[]){3}, NULL, 3);
    nwt_st_add(&b, "a\n\xC3\xA9", "F32", 1, (const uint64_t[]){1}, NULL, 4);
    nwt_st_add(&b, "B", "F32", 2, (const uint64_t[]){2, 1}, NULL, 8);
    nwt_st_add(&b, "h", "F16", 2, (const uint64_t[]){0, 3}, NULL, 0);
    nwt_st_add(&b, "z", "F64", 0, NULL, NULL, 8);
    nwt_st_write(&b, source);
    scene_open(&scene, source);
    assert_ok(scene_save(&scene, target, &options, 0), &scene.err);
    size_t size = 0;
    char *data = nwt_read(target, &size);
    size_t padded = (sizeof expected - 1 + 7) / 8 * 8;
    assert_int_equal((uint8_t)data[0] | (uint8_t)data[1] << 8, padded);
    assert_memory_equal(data + 8, expected, sizeof expected - 1);
    for (size_t i = sizeof expected - 1; i < padded; i++)
        assert_int_equal(data[8 + i], ' ');
    assert_int_equal(size, 8 + padded + 23);
    free(data);
    scene_close(&scene);
    free(target);
    free(source);
    nwt_remove(folder);
}

static void test_index(void **state)
{
    static const char expected[] =
        "{\n  \"metadata\": {\n    \"total_size\": 5\n  },\n  \"weight_map\": {\n"
        "    \"\\u0001\\u007f\\\"\\\\\": \"model-00002-of-00003.safetensors\",\n"
        "    \"b\": \"model-00001-of-00003.safetensors\",\n"
        "    \"\\u00e9\\u65e5\\ud834\\udd1e\": \"model-00003-of-00003.safetensors\"\n"
        "  }\n}\n";
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    char *target = nwt_path(folder, "out");
    struct scene scene;
    struct nwt_safetensors b;
    struct nw_write_options options = {.max_shard_bytes = 2};
    (void)state;
    nwt_st_begin(&b);
    nwt_st_add(&b, "b", "U8", 1, (const uint64_t[]){2}, NULL, 2);
    nwt_st_add(&b, "\x01\x7F\"\\", "U8", 1, (const uint64_t[]){2}, NULL, 2);
    nwt_st_add(&b, "\xC3\xA9\xE6\x97\xA5\xF0\x9D\x84\x9E", "U8", 1,
               (const uint64_t[]){1}, NULL, 1);
    nwt_st_write(&b, source);
    scene_open(&scene, source);
    assert_ok(scene_save(&scene, target, &options, 0), &scene.err);
    scene_expect(target, "model.safetensors.index.json", expected);
    scene_close(&scene);
    free(target);
    free(source);
    nwt_remove(folder);
}

/* What begin allocates stays within what was predicted, and everything is given back.
 */
static void test_footprint(void **state)
{
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    uint64_t sizes[90];
    (void)state;
    for (size_t i = 0; i < 90; i++)
        sizes[i] = 4;
    scene_source(source, sizes, 90, 0);
    for (uint64_t max = 0; max <= 400; max += 40) {
        struct scene scene;
        struct nwi_output *output = NULL;
        struct nw_write_options options = {.max_shard_bytes = max};
        char *target = nwt_path(folder, "out");
        scene_open(&scene, source);
        uint64_t before = nwi_memory_used(scene.memory);
        uint64_t most = nwi_plan_output_bytes(scene.plans[0]);
        assert_ok(scene_begin(&scene, target, &options, &output), &scene.err);
        uint64_t got = nwi_memory_peak(scene.memory) - before;
        if (got > most || most - got > 8192)
            fail_msg("shards of %llu: %llu allocated, %llu predicted",
                     (unsigned long long)max, (unsigned long long)got,
                     (unsigned long long)most);
        nwi_output_free(output);
        assert_int_equal(nwi_memory_used(scene.memory), before);
        assert_false(scene_has(folder, "out"));
        scene_close(&scene);
        free(target);
    }
    free(source);
    nwt_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack),      cmocka_unit_test(test_no_tensors),
        cmocka_unit_test(test_header),    cmocka_unit_test(test_index),
        cmocka_unit_test(test_footprint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
