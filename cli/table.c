/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#define INDENT 2 /* columns before the first cell, and between cells */
#define NARROW 8 /* no column is cut below this */

void cli_table_init(struct cli_table *table, const char *align)
{
    *table = (struct cli_table){.align = align};
}

void cli_table_release(struct cli_table *table)
{
    cli_text_release(&table->cells);
    free(table->ends);
    table->ends = NULL;
}

static void end_cell(struct cli_table *table)
{
    if (table->n_cells == table->cap) {
        size_t cap = table->cap == 0 ? 64 : table->cap * 2;
        size_t *ends = realloc(table->ends, cap * sizeof *ends);
        if (ends == NULL) {
            table->cells.failed = true;
            return;
        }
        table->ends = ends;
        table->cap = cap;
    }
    table->ends[table->n_cells++] = table->cells.used;
}

void cli_table_text(struct cli_table *table, const char *data, size_t size)
{
    cli_text_safe(&table->cells, data, size);
    end_cell(table);
}

void cli_table_puts(struct cli_table *table, const char *string)
{
    cli_table_text(table, string, strlen(string));
}

void cli_table_number(struct cli_table *table, uint64_t value)
{
    cli_text_printf(&table->cells, "%llu", (unsigned long long)value);
    end_cell(table);
}

void cli_table_bytes(struct cli_table *table, uint64_t bytes)
{
    cli_text_bytes(&table->cells, bytes);
    end_cell(table);
}

void cli_table_shape(struct cli_table *table, const uint64_t *shape, size_t rank)
{
    cli_text_add(&table->cells, "[", 1);
    for (size_t i = 0; i < rank; i++)
        cli_text_printf(&table->cells, "%s%llu", i == 0 ? "" : ", ",
                        (unsigned long long)shape[i]);
    cli_text_add(&table->cells, "]", 1);
    end_cell(table);
}

static size_t cell(const struct cli_table *table, size_t i, const char **out)
{
    size_t start = i == 0 ? 0 : table->ends[i - 1];
    *out = table->cells.data + start;
    return table->ends[i] - start;
}

/* Takes columns from the widest flexible cells until the row fits `width`. */
static void fit(const char *align, size_t *widths, size_t n, size_t width)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += widths[i] + INDENT;
    while (total > width) {
        size_t widest = n;
        for (size_t i = 0; i < n; i++)
            if (align[i] == 'L' && widths[i] > NARROW &&
                (widest == n || widths[i] > widths[widest]))
                widest = i;
        if (widest == n)
            return;
        widths[widest]--;
        total--;
    }
}

/* Bytes of the longest start of a text that takes at most `width` columns. */
static size_t head_size(const char *data, size_t size, size_t width)
{
    size_t at = 0;
    while (at < size) {
        uint32_t value;
        size_t length = cli_utf8_length(data + at, size - at, &value);
        length = length == 0 ? 1 : length;
        size_t columns = cli_text_width(data + at, length);
        if (columns > width)
            break;
        width -= columns;
        at += length;
    }
    return at;
}

void cli_text_cut(struct cli_text *out, const char *data, size_t size, size_t width)
{
    size_t full = cli_text_width(data, size);
    if (full <= width) {
        cli_text_add(out, data, size);
        return;
    }
    if (width < NARROW) {
        cli_text_add(out, data, head_size(data, size, width));
        return;
    }
    size_t tail = (width - 3) / 2;
    size_t skipped = head_size(data, size, full - tail);
    if (cli_text_width(data + skipped, size - skipped) > tail) {
        /* a wide character lies across the cut */
        uint32_t value;
        size_t length = cli_utf8_length(data + skipped, size - skipped, &value);
        skipped += length == 0 ? 1 : length;
    }
    cli_text_add(out, data, head_size(data, size, width - 3 - tail));
    cli_text_puts(out, "...");
    cli_text_add(out, data + skipped, size - skipped);
}

static void pad(struct cli_text *out, size_t n)
{
    while (n-- > 0)
        cli_text_add(out, " ", 1);
}

static void print_row(const struct cli_table *table, size_t row, const size_t *widths,
                      size_t n, struct cli_text *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *data;
        size_t size = cell(table, row * n + i, &data);
        size_t columns = cli_text_width(data, size);
        columns = columns > widths[i] ? widths[i] : columns;
        pad(out, INDENT);
        if (table->align[i] == 'r')
            pad(out, widths[i] - columns);
        size_t before = out->used;
        cli_text_cut(out, data, size, widths[i]);
        if (table->align[i] != 'r' && i + 1 < n && !out->failed)
            pad(out,
                widths[i] - cli_text_width(out->data + before, out->used - before));
    }
}

/* Ends the row that began at `from`: cut to `width` where even narrow columns do not
 * fit, and without blanks behind it. */
static void end_row(struct cli_text *out, size_t from, size_t width)
{
    if (out->failed)
        return;
    if (width > 0)
        out->used = from + head_size(out->data + from, out->used - from, width);
    while (out->used > from && out->data[out->used - 1] == ' ')
        out->used--;
}

void cli_table_print(const struct cli_table *table, size_t width, const char *bold,
                     const char *plain, struct cli_text *out)
{
    size_t widths[CLI_TABLE_COLUMNS] = {0};
    size_t n = strlen(table->align);
    if (table->cells.failed) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < table->n_cells; i++) {
        const char *data;
        size_t size = cell(table, i, &data);
        size_t columns = cli_text_width(data, size);
        if (columns > widths[i % n])
            widths[i % n] = columns;
    }
    if (width > 0)
        fit(table->align, widths, n, width);
    for (size_t row = 0; row < table->n_cells / n; row++) {
        if (row == 0)
            cli_text_puts(out, bold);
        size_t from = out->used;
        print_row(table, row, widths, n, out);
        end_row(out, from, width);
        cli_text_puts(out, row == 0 ? plain : "");
        cli_text_add(out, "\n", 1);
    }
}
