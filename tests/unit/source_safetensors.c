/* SPDX-License-Identifier: Apache-2.0
 * Headers of safetensors files: what is accepted, and in which words the rest is
 * refused. */
#include "source.h"

static const struct nw_open_options strict = {.size = sizeof strict};
static const struct nw_open_options report = {.size = sizeof report,
                                              .flags = NW_OPEN_REPORT};

static struct nw_error refuse_raw(const char *folder, const char *header,
                                  size_t data_size, int code)
{
    write_raw(folder, "x.safetensors", header, data_size);
    struct nw_error err = refuse_with(at(folder, "x.safetensors"), &strict, code);
    assert_has(err.file, "x.safetensors");
    return err;
}

static struct nw_checkpoint *open_raw(const char *folder, const char *header,
                                      size_t data_size,
                                      const struct nw_open_options *options)
{
    write_raw(folder, "x.safetensors", header, data_size);
    return open_with(at(folder, "x.safetensors"), options);
}

static void accept_raw(const char *folder, const char *header, size_t data_size,
                       size_t n_tensors)
{
    struct nw_checkpoint *ckpt = open_raw(folder, header, data_size, &strict);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), n_tensors);
    assert_int_equal(nw_checkpoint_problem_count(ckpt), 0);
    nw_checkpoint_free(ckpt);
}

#define ENTRY(name, dtype, shape, begin, end)                                          \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape                           \
    ",\"data_offsets\":[" begin "," end "]}"

/* 8 bytes of length, 56 of header, 64 of data */
static const char base[] = "{" ENTRY("a", "F32", "[16]", "0", "64") "}";

static void test_truncated(void **state)
{
    static const struct {
        size_t size;
        const char *message;
    } cuts[] = {
        {104, "104 bytes present, 128 needed, first incomplete tensor a"},
        {127, "127 bytes present, 128 needed, first incomplete tensor a"},
        {64, "64 bytes present, 128 needed"},
        {30, "header ends at 64, file 30"},
        {8, "header ends at 64, file 8"},
        {7, "7 bytes are too short for any format"},
        {0, "0 bytes are too short for any format"},
    };
    size_t size = 0;
    char zeros[64] = {0};
    char *file = nwt_raw_safetensors(base, zeros, sizeof zeros, &size);
    assert_int_equal(strlen(base), 56);
    assert_int_equal(size, 128);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        write_bytes(*state, "b.safetensors", file, cuts[i].size);
        struct nw_error err =
            refuse_with(at(*state, "b.safetensors"), &strict, NW_E_TRUNCATED);
        assert_has(err.message, cuts[i].message);
        assert_int_equal(err.offset, cuts[i].size);
    }
    free(file);
}

static void test_first_incomplete(void **state)
{
    struct nw_error err = refuse_raw(
        *state,
        "{" ENTRY("z", "U8", "[4]", "0", "4") "," ENTRY(
            "m", "U8", "[4]", "8", "12") "," ENTRY("b", "U8", "[4]", "4", "8") "}",
        5, NW_E_TRUNCATED);
    assert_string_equal(err.tensor, "b");
}

static void test_trailing(void **state)
{
    struct nw_open_options tolerant = {.size = sizeof tolerant,
                                       .tolerate = NW_TOLERATE_TRAILING};
    struct nw_error err = refuse_raw(*state, base, 70, NW_E_TRAILING);
    assert_has(err.message, "128");
    assert_has(err.message, "134");
    assert_int_equal(err.offset, 128);
    struct nw_checkpoint *ckpt = open_raw(*state, base, 70, &tolerant);
    assert_int_equal(problem_of(ckpt, NW_E_TRAILING).note, 1);
    nw_checkpoint_free(ckpt);
}

