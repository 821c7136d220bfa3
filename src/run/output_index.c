/* SPDX-License-Identifier: Apache-2.0
 * The index of a sharded set, byte for byte what python writes with
 * json.dumps(index, indent=2, sort_keys=True) and a newline. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run/output_parts.h"

/* Text on its way to a file; the first failure stays. */
struct text {
    int fd;
    int code;
    uint64_t at; /* in the file, where the buffer begins */
    size_t used;
    struct nw_error *err;
    char buffer[4096];
};

static void flush_text(struct text *text)
{
    if (text->code == NW_OK)
        text->code =
            nwi_output_pwrite(text->fd, text->at, text->buffer, text->used, text->err);
    text->at += text->used;
    text->used = 0;
}

static void put(struct text *text, const char *bytes, size_t size)
{
    while (size > 0) {
        size_t room = sizeof text->buffer - text->used;
        size_t n = size < room ? size : room;
        memcpy(text->buffer + text->used, bytes, n);
        text->used += n;
        bytes += n;
        size -= n;
        if (text->used == sizeof text->buffer)
            flush_text(text);
    }
}

static void put_text(struct text *text, const char *bytes)
{
    put(text, bytes, strlen(bytes));
}

static void put_unit(struct text *text, uint32_t unit)
{
    char escape[16];
    int size = snprintf(escape, sizeof escape, "\\u%04" PRIx32, unit);
    put(text, escape, (size_t)size);
}

/* Reads one character of well-formed UTF-8 (names come from JSON); returns its size. */
static size_t decode(const char *bytes, size_t size, uint32_t *out)
{
    unsigned char first = (unsigned char)bytes[0];
    size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    uint32_t value = length == 1 ? first : first & (0x7Fu >> length);
    for (size_t i = 1; i < length && i < size; i++)
        value = value << 6 | ((unsigned char)bytes[i] & 0x3Fu);
    *out = value;
    return length < size ? length : size;
}

static void put_char(struct text *text, uint32_t c)
{
    static const char special[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *found = c > 0 && c < 0x80 ? strchr(special, (int)c) : NULL;
    if (found) {
        char escape[2] = {'\\', letters[found - special]};
        put(text, escape, sizeof escape);
    } else if (c >= 0x20 && c < 0x7F) {
        char plain = (char)c;
        put(text, &plain, 1);
    } else if (c < 0x10000) {
        put_unit(text, c);
    } else {
        put_unit(text, 0xD800 + ((c - 0x10000) >> 10));
        put_unit(text, 0xDC00 + ((c - 0x10000) & 0x3FF));
    }
}

/* A string with everything outside ASCII escaped, as python does by default. */
static void put_string(struct text *text, const char *bytes, size_t size)
{
    uint32_t c = 0;
    put_text(text, "\"");
    for (size_t at = 0; at < size;) {
        at += decode(bytes + at, size - at, &c);
        put_char(text, c);
    }
    put_text(text, "\"");
}

static void put_map(struct text *text, const struct nwi_output *output,
                    const struct nwi_output_row *rows, size_t n)
{
    char path[NWI_OUTPUT_PATH];
    for (size_t i = 0; i < n; i++) {
        const struct nw_target *info = &rows[i].target->info;
        put_text(text, i ? ",\n    " : "\n    ");
        put_string(text, info->name, info->name_size);
        put_text(text, ": ");
        nwi_output_file_name(output, rows[i].file, path);
        const char *base = nwi_path_base(path);
        put_string(text, base, strlen(base));
    }
}

int nwi_output_index_write(const struct nwi_output *output, struct nwi_output_set *set,
                           const struct nwi_output_row *rows, int fd,
                           struct nw_error *err)
{
    struct text text = {.fd = fd, .err = err};
    char total[32];
    (void)snprintf(total, sizeof total, "%" PRIu64, set->total_bytes);
    put_text(&text, "{\n  \"metadata\": {\n    \"total_size\": ");
    put_text(&text, total);
    put_text(&text, "\n  },\n  \"weight_map\": {");
    put_map(&text, output, rows, set->plan->n_targets);
    put_text(&text, "\n  }\n}\n");
    flush_text(&text);
    set->index_bytes = text.at;
    return text.code;
}
