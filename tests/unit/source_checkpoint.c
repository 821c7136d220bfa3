/* SPDX-License-Identifier: Apache-2.0
 * Looking at an open checkpoint: rows, slices, documents, every way to open one. */
#include "source.h"

#include <fcntl.h>

#include "base/file.h"
#include "source/catalog.h"

static const float values[] = {0, 1, 2, 3, 4, 5};

/* m F32 [3, 2] = 0..5, s F32 [] = 0, e F32 [0, 4], n I64 [] */
static void write_sample(const char *path)
{
    static const uint64_t matrix[] = {3, 2};
    static const uint64_t empty[] = {0, 4};
    struct nwt_safetensors b;
    nwt_st_begin(&b);
    nwt_st_metadata(&b, "format", "pt");
    nwt_st_metadata(&b, "quote", "a \"b\"\n\xE6\x97\xA5");
    nwt_st_add(&b, "m", "F32", 2, matrix, values, sizeof values);
    nwt_st_add(&b, "s", "F32", 0, NULL, values, 4);
    nwt_st_add(&b, "e", "F32", 2, empty, NULL, 0);
    nwt_st_add(&b, "f", "F4", 2, (const uint64_t[]){2, 3}, "\x12\x34\x56", 3);
    nwt_st_write(&b, path);
}

static void test_read(void **state)
{
    struct nw_error err;
    float out[6];
    write_sample(at(*state, "x.safetensors"));
    struct nw_checkpoint *ckpt = open_with(at(*state, "x.safetensors"), NULL);
    assert_ok(nw_checkpoint_read(ckpt, 0, 0, 3, out, 24, &err), &err);
    assert_memory_equal(out, values, 24);
    assert_ok(nw_checkpoint_read(ckpt, 0, 1, 1, out, 8, &err), &err);
    assert_memory_equal(out, values + 2, 8);
    assert_ok(nw_checkpoint_read(ckpt, 0, 3, 0, NULL, 0, &err), &err);
    assert_code(nw_checkpoint_read(ckpt, 0, 1, 3, out, 24, &err), NW_E_ARG, &err);
    assert_code(nw_checkpoint_read(ckpt, 0, 4, 0, out, 0, &err), NW_E_ARG, &err);
    assert_code(nw_checkpoint_read(ckpt, 0, UINT64_MAX, 2, out, 16, &err), NW_E_ARG,
                &err);
    assert_code(nw_checkpoint_read(ckpt, 0, 0, 1, out, 7, &err), NW_E_ARG, &err);
    assert_string_equal(err.tensor, "m");
    assert_has(err.file, "x.safetensors");
    assert_ok(nw_checkpoint_read(ckpt, 1, 0, 1, out, 4, &err), &err);
    assert_ok(nw_checkpoint_read(ckpt, 2, 0, 0, NULL, 0, &err), &err);
    assert_code(nw_checkpoint_read(ckpt, 2, 0, 1, out, 16, &err), NW_E_ARG, &err);
    assert_code(nw_checkpoint_read(ckpt, 3, 0, 1, out, 1, &err), NW_E_UNSUPPORTED,
                &err);
    assert_code(nw_checkpoint_read(ckpt, 4, 0, 1, out, 4, &err), NW_E_ARG, &err);
    assert_code(nw_checkpoint_read(NULL, 0, 0, 1, out, 4, &err), NW_E_ARG, &err);
    /* cut short behind our back */
    assert_int_equal(truncate(at(*state, "x.safetensors"), 200), 0);
    assert_code(nw_checkpoint_read(ckpt, 0, 0, 3, out, 24, &err), NW_E_CHANGED, &err);
    nw_checkpoint_free(ckpt);
}

