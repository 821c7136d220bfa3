/* SPDX-License-Identifier: Apache-2.0
 * One line for each model of a family; included with ROW defined, to declare and to list them. */
/* NOLINTNEXTLINE(llvm-header-guard): no guard, on purpose */
ROW(flux_transformer)