static void test_overlaps(void **state)
{
    struct nw_error err = refuse_raw(*state,
                                     "{" ENTRY("a", "F32", "[2]", "0", "8") "," ENTRY(
                                         "b", "F32", "[2]", "4", "12") "}",
                                     12, NW_E_BAD_EXTENT);
    assert_string_equal(err.tensor, "b");
    assert_has(err.message, "\"b\" begins at byte 4");
    assert_has(err.message, "\"a\", which ends at 8");
    err = refuse_raw(*state,
                     "{" ENTRY("a", "F32", "[2]", "0", "8") "," ENTRY("b", "F32", "[2]",
                                                                      "0", "8") "}",
                     8, NW_E_BAD_EXTENT);
    assert_has(err.message, "alias");
    assert_has(err.message, "\"a\"");
    assert_has(err.message, "\"b\"");
    err = refuse_raw(*state, "{" ENTRY("a", "F32", "[2]", "8", "16") "}", 16,
                     NW_E_BAD_EXTENT);
    assert_has(err.message, "hole: bytes 0 to 8");
    err = refuse_raw(
        *state,
        "{" ENTRY("a", "U8", "[8]", "0", "8") "," ENTRY("b", "U8", "[0]", "4", "4") "}",
        8, NW_E_BAD_EXTENT);
    assert_string_equal(err.tensor, "b");
}

static void test_duplicates(void **state)
{
    static const char *const headers[] = {
        "{" ENTRY("a", "F32", "[1]", "0", "4") "," ENTRY("a", "F32", "[1]", "4",
                                                         "8") "}",
        "{" ENTRY("\xC3\xA9", "F32", "[1]", "0", "4") "," ENTRY("\\u00e9", "F32", "[1]",
                                                                "4", "8") "}",
        "{" ENTRY("a", "F32", "[2]", "0", "8") "," ENTRY("\\u0061", "F32", "[2]", "0",
                                                         "8") "}",
        "{\"__metadata__\":{},\"__metadata__\":{}," ENTRY("a", "F32", "[2]", "0",
                                                          "8") "}",
        "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}," ENTRY("a", "F32", "[2]", "0",
                                                             "8") "}",
        "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2]}}",
    };
    static const char *const keys[] = {
        "\"a\"", "\"\xC3\xA9\"", "\"a\"", "\"__metadata__\"", "\"k\"", "\"dtype\""};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct nw_error err = refuse_raw(*state, headers[i], 8, NW_E_DUPLICATE);
        assert_has(err.message, keys[i]);
        assert_true(err.offset > 8 && err.offset != NW_OFFSET_NONE);
    }
    /* U+00E9, and e with U+0301: two names */
    accept_raw(*state,
               "{" ENTRY("\xC3\xA9", "F32", "[1]", "0",
                         "4") "," ENTRY("e\xCC\x81", "F32", "[1]", "4", "8") "}",
               8, 2);
}

static void test_metadata(void **state)
{
    static const char *const fine[] = {
        "{" ENTRY("a", "F32", "[1]", "0", "4") "}",
        "{\"__metadata__\":{}," ENTRY("a", "F32", "[1]", "0", "4") "}",
        "{\"__metadata__\":null," ENTRY("a", "F32", "[1]", "0", "4") "}",
        "{" ENTRY("a", "F32", "[1]", "0", "4") ",\"__metadata__\":{\"x\":\"y\"}}",
    };
    static const char *const odd[] = {
        "{\"__metadata__\":{\"n\":{\"b\":[1,2]}}," ENTRY("a", "F32", "[1]", "0",
                                                         "4") "}",
        "{\"__metadata__\":{\"n\":null}," ENTRY("a", "F32", "[1]", "0", "4") "}",
        "{\"__metadata__\":{\"n\":1}," ENTRY("a", "F32", "[1]", "0", "4") "}",
    };
    static const char *const kept[] = {"{\"b\":[1,2]}", "null", "1"};
    struct nw_open_options tolerant = {.size = sizeof tolerant,
                                       .tolerate = NW_TOLERATE_METADATA};
    struct nw_metadata row;
    for (size_t i = 0; i < 4; i++)
        accept_raw(*state, fine[i], 4, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_has(refuse_raw(*state, odd[i], 4, NW_E_BAD_HEADER).message, "\"n\"");
        struct nw_checkpoint *ckpt = open_raw(*state, odd[i], 4, &tolerant);
        assert_int_equal(nw_checkpoint_metadata(ckpt, 0, &row), NW_OK);
        assert_string_equal(row.value, kept[i]);
        assert_int_equal(problem_of(ckpt, NW_E_BAD_HEADER).note, 1);
        nw_checkpoint_free(ckpt);
    }
    (void)refuse_raw(*state, "{\"__metadata__\":[]}", 0, NW_E_BAD_HEADER);
    (void)refuse_raw(*state, "{\"__metadata__\":\"pt\"}", 0, NW_E_BAD_HEADER);
}

