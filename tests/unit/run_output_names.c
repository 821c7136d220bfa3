/* SPDX-License-Identifier: Apache-2.0
 * Names: what belongs to a save of one stem and variant, and temporaries. */
#include "run_output_scene.h"

static void test_kinds(void **state)
{
    static const struct {
        const char *name, *stem, *variant;
        enum nwi_save_kind kind;
    } rows[] = {
        {"model.safetensors", "model", NULL, NWI_SAVE_SINGLE},
        {"model-00001-of-00002.safetensors", "model", NULL, NWI_SAVE_SHARD},
        {"model.safetensors.index.json", "model", NULL, NWI_SAVE_INDEX},
        {"model.fp16.safetensors", "model", "fp16", NWI_SAVE_SINGLE},
        {"model.fp16-00001-of-00002.safetensors", "model", "fp16", NWI_SAVE_SHARD},
        {"model-00001-of-00002.fp16.safetensors", "model", "fp16",
         NWI_SAVE_LEGACY_SHARD},
        {"model.safetensors.index.fp16.json", "model", "fp16", NWI_SAVE_INDEX},
        {"model.safetensors.fp16.index.json", "model", "fp16", NWI_SAVE_INDEX},
        {"model.ema.v2.safetensors", "model", "ema.v2", NWI_SAVE_SINGLE},
        /* other variants, stems, formats */
        {"model.safetensors", "model", "fp16", NWI_SAVE_NONE},
        {"model.ema.safetensors", "model", NULL, NWI_SAVE_NONE},
        {"model.fp16.safetensors", "model", "fp1", NWI_SAVE_NONE},
        {"model.fp16-00001-of-00002.safetensors", "model", NULL, NWI_SAVE_NONE},
        {"model-00001-of-00002.fp16.safetensors", "model", NULL, NWI_SAVE_NONE},
        {"model-00001-of-00002.safetensors", "model", "fp16", NWI_SAVE_NONE},
        {"model.safetensors.index.json", "model", "fp16", NWI_SAVE_NONE},
        {"model.safetensors.index.fp16.json", "model", NULL, NWI_SAVE_NONE},
        {"model.safetensors.fp16.index.json", "model", NULL, NWI_SAVE_NONE},
        {"model_ema-00001-of-00002.safetensors", "model", NULL, NWI_SAVE_NONE},
        {"model2.safetensors", "model", NULL, NWI_SAVE_NONE},
        {"amodel.safetensors", "model", NULL, NWI_SAVE_NONE},
        {"model.bin", "model", NULL, NWI_SAVE_NONE},
        {"model-00001-of-00002.bin", "model", NULL, NWI_SAVE_NONE},
        {"model.bin.index.json", "model", NULL, NWI_SAVE_NONE},
        {"model-0001-of-00002.safetensors", "model", NULL, NWI_SAVE_NONE},
        {"model-00001-of-000021.safetensors", "model", NULL, NWI_SAVE_NONE},
        {"model-000010of-00002.safetensors", "model", NULL, NWI_SAVE_NONE},
        {"model-00001-of-00002.safetensors.part", "model", NULL, NWI_SAVE_NONE},
        {"model", "model", NULL, NWI_SAVE_NONE},
        {"", "model", NULL, NWI_SAVE_NONE},
    };
    uint32_t numbers[2];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum nwi_save_kind kind =
            nwi_save_kind(rows[i].name, rows[i].stem, rows[i].variant, numbers);
        if (kind != rows[i].kind)
            fail_msg("%s: %d, expected %d", rows[i].name, (int)kind, (int)rows[i].kind);
    }
    (void)nwi_save_kind("m.x-00013-of-00207.safetensors", "m", "x", numbers);
    assert_int_equal(numbers[0], 13);
    assert_int_equal(numbers[1], 207);
}

static struct nwi_output make(struct nwi_output_set *set, struct nwi_output_file *files,
                              const char *variant)
{
    return (struct nwi_output){
        .sets = set, .n_sets = 1, .files = files, .variant = variant};
}

static void test_names(void **state)
{
    struct nwi_output_file files[3] = {0};
    struct nwi_output_set set = {.folder = "unet", .stem = "model", .n_files = 3};
    struct nwi_output output = make(&set, files, "fp16");
    char name[NWI_OUTPUT_PATH];
    (void)state;
    nwi_output_file_name(&output, 1, name);
    assert_string_equal(name, "unet/model.fp16-00002-of-00003.safetensors");
    nwi_output_index_name(&output, &set, false, name);
    assert_string_equal(name, "unet/model.safetensors.index.fp16.json");
    nwi_output_index_name(&output, &set, true, name);
    assert_string_equal(name, "unet/model.safetensors.fp16.index.json");
    set = (struct nwi_output_set){.folder = "", .stem = "m", .n_files = 1};
    output.variant = NULL;
    nwi_output_file_name(&output, 0, name);
    assert_string_equal(name, "m.safetensors");
    nwi_output_index_name(&output, &set, false, name);
    assert_string_equal(name, "m.safetensors.index.json");
}

static void test_temporaries(void **state)
{
    struct nwi_output output = {0};
    char temp[NWI_OUTPUT_PATH];
    char longest[256];
    size_t size = 0;
    uint64_t pid = 0;
    (void)state;
    nwi_output_draw_suffix(&output);
    nwi_output_temp_name(&output, "unet/model.safetensors", temp);
    assert_memory_equal(temp, "unet/.model.safetensors.netweight-tmp-", 38);
    assert_true(nwi_output_is_temp(temp + 5, &size, &pid));
    assert_int_equal(size, strlen("model.safetensors"));
    assert_int_equal(pid, getpid());
    memset(longest, 'a', 255);
    longest[255] = '\0';
    nwi_output_temp_name(&output, longest, temp);
    assert_int_equal(strlen(temp), 255);
    assert_true(nwi_output_is_temp(temp, &size, &pid));
    static const char *const others[] = {
        "model.safetensors.netweight-tmp-1-0123abcd", /* no dot in front */
        ".model.safetensors.netweight-tmp-1-0123abc",
        ".model.safetensors.netweight-tmp-1-0123abcde",
        ".model.safetensors.netweight-tmp-1-0123abcg",
        ".model.safetensors.netweight-tmp--0123abcd",
        ".model.safetensors.netweight-tmp-1",
        ".model.safetensors",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(nwi_output_is_temp(others[i], &size, &pid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_temporaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
