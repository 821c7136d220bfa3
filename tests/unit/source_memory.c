/* SPDX-License-Identifier: Apache-2.0
 * Every allocation of opening and of the documents fails once: NOMEM, and nothing is left. */
#include "source.h"

static struct nwt_allocator memory;

static struct nw_open_options options_at(long fail_at)
{
    struct nw_open_options options = {.size = sizeof options};
    options.allocator = nwt_failing_allocator(&memory);
    memory.calls = 0;
    memory.fail_at = fail_at;
    return options;
}

static int drop(void *ctx, const char *text, size_t size)
{
    (void)ctx;
    (void)text;
    (void)size;
    return 0;
}

/* With the n-th allocation refused the code is NOMEM; `good` is what comes without. */
static void check(const char *path, const struct nw_open_options *more, int good)
{
    bool fired = true;
    for (long n = 0; fired; n++) {
        struct nw_error err;
        struct nw_checkpoint *ckpt = NULL;
        struct nw_open_options options = options_at(n);
        if (more) {
            options.flags = more->flags;
            options.variant = more->variant;
            options.cache_dir = more->cache_dir;
            options.revision = more->revision;
        }
        int code = nw_open(path, &options, &ckpt, &err);
        fired = memory.calls > n;
        if (code != (fired ? NW_E_NOMEM : good))
            fail_msg("%s, allocation %ld: %s (%s)", path, n, nw_code_name(code),
                     err.message);
        if (fired || good != NW_OK)
            assert_null(ckpt);
        nw_checkpoint_free(ckpt);
        assert_int_equal(memory.live, 0);
        assert_int_equal(memory.live_bytes, 0);
    }
}

static void write_all(const char *folder)
{
    WEIGHTS(folder, "unet/diffusion_pytorch_model-00001-of-00002.safetensors", 1, "a",
            "x");
    WEIGHTS(folder, "unet/diffusion_pytorch_model-00002-of-00002.safetensors", 2, "b",
            "x");
    WEIGHTS(folder, "unet/diffusion_pytorch_model.fp16.safetensors", 2, "b", "x");
    write_text(folder, "unet/diffusion_pytorch_model.safetensors.index.json",
               "{\"metadata\":{\"total_size\":7},\"weight_map\":{"
               "\"b\":\"diffusion_pytorch_model-00002-of-00002.safetensors\","
               "\"\\u0061\":\"diffusion_pytorch_model-00001-of-00002.safetensors\","
               "\"x\":\"diffusion_pytorch_model-00002-of-00002.safetensors\"}}");
    write_text(folder, "unet/config.json",
               "{\"_class_name\":\"UNet2DConditionModel\",\"quantization_config\":"
               "{\"quant_method\":\"x\"}}");
    write_text(folder, "tokenizer/vocab.json", "{}");
    write_text(folder, "README.md", "#");
    write_text(folder, "model_index.json",
               "{\"vae\":[\"diffusers\",\"AutoencoderKL\"],\"gone\":[\"a\",\"b\"],"
               "\"unet\":[\"diffusers\",\"UNet2DConditionModel\"]}");
    WEIGHTS(folder, "vae/model.safetensors", 2, "v");
    WEIGHTS(folder, "stray.safetensors", 2, "v");
}

static void write_quantised(const char *folder)
{
    static const uint64_t shape[] = {2, 2};
    static const uint64_t size[] = {40};
    struct nwt_safetensors b;
    nwt_st_begin(&b);
    nwt_st_metadata(
        &b, "_quantization_metadata",
        "{\"layers\":{\"l\":{\"format\":\"int8_tensorwise\"},\"none\":{}}}");
    nwt_st_add(&b, "z\xC3\xA9.weight_scale", "F32", 2, shape, NULL, 16);
    nwt_st_add(&b, "l.weight", "I8", 2, shape, NULL, 4);
    nwt_st_add(&b, "l.weight_scale", "F32", 0, NULL, "\0\0\0", 4);
    nwt_st_add(&b, "l.comfy_quant", "U8", 1, size,
               "{\"format\":\"int8_tensorwise\",\"convrot\":true}", 40);
    nwt_st_write(&b, at(folder, "q.safetensors"));
}

static void test_open(void **state)
{
    struct nw_open_options report = {.flags = NW_OPEN_REPORT};
    struct nw_open_options fp16 = {.variant = "fp16"};
    write_all(*state);
    write_quantised(*state);
    check(*state, NULL, NW_OK);
    check(*state, &fp16, NW_OK);
    check(at(*state, "unet"), NULL, NW_OK);
    check(at(*state, "unet/diffusion_pytorch_model.safetensors.index.json"), NULL,
          NW_OK);
    check(at(*state, "q.safetensors"), NULL, NW_OK);
    write_raw(
        *state, "bad.safetensors",
        "{\"__metadata__\":{\"a\":\"b\"},\"n\\u0061\":{\"dtype\":\"X\",\"shape\":[1],"
        "\"data_offsets\":[4,5]},\"m\":{\"dtype\":\"U8\",\"shape\":[2],"
        "\"data_offsets\":[0,2]},\"m\":1}",
        9);
    check(at(*state, "bad.safetensors"), &report, NW_OK);
    check(at(*state, "bad.safetensors"), NULL, NW_E_UNSUPPORTED_TYPE);
    assert_int_equal(
        remove(at(*state, "unet/diffusion_pytorch_model-00001-of-00002.safetensors")),
        0);
    check(*state, &report, NW_OK);
    check(*state, NULL, NW_E_MISSING_SHARD);
}

static void test_hub(void **state)
{
    struct nw_open_options options = {.cache_dir = *state};
    static const char commit[] = "0123456789abcdef0123456789abcdef01234567";
    WEIGHTS(*state,
            "models--o--n/snapshots/0123456789abcdef0123456789abcdef01234567/"
            "model.safetensors",
            1, "w");
    write_text(*state, "models--o--n/refs/main", commit);
    check("o/n", &options, NW_OK);
    check(at(*state, "models--o--n"), NULL, NW_OK);
    write_text(*state, "models--o--n/refs/main", "gone");
    check("o/n", &options, NW_E_NOT_FOUND);
    options.revision = "v2";
    check("o/n", &options, NW_E_NOT_FOUND);
}

static void test_document(void **state)
{
    write_all(*state);
    struct nw_open_options options = options_at(-1);
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    assert_ok(nw_open(*state, &options, &ckpt, &err), &err);
    long live = memory.live;
    bool fired = true;
    for (long n = 0; fired; n++) {
        memory.calls = 0;
        memory.fail_at = n;
        int code = nw_checkpoint_json(ckpt, NW_INSPECT_TENSORS | NW_INSPECT_SHA256,
                                      drop, NULL, &err);
        fired = memory.calls > n;
        assert_true(code == (fired ? NW_E_NOMEM : NW_OK) || code == NW_E_UNSUPPORTED);
        assert_int_equal(memory.live, live);
    }
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_open),
        TEST(test_hub),
        TEST(test_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