static void test_rows(void **state)
{
    struct nw_stored_tensor tensor;
    struct nw_stored_file file;
    struct nw_component component;
    struct nw_problem problem;
    struct nw_quantisation quantisation;
    struct nw_metadata metadata;
    write_sample(at(*state, "x.safetensors"));
    struct nw_checkpoint *ckpt = open_with(at(*state, "x.safetensors"), NULL);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 4);
    assert_int_equal(nw_checkpoint_file_count(ckpt), 1);
    assert_int_equal(nw_checkpoint_component_count(ckpt), 1);
    assert_int_equal(nw_checkpoint_metadata_count(ckpt), 2);
    assert_int_equal(nw_checkpoint_variant_count(ckpt), 1);
    assert_string_equal(nw_checkpoint_variant(ckpt, 0), "");
    assert_null(nw_checkpoint_variant(ckpt, 1));
    assert_int_equal(nw_checkpoint_tensor(ckpt, 4, &tensor), NW_E_ARG);
    assert_int_equal(nw_checkpoint_tensor(ckpt, 0, NULL), NW_E_ARG);
    assert_int_equal(nw_checkpoint_file(ckpt, 1, &file), NW_E_ARG);
    assert_int_equal(nw_checkpoint_component(ckpt, 1, &component), NW_E_ARG);
    assert_int_equal(nw_checkpoint_problem(ckpt, 0, &problem), NW_E_ARG);
    assert_int_equal(nw_checkpoint_quantisation(ckpt, 0, &quantisation), NW_E_ARG);
    assert_int_equal(nw_checkpoint_metadata(ckpt, 2, &metadata), NW_E_ARG);
    assert_int_equal(nw_checkpoint_tensor(NULL, 0, &tensor), NW_E_ARG);
    assert_int_equal(nw_checkpoint_tensor_count(NULL), 0);
    assert_int_equal(nw_checkpoint_component(ckpt, 0, &component), NW_OK);
    assert_string_equal(component.name, "");
    assert_null(component.folder);
    assert_int_equal(component.nbytes, 31);
    assert_int_equal(nw_checkpoint_file(ckpt, 0, &file), NW_OK);
    assert_string_equal(file.name, "x.safetensors");
    assert_string_equal(file.path, at(*state, "x.safetensors"));
    nw_checkpoint_free(ckpt);
    nw_checkpoint_free(NULL);
}

static int read_bytes(void *ctx, uint64_t offset, void *dst, size_t size)
{
    memcpy(dst, (const char *)ctx + offset, size);
    return 0;
}

/* The same through a descriptor, memory and callbacks. */
static void test_ways_to_open(void **state)
{
    struct nw_error err;
    struct nw_checkpoint *opened[3] = {NULL};
    size_t size = 0;
    write_sample(at(*state, "x.safetensors"));
    char *bytes = nwt_read(at(*state, "x.safetensors"), &size);
    int fd = open(at(*state, "x.safetensors"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct nw_input input = {.size_bytes = size, .read_at = read_bytes, .ctx = bytes};
    assert_ok(nw_open_fd(fd, "fd name", NULL, &opened[0], &err), &err);
    assert_int_equal(close(fd), 0);
    assert_ok(nw_open_memory(bytes, size, "memory name", NULL, &opened[1], &err), &err);
    assert_ok(nw_open_input(&input, "input name", NULL, &opened[2], &err), &err);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"fd name", "memory name", "input name"};
        float out[6];
        assert_int_equal(nw_checkpoint_tensor_count(opened[i]), 4);
        assert_ok(nw_checkpoint_read(opened[i], 0, 0, 3, out, 24, &err), &err);
        assert_memory_equal(out, values, 24);
        assert_string_equal(file_of(opened[i], names[i]).path, names[i]);
        nw_checkpoint_free(opened[i]);
    }
    assert_code(nw_open_memory(bytes, 30, "short", NULL, &opened[0], &err),
                NW_E_TRUNCATED, &err);
    assert_string_equal(err.file, "short");
    assert_code(nw_open_memory(NULL, 0, "none", NULL, &opened[0], &err), NW_E_TRUNCATED,
                &err);
    free(bytes);
}

static void test_document(void **state)
{
    static struct document document;
    write_sample(at(*state, "x.safetensors"));
    struct nw_checkpoint *ckpt = open_with(at(*state, "x.safetensors"), NULL);
    const char *text = inspect(ckpt, NW_INSPECT_TENSORS, &document);
    assert_has(text, "\"tensors\":4,\"bytes\":31,");
    assert_has(
        text,
        "\"metadata\":{\"format\":\"pt\",\"quote\":\"a \\\"b\\\"\\n\xE6\x97\xA5\"}");
    assert_has(text,
               "\"dtypes\":{\"F32\":{\"tensors\":3,\"bytes\":28},\"F4\":{\"tensors\":1,"
               "\"bytes\":3}}");
    assert_has(text, "\"kind\":\"unknown\"");
    assert_has(text,
               "{\"name\":\"x.safetensors\",\"container\":\"safetensors\",\"bytes\":");
    assert_has(text, "\"used\":true,\"reason\":null}");
    assert_has(text, "\"components\":[{\"name\":\"\",\"class\":null,");
    assert_has(text, "\"state\":\"present\",\"absent\":[],\"tensors\":4,\"bytes\":31,"
                     "\"nearest\":\"nothing is near\"}]");
    assert_has(text, "\"variants\":[\"\"],\"quantisation\":[],\"problems\":[]");
    assert_has(text, "{\"name\":\"m\",\"dtype\":\"F32\",\"shape\":[3,2],\"file\":"
                     "\"x.safetensors\",\"offset\":");
    assert_null(strstr(inspect(ckpt, 0, &document), "\"list\""));
    assert_null(strstr(inspect(ckpt, 0, &document), "\"hashes\""));
    nw_checkpoint_free(ckpt);
}

