/* SPDX-License-Identifier: Apache-2.0 */
#include "json_view.h"

#include <string.h>

/* The length of the string at `at`, quotes included. */
static size_t string_size(const char *at, size_t size)
{
    for (size_t i = 1; i < size; i++) {
        if (at[i] == '"')
            return i + 1;
        i += at[i] == '\\';
    }
    return size;
}

/* The length of the value at `at`, which has `size` bytes behind it: up to the comma,
 * colon or bracket outside of it. */
static size_t value_size(const char *at, size_t size)
{
    size_t depth = 0;
    size_t i = 0;
    while (i < size) {
        char c = at[i];
        bool closes = c == '}' || c == ']';
        if (depth == 0 && (closes || c == ',' || c == ':'))
            break;
        depth += c == '{' || c == '[';
        depth -= closes;
        i += c == '"' ? string_size(at + i, size - i) : 1;
    }
    return i;
}

/* The value that follows `last` (all zero: the first) inside the brackets of `holder`.
 */
static bool step(struct cli_json holder, struct cli_json last, struct cli_json *out)
{
    if (holder.size < 2)
        return false;
    const char *end = holder.at + holder.size - 1; /* its closing bracket */
    const char *at = last.at == NULL ? holder.at + 1 : last.at + last.size + 1;
    if (at >= end)
        return false;
    *out = (struct cli_json){at, value_size(at, (size_t)(end - at))};
    return true;
}

bool cli_json_next(struct cli_json array, struct cli_json *element)
{
    return array.size > 0 && array.at[0] == '[' && step(array, *element, element);
}

bool cli_json_member(struct cli_json object, struct cli_json *key,
                     struct cli_json *value)
{
    return object.size > 0 && object.at[0] == '{' && step(object, *value, key) &&
           step(object, *key, value);
}

struct cli_json cli_json_get(struct cli_json object, const char *key)
{
    struct cli_json name = {0};
    struct cli_json value = {0};
    while (cli_json_member(object, &name, &value))
        if (cli_json_is(name, key))
            return value;
    return (struct cli_json){0};
}

size_t cli_json_count(struct cli_json array)
{
    size_t n = 0;
    for (struct cli_json element = {0}; cli_json_next(array, &element);)
        n++;
    return n;
}

uint64_t cli_json_uint(struct cli_json value)
{
    uint64_t number = 0;
    if (value.size == 4 && memcmp(value.at, "true", 4) == 0)
        return 1;
    for (size_t i = 0; i < value.size && value.at[i] >= '0' && value.at[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(value.at[i] - '0');
    return number;
}

bool cli_json_is_null(struct cli_json value)
{
    return value.size == 0 || (value.size == 4 && memcmp(value.at, "null", 4) == 0);
}

bool cli_json_is(struct cli_json value, const char *text)
{
    size_t size = strlen(text);
    return value.size == size + 2 && value.at[0] == '"' &&
           memcmp(value.at + 1, text, size) == 0;
}

void cli_json_splice(struct cli_text *document, const char *key, struct cli_json value)
{
    if (value.size == 0 || document->failed)
        return;
    while (document->used > 0 && document->data[document->used - 1] != '}')
        document->used--; /* the line end */
    if (document->used == 0)
        return;
    document->used--;
    cli_text_printf(document, ",\"%s\":", key);
    cli_text_add(document, value.at, value.size);
    cli_text_add(document, "}", 1);
}

static uint32_t hex4(const char *at)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++) {
        uint32_t c = (unsigned char)at[i];
        value = value << 4 | (c <= '9' ? c - '0' : (c & 0x5f) - 'A' + 10);
    }
    return value;
}

static void add_char(struct cli_text *out, uint32_t c)
{
    char utf8[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--) {
        utf8[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    utf8[0] = (char)(lead[n] | c);
    cli_text_add(out, utf8, n);
}

/* The escape at `at` (behind its backslash); returns how many bytes of it were used. */
static size_t add_escape(struct cli_text *out, const char *at, size_t size)
{
    static const char names[] = "bfnrt";
    static const char values[] = "\b\f\n\r\t";
    if (at[0] != 'u') {
        const char *name = strchr(names, at[0]);
        cli_text_add(out, name == NULL ? at : &values[name - names], 1);
        return 1;
    }
    if (size < 5)
        return size;
    uint32_t c = hex4(at + 1);
    if (c >= 0xd800 && c < 0xdc00 && size >= 11 && at[5] == '\\' && at[6] == 'u') {
        add_char(out,
                 0x10000 + ((c - 0xd800) << 10) + ((hex4(at + 7) - 0xdc00) & 0x3ff));
        return 11;
    }
    add_char(out, c);
    return 5;
}

void cli_json_decode(struct cli_json value, struct cli_text *out)
{
    if (value.size < 2 || value.at[0] != '"') {
        cli_text_add(out, value.at, value.size);
        return;
    }
    const char *end = value.at + value.size - 1;
    for (const char *at = value.at + 1; at < end;) {
        if (*at == '\\' && at + 1 < end) {
            at += 1 + add_escape(out, at + 1, (size_t)(end - at - 1));
            continue;
        }
        const char *stop = memchr(at, '\\', (size_t)(end - at));
        if (stop == NULL || stop == at)
            stop = stop == NULL ? end : at + 1;
        cli_text_add(out, at, (size_t)(stop - at));
        at = stop;
    }
}
