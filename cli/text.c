/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_text_release(struct cli_text *text)
{
    free(text->data);
    *text = (struct cli_text){0};
}

/* Room for `size` more bytes; NULL if there is none. */
static char *reserve(struct cli_text *text, size_t size)
{
    if (text->failed)
        return NULL;
    if (size > text->cap - text->used) {
        size_t cap = text->cap < 256 ? 256 : text->cap;
        while (cap - text->used < size && cap <= SIZE_MAX / 2)
            cap *= 2;
        char *data = cap - text->used < size ? NULL : realloc(text->data, cap);
        if (data == NULL) {
            text->failed = true;
            return NULL;
        }
        text->data = data;
        text->cap = cap;
    }
    return text->data + text->used;
}

void cli_text_add(struct cli_text *text, const char *data, size_t size)
{
    char *to = size == 0 ? NULL : reserve(text, size);
    if (to == NULL)
        return;
    memcpy(to, data, size);
    text->used += size;
}

void cli_text_puts(struct cli_text *text, const char *string)
{
    cli_text_add(text, string, strlen(string));
}

void cli_text_printf(struct cli_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *to = n <= 0 ? NULL : reserve(text, (size_t)n + 1);
    if (to == NULL)
        return;
    va_start(args, format);
    (void)vsnprintf(to, (size_t)n + 1, format, args);
    va_end(args);
    text->used += (size_t)n;
}

int cli_text_write(void *ctx, const char *data, size_t size)
{
    struct cli_text *text = ctx;
    cli_text_add(text, data, size);
    return text->failed ? 1 : 0;
}

/* ---- UTF-8 ----------------------------------------------------------------------- */

size_t cli_utf8_length(const char *data, size_t size, uint32_t *out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = size == 0 ? 0x80 : (unsigned char)data[0];
    size_t length = first < 0x80             ? 1
                    : (first & 0xe0) == 0xc0 ? 2
                    : (first & 0xf0) == 0xe0 ? 3
                    : (first & 0xf8) == 0xf0 ? 4
                                             : 0;
    if (length == 0 || length > size)
        return 0;
    uint32_t value = length == 1 ? first : first & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        unsigned char byte = (unsigned char)data[i];
        if ((byte & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (byte & 0x3fU);
    }
    if (value < least[length] || value > 0x10ffff ||
        (value >= 0xd800 && value < 0xe000))
        return 0;
    *out = value;
    return length;
}

struct range {
    uint32_t first;
    uint32_t last;
};

static bool within(uint32_t value, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (value >= ranges[i].first && value <= ranges[i].last)
            return true;
    return false;
}

/* C0, DEL, C1; line and paragraph separators; marks, embeddings and isolates that turn
 * the direction of what follows; the byte order mark. */
static bool is_unsafe(uint32_t value)
{
    static const struct range ranges[] = {
        {0x0000, 0x001f}, {0x007f, 0x009f}, {0x061c, 0x061c}, {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
    };
    return within(value, ranges, sizeof ranges / sizeof *ranges);
}

static size_t char_width(uint32_t value)
{
    static const struct range marks[] = {
        {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},
        {0x064b, 0x065f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
        {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    };
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd},
    };
    if (value < 0x300)
        return 1;
    if (within(value, marks, sizeof marks / sizeof *marks))
        return 0;
    return within(value, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

size_t cli_text_width(const char *data, size_t size)
{
    size_t width = 0;
    while (size > 0) {
        uint32_t value = 0;
        size_t length = cli_utf8_length(data, size, &value);
        width += length == 0 ? 1 : char_width(value);
        length = length == 0 ? 1 : length;
        data += length;
        size -= length;
    }
    return width;
}

void cli_text_safe(struct cli_text *text, const char *data, size_t size)
{
    while (size > 0) {
        uint32_t value = 0;
        size_t length = cli_utf8_length(data, size, &value);
        bool escape = length == 0 || is_unsafe(value);
        length = length == 0 ? 1 : length;
        for (size_t i = 0; escape && i < length; i++)
            cli_text_printf(text, "\\x%02x", (unsigned)(unsigned char)data[i]);
        if (!escape)
            cli_text_add(text, data, length);
        data += length;
        size -= length;
    }
}

void cli_text_json(struct cli_text *text, const char *data, size_t size)
{
    cli_text_add(text, "\"", 1);
    while (size > 0) {
        uint32_t value = 0;
        size_t length = cli_utf8_length(data, size, &value);
        if (length == 0)
            cli_text_puts(text, "\xef\xbf\xbd");
        else if (value == '"' || value == '\\')
            cli_text_printf(text, "\\%c", (char)value);
        else if (value < 0x20)
            cli_text_printf(text, "\\u%04x", (unsigned)value);
        else
            cli_text_add(text, data, length);
        length = length == 0 ? 1 : length;
        data += length;
        size -= length;
    }
    cli_text_add(text, "\"", 1);
}

/* ---- figures --------------------------------------------------------------------- */

void cli_text_bytes(struct cli_text *text, uint64_t bytes)
{
    static const char units[][4] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        cli_text_printf(text, "%u B", (unsigned)bytes);
        return;
    }
    double value = (double)bytes / 1000.0;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000.0;
        unit++;
    }
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    cli_text_printf(text, "%.*f %s", decimals, value, units[unit]);
}

void cli_text_seconds(struct cli_text *text, double seconds)
{
    if (seconds < 0.9995) {
        double ms = seconds * 1000.0;
        cli_text_printf(text, "%.*f ms", ms < 9.995 ? 2 : ms < 99.95 ? 1 : 0, ms);
    } else if (seconds < 99.95) {
        cli_text_printf(text, "%.*f s", seconds < 9.995 ? 2 : 1, seconds);
    } else {
        uint64_t whole = (uint64_t)(seconds + 0.5);
        cli_text_printf(text, "%llu min %02u s", (unsigned long long)(whole / 60),
                        (unsigned)(whole % 60));
    }
}