static int stop(void *ctx, const char *text, size_t size)
{
    (void)ctx;
    (void)text;
    (void)size;
    return 1;
}

static void test_stopped_document(void **state)
{
    struct nw_error err;
    write_sample(at(*state, "x.safetensors"));
    struct nw_checkpoint *ckpt = open_with(at(*state, "x.safetensors"), NULL);
    assert_code(nw_checkpoint_json(ckpt, 0, stop, NULL, &err), NW_E_CANCELLED, &err);
    assert_code(nw_checkpoint_json(ckpt, 0, NULL, NULL, &err), NW_E_ARG, &err);
    assert_code(nw_checkpoint_json(NULL, 0, stop, NULL, &err), NW_E_ARG, &err);
    nw_checkpoint_free(ckpt);
}

/* "abc" has a known sum: here it is what follows the header. */
static void test_hashes(void **state)
{
    static struct document document;
    struct nw_error err;
    write_bytes(*state, "x.safetensors",
                "\x35\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_"
                "offsets\":[0,3]}}abc",
                8 + 53 + 3);
    struct nw_checkpoint *ckpt = open_with(at(*state, "x.safetensors"), NULL);
    document.size = 0;
    int code = nw_checkpoint_json(
        ckpt, NW_INSPECT_SHA256 | NW_INSPECT_AUTOV2 | NW_INSPECT_AUTOV3, collect,
        &document, &err);
    if (code == NW_E_UNSUPPORTED) {
        print_message("built without libcrypto: hashes are not tested\n");
    } else {
        assert_int_equal(code, NW_OK);
        assert_has(document.text,
                   "\"hashes\":[{\"file\":\"x.safetensors\",\"sha256\":\"");
        assert_has(document.text, "\"autov3\":\"ba7816bf8f01\"}]");
        const char *whole = strstr(document.text, "\"sha256\":\"") + 10;
        const char *short_form = strstr(document.text, "\"autov2\":\"") + 10;
        assert_memory_equal(whole, short_form, 10);
        assert_int_equal(short_form[10], '"');
        assert_int_equal(whole[64], '"');
    }
    nw_checkpoint_free(ckpt);
}

static void test_error_document(void **state)
{
    static struct document document;
    struct nw_error err;
    struct nw_open_options report = {.size = sizeof report, .flags = NW_OPEN_REPORT};
    write_raw(*state, "x.safetensors",
              "{\"a\":{\"dtype\":\"X\",\"shape\":[1],\"data_offsets\":[0,1]},"
              "\"b\":{\"dtype\":\"Y\",\"shape\":[1],\"data_offsets\":[1,2]}}",
              2);
    err = refuse_with(at(*state, "x.safetensors"), NULL, NW_E_UNSUPPORTED_TYPE);
    document.size = 0;
    assert_int_equal(nw_error_json(&err, NULL, collect, &document), NW_OK);
    assert_has(document.text, "{\"error\":{\"code\":\"UNSUPPORTED_TYPE\",\"file\":\"");
    assert_has(document.text, "\"tensor\":\"a\",\"offset\":9,\"message\":\"");
    assert_has(document.text, "\"all\":[{\"code\":\"UNSUPPORTED_TYPE\"");
    struct nw_checkpoint *ckpt = open_with(at(*state, "x.safetensors"), &report);
    document.size = 0;
    assert_int_equal(nw_error_json(&err, ckpt, collect, &document), NW_OK);
    assert_has(document.text, "unknown dtype \\\"Y\\\"");
    assert_int_equal(nw_error_json(&err, ckpt, stop, NULL), NW_E_CANCELLED);
    assert_int_equal(nw_error_json(NULL, ckpt, stop, NULL), NW_E_ARG);
    assert_has(inspect(ckpt, 0, &document),
               "\"problems\":[{\"code\":\"UNSUPPORTED_TYPE\"");
    nw_checkpoint_free(ckpt);
}

