/* SPDX-License-Identifier: Apache-2.0
 * Two tables: names of companions, and what they make of a weight. */
#include "source/schemes.h"

#define ROW(suffix, weight, kind, strict)                                              \
    {                                                                                  \
        (suffix), sizeof(suffix) - 1, (weight), (kind), (strict)                       \
    }

/* Where two rows have one suffix, the first whose weight is there counts. */
const struct nwi_companion_row nwi_companions[] = {
    ROW(".weight_scale", ".weight", NWI_WITH_SCALE, true),
    ROW(".weight_scale", ".weight_packed", NWI_WITH_PACKED, false),
    ROW(".scale_weight", ".weight", NWI_WITH_OLD_SCALE, true),
    ROW(".weight_scale_inv", ".weight", NWI_WITH_SCALE_INV, true),
    ROW(".weight_scale_2", ".weight", NWI_WITH_SCALE_2, true),
    ROW(".input_scale", ".weight", NWI_WITH_INPUT, false),
    ROW(".input_scale", ".weight._data", NWI_WITH_INPUT, false),
    ROW(".scale_input", ".weight", NWI_WITH_INPUT, false),
    ROW(".output_scale", ".weight._data", NWI_WITH_INPUT, false),
    ROW(".pre_quant_scale", ".weight", NWI_WITH_SMOOTH, true),
    ROW(".comfy_quant", ".weight", NWI_WITH_COMFY, true),
    ROW(".weight_s_rel", ".weight", NWI_WITH_ASYM, true),
    ROW(".weight_s_channel", ".weight", NWI_WITH_ASYM, true),
    ROW(".weight_codebook", ".weight", NWI_WITH_ASYM, true),
    ROW(".weight_zeros", ".weight", NWI_WITH_ZEROS, true),
    ROW(".weight_zero_point", ".weight", NWI_WITH_ZEROS, false),
    ROW(".weight_zero_point", ".weight_packed", NWI_WITH_PACKED, false),
    ROW(".weight.absmax", ".weight", NWI_WITH_BNB, true),
    ROW(".weight.quant_map", ".weight", NWI_WITH_BNB, true),
    ROW(".weight.nested_absmax", ".weight", NWI_WITH_BNB, true),
    ROW(".weight.nested_quant_map", ".weight", NWI_WITH_BNB, true),
    ROW(".weight.quant_state.bitsandbytes__nf4", ".weight", NWI_WITH_NF4, true),
    ROW(".weight.quant_state.bitsandbytes__fp4", ".weight", NWI_WITH_FP4, true),
    ROW(".SCB", ".weight", NWI_WITH_SCB, true),
    ROW(".weight_format", ".weight", NWI_WITH_INPUT, false),
    ROW(".wscales", ".qweight", NWI_WITH_WSCALES, true),
    ROW(".wzeros", ".qweight", NWI_WITH_WZEROS, true),
    ROW(".wcscales", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".wtscale", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".smooth", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".smooth_orig", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".smooth_factor", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".smooth_factor_orig", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".lora_down", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".lora_up", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".proj_down", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".proj_up", ".qweight", NWI_WITH_BRANCH, false),
    ROW(".scales", ".qweight", NWI_WITH_SCALES, false),
    ROW(".qzeros", ".qweight", NWI_WITH_QZEROS, true),
    ROW(".g_idx", ".qweight", NWI_WITH_G_IDX, false),
    ROW(".weight._scale", ".weight._data", NWI_WITH_QUANTO, true),
    ROW(".weight._shift", ".weight._data", NWI_WITH_QUANTO, true),
    ROW("._weight_scale", "._weight_qdata", NWI_WITH_TORCHAO, true),
    ROW("._weight_zero_point", "._weight_qdata", NWI_WITH_TORCHAO, true),
    ROW(".weight_shape", ".weight_packed", NWI_WITH_PACKED, false),
    ROW(".weight_global_scale", ".weight_packed", NWI_WITH_PACKED, false),
    ROW(".input_global_scale", ".weight_packed", NWI_WITH_PACKED, false),
    ROW(".weight_g_idx", ".weight_packed", NWI_WITH_PACKED, false),
};

const size_t nwi_n_companions = sizeof nwi_companions / sizeof nwi_companions[0];

/* ---- types ---- */

#define BIT(dtype) ((uint32_t)1 << (dtype))
#define FP8                                                                            \
    (BIT(NW_F8_E4M3) | BIT(NW_F8_E5M2) | BIT(NW_F8_E4M3FNUZ) | BIT(NW_F8_E5M2FNUZ))
#define INT8   (BIT(NW_I8))
#define PACKED (BIT(NW_U8) | BIT(NW_I8) | BIT(NW_F4) | BIT(NW_I32) | BIT(NW_U32))
#define FOURS  (BIT(NW_U8) | BIT(NW_F4))
#define E8M0   (BIT(NW_F8_E8M0) | BIT(NW_U8))

