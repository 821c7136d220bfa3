/* SPDX-License-Identifier: Apache-2.0
 * The one table of casts. For a pair, a later row is the better one. */
#include "tensor/cast_rows.h"

#define ROW(from, to, cpu, function)                                                   \
    {                                                                                  \
        NW_##from, NW_##to, NW_CPU_##cpu, #function, nwi_cast_##function               \
    }

const struct nwi_cast_row nwi_cast_rows[] = {
    ROW(F32, F64, SCALAR, f32_f64_ref),
    ROW(F32, F16, SCALAR, f32_f16_ref),
    ROW(F32, BF16, SCALAR, f32_bf16_ref),
    ROW(F32, F8_E4M3, SCALAR, f32_e4m3_ref),
    ROW(F32, F8_E5M2, SCALAR, f32_e5m2_ref),
    ROW(F32, F8_E4M3FNUZ, SCALAR, f32_e4m3fnuz_ref),
    ROW(F32, F8_E5M2FNUZ, SCALAR, f32_e5m2fnuz_ref),
    ROW(F32, F8_E8M0, SCALAR, f32_e8m0_ref),
    ROW(F64, F32, SCALAR, f64_f32_ref),
    ROW(F16, F32, SCALAR, f16_f32_ref),
    ROW(BF16, F32, SCALAR, bf16_f32_ref),
    ROW(F8_E4M3, F32, SCALAR, e4m3_f32_ref),
    ROW(F8_E5M2, F32, SCALAR, e5m2_f32_ref),
    ROW(F8_E4M3FNUZ, F32, SCALAR, e4m3fnuz_f32_ref),
    ROW(F8_E5M2FNUZ, F32, SCALAR, e5m2fnuz_f32_ref),
    ROW(F8_E8M0, F32, SCALAR, e8m0_f32_ref),

#if defined(__x86_64__)
    ROW(F64, F32, AVX2, f64_f32_avx2),
    ROW(F32, F16, AVX2, f32_f16_avx2),
    ROW(F32, BF16, AVX2, f32_bf16_avx2),
    ROW(F32, F8_E4M3, AVX2, f32_e4m3_avx2),
    ROW(F32, F8_E5M2, AVX2, f32_e5m2_avx2),
    ROW(BF16, F32, AVX2, bf16_f32_avx2),
    ROW(BF16, F16, AVX2, bf16_f16_avx2),
    ROW(BF16, F8_E4M3, AVX2, bf16_e4m3_avx2),
    ROW(BF16, F8_E5M2, AVX2, bf16_e5m2_avx2),
    ROW(F16, F32, AVX2, f16_f32_avx2),
    ROW(F16, BF16, AVX2, f16_bf16_avx2),
    ROW(F16, F8_E4M3, AVX2, f16_e4m3_avx2),
    ROW(F16, F8_E5M2, AVX2, f16_e5m2_avx2),
    ROW(F8_E4M3, F32, AVX2, e4m3_f32_avx2),
    ROW(F8_E4M3, F16, AVX2, e4m3_f16_avx2),
    ROW(F8_E4M3, BF16, AVX2, e4m3_bf16_avx2),
    ROW(F8_E5M2, F32, AVX2, e5m2_f32_avx2),
    ROW(F8_E5M2, F16, AVX2, e5m2_f16_avx2),
    ROW(F8_E5M2, BF16, AVX2, e5m2_bf16_avx2),

    ROW(F64, F32, AVX512, f64_f32_avx512),
    ROW(F32, F16, AVX512, f32_f16_avx512),
    ROW(F32, BF16, AVX512, f32_bf16_avx512),
    ROW(F32, F8_E4M3, AVX512, f32_e4m3_avx512),
    ROW(F32, F8_E5M2, AVX512, f32_e5m2_avx512),
    ROW(BF16, F32, AVX512, bf16_f32_avx512),
    ROW(BF16, F16, AVX512, bf16_f16_avx512),
    ROW(BF16, F8_E4M3, AVX512, bf16_e4m3_avx512),
    ROW(BF16, F8_E5M2, AVX512, bf16_e5m2_avx512),
    ROW(F16, F32, AVX512, f16_f32_avx512),
    ROW(F16, BF16, AVX512, f16_bf16_avx512),
    ROW(F16, F8_E4M3, AVX512, f16_e4m3_avx512),
    ROW(F16, F8_E5M2, AVX512, f16_e5m2_avx512),
    ROW(F8_E4M3, F32, AVX512, e4m3_f32_avx512),
    ROW(F8_E4M3, F16, AVX512, e4m3_f16_avx512),
    ROW(F8_E4M3, BF16, AVX512, e4m3_bf16_avx512),
    ROW(F8_E5M2, F32, AVX512, e5m2_f32_avx512),
    ROW(F8_E5M2, F16, AVX512, e5m2_f16_avx512),
    ROW(F8_E5M2, BF16, AVX512, e5m2_bf16_avx512),
#endif

#if defined(__aarch64__)
    ROW(F64, F32, NEON, f64_f32_neon),
    ROW(F32, F16, NEON, f32_f16_neon),
    ROW(F32, BF16, NEON, f32_bf16_neon),
    ROW(F32, F8_E4M3, NEON, f32_e4m3_neon),
    ROW(F32, F8_E5M2, NEON, f32_e5m2_neon),
    ROW(BF16, F32, NEON, bf16_f32_neon),
    ROW(BF16, F16, NEON, bf16_f16_neon),
    ROW(BF16, F8_E4M3, NEON, bf16_e4m3_neon),
    ROW(BF16, F8_E5M2, NEON, bf16_e5m2_neon),
    ROW(F16, F32, NEON, f16_f32_neon),
    ROW(F16, BF16, NEON, f16_bf16_neon),
    ROW(F16, F8_E4M3, NEON, f16_e4m3_neon),
    ROW(F16, F8_E5M2, NEON, f16_e5m2_neon),
    ROW(F8_E4M3, F32, NEON, e4m3_f32_neon),
    ROW(F8_E4M3, F16, NEON, e4m3_f16_neon),
    ROW(F8_E4M3, BF16, NEON, e4m3_bf16_neon),
    ROW(F8_E5M2, F32, NEON, e5m2_f32_neon),
    ROW(F8_E5M2, F16, NEON, e5m2_f16_neon),
    ROW(F8_E5M2, BF16, NEON, e5m2_bf16_neon),
#endif
};

const size_t nwi_n_cast_rows = sizeof(nwi_cast_rows) / sizeof(nwi_cast_rows[0]);
