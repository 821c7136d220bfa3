/* SPDX-License-Identifier: Apache-2.0
 * Decimal numbers as JSON writes them, whatever the process's locale. */
#ifndef NWI_NUMBER_H
#define NWI_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* The number that all of `text` is: [-]digits[.digits][e[+-]digits]. Right where the
 * digits fit 53 bits and the power of ten is at most 22 (Clinger 1990), else within a unit or
 * two of the last place; infinite beyond the range. False if it is anything else. */
bool nwi_parse_real(const char *text, double *out);

/* `value` in the fewest significant digits, `digits` at most (1 to 17). `size` 32 is enough. */
void nwi_write_real(double value, int digits, char *out, size_t size);

#endif
