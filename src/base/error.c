/* SPDX-License-Identifier: Apache-2.0
 * struct nw_error is filled only here, so that its fields always end in NUL, hold whole
 * UTF-8 characters, and keep the first failure. */
#define _POSIX_C_SOURCE 200809L /* strerror_r that fills the caller's buffer */

#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const code_names[NW_CODE_COUNT] = {
    [NW_OK] = "OK",
    [NW_E_ARG] = "ARG",
    [NW_E_NOMEM] = "NOMEM",
    [NW_E_IO] = "IO",
    [NW_E_CANCELLED] = "CANCELLED",
    [NW_E_DEVICE] = "DEVICE",
    [NW_E_UNSUPPORTED] = "UNSUPPORTED",
    [NW_E_LIMIT] = "LIMIT",
    [NW_E_NOT_FOUND] = "NOT_FOUND",
    [NW_E_WRONG_FORMAT] = "WRONG_FORMAT",
    [NW_E_TRUNCATED] = "TRUNCATED",
    [NW_E_TRAILING] = "TRAILING",
    [NW_E_BAD_HEADER] = "BAD_HEADER",
    [NW_E_BAD_EXTENT] = "BAD_EXTENT",
    [NW_E_DUPLICATE] = "DUPLICATE",
    [NW_E_UNSUPPORTED_TYPE] = "UNSUPPORTED_TYPE",
    [NW_E_BAD_CONFIG] = "BAD_CONFIG",
    [NW_E_MISSING_SHARD] = "MISSING_SHARD",
    [NW_E_INDEX_MISMATCH] = "INDEX_MISMATCH",
    [NW_E_UNSAFE_PATH] = "UNSAFE_PATH",
    [NW_E_UNSAFE_PICKLE] = "UNSAFE_PICKLE",
    [NW_E_MISSING] = "MISSING",
    [NW_E_MISMATCH] = "MISMATCH",
    [NW_E_UNEXPECTED] = "UNEXPECTED",
    [NW_E_UNKNOWN_LAYOUT] = "UNKNOWN_LAYOUT",
    [NW_E_BUDGET] = "BUDGET",
    [NW_E_OVERFLOW] = "OVERFLOW",
    [NW_E_CHANGED] = "CHANGED",
};

const char *nw_code_name(int code)
{
    if (code < 0 || code >= NW_CODE_COUNT)
        return "UNKNOWN";
    return code_names[code];
}

void nwi_error_clear(struct nw_error *err)
{
    if (!err)
        return;
    memset(err, 0, sizeof *err);
    err->offset = NW_OFFSET_NONE;
}

/* Takes the first part of a character off the end, where a full buffer has cut it. */
static void drop_cut_character(char *text)
{
    size_t size = strlen(text);
    size_t start = size;
    while (start > 0 && size - start < 4 &&
           ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0 || ((unsigned char)text[start - 1] & 0x80) == 0)
        return;
    start--;
    if (nwi_utf8_length(text + start, size - start) != size - start)
        text[start] = '\0';
}

/* False if err already holds a failure, or is NULL. */
static bool begin(struct nw_error *err, int code, int sys, uint64_t offset)
{
    assert(code != NW_OK);
    if (!err || err->code != NW_OK)
        return false;
    err->code = code;
    err->sys = sys;
    err->offset = offset;
    return true;
}

__attribute__((format(printf, 2, 0))) static void
write_message(struct nw_error *err, const char *format, va_list args)
{
    int n = vsnprintf(err->message, sizeof err->message, format, args);
    if (n < 0)
        err->message[0] = '\0';
    else if ((size_t)n >= sizeof err->message)
        drop_cut_character(err->message);
}

static void append_sys(struct nw_error *err)
{
    char text[128];
    if (strerror_r(err->sys, text, sizeof text) != 0)
        (void)snprintf(text, sizeof text, "error %d of the system", (int)err->sys);
    size_t used = strlen(err->message);
    (void)snprintf(err->message + used, sizeof err->message - used, ": %s", text);
    drop_cut_character(err->message);
}

static int code_of(const struct nw_error *err, int code)
{
    return err && err->code != NW_OK ? err->code : code;
}

