/* SPDX-License-Identifier: Apache-2.0
 * One line for each model of a family; included by families.c with ROW defined, twice. */
/* NOLINTNEXTLINE(llvm-header-guard): no guard, on purpose */
ROW(flux_transformer)