/* Values are decoded from JSON and otherwise kept byte for byte. */
static void test_metadata_bytes(void **state)
{
    struct nw_metadata row;
    struct nw_checkpoint *ckpt = open_raw(
        *state, "{\"__metadata__\":{\"k\\u0000\":\"a\\u0000b\\n\\\"\xE6\x97\xA5\"}}", 0,
        &strict);
    assert_int_equal(nw_checkpoint_metadata_count(ckpt), 1);
    assert_int_equal(nw_checkpoint_metadata(ckpt, 0, &row), NW_OK);
    assert_int_equal(row.key_size, 2);
    assert_memory_equal(row.key, "k\0", 3);
    assert_int_equal(row.value_size, 8);
    assert_memory_equal(row.value, "a\0b\n\"\xE6\x97\xA5", 9);
    nw_checkpoint_free(ckpt);
}

static void test_no_tensors(void **state)
{
    accept_raw(*state, "{}      ", 0, 0);
    accept_raw(*state, "{}", 0, 0);
    accept_raw(*state, " \n{}\t\r\n", 0, 0);
    accept_raw(*state, "{\"__metadata__\":{\"format\":\"pt\"}}", 0, 0);
    struct nw_error err = refuse_raw(*state, "{},\"__metadata__\":{\"format\":\"pt\"}}",
                                     0, NW_E_BAD_HEADER);
    assert_has(err.message, "text after the JSON object at byte 2");
    assert_has(err.message, "old writer");
    assert_int_equal(err.offset, 10);
}

static void test_lying_shapes(void **state)
{
    static const char *const shapes[] = {
        "[-1]",   "[1.0]", "[\"1\"]", "[18446744073709551616]",
        "[true]", "[1e0]", "[null]",  "[[1]]",
        "1",      "{}",    "[-0]"};
    char header[256];
    struct nw_error err = refuse_raw(
        *state, "{" ENTRY("a", "F32", "[1000,1000]", "0", "4") "}", 4, NW_E_BAD_EXTENT);
    assert_has(err.message, "4000000");
    assert_has(err.message, "hold 4");
    (void)refuse_raw(*state,
                     "{" ENTRY("a", "U8", "[4294967296,4294967296]", "0", "0") "}", 0,
                     NW_E_BAD_EXTENT);
    (void)refuse_raw(*state,
                     "{" ENTRY("a", "I32", "[2,9223372036854775807]", "0", "8") "}", 8,
                     NW_E_BAD_EXTENT);
    err = refuse_raw(*state, "{" ENTRY("a", "F32", "[1]", "4", "0") "}", 4,
                     NW_E_BAD_EXTENT);
    assert_has(err.message, "from 4 to 0");
    err = refuse_raw(
        *state,
        "{" ENTRY("a", "U8", "[9223372036854775813]", "0", "9223372036854775813") "}",
        4, NW_E_BAD_EXTENT);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        (void)snprintf(
            header, sizeof header,
            "{\"a\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[0,4]}}",
            shapes[i]);
        err = refuse_raw(*state, header, 4, NW_E_BAD_HEADER);
        assert_string_equal(err.tensor, "a");
        assert_true(err.offset >= 8 + 27 && err.offset < 8 + strlen(header));
        (void)snprintf(
            header, sizeof header,
            "{\"a\":{\"data_offsets\":[0,%.*s],\"dtype\":\"F32\",\"shape\":[1]}}",
            (int)strlen(shapes[i]), shapes[i]);
        bool whole = strcmp(shapes[i], "1") == 0; /* no array, but a good offset */
        (void)refuse_raw(*state, header, 4, whole ? NW_E_BAD_EXTENT : NW_E_BAD_HEADER);
    }
}

