/* SPDX-License-Identifier: Apache-2.0
 * What becomes of a header's metadata: kept, overridden, deleted, and dropped where the
 * change makes it false. */
#include "run_output_scene.h"

static const char *const input[][2] = {
    {"format", "pt"},
    {"sshs_model_hash", "1"},
    {"ss_sd_model_hash", "of the model that training began with"},
    {"modelspec.hash_sha256", "2"},
    {"modelspec.title", "hash"},
    {"_quantization_metadata", "{}"},
    {"sha256", "3"},
};

static void write_source(const char *path, bool quantised)
{
    struct nwt_safetensors b;
    nwt_st_begin(&b);
    for (size_t i = 0; i < sizeof input / sizeof input[0]; i++)
        nwt_st_metadata(&b, input[i][0], input[i][1]);
    nwt_st_add(&b, "a.weight", "F32", 1, (const uint64_t[]){4}, NULL, 16);
    nwt_st_add(&b, "b.weight", "F32", 1, (const uint64_t[]){4}, NULL, 16);
    if (quantised) {
        nwt_st_add(&b, "c.weight_scale", "F32", 0, NULL, NULL, 4);
        nwt_st_add(&b, "c.weight", "F8_E4M3", 2, (const uint64_t[]){2, 2}, NULL, 4);
    }
    nwt_st_write(&b, path);
}

/* Header up to the first tensor, and the dropped keys joined with commas. */
static void check(struct nw_load_options load, bool quantised,
                  const struct nw_write_options *options, const char *metadata,
                  const char *dropped)
{
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    char *target = nwt_path(folder, "out.safetensors");
    struct scene scene;
    struct nwi_output *output = NULL;
    const char *const *keys = NULL;
    char list[256] = "";
    write_source(source, quantised);
    scene_open_as(&scene, source, NULL, load);
    assert_ok(scene_begin(&scene, target, options, &output), &scene.err);
    assert_ok(scene_fill(&scene, output, 0), &scene.err);
    assert_ok(nwi_output_commit(output, &scene.err), &scene.err);
    size_t n = nwi_output_dropped(output, &keys);
    for (size_t i = 0; i < n; i++)
        (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                       i ? "," : "", keys[i]);
    assert_string_equal(list, dropped);
    nwi_output_free(output);
    char *data = nwt_read(target, NULL);
    char *tensors = strstr(data + 8, "\"a.weight\"");
    tensors = tensors ? tensors : strstr(data + 8, "\"n.a.weight\"");
    assert_non_null(tensors);
    *tensors = '\0';
    assert_string_equal(data + 8, metadata);
    free(data);
    scene_close(&scene);
    free(target);
    free(source);
    nwt_remove(folder);
}

#define FORMAT  "\"format\":\"pt\""
#define MODEL   "\"ss_sd_model_hash\":\"of the model that training began with\""
#define TITLE   "\"modelspec.title\":\"hash\""
#define QUANT   "\"_quantization_metadata\":\"{}\""
#define HEAD(x) "{\"__metadata__\":{" x "},"

static void test_unchanged(void **state)
{
    struct nw_write_options options = {0};
    (void)state;
    check((struct nw_load_options){0}, false, &options,
          HEAD(FORMAT ",\"sshs_model_hash\":\"1\"," MODEL
                      ",\"modelspec.hash_sha256\":\"2\"," TITLE "," QUANT
                      ",\"sha256\":\"3\""),
          "");
}

static void test_changed(void **state)
{
    struct nw_write_options options = {0};
    static const char *const drop[] = {"b.*"};
    (void)state;
    const char *head = HEAD(FORMAT "," MODEL "," TITLE "," QUANT);
    const char *dropped = "sshs_model_hash,modelspec.hash_sha256,sha256";
    check((struct nw_load_options){.dtype = NW_BF16}, false, &options, head, dropped);
    check((struct nw_load_options){.prefix = "n."}, false, &options, head, dropped);
    check((struct nw_load_options){.drop = drop, .n_drop = 1}, false, &options, head,
          dropped);
}

/* The description of quantised layers goes when one of them changes, not before. */
static void test_quantised(void **state)
{
    struct nw_write_options options = {0};
    static const char *const drop_b[] = {"b.*"};
    static const char *const drop_c[] = {"c.*"};
    (void)state;
    check((struct nw_load_options){.drop = drop_b, .n_drop = 1}, true, &options,
          HEAD(FORMAT "," MODEL "," TITLE "," QUANT),
          "sshs_model_hash,modelspec.hash_sha256,sha256");
    check((struct nw_load_options){.drop = drop_c, .n_drop = 1}, true, &options,
          HEAD(FORMAT "," MODEL "," TITLE),
          "sshs_model_hash,modelspec.hash_sha256,_quantization_metadata,sha256");
}

static void test_given(void **state)
{
    static const char *const given[] = {
        "format=np=1", "modelspec.title=", "gone=", "sha256=mine", "new=\"x\""};
    struct nw_write_options options = {.metadata = given, .n_metadata = 5};
    (void)state;
    check((struct nw_load_options){.dtype = NW_BF16}, false, &options,
          HEAD("\"format\":\"np=1\"," MODEL "," QUANT
               ",\"sha256\":\"mine\",\"new\":\"\\\"x\\\"\""),
          "sshs_model_hash,modelspec.hash_sha256");
}

static void test_all_deleted(void **state)
{
    static const char *const given[] = {"format=",
                                        "sshs_model_hash=",
                                        "ss_sd_model_hash=",
                                        "modelspec.hash_sha256=",
                                        "modelspec.title=",
                                        "_quantization_metadata=",
                                        "sha256="};
    struct nw_write_options options = {.metadata = given, .n_metadata = 7};
    (void)state;
    check((struct nw_load_options){0}, false, &options, "{", "");
}

static void test_refused(void **state)
{
    static const char *const wrong[] = {"novalue", "=x", "a=\xFF", "", NULL};
    char *folder = nwt_folder();
    char *source = nwt_path(folder, "in.safetensors");
    char *target = nwt_path(folder, "out.safetensors");
    struct scene scene;
    (void)state;
    write_source(source, false);
    scene_open(&scene, source);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct nw_write_options options = {.metadata = &wrong[i], .n_metadata = 1};
        struct nwi_output *output = NULL;
        assert_code(scene_begin(&scene, target, &options, &output), NW_E_ARG,
                    &scene.err);
        assert_null(output);
    }
    assert_int_equal(scene_count(folder), 1);
    scene_close(&scene);
    free(target);
    free(source);
    nwt_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged),   cmocka_unit_test(test_changed),
        cmocka_unit_test(test_quantised),   cmocka_unit_test(test_given),
        cmocka_unit_test(test_all_deleted), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