static int code_of_sys(int sys)
{
    if (sys == ENOENT || sys == ENOTDIR)
        return NW_E_NOT_FOUND;
    return sys == ENOMEM ? NW_E_NOMEM : NW_E_IO;
}

int nwi_fail(struct nw_error *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (begin(err, code, 0, NW_OFFSET_NONE))
        write_message(err, format, args);
    va_end(args);
    return code_of(err, code);
}

int nwi_fail_at(struct nw_error *err, int code, uint64_t offset, const char *format,
                ...)
{
    va_list args;
    va_start(args, format);
    if (begin(err, code, 0, offset))
        write_message(err, format, args);
    va_end(args);
    return code_of(err, code);
}

__attribute__((format(printf, 4, 0))) static int fail_sys(struct nw_error *err, int sys,
                                                          uint64_t offset,
                                                          const char *format,
                                                          va_list args)
{
    int code = code_of_sys(sys);
    if (begin(err, code, sys, offset)) {
        write_message(err, format, args);
        append_sys(err);
    }
    return code_of(err, code);
}

int nwi_fail_sys(struct nw_error *err, int sys, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int code = fail_sys(err, sys, NW_OFFSET_NONE, format, args);
    va_end(args);
    return code;
}

int nwi_fail_sys_at(struct nw_error *err, int sys, uint64_t offset, const char *format,
                    ...)
{
    va_list args;
    va_start(args, format);
    int code = fail_sys(err, sys, offset, format, args);
    va_end(args);
    return code;
}

int nwi_fail_nomem(struct nw_error *err, uint64_t nbytes)
{
    return nwi_fail(err, NW_E_NOMEM, "out of memory: %" PRIu64 " bytes were refused",
                    nbytes);
}

/* Copies text, or "..." and as much of its end as fits. */
static void copy_tail(char *out, size_t out_size, const char *text)
{
    size_t size = strlen(text);
    if (size < out_size) {
        memcpy(out, text, size + 1);
        return;
    }
    const char *tail = text + size - (out_size - 4);
    for (int i = 0; i < 3 && ((unsigned char)*tail & 0xC0) == 0x80; i++)
        tail++;
    memcpy(out, "...", 3);
    memcpy(out + 3, tail, strlen(tail) + 1);
}

int nwi_error_in_file(struct nw_error *err, int code, const char *path)
{
    if (!err || err->code == NW_OK)
        return code;
    if (err->file[0] == '\0' && path)
        copy_tail(err->file, sizeof err->file, path);
    return err->code;
}

int nwi_error_in_tensor(struct nw_error *err, int code, const char *name)
{
    if (!err || err->code == NW_OK)
        return code;
    if (err->tensor[0] == '\0' && name)
        copy_tail(err->tensor, sizeof err->tensor, name);
    return err->code;
}

/* Length of a character that can be shown as it is; 0 if its first byte must be
 * escaped. C1 controls (U+0080 to U+009F) are escaped too: terminals act on them. */
static size_t printable_length(const char *text, size_t size)
{
    unsigned char first = (unsigned char)text[0];
    if (first < 0x20 || first == 0x7F || first == '"' || first == '\'')
        return 0;
    if (first == 0xC2 && size > 1 && (unsigned char)text[1] < 0xA0)
        return 0;
    return nwi_utf8_length(text, size);
}

void nwi_quote(char *out, size_t out_size, const char *text, size_t size,
               size_t max_chars)
{
    static const char digits[] = "0123456789abcdef";
    const size_t reserve = 4; /* "..." and the NUL */
    size_t used = 0;
    size_t at = 0;
    size_t n = 0;
    assert(out_size >= 8);
    for (; at < size && n < max_chars; n++) {
        size_t length = printable_length(text + at, size - at);
        if (used + (length ? length : 4) + reserve > out_size)
            break;
        if (length) {
            memcpy(out + used, text + at, length);
            used += length;
            at += length;
            continue;
        }
        unsigned char byte = (unsigned char)text[at++];
        out[used++] = '\\';
        out[used++] = 'x';
        out[used++] = digits[byte >> 4];
        out[used++] = digits[byte & 15];
    }
    memcpy(out + used, at < size ? "..." : "", at < size ? 4 : 1);
}