static void test_missing_fields(void **state)
{
    static const char *const headers[] = {
        "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}",
        "{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}",
        "{\"a\":null}",
        "{\"a\":[]}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}",
        "[]",
        "",
        "\xEF\xBB\xBF{}",
        "{\"a\xFF\":{}}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        (void)refuse_raw(*state, headers[i], 4, NW_E_BAD_HEADER);
    accept_raw(*state,
               "{\"a\":{\"x\":{\"y\":[1,null,\"z\"]},\"dtype\":\"F32\",\"shape\":[1],"
               "\"data_offsets\":[0,4],\"x\":2}}",
               4, 1);
}

static void test_scalars(void **state)
{
    struct nw_stored_tensor row;
    struct nw_checkpoint *ckpt = open_raw(
        *state,
        "{" ENTRY("n", "I64", "[]", "0", "8") "," ENTRY(
            "e", "F32", "[3,0,2]", "8", "8") "," ENTRY("s", "F32", "[]", "8", "12") "}",
        12, &strict);
    assert_int_equal(nw_checkpoint_tensor(ckpt, 0, &row), NW_OK);
    assert_int_equal(row.rank, 0);
    assert_int_equal(row.nbytes, 8);
    assert_int_equal(nw_checkpoint_tensor(ckpt, 1, &row), NW_OK);
    assert_int_equal(row.rank, 3);
    assert_int_equal(row.shape[0], 3);
    assert_int_equal(row.shape[1], 0);
    assert_int_equal(row.nbytes, 0);
    assert_int_equal(nw_checkpoint_tensor(ckpt, 2, &row), NW_OK);
    assert_string_equal(row.name, "s");
    nw_checkpoint_free(ckpt);
}

static void write_length(const char *folder, uint64_t n, size_t size)
{
    char file[256] = {0};
    for (size_t i = 0; i < 8; i++)
        file[i] = (char)(n >> (8 * i));
    if (size > 10)
        memcpy(file + 8, "{}", 2);
    write_bytes(folder, "x.safetensors", file, size);
}

static void test_header_length(void **state)
{
    struct nw_open_options options = {.size = sizeof options, .header_limit = 65536};
    const char *path = at(*state, "x.safetensors");
    static const uint64_t huge[] = {INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < 3; i++) {
        write_length(*state, huge[i], 10);
        (void)refuse_with(path, &strict, NW_E_BAD_HEADER);
        write_length(*state, huge[i], 64);
        (void)refuse_with(path, &strict, NW_E_BAD_HEADER);
    }
    write_length(*state, 0x05000000, 64);
    struct nw_error err = refuse_with(path, &strict, NW_E_TRUNCATED);
    assert_has(err.message, "83886088");
    assert_has(err.message, "64");
    char *header = malloc(120001);
    assert_non_null(header);
    memset(header, ' ', 120000);
    memcpy(header, base, strlen(base));
    header[120000] = '\0';
    accept_raw(*state, header, 64, 1);
    err = refuse_with(path, &options, NW_E_LIMIT);
    assert_has(err.message, "header_limit");
    assert_has(err.message, "120000");
    assert_has(err.message, "65536");
    free(header);
}

/* One of each: listed with its size. */
static void test_dtypes(void **state)
{
    static const struct {
        const char *name;
        int dtype;
        size_t nbytes; /* of 8 elements */
    } rows[] = {
        {"BOOL", NW_BOOL, 8},
        {"U8", NW_U8, 8},
        {"I8", NW_I8, 8},
        {"F8_E4M3", NW_F8_E4M3, 8},
        {"F8_E5M2", NW_F8_E5M2, 8},
        {"F8_E8M0", NW_F8_E8M0, 8},
        {"F8_E4M3FNUZ", NW_F8_E4M3FNUZ, 8},
        {"F8_E5M2FNUZ", NW_F8_E5M2FNUZ, 8},
        {"U16", NW_U16, 16},
        {"I16", NW_I16, 16},
        {"F16", NW_F16, 16},
        {"BF16", NW_BF16, 16},
        {"U32", NW_U32, 32},
        {"I32", NW_I32, 32},
        {"F32", NW_F32, 32},
        {"U64", NW_U64, 64},
        {"I64", NW_I64, 64},
        {"F64", NW_F64, 64},
        {"C64", NW_C64, 64},
        {"F4", NW_F4, 4},
        {"F6_E2M3", NW_F6_E2M3, 6},
        {"F6_E3M2", NW_F6_E3M2, 6},
    };
    static const uint64_t shape[] = {2, 4};
    struct nwt_safetensors b;
    nwt_st_begin(&b);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        nwt_st_add(&b, rows[i].name, rows[i].name, 2, shape, NULL, rows[i].nbytes);
    nwt_st_write(&b, at(*state, "zoo.safetensors"));
    struct nw_checkpoint *ckpt = open_with(at(*state, "zoo.safetensors"), &strict);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nw_stored_tensor row;
        assert_int_equal(nw_checkpoint_tensor(ckpt, i, &row), NW_OK);
        assert_string_equal(row.name, rows[i].name);
        assert_string_equal(row.dtype_text, rows[i].name);
        assert_int_equal(row.dtype, rows[i].dtype);
        assert_int_equal(row.nbytes, rows[i].nbytes);
    }
    nw_checkpoint_free(ckpt);
    assert_has(refuse_raw(*state, "{" ENTRY("a", "F4", "[3]", "0", "2") "}", 2,
                          NW_E_BAD_EXTENT)
                   .message,
               "12 bits");
}