static bool is_of(const struct nwi_stored *tensor, uint32_t types)
{
    return tensor && (BIT(tensor->dtype) & types);
}

bool nwi_scheme_is_narrow(const struct nwi_stored *weight)
{
    return is_of(weight,
                 FP8 | PACKED | BIT(NW_F8_E8M0) | BIT(NW_F6_E2M3) | BIT(NW_F6_E3M2));
}

/* ---- shapes of the scale ---- */

static uint64_t n_elems(const struct nwi_stored *tensor)
{
    uint32_t bits = nw_dtype_bits(tensor->dtype);
    return bits ? tensor->nbytes * 8 / bits : 0;
}

static bool is_scalar(const struct nwi_stored *scale)
{
    return scale && n_elems(scale) == 1;
}

static bool is_row_vector(const struct nwi_stored *scale)
{
    return scale && scale->rank == 1;
}

static bool is_row_column(const struct nwi_stored *scale)
{
    return scale && scale->rank == 2 && scale->shape[1] == 1;
}

static bool is_microscaled(const struct nwi_stored *scale)
{
    return is_of(scale, E8M0) && scale->rank == 2;
}

/* ---- schemes ---- */

static const struct {
    uint32_t with;                                 /* all of these */
    uint32_t types;                                /* of the weight */
    bool (*scale)(const struct nwi_stored *scale); /* of weight_scale; NULL: any */
    const char *name;
} schemes[] = {
    {NWI_WITH_NF4, PACKED, NULL, "bnb_nf4"},
    {NWI_WITH_FP4, PACKED, NULL, "bnb_fp4"},
    {NWI_WITH_SCB, INT8, NULL, "bnb_int8"},
    {NWI_WITH_ASYM, PACKED, NULL, "asym_w4a8_int8"},
    {NWI_WITH_SCALE | NWI_WITH_ZEROS, PACKED, NULL, "awq_w4a16"},
    {NWI_WITH_SCALE_INV, FP8, NULL, "fp8_block"},
    {NWI_WITH_SCALE_INV, INT8, NULL, "int8_block"},
    {NWI_WITH_OLD_SCALE, FP8, NULL, "scaled_fp8"},
    {NWI_WITH_OLD_SCALE, INT8, NULL, "scaled_int8"},
    {NWI_WITH_SCALE, FP8, is_microscaled, "mxfp8"},
    {NWI_WITH_SCALE, FP8, is_scalar, "scaled_fp8"},
    {NWI_WITH_SCALE, FP8, is_row_vector, "bfl_fp8r"},
    {NWI_WITH_SCALE, FP8, is_row_column, "fp8_rowwise"},
    {NWI_WITH_SCALE, FP8, NULL, "fp8_block"},
    {NWI_WITH_SCALE, INT8, NULL, "int8_tensorwise"},
    /* Without a word of the file the two NVFP4 layouts differ only in this scale. */
    {NWI_WITH_SCALE | NWI_WITH_SCALE_2 | NWI_WITH_INPUT, FOURS, NULL, "bfl_nvfp4"},
    {NWI_WITH_SCALE | NWI_WITH_SCALE_2, FOURS, NULL, "nvfp4"},
    {NWI_WITH_SCALE, FOURS, is_microscaled, "mxfp4"},
    {NWI_WITH_SCALE, FOURS, NULL, "scaled_uint8"},
    {NWI_WITH_WSCALES | NWI_WITH_WZEROS, PACKED, NULL, "nunchaku_awq"},
    {NWI_WITH_WSCALES, PACKED, NULL, "nunchaku_svdq"},
    {NWI_WITH_SCALES | NWI_WITH_G_IDX, PACKED, NULL, "gptq"},
    {NWI_WITH_SCALES | NWI_WITH_QZEROS, PACKED, NULL, "awq"},
    {NWI_WITH_QUANTO, FP8 | PACKED, NULL, "quanto"},
    {NWI_WITH_TORCHAO, FP8 | PACKED, NULL, "torchao"},
    {NWI_WITH_PACKED, PACKED, NULL, "compressed_tensors"},
};

const char *nwi_scheme(const struct nwi_stored *weight, uint32_t companions,
                       const struct nwi_stored *scale)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if ((companions & schemes[i].with) == schemes[i].with &&
            is_of(weight, schemes[i].types) &&
            (!schemes[i].scale || schemes[i].scale(scale)))
            return schemes[i].name;
    }
    return NULL;
}

bool nwi_scheme_has_scale(uint32_t companions)
{
    return companions & (NWI_WITH_SCALE | NWI_WITH_OLD_SCALE | NWI_WITH_SCALE_INV);
}
