/* SPDX-License-Identifier: Apache-2.0
 * The table of element types and what is computed from it. */
#include "tensor/dtype.h"

#include <inttypes.h>
#include <string.h>

#include "base/arith.h"

static const struct nwi_dtype_info nwi_dtypes[NW_DTYPE_COUNT] = {
    [NW_DTYPE_AUTO] = {"AUTO", NULL, NULL, 0, NWI_CLASS_NONE, 99},
    [NW_BOOL] = {"BOOL", "bool", NULL, 8, NWI_CLASS_BOOL, 21},
    [NW_U8] = {"U8", "uint8", NULL, 8, NWI_CLASS_INT, 17},
    [NW_I8] = {"I8", "int8", NULL, 8, NWI_CLASS_INT, 16},
    [NW_U16] = {"U16", "uint16", NULL, 16, NWI_CLASS_INT, 9},
    [NW_I16] = {"I16", "int16", NULL, 16, NWI_CLASS_INT, 10},
    [NW_U32] = {"U32", "uint32", NULL, 32, NWI_CLASS_INT, 5},
    [NW_I32] = {"I32", "int32", NULL, 32, NWI_CLASS_INT, 6},
    [NW_U64] = {"U64", "uint64", NULL, 64, NWI_CLASS_INT, 0},
    [NW_I64] = {"I64", "int64", NULL, 64, NWI_CLASS_INT, 1},
    [NW_F16] = {"F16", "float16", "fp16", 16, NWI_CLASS_FLOAT, 8},
    [NW_BF16] = {"BF16", "bfloat16", "bf16", 16, NWI_CLASS_FLOAT, 7},
    [NW_F32] = {"F32", "float32", "fp32", 32, NWI_CLASS_FLOAT, 4},
    [NW_F64] = {"F64", "float64", "fp64", 64, NWI_CLASS_FLOAT, 2},
    [NW_C64] = {"C64", "complex64", NULL, 64, NWI_CLASS_COMPLEX, 3},
    [NW_F8_E4M3] = {"F8_E4M3", "float8_e4m3fn", "fp8_e4m3", 8, NWI_CLASS_FLOAT, 14},
    [NW_F8_E5M2] = {"F8_E5M2", "float8_e5m2", "fp8_e5m2", 8, NWI_CLASS_FLOAT, 15},
    [NW_F8_E8M0] = {"F8_E8M0", "float8_e8m0fnu", "fp8_e8m0", 8, NWI_CLASS_FLOAT, 13},
    [NW_F8_E4M3FNUZ] = {"F8_E4M3FNUZ", "float8_e4m3fnuz", "fp8_e4m3fnuz", 8,
                        NWI_CLASS_FLOAT, 12},
    [NW_F8_E5M2FNUZ] = {"F8_E5M2FNUZ", "float8_e5m2fnuz", "fp8_e5m2fnuz", 8,
                        NWI_CLASS_FLOAT, 11},
    [NW_F6_E2M3] = {"F6_E2M3", NULL, NULL, 6, NWI_CLASS_NONE, 19},
    [NW_F6_E3M2] = {"F6_E3M2", NULL, NULL, 6, NWI_CLASS_NONE, 18},
    [NW_F4] = {"F4", "float4_e2m1fn_x2", NULL, 4, NWI_CLASS_NONE, 20},
    [NW_DTYPE_UNKNOWN] = {"UNKNOWN", NULL, NULL, 0, NWI_CLASS_NONE, 99},
};

const struct nwi_dtype_info *nwi_dtype_info(int dtype)
{
    if (dtype < 0 || dtype >= NW_DTYPE_COUNT)
        return NULL;
    return &nwi_dtypes[dtype];
}

bool nwi_dtype_is_float(int dtype)
{
    const struct nwi_dtype_info *info = nwi_dtype_info(dtype);
    return info != NULL && info->klass == NWI_CLASS_FLOAT;
}

const char *nw_dtype_name(int dtype)
{
    const struct nwi_dtype_info *info = nwi_dtype_info(dtype);
    return info == NULL ? NULL : info->name;
}

uint32_t nw_dtype_bits(int dtype)
{
    const struct nwi_dtype_info *info = nwi_dtype_info(dtype);
    return info == NULL ? 0 : info->bits;
}

int nwi_dtype_from_tag(const char *tag, size_t size)
{
    for (int i = 0; i < NW_DTYPE_COUNT; i++) {
        const struct nwi_dtype_info *info = &nwi_dtypes[i];
        if (info->bits != 0 && strlen(info->name) == size &&
            memcmp(info->name, tag, size) == 0)
            return i;
    }
    return -1;
}

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Equal but for the case of ASCII letters; `spelling` may be NULL (equals nothing). */
static bool same_word(const char *spelling, const char *name, size_t size)
{
    if (spelling == NULL || strlen(spelling) != size)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (to_lower(spelling[i]) != to_lower(name[i]))
            return false;
    }
    return true;
}

int nw_dtype_from_name(const char *name, size_t size)
{
    static const char prefix[] = "torch.";
    const size_t prefix_size = sizeof(prefix) - 1;
    bool is_torch;

    if (name == NULL)
        return -1;
    is_torch = size > prefix_size && same_word(prefix, name, prefix_size);
    if (is_torch) {
        name += prefix_size;
        size -= prefix_size;
    }
    for (int i = 0; i < NW_DTYPE_UNKNOWN; i++) {
        const struct nwi_dtype_info *info = &nwi_dtypes[i];
        if (same_word(info->torch, name, size))
            return i;
        if (!is_torch && (same_word(info->name, name, size) ||
                          same_word(info->short_name, name, size)))
            return i;
    }
    return -1;
}

int nwi_tensor_bytes(int dtype, const uint64_t *shape, uint32_t rank, uint64_t *n_elems,
                     uint64_t *nbytes, struct nw_error *err)
{
    uint32_t bits = nw_dtype_bits(dtype);
    uint64_t count = 1;
    uint64_t total_bits;

    *nbytes = 0;
    if (n_elems != NULL)
        *n_elems = 0;
    if (bits == 0)
        return nwi_fail(err, NW_E_UNSUPPORTED_TYPE, "type %d has no size", dtype);
    for (uint32_t i = 0; i < rank; i++) {
        if (!nwi_mul(count, shape[i], &count))
            return nwi_fail(err, NW_E_BAD_EXTENT,
                            "the shape has more than 2^64 elements (dimension %" PRIu32
                            " of %" PRIu32 " is %" PRIu64 ")",
                            i, rank, shape[i]);
    }
    if (!nwi_mul(count, bits, &total_bits))
        return nwi_fail(err, NW_E_BAD_EXTENT,
                        "%" PRIu64 " elements of %" PRIu32 " bits exceed 2^64 bits",
                        count, bits);
    if (total_bits % 8 != 0)
        return nwi_fail(err, NW_E_BAD_EXTENT,
                        "%" PRIu64 " elements of %" PRIu32 " bits are %" PRIu64
                        " bits, no whole bytes",
                        count, bits, total_bits);
    *nbytes = total_bits / 8;
    if (n_elems != NULL)
        *n_elems = count;
    return NW_OK;
}
