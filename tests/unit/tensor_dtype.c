/* SPDX-License-Identifier: Apache-2.0
 * The table of element types, its names, and the bytes of tensors. */
#include "test.h"

#include <string.h>

#include "tensor/dtype.h"

static int by_name(const char *name)
{
    return nw_dtype_from_name(name, strlen(name));
}

static int by_tag(const char *tag)
{
    return nwi_dtype_from_tag(tag, strlen(tag));
}

static void test_names(void **state)
{
    static const struct {
        const char *name;
        int dtype;
    } cases[] = {
        {"F32", NW_F32},
        {"f32", NW_F32},
        {"fp32", NW_F32},
        {"float32", NW_F32},
        {"torch.float32", NW_F32},
        {"TORCH.BFLOAT16", NW_BF16},
        {"bf16", NW_BF16},
        {"fp8_e4m3", NW_F8_E4M3},
        {"F8_E4M3", NW_F8_E4M3},
        {"float8_e4m3fn", NW_F8_E4M3},
        {"Float8_E5M2", NW_F8_E5M2},
        {"float8_e8m0fnu", NW_F8_E8M0},
        {"torch.bool", NW_BOOL},
        {"float4_e2m1fn_x2", NW_F4},
        {"auto", NW_DTYPE_AUTO},
        {"torch.", -1},
        {"torch.F32", -1},
        {"torch.auto", -1},
        {"UNKNOWN", -1},
        {"", -1},
        {"F3", -1},
        {"F322", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(by_name(cases[i].name), cases[i].dtype);
    assert_int_equal(nw_dtype_from_name("F32 and more", 3), NW_F32);
    assert_int_equal(nw_dtype_from_name("BOOL\0x", 6), -1);
    assert_int_equal(nw_dtype_from_name(NULL, 0), -1);
}

static void test_tags(void **state)
{
    (void)state;
    assert_int_equal(by_tag("F8_E4M3"), NW_F8_E4M3);
    assert_int_equal(by_tag("f8_e4m3"), -1);
    assert_int_equal(by_tag("AUTO"), -1);
    assert_int_equal(by_tag("UNKNOWN"), -1);
    assert_int_equal(by_tag(""), -1);
}

static void test_every_type(void **state)
{
    uint64_t ranks = 0;
    int n_types = 0;

    (void)state;
    for (int dtype = NW_DTYPE_AUTO; dtype < NW_DTYPE_COUNT; dtype++) {
        const struct nwi_dtype_info *info = nwi_dtype_info(dtype);
        const char *name = nw_dtype_name(dtype);

        assert_non_null(name);
        assert_string_equal(info->name, name);
        if (nw_dtype_bits(dtype) == 0) {
            assert_int_equal(by_tag(name), -1);
            continue;
        }
        n_types++;
        assert_int_equal(by_tag(name), dtype);
        assert_int_equal(by_name(name), dtype);
        if (info->torch != NULL)
            assert_int_equal(by_name(info->torch), dtype);
        if (info->short_name != NULL)
            assert_int_equal(by_name(info->short_name), dtype);
        assert_true(info->save_rank < 64);
        ranks |= UINT64_C(1) << info->save_rank;
    }
    assert_int_equal(ranks, (UINT64_C(1) << n_types) - 1); /* each once, no gap */
    assert_int_equal(nwi_dtype_info(NW_U64)->save_rank, 0);
    assert_int_equal(nwi_dtype_info(NW_BOOL)->save_rank, n_types - 1);
    assert_null(nw_dtype_name(-1));
    assert_null(nw_dtype_name(NW_DTYPE_COUNT));
    assert_int_equal(nw_dtype_bits(NW_DTYPE_COUNT), 0);
}

static void test_floats(void **state)
{
    int n_floats = 0;

    (void)state;
    for (int dtype = -1; dtype <= NW_DTYPE_COUNT; dtype++)
        n_floats += nwi_dtype_is_float(dtype);
    assert_int_equal(n_floats, 9);
    assert_true(nwi_dtype_is_float(NW_F8_E8M0));
    assert_false(nwi_dtype_is_float(NW_C64));
    assert_false(nwi_dtype_is_float(NW_F4));
}

static void test_bytes(void **state)
{
    const uint64_t shape[] = {2, 3, 5};
    const uint64_t none[] = {0, UINT64_C(1) << 63, 4};
    struct nw_error err;
    uint64_t n_elems = 1, nbytes = 1;

    (void)state;
    nwi_error_clear(&err);
    assert_ok(nwi_tensor_bytes(NW_BF16, shape, 3, &n_elems, &nbytes, &err), &err);
    assert_int_equal(n_elems, 30);
    assert_int_equal(nbytes, 60);
    assert_ok(nwi_tensor_bytes(NW_F64, NULL, 0, NULL, &nbytes, &err), &err);
    assert_int_equal(nbytes, 8);
    assert_ok(nwi_tensor_bytes(NW_F4, shape, 2, NULL, &nbytes, &err), &err);
    assert_int_equal(nbytes, 3);
    assert_ok(nwi_tensor_bytes(NW_F32, none, 3, &n_elems, &nbytes, &err), &err);
    assert_int_equal(nbytes, 0);
}

static void test_bad_bytes(void **state)
{
    const uint64_t odd[] = {3};
    const uint64_t huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    const uint64_t wide[] = {UINT64_C(1) << 60};
    struct nw_error err;
    uint64_t n_elems = 1, nbytes = 1;

    (void)state;
    nwi_error_clear(&err);
    assert_code(nwi_tensor_bytes(NW_U8, huge, 2, &n_elems, &nbytes, &err),
                NW_E_BAD_EXTENT, &err);
    assert_int_equal(n_elems, 0);
    assert_int_equal(nbytes, 0);
    nwi_error_clear(&err);
    assert_code(nwi_tensor_bytes(NW_F64, wide, 1, NULL, &nbytes, &err), NW_E_BAD_EXTENT,
                &err);
    nwi_error_clear(&err);
    assert_code(nwi_tensor_bytes(NW_F6_E2M3, odd, 1, NULL, &nbytes, &err),
                NW_E_BAD_EXTENT, &err);
    assert_non_null(strstr(err.message, "18 bits"));
    nwi_error_clear(&err);
    assert_code(nwi_tensor_bytes(NW_DTYPE_UNKNOWN, odd, 1, NULL, &nbytes, &err),
                NW_E_UNSUPPORTED_TYPE, &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),      cmocka_unit_test(test_tags),
        cmocka_unit_test(test_every_type), cmocka_unit_test(test_floats),
        cmocka_unit_test(test_bytes),      cmocka_unit_test(test_bad_bytes),
    };
    return cmocka_run_group_tests_name("tensor_dtype", tests, NULL, NULL);
}
