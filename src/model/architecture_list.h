/* SPDX-License-Identifier: Apache-2.0
 * One line a model class; included by architectures.c with ROW defined, twice. */
/* NOLINTNEXTLINE(llvm-header-guard): no guard, on purpose */
ROW(flux_transformer_2d)
