/* SPDX-License-Identifier: Apache-2.0
 * The functions of the rows, for the table only. Named from, to, file. */
#ifndef NWI_CAST_ROWS_H
#define NWI_CAST_ROWS_H

#include "tensor/cast.h"

/* cast_ref.c */
extern nwi_cast_fn nwi_cast_f32_f64_ref, nwi_cast_f32_f16_ref, nwi_cast_f32_bf16_ref,
    nwi_cast_f32_e4m3_ref, nwi_cast_f32_e5m2_ref, nwi_cast_f32_e4m3fnuz_ref,
    nwi_cast_f32_e5m2fnuz_ref, nwi_cast_f32_e8m0_ref, nwi_cast_f64_f32_ref,
    nwi_cast_f16_f32_ref, nwi_cast_bf16_f32_ref, nwi_cast_e4m3_f32_ref,
    nwi_cast_e5m2_f32_ref, nwi_cast_e4m3fnuz_f32_ref, nwi_cast_e5m2fnuz_f32_ref,
    nwi_cast_e8m0_f32_ref;

/* cast_avx2.c */
extern nwi_cast_fn nwi_cast_f64_f32_avx2, nwi_cast_f32_f16_avx2, nwi_cast_f32_bf16_avx2,
    nwi_cast_f32_e4m3_avx2, nwi_cast_f32_e5m2_avx2, nwi_cast_bf16_f32_avx2,
    nwi_cast_bf16_f16_avx2, nwi_cast_bf16_e4m3_avx2, nwi_cast_bf16_e5m2_avx2,
    nwi_cast_f16_f32_avx2, nwi_cast_f16_bf16_avx2, nwi_cast_f16_e4m3_avx2,
    nwi_cast_f16_e5m2_avx2, nwi_cast_e4m3_f32_avx2, nwi_cast_e4m3_f16_avx2,
    nwi_cast_e4m3_bf16_avx2, nwi_cast_e5m2_f32_avx2, nwi_cast_e5m2_f16_avx2,
    nwi_cast_e5m2_bf16_avx2;

/* cast_avx512.c */
extern nwi_cast_fn nwi_cast_f64_f32_avx512, nwi_cast_f32_f16_avx512,
    nwi_cast_f32_bf16_avx512, nwi_cast_f32_e4m3_avx512, nwi_cast_f32_e5m2_avx512,
    nwi_cast_bf16_f32_avx512, nwi_cast_bf16_f16_avx512, nwi_cast_bf16_e4m3_avx512,
    nwi_cast_bf16_e5m2_avx512, nwi_cast_f16_f32_avx512, nwi_cast_f16_bf16_avx512,
    nwi_cast_f16_e4m3_avx512, nwi_cast_f16_e5m2_avx512, nwi_cast_e4m3_f32_avx512,
    nwi_cast_e4m3_f16_avx512, nwi_cast_e4m3_bf16_avx512, nwi_cast_e5m2_f32_avx512,
    nwi_cast_e5m2_f16_avx512, nwi_cast_e5m2_bf16_avx512;

/* cast_neon.c */
extern nwi_cast_fn nwi_cast_f64_f32_neon, nwi_cast_f32_f16_neon, nwi_cast_f32_bf16_neon,
    nwi_cast_f32_e4m3_neon, nwi_cast_f32_e5m2_neon, nwi_cast_bf16_f32_neon,
    nwi_cast_bf16_f16_neon, nwi_cast_bf16_e4m3_neon, nwi_cast_bf16_e5m2_neon,
    nwi_cast_f16_f32_neon, nwi_cast_f16_bf16_neon, nwi_cast_f16_e4m3_neon,
    nwi_cast_f16_e5m2_neon, nwi_cast_e4m3_f32_neon, nwi_cast_e4m3_f16_neon,
    nwi_cast_e4m3_bf16_neon, nwi_cast_e5m2_f32_neon, nwi_cast_e5m2_f16_neon,
    nwi_cast_e5m2_bf16_neon;

#endif