static void expect_kind(const char *folder, const char *const *names, const char *kind)
{
    static struct document document;
    char expected[64];
    write_weights(folder, "k.safetensors", names, 1);
    struct nw_checkpoint *ckpt = open_with(at(folder, "k.safetensors"), NULL);
    (void)snprintf(expected, sizeof expected, "\"kind\":\"%s\"", kind);
    assert_has(inspect(ckpt, 0, &document), expected);
    nw_checkpoint_free(ckpt);
}

#define KIND(kind, ...)                                                                \
    expect_kind(*state, (const char *const[]){__VA_ARGS__, NULL}, kind)

static void test_kind(void **state)
{
    KIND("lora", "lora_unet_x.lora_down.weight", "lora_unet_x.lora_up.weight",
         "lora_unet_x.alpha");
    KIND("lora", "base.q.lora_A.weight", "base.q.lora_B.weight");
    KIND("embedding", "emb_params");
    KIND("embedding", "clip_g", "clip_l");
    KIND("unknown", "conv_in.weight", "x.lora_down.weight", "conv_in.bias");
    write_text(*state, "config.json", "{\"_class_name\":\"AutoencoderKL\"}");
    KIND("vae", "conv_in.weight");
    write_text(*state, "config.json", "{\"_class_name\":\"FluxControlNetModel\"}");
    KIND("controlnet", "conv_in.weight");
    write_text(*state, "config.json", "{\"_class_name\":\"FluxTransformer2DModel\"}");
    KIND("denoiser", "conv_in.weight");
    write_text(*state, "config.json", "{\"architectures\":[\"T5EncoderModel\"]}");
    KIND("text_encoder", "conv_in.weight");
}

/* Metadata of several files: all are there, and the first that has a key counts in the
 * document. */
static void test_merged_metadata(void **state)
{
    static struct document document;
    for (int i = 1; i <= 2; i++) {
        struct nwt_safetensors b;
        char name[64];
        char value[8];
        (void)snprintf(value, sizeof value, "%d", i);
        (void)snprintf(name, sizeof name, "model-0000%d-of-00002.safetensors", i);
        nwt_st_begin(&b);
        nwt_st_metadata(&b, "both", value);
        nwt_st_metadata(&b, i == 1 ? "one" : "two", value);
        nwt_st_add(&b, i == 1 ? "a" : "b", "U8", 0, NULL, "", 1);
        nwt_st_write(&b, at(*state, name));
    }
    write_text(*state, "model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\","
               "\"b\":\"model-00002-of-00002.safetensors\"}}");
    struct nw_checkpoint *ckpt = open_with(*state, NULL);
    assert_int_equal(nw_checkpoint_metadata_count(ckpt), 4);
    assert_has(inspect(ckpt, 0, &document),
               "\"metadata\":{\"both\":\"1\",\"one\":\"1\",\"two\":\"2\"}");
    nw_checkpoint_free(ckpt);
}

static void test_pick(void **state)
{
    struct nw_error err;
    uint32_t row = 9;
    WEIGHTS(*state, "p/vae/model.safetensors", 1, "w");
    WEIGHTS(*state, "p/unet/model.safetensors", 1, "w");
    write_text(*state, "p/vae/config.json", "{}");
    struct nw_checkpoint *ckpt = open_with(at(*state, "p"), NULL);
    nwi_error_clear(&err);
    assert_int_equal(nwi_checkpoint_pick(ckpt, "vae", &row, &err), NW_OK);
    assert_int_equal(row, 1);
    assert_code(nwi_checkpoint_pick(ckpt, NULL, &row, &err), NW_E_ARG, &err);
    assert_has(err.message, "unet, vae");
    nwi_error_clear(&err);
    assert_code(nwi_checkpoint_pick(ckpt, "x", &row, &err), NW_E_NOT_FOUND, &err);
    nw_checkpoint_free(ckpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_read),
        TEST(test_rows),
        TEST(test_ways_to_open),
        TEST(test_document),
        TEST(test_stopped_document),
        TEST(test_hashes),
        TEST(test_kind),
        TEST(test_error_document),
        TEST(test_merged_metadata),
        TEST(test_pick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
