/* SPDX-License-Identifier: Apache-2.0
 * Files that are not what their name says. */
#include "source.h"

static const struct nw_open_options strict = {.size = sizeof strict};

static struct nw_error refuse_text(const char *folder, const char *name,
                                   const char *text, size_t size, int code)
{
    write_bytes(folder, name, text, size);
    return refuse_with(at(folder, name), &strict, code);
}

static const char lfs[] =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:0000000000000000000000000000000000000000000000000000000000000000\n"
    "size 4265146304\n";

static void test_lfs_pointer(void **state)
{
    static const char *const names[] = {"model.safetensors", "model.ckpt", "model.gguf",
                                        "diffusion_pytorch_model.bin"};
    char first[400] = "";
    assert_int_equal(sizeof lfs - 1, 135);
    for (size_t i = 0; i < 4; i++) {
        struct nw_error err =
            refuse_text(*state, names[i], lfs, sizeof lfs - 1, NW_E_WRONG_FORMAT);
        assert_has(err.message, "git-lfs pointer");
        assert_has(err.message, "4265146304");
        assert_has(err.message, "this file 135");
        if (i)
            assert_string_equal(err.message, first);
        memcpy(first, err.message, sizeof first);
    }
    static const char broken[] = "version https://git-lfs.github.com/spec/v1\nsize 12x";
    struct nw_error err = refuse_text(*state, "m.safetensors", broken,
                                      sizeof broken - 1, NW_E_WRONG_FORMAT);
    assert_has(err.message, "git-lfs pointer");
}

/* A folder whose weights are pointers says the same. */
static void test_lfs_in_folder(void **state)
{
    write_text(*state, "m/config.json", "{}");
    write_text(*state, "m/diffusion_pytorch_model.safetensors", lfs);
    struct nw_error err = refuse_with(at(*state, "m"), &strict, NW_E_WRONG_FORMAT);
    assert_has(err.message, "git-lfs pointer");
    assert_has(err.file, "diffusion_pytorch_model.safetensors");
}