static void test_unknown_dtype(void **state)
{
    static const char header[] = "{" ENTRY("p", "F32", "[1]", "0", "4") "," ENTRY(
        "q", "F6_X", "[8]", "4", "10") "}";
    struct nw_open_options tolerant = {.size = sizeof tolerant,
                                       .tolerate = NW_TOLERATE_DTYPE};
    struct nw_stored_tensor row;
    struct nw_error err = refuse_raw(*state, header, 10, NW_E_UNSUPPORTED_TYPE);
    assert_string_equal(err.tensor, "q");
    assert_has(err.message, "F6_X");
    struct nw_checkpoint *ckpt = open_raw(*state, header, 10, &tolerant);
    assert_int_equal(nw_checkpoint_tensor(ckpt, 1, &row), NW_OK);
    assert_int_equal(row.dtype, NW_DTYPE_UNKNOWN);
    assert_string_equal(row.dtype_text, "F6_X");
    assert_int_equal(row.nbytes, 6);
    assert_int_equal(problem_of(ckpt, NW_E_UNSUPPORTED_TYPE).note, 1);
    nw_checkpoint_free(ckpt);
    ckpt = open_raw(*state, header, 10, &report);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 2);
    assert_int_equal(problem_of(ckpt, NW_E_UNSUPPORTED_TYPE).note, 0);
    nw_checkpoint_free(ckpt);
}

/* Tensors come in the order of their data, whatever the order of the header. */
static void test_order(void **state)
{
    struct nw_stored_tensor row;
    static const char *const names[] = {"i", "f", "a", "b"};
    struct nw_checkpoint *ckpt =
        open_raw(*state,
                 "{" ENTRY("b", "F16", "[1]", "14", "16") "," ENTRY(
                     "a", "F16", "[1]", "12",
                     "14") "," ENTRY("i", "I64", "[1]", "0",
                                     "8") "," ENTRY("f", "F32", "[1]", "8", "12") "}",
                 16, &strict);
    for (size_t i = 0; i < 4; i++) {
        size_t found = 9;
        assert_int_equal(nw_checkpoint_tensor(ckpt, i, &row), NW_OK);
        assert_string_equal(row.name, names[i]);
        assert_int_equal(nw_checkpoint_find(ckpt, NULL, names[i], &found, NULL), NW_OK);
        assert_int_equal(found, i);
    }
    nw_checkpoint_free(ckpt);
}

/* Everything that is wrong is listed, and what could be understood is there. */
static void test_report(void **state)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = open_raw(
        *state,
        "{" ENTRY("good", "F32", "[1]", "0", "4") "," ENTRY(
            "odd", "X7", "[1]", "4",
            "8") "," ENTRY("small", "F32", "[9]", "8",
                           "12") "," ENTRY("good", "F32", "[1]", "12",
                                           "16") "," ENTRY("minus", "F32", "[-1]", "16",
                                                           "20") "," ENTRY("last",
                                                                           "F32", "[1]",
                                                                           "24",
                                                                           "28") "}",
        26, &report);
    static const int codes[] = {NW_E_UNSUPPORTED_TYPE, NW_E_BAD_EXTENT, NW_E_DUPLICATE,
                                NW_E_BAD_HEADER,       NW_E_BAD_EXTENT, NW_E_TRUNCATED};
    assert_int_equal(nw_checkpoint_problem_count(ckpt), 6);
    for (size_t i = 0; i < 6; i++) {
        struct nw_problem problem;
        assert_int_equal(nw_checkpoint_problem(ckpt, i, &problem), NW_OK);
        assert_int_equal(problem.code, codes[i]);
        assert_int_equal(problem.note, 0);
        assert_has(problem.file, "x.safetensors");
    }
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 3);
    assert_true(nw_checkpoint_find(ckpt, NULL, "last", &(size_t){0}, NULL) == NW_OK);
    assert_code(nw_plan_create(ckpt, NULL, &(struct nw_plan *){NULL}, &err),
                NW_E_UNSUPPORTED_TYPE, &err);
    nw_checkpoint_free(ckpt);
}

