/* SPDX-License-Identifier: Apache-2.0
 * The writer. Everything goes through put(). */
#include "base/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void nwi_json_writer_init(struct nwi_json_writer *w, nw_write_fn *write, void *ctx)
{
    w->write = write;
    w->ctx = ctx;
    w->failed = false;
    w->comma = false;
    w->used = 0;
    w->written = 0;
}

static void send(struct nwi_json_writer *w)
{
    if (w->used && !w->failed)
        w->failed = w->write(w->ctx, w->buffer, w->used) != 0;
    w->used = 0;
}

static void put(struct nwi_json_writer *w, const char *text, size_t size)
{
    while (size > 0 && !w->failed) {
        size_t room = sizeof w->buffer - w->used;
        size_t n = size < room ? size : room;
        memcpy(w->buffer + w->used, text, n);
        w->used += n;
        w->written += n;
        text += n;
        size -= n;
        if (w->used == sizeof w->buffer)
            send(w);
    }
}

int nwi_json_writer_finish(struct nwi_json_writer *w)
{
    send(w);
    return w->failed ? NW_E_CANCELLED : NW_OK;
}

/* Before each value and key. */
static void begin(struct nwi_json_writer *w)
{
    if (w->comma)
        put(w, ",", 1);
    w->comma = true;
}

static void open_level(struct nwi_json_writer *w, const char *bracket)
{
    begin(w);
    put(w, bracket, 1);
    w->comma = false;
}

static void close_level(struct nwi_json_writer *w, const char *bracket)
{
    put(w, bracket, 1);
    w->comma = true;
}

void nwi_json_object(struct nwi_json_writer *w)
{
    open_level(w, "{");
}

void nwi_json_object_end(struct nwi_json_writer *w)
{
    close_level(w, "}");
}

void nwi_json_array(struct nwi_json_writer *w)
{
    open_level(w, "[");
}

void nwi_json_array_end(struct nwi_json_writer *w)
{
    close_level(w, "]");
}

/* Bytes at the start of text that need no escape. */
static size_t plain_run(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        unsigned char c = (unsigned char)text[at];
        size_t length = nwi_utf8_length(text + at, size - at);
        if (length == 0 || c < 0x20 || c == '"' || c == '\\')
            break;
        at += length;
    }
    return at;
}

static void put_escaped(struct nwi_json_writer *w, char c)
{
    static const char special[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    unsigned char byte = (unsigned char)c;
    char text[8];
    const char *found = c == '\0' ? NULL : strchr(special, c);
    int size = 0;
    if (found)
        size = snprintf(text, sizeof text, "\\%c", letters[found - special]);
    else if (byte < 0x20)
        size = snprintf(text, sizeof text, "\\u%04x", byte);
    else
        size = snprintf(text, sizeof text, "\xEF\xBF\xBD");
    put(w, text, (size_t)size);
}

static void put_string(struct nwi_json_writer *w, const char *text, size_t size)
{
    put(w, "\"", 1);
    while (size > 0) {
        size_t run = plain_run(text, size);
        put(w, text, run);
        if (run == size)
            break;
        put_escaped(w, text[run]);
        text += run + 1;
        size -= run + 1;
    }
    put(w, "\"", 1);
}

void nwi_json_key_n(struct nwi_json_writer *w, const char *key, size_t size)
{
    begin(w);
    put_string(w, key, size);
    put(w, ":", 1);
    w->comma = false;
}

void nwi_json_key(struct nwi_json_writer *w, const char *key)
{
    nwi_json_key_n(w, key, strlen(key));
}

void nwi_json_str_n(struct nwi_json_writer *w, const char *text, size_t size)
{
    begin(w);
    put_string(w, text, size);
}

void nwi_json_str(struct nwi_json_writer *w, const char *text)
{
    if (text)
        nwi_json_str_n(w, text, strlen(text));
    else
        nwi_json_null(w);
}

void nwi_json_raw_value(struct nwi_json_writer *w, const char *text, size_t size)
{
    begin(w);
    put(w, text, size);
}

void nwi_json_uint(struct nwi_json_writer *w, uint64_t value)
{
    char text[24];
    int size = snprintf(text, sizeof text, "%" PRIu64, value);
    nwi_json_raw_value(w, text, (size_t)size);
}

/* snprintf writes the locale's decimal separator, which may be any run of bytes: makes
 * it one dot. */
static size_t with_dot(char *text)
{
    size_t used = 0;
    bool dot = false;
    for (const char *c = text; *c; c++) {
        bool kept = (*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e';
        if (kept)
            text[used++] = *c;
        else if (!dot)
            text[used++] = '.';
        dot = !kept;
    }
    text[used] = '\0';
    return used;
}

/* 10^n, exact in a double up to n = 22; 1 for a negative n. */
static double exact_power(int n)
{
    double power = 1;
    while (n-- > 0)
        power *= 10;
    return power;
}

/* "e-05" or nothing. */
static int read_exponent(const char *text)
{
    int exponent = 0;
    if (*text != 'e')
        return 0;
    for (const char *c = text + 2; *c; c++)
        exponent = exponent * 10 + (*c - '0');
    return text[1] == '-' ? -exponent : exponent;
}

/* True if the text (at most 15 digits) reads back as `value`. Only where one division
 * or multiplication of exact numbers, rounded once, gives the answer; else false. */
static bool reads_back(const char *text, double value)
{
    double digits = 0;
    int exponent = 0;
    bool fraction = false;
    const char *c = *text == '-' ? text + 1 : text;
    for (; *c && *c != 'e'; c++) {
        if (*c == '.') {
            fraction = true;
            continue;
        }
        digits = digits * 10 + (*c - '0');
        exponent -= fraction;
    }
    exponent += read_exponent(c);
    if (exponent < -22 || exponent > 22)
        return false;
    digits *= exact_power(exponent);
    digits /= exact_power(-exponent);
    return digits == fabs(value);
}

void nwi_json_real(struct nwi_json_writer *w, double value)
{
    char text[48];
    if (!isfinite(value)) {
        nwi_json_null(w);
        return;
    }
    (void)snprintf(text, sizeof text, "%.15g", value);
    size_t size = with_dot(text);
    if (!reads_back(text, value)) {
        (void)snprintf(text, sizeof text, "%.17g", value);
        size = with_dot(text);
    }
    nwi_json_raw_value(w, text, size);
}

void nwi_json_bool(struct nwi_json_writer *w, bool value)
{
    nwi_json_raw_value(w, value ? "true" : "false", value ? 4 : 5);
}

void nwi_json_null(struct nwi_json_writer *w)
{
    nwi_json_raw_value(w, "null", 4);
}

void nwi_json_put_str(struct nwi_json_writer *w, const char *key, const char *text)
{
    nwi_json_key(w, key);
    nwi_json_str(w, text);
}

void nwi_json_put_uint(struct nwi_json_writer *w, const char *key, uint64_t value)
{
    nwi_json_key(w, key);
    nwi_json_uint(w, value);
}
