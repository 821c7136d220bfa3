/* SPDX-License-Identifier: Apache-2.0
 * Arguments of options, one function a kind. All return false for a bad value and leave
 * *out alone; the text need not end behind `size`. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/* "64MiB", "5GB", "1.5GiB", "4096": at least one byte; units in any case. */
bool cli_value_size(const char *text, uint64_t *out);

/* Decimal digits only. */
bool cli_value_number(const char *text, uint32_t *out);

/* "ABS" or "ABS,REL": finite, not negative. */
bool cli_value_tolerance(const char *text, struct cli_tolerance *out);

/* The index of a word among `words`, which are split by '|'. */
bool cli_value_choice(const char *words, const char *text, size_t size, uint32_t *out);

/* The i-th of the words; returns its length, 0 past the end. */
size_t cli_word(const char *words, size_t i, const char **out);

/* How many single-character edits lie between two words; for suggestions. */
size_t cli_distance(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