static void test_texts(void **state)
{
    static const struct {
        const char *text;
        const char *says[2];
    } rows[] = {
        {"<!DOCTYPE html>\n<html><head><title>404 Not "
         "Found</title></head><body></body></html>",
         {"HTML text", "<!DOCTYPE html>"}},
        {"\n  <HTML>\x1b[31m<body>", {"HTML text", "<HTML>\\x1b[31m"}},
        {"\xEF\xBB\xBF<html lang=\"en\">", {"HTML text", "<html lang=\\x22en"}},
        {"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
         {"XML text", "<?xml"}},
        {"<Error><Code>AccessDenied</Code></Error>", {"XML text", "AccessDenied"}},
        {"{\"error\":\"Repository not found\"}", {"JSON text", "Repository not found"}},
        {"[{\"error\": 1}]", {"JSON text", "error"}},
        {"Access to model x is restricted.", {"plain text", "Access to model"}},
        {"Entry not found", {"plain text", "Entry not found"}},
        {"cposix\nsystem\n(S'touch CANARY'\ntR.", {"pickle", "cposix"}},
        {"(dp0\nS'w'\np1\nI1\ns.", {"pickle", "(dp0"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static const char *const names[] = {"page.safetensors", "page.ckpt"};
        for (size_t j = 0; j < 2; j++) {
            struct nw_error err = refuse_text(*state, names[j], rows[i].text,
                                              strlen(rows[i].text), NW_E_WRONG_FORMAT);
            assert_has(err.message, rows[i].says[0]);
            assert_has(err.message, rows[i].says[1]);
        }
    }
}

/* The first line is shown, up to about 60 characters. */
static void test_long_line(void **state)
{
    char text[6000];
    memset(text, 'x', sizeof text);
    struct nw_error err =
        refuse_text(*state, "a.bin", text, sizeof text, NW_E_WRONG_FORMAT);
    assert_has(err.message, "plain text");
    assert_true(strlen(err.message) < 140);
    assert_has(err.message, "...");
}

static void test_binaries(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } rows[] = {
        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03zz", 12, "gzip"},
        {"\xfd\x37zXZ\0\0\4\xe6\xd6", 10, "xz archive"},
        {"\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00", 9, "zstandard"},
        {"BZh91AY&SY\xff\xff", 12, "bzip2"},
        {"7z\xbc\xaf\x27\x1c\0\4\0\0", 10, "7-Zip"},
        {"Rar!\x1a\x07\x01\0\0\0", 10, "RAR"},
        {"\x93NUMPY\x01\0v\0{'descr'", 18, ".npy"},
        {"\x89HDF\r\n\x1a\n\0\0", 10, "HDF5"},
        {"\x89PNG\r\n\x1a\n\0\0", 10, "PNG"},
        {"\xff\xd8\xff\xe0\0\x10JFIF", 10, "JPEG"},
        {"\x7f"
         "ELF\2\1\1\0\0",
         9, "ELF"},
        {"%PDF-1.7\n\xff\xff", 11, "PDF"},
        {"\0\0\0\x20"
         "ftypisom\0\0",
         14, "video"},
        {"\x08\x07\x12\x07pytorch\x1a", 12, "ONNX"},
        {"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X", 16, "AppleDouble"},
        {"\xff\xfe<\0h\0t\0m\0l\0", 12, "UTF-16"},
        {"PK\3\4\x14\0\0\0\0\0readme.txt", 20, "zip archive"},
        {"PK\3\4\x14\0\0\0\0\0arr_0.npyxx", 21, ".npz"},
        {"\x91\x92\x93\x94\x95\x96\x97\x98\x99", 9, "91 92 93 94 95 96 97 98"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nw_error err = refuse_text(*state, "x.bin", rows[i].bytes, rows[i].size,
                                          NW_E_WRONG_FORMAT);
        assert_has(err.message, rows[i].says);
    }
    char zeros[4096] = {0};
    assert_has(
        refuse_text(*state, "z.safetensors", zeros, 4096, NW_E_WRONG_FORMAT).message,
        "zero bytes");
}

/* Containers of a later version are named, and the suffix is not believed. */
static void test_recognised(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *label;
        const char *container;
    } rows[] = {
        {"GGUF\3\0\0\0{\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, "GGUF", "gguf"},
        {"PK\3\4\0\0\0\0\0\0\0\0archive/data.pklFB", 30, "torch zip", "torch-zip"},
        {"PK\3\4\0\0\0\0\0\0\0\0model_index.json{}", 30, "DDUF", "dduf"},
        {"\x80\2\x8a\x0al\xfc\x9c"
         "F\xf9 j\xa8P\x19.\x80\2M\xe9\3.",
         20, "torch pickle", "torch-legacy"},
        {"\x80\4\x95\x0b\0\0\0\0\0\0\0}q\0.", 15, "torch pickle", "torch-legacy"},
        {"payload{\"format\":1}\x0c\0\0\0\0\0\0\0FLASHPK\0", 35, "FlashPack",
         "flashpack"},
    };
    struct nw_open_options report = {.size = sizeof report, .flags = NW_OPEN_REPORT};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nw_stored_file file;
        struct nw_error err = refuse_text(*state, "model.safetensors", rows[i].bytes,
                                          rows[i].size, NW_E_UNSUPPORTED);
        assert_has(err.message, rows[i].label);
        assert_has(err.message, "suffix says safetensors, content is");
        struct nw_checkpoint *ckpt =
            open_with(at(*state, "model.safetensors"), &report);
        assert_int_equal(nw_checkpoint_file(ckpt, 0, &file), NW_OK);
        assert_string_equal(file.container, rows[i].container);
        assert_int_equal(file.used, 0);
        assert_int_equal(problem_of(ckpt, NW_E_UNSUPPORTED).note, 0);
        nw_checkpoint_free(ckpt);
    }
    char tar[1024] = "sys_info";
    memcpy(tar + 257, "ustar", 5);
    assert_has(refuse_text(*state, "t.pt", tar, sizeof tar, NW_E_UNSUPPORTED).message,
               "torch tar");
    memcpy(tar, "README\0\0\0", 9);
    assert_has(refuse_text(*state, "t.pt", tar, sizeof tar, NW_E_WRONG_FORMAT).message,
               "tar archive");
}

/* safetensors under other names open, with a remark. */
static void test_reverse(void **state)
{
    static const char *const names[] = {"m.ckpt", "m.gguf", "m.bin", "m.pt"};
    for (size_t i = 0; i < 4; i++) {
        WEIGHTS(*state, names[i], 2, "w");
        struct nw_checkpoint *ckpt = open_with(at(*state, names[i]), &strict);
        struct nw_stored_file file = file_of(ckpt, names[i]);
        assert_string_equal(file.container, "safetensors");
        assert_has(file.reason, "content is safetensors");
        assert_true(value_of(ckpt, NULL, "w") == 2);
        nw_checkpoint_free(ckpt);
    }
    WEIGHTS(*state, "plain", 2, "w");
    struct nw_checkpoint *ckpt = open_with(at(*state, "plain"), &strict);
    assert_null(file_of(ckpt, "plain").reason);
    nw_checkpoint_free(ckpt);
}

/* Header lengths whose bytes look like another format's first ones. */
static void test_lookalikes(void **state)
{
    static const size_t lengths[] = {0x0280, 0x4A42, 0x8b1f, 0x7d0280, 123};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char *header = malloc(lengths[i] + 1);
        assert_non_null(header);
        memset(header, ' ', lengths[i]);
        memcpy(header,
               "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 54);
        header[lengths[i]] = '\0';
        write_raw(*state, "x.safetensors", header, 4);
        struct nw_checkpoint *ckpt = open_with(at(*state, "x.safetensors"), &strict);
        assert_int_equal(nw_checkpoint_tensor_count(ckpt), 1);
        nw_checkpoint_free(ckpt);
        free(header);
    }
}

static void test_no_file(void **state)
{
    assert_has(
        refuse_with(at(*state, "absent/x/y.safetensors"), &strict, NW_E_NOT_FOUND)
            .message,
        "no such file or folder");
    make_folders(at(*state, "empty/x"));
    assert_has(refuse_with(at(*state, "empty"), &strict, NW_E_NOT_FOUND).message,
               "diffusion_pytorch_model.safetensors");
    (void)refuse_with("/dev/null", &strict, NW_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lfs_pointer), TEST(test_lfs_in_folder), TEST(test_texts),
        TEST(test_long_line),   TEST(test_binaries),      TEST(test_recognised),
        TEST(test_reverse),     TEST(test_lookalikes),    TEST(test_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
