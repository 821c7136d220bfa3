/* SPDX-License-Identifier: Apache-2.0
 * Columns of text. Cells are collected first and printed at the end, so that columns
 * are as wide as they must be, and one of them gives way where the terminal is narrow.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

#define CLI_TABLE_COLUMNS 8

/* One letter a column: 'l' left, 'r' right, 'L' left and cut in the middle when all do
 * not fit (the widest of them first). */
struct cli_table {
    const char *align;
    struct cli_text cells; /* all cells, safe to print, one behind the other */
    size_t *ends;          /* [n_cells], where each ends in `cells` */
    size_t n_cells;
    size_t cap;
};

/* `align` lives as long as the table; the first row of cells is the heading. */
void cli_table_init(struct cli_table *table, const char *align);
void cli_table_release(struct cli_table *table);

/* The next cell, left to right, row by row. */
void cli_table_text(struct cli_table *table, const char *data, size_t size);
void cli_table_puts(struct cli_table *table, const char *string);
void cli_table_number(struct cli_table *table, uint64_t value);
void cli_table_bytes(struct cli_table *table, uint64_t bytes);
/* "[320, 4, 3, 3]" */
void cli_table_shape(struct cli_table *table, const uint64_t *shape, size_t rank);

/* Adds the rows to `out`, each behind two blanks. `width`: columns of the terminal, 0 =
 * as wide as it gets. `bold`, `plain`: what stands around the heading. */
void cli_table_print(const struct cli_table *table, size_t width, const char *bold,
                     const char *plain, struct cli_text *out);

/* Adds `size` bytes of safe text, cut in the middle ("abc...xyz") to `width` columns.
 */
void cli_text_cut(struct cli_text *out, const char *data, size_t size, size_t width);

#endif
