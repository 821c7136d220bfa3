/* SPDX-License-Identifier: Apache-2.0
 * A growing text. Running out of memory is remembered, later calls do nothing; whoever
 * prints the text asks once, at the end. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_text {
    char *data;  /* not ended by a NUL; NULL while empty */
    size_t used; /* bytes */
    size_t cap;  /* bytes */
    bool failed; /* memory ran out: the text is cut */
};

void cli_text_release(struct cli_text *text);

void cli_text_add(struct cli_text *text, const char *data, size_t size);
void cli_text_puts(struct cli_text *text, const char *string);
__attribute__((format(printf, 2, 3))) void cli_text_printf(struct cli_text *text,
                                                           const char *format, ...);

/* An nw_write_fn: ctx is a struct cli_text. */
int cli_text_write(void *ctx, const char *data, size_t size);

/* Adds text from outside so that no terminal can take it for a command: control
 * characters, characters that turn the direction of text, and bytes that are not UTF-8
 * become \xNN. */
void cli_text_safe(struct cli_text *text, const char *data, size_t size);

/* Adds a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD. */
void cli_text_json(struct cli_text *text, const char *data, size_t size);

/* Adds a size for people: "3.44 GB", "512 B". */
void cli_text_bytes(struct cli_text *text, uint64_t bytes);

/* Adds a time for people: "0.42 ms", "1.23 s", "2 min 05 s". */
void cli_text_seconds(struct cli_text *text, double seconds);

/* Length in bytes of the UTF-8 character at `data`, 0 if it is none. */
size_t cli_utf8_length(const char *data, size_t size, uint32_t *out);

/* Terminal columns that a text takes. */
size_t cli_text_width(const char *data, size_t size);

#endif
