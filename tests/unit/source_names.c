/* SPDX-License-Identifier: Apache-2.0
 * Names of weight files, taken apart; shard names of an index; the sort. */
#include "source.h"

#include "source/index.h"
#include "source/names.h"
#include "source/sort.h"

static void test_names(void **state)
{
    static const struct {
        const char *name;
        enum nwi_name_form form;
        const char *stem;
        const char *variant;
        uint32_t rank;
        uint32_t shard;
        uint32_t n_shards;
    } rows[] = {
        {"diffusion_pytorch_model.safetensors", NWI_NAME_SINGLE,
         "diffusion_pytorch_model", "", 0, 0, 0},
        {"diffusion_pytorch_model.fp16.safetensors", NWI_NAME_SINGLE,
         "diffusion_pytorch_model", "fp16", 0, 0, 0},
        {"diffusion_pytorch_model.non_ema.bin", NWI_NAME_SINGLE,
         "diffusion_pytorch_model", "non_ema", 0, 0, 0},
        {"model.safetensors", NWI_NAME_SINGLE, "model", "", 1, 0, 0},
        {"pytorch_model.bin", NWI_NAME_SINGLE, "pytorch_model", "", 2, 0, 0},
        {"model-00001-of-00003.safetensors", NWI_NAME_SHARD, "model", "", 1, 1, 3},
        {"model.fp16-00002-of-00003.safetensors", NWI_NAME_SHARD, "model", "fp16", 1, 2,
         3},
        {"model-00002-of-00003.fp16.safetensors", NWI_NAME_SHARD, "model", "fp16", 1, 2,
         3},
        {"model.safetensors.index.json", NWI_NAME_INDEX, "model", "", 1, 0, 0},
        {"model.safetensors.index.fp16.json", NWI_NAME_INDEX, "model", "fp16", 1, 0, 0},
        {"model.safetensors.fp16.index.json", NWI_NAME_INDEX_LEGACY, "model", "fp16", 1,
         0, 0},
        {"diffusion_pytorch_model.bin.index.json", NWI_NAME_INDEX,
         "diffusion_pytorch_model", "", 0, 0, 0},
        {"model_ema.safetensors", NWI_NAME_SINGLE, "model_ema", "", 3, 0, 0},
        {"modelx.safetensors", NWI_NAME_SINGLE, "modelx", "", 3, 0, 0},
        {"sd_xl_base_1.0.safetensors", NWI_NAME_SINGLE, "sd_xl_base_1.0", "", 3, 0, 0},
        {"sd_xl_base.fp16.safetensors", NWI_NAME_SINGLE, "sd_xl_base", "fp16", 3, 0, 0},
        {"consolidated.00.safetensors", NWI_NAME_SINGLE, "consolidated.00", "", 3, 0,
         0},
        {"foo-00001-of-00002.safetensors", NWI_NAME_SHARD, "foo", "", 3, 1, 2},
        {"flux1-dev-Q4_K_S.gguf", NWI_NAME_SINGLE, "flux1-dev-Q4_K_S", "", 3, 0, 0},
        {"model-1-of-3.safetensors", NWI_NAME_SINGLE, "model-1-of-3", "", 3, 0, 0},
        {"config.json", NWI_NAME_OTHER, NULL, "", 0, 0, 0},
        {"vocab.index.json", NWI_NAME_OTHER, NULL, "", 0, 0, 0},
        {".safetensors", NWI_NAME_OTHER, NULL, "", 0, 0, 0},
        {"README.md", NWI_NAME_OTHER, NULL, "", 0, 0, 0},
        {"", NWI_NAME_OTHER, NULL, "", 0, 0, 0},
        {".index.json", NWI_NAME_OTHER, NULL, "", 0, 0, 0},
        {"..safetensors.index.json", NWI_NAME_INDEX, ".", "", 3, 0, 0},
        {"model.safetensors.netweight-tmp-12", NWI_NAME_TEMPORARY, NULL, "", 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nwi_weight_name name = nwi_weight_name(rows[i].name);
        if (name.form != rows[i].form || name.n_shards != rows[i].n_shards ||
            name.shard != rows[i].shard ||
            !nwi_name_is(name.variant, name.variant_size, rows[i].variant))
            fail_msg("%s: form %d, variant %.*s, shard %u of %u", rows[i].name,
                     (int)name.form, (int)name.variant_size, name.variant,
                     (unsigned)name.shard, (unsigned)name.n_shards);
        if (!rows[i].stem)
            continue;
        if (!nwi_name_is(name.stem, name.stem_size, rows[i].stem) ||
            name.stem_rank != rows[i].rank)
            fail_msg("%s: stem %.*s, rank %u", rows[i].name, (int)name.stem_size,
                     name.stem, (unsigned)name.stem_rank);
    }
}

static void test_shard_names(void **state)
{
    static const char *const unsafe[] = {"",    ".",  "..",   "/etc/hostname", "../x",
                                         "a/b", "a/", "a\\b", "..\\x",         "/"};
    static const char *const safe[] = {
        "a", "...", "..a", "model-00001-of-00002.safetensors", "\xE6\x97\xA5", " "};
    (void)state;
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
        assert_false(nwi_index_name_is_safe(unsafe[i], strlen(unsafe[i])));
    for (size_t i = 0; i < sizeof safe / sizeof safe[0]; i++)
        assert_true(nwi_index_name_is_safe(safe[i], strlen(safe[i])));
    assert_false(nwi_index_name_is_safe("a\0b", 3));
}

struct item {
    uint32_t key;
    uint32_t order;
};

static int compare(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* Stable, for every length up to a few runs and for few and many different keys. */
static void test_sort(void **state)
{
    struct item items[200];
    struct item spare[200];
    uint64_t seed = 7;
    (void)state;
    for (size_t n = 0; n <= 200; n++) {
        for (uint32_t keys = 1; keys < 300; keys *= 4) {
            for (size_t i = 0; i < n; i++)
                items[i] =
                    (struct item){(uint32_t)(nwt_random(&seed) % keys), (uint32_t)i};
            nwi_sort(items, spare, n, sizeof items[0], compare);
            for (size_t i = 1; i < n; i++)
                assert_true(items[i - 1].key < items[i].key ||
                            (items[i - 1].key == items[i].key &&
                             items[i - 1].order < items[i].order));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_shard_names),
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