static void test_report_broken_header(void **state)
{
    static const char *const headers[] = {"{\"a\":", "nope",
                                          "{\"a\":{\"dtype\":\"F32\"} x"};
    for (size_t i = 0; i < 3; i++) {
        struct nw_checkpoint *ckpt = open_raw(*state, headers[i], 4, &report);
        assert_int_equal(count_problems(ckpt, false), i == 2 ? 3 : 1);
        nw_checkpoint_free(ckpt);
    }
}

/* What stands before a fault of the header is listed in the order of the data. */
static void test_report_cut_header(void **state)
{
    struct nw_stored_tensor row;
    struct nw_checkpoint *ckpt =
        open_raw(*state,
                 "{" ENTRY("b", "U8", "[1]", "1", "2") "," ENTRY("a", "U8", "[1]", "0",
                                                                 "1") ",x",
                 2, &report);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 2);
    assert_int_equal(nw_checkpoint_tensor(ckpt, 0, &row), NW_OK);
    assert_string_equal(row.name, "a");
    assert_int_equal(problem_of(ckpt, NW_E_BAD_HEADER).note, 0);
    nw_checkpoint_free(ckpt);
}

/* 100,000 tensors on one place: linear, and the list of problems stays short. */
static void test_many_aliases(void **state)
{
    struct nwt_buffer header = {0};
    struct nw_problem last;
    size_t capacity = 100000 * 80;
    header.data = malloc(capacity);
    assert_non_null(header.data);
    header.size = (size_t)snprintf(header.data, capacity, "{");
    for (int i = 0; i < 100000; i++)
        header.size +=
            (size_t)snprintf(header.data + header.size, capacity - header.size,
                             "%s\"w%d\":{\"dtype\":\"U8\",\"shape\":[4],"
                             "\"data_offsets\":[0,4]}",
                             i ? "," : "", i);
    (void)snprintf(header.data + header.size, capacity - header.size, "}");
    assert_has(refuse_raw(*state, header.data, 4, NW_E_BAD_EXTENT).message, "alias");
    struct nw_checkpoint *ckpt = open_raw(*state, header.data, 4, &report);
    assert_int_equal(nw_checkpoint_problem_count(ckpt), 1001);
    assert_int_equal(nw_checkpoint_problem(ckpt, 1000, &last), NW_OK);
    assert_has(last.message, "98999 more");
    assert_int_equal(last.code, NW_E_BAD_EXTENT);
    nw_checkpoint_free(ckpt);
    free(header.data);
}

/* Notes past the limit must not hide that a problem follows. */
static void test_problem_after_notes(void **state)
{
    struct nwt_safetensors b;
    static const uint64_t one = 1;
    struct nw_error err;
    char name[32];
    nwt_st_begin(&b);
    for (int i = 0; i < 1500; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        nwt_st_add(&b, name, "X9", 1, &one, NULL, 1);
    }
    nwt_st_add(&b, "bad", "F32", 1, &one, NULL, 3);
    nwt_st_write(&b, at(*state, "x.safetensors"));
    struct nw_open_options options = {
        .size = sizeof options, .tolerate = NW_TOLERATE_DTYPE, .flags = NW_OPEN_REPORT};
    struct nw_checkpoint *ckpt = open_with(at(*state, "x.safetensors"), &options);
    assert_int_equal(nw_checkpoint_problem_count(ckpt), 1001);
    assert_int_equal(count_problems(ckpt, false), 1);
    assert_code(nw_plan_create(ckpt, NULL, &(struct nw_plan *){NULL}, &err),
                NW_E_BAD_EXTENT, &err);
    nw_checkpoint_free(ckpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_truncated),
        TEST(test_first_incomplete),
        TEST(test_trailing),
        TEST(test_overlaps),
        TEST(test_duplicates),
        TEST(test_metadata),
        TEST(test_metadata_bytes),
        TEST(test_no_tensors),
        TEST(test_lying_shapes),
        TEST(test_missing_fields),
        TEST(test_scalars),
        TEST(test_header_length),
        TEST(test_dtypes),
        TEST(test_unknown_dtype),
        TEST(test_order),
        TEST(test_report),
        TEST(test_report_broken_header),
        TEST(test_report_cut_header),
        TEST(test_many_aliases),
        TEST(test_problem_after_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
