/* SPDX-License-Identifier: Apache-2.0
 * Files that are no checkpoint but are found under the name of one: what was downloaded
 * was a page, a pointer or an archive. One row of a table each. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "source/recognised.h"

/* ---- text ---- */

static size_t skip_space(const struct nwi_probe *probe, size_t at)
{
    while (at < probe->head_size && probe->head[at] &&
           strchr(" \t\r\n\f", probe->head[at]))
        at++;
    return at;
}

/* Where a text begins: after a byte order mark and white space. */
static size_t text_start(const struct nwi_probe *probe)
{
    bool mark = probe->head_size >= 3 && memcmp(probe->head, "\xEF\xBB\xBF", 3) == 0;
    return skip_space(probe, mark ? 3 : 0);
}

/* A whole head of well-formed UTF-8 without control characters is a text. The last
 * character may be cut by the end of the head. */
static bool is_text(const struct nwi_probe *probe)
{
    size_t at = 0;
    while (at < probe->head_size) {
        uint8_t c = probe->head[at];
        if (c < 0x20 && (c == 0 || !strchr("\t\r\n\f\x1b", c)))
            return false;
        size_t left = probe->head_size - at;
        size_t length = nwi_utf8_length((const char *)probe->head + at, left);
        if (length == 0 && (left >= 4 || probe->head_size == probe->total))
            return false;
        at += length ? length : left;
    }
    return probe->head_size > 0;
}

static bool text_begins(const struct nwi_probe *probe, const char *lower_case)
{
    size_t at = text_start(probe);
    for (; *lower_case; lower_case++, at++) {
        if (at >= probe->head_size)
            return false;
        uint8_t c = probe->head[at];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != *lower_case)
            return false;
    }
    return true;
}

bool nwi_probe_is_json(const struct nwi_probe *probe)
{
    return text_begins(probe, "{") && is_text(probe);
}

static bool is_html(const struct nwi_probe *probe)
{
    static const char *const tags[] = {"<!doctype html", "<html",  "<head",
                                       "<body",          "<title", "<!--"};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (text_begins(probe, tags[i]))
            return true;
    }
    return false;
}

static bool is_xml(const struct nwi_probe *probe)
{
    return text_begins(probe, "<?xml") || (text_begins(probe, "<") && is_text(probe));
}

static bool is_json(const struct nwi_probe *probe)
{
    return nwi_probe_is_json(probe) || (text_begins(probe, "[") && is_text(probe));
}

/* Protocol 0: "(dp0", "(lp0" or a global, a line each. */
static bool is_text_pickle(const struct nwi_probe *probe)
{
    static const char *const openers[] = {"(dp",
                                          "(lp",
                                          "(ip",
                                          "ccopy_reg\n",
                                          "c__builtin__\n",
                                          "ccollections\n",
                                          "cposix\n",
                                          "cos\n",
                                          "cbuiltins\n",
                                          "ctorch"};
    if (!is_text(probe))
        return false;
    for (size_t i = 0; i < sizeof openers / sizeof openers[0]; i++) {
        size_t size = strlen(openers[i]);
        if (probe->head_size >= size && memcmp(probe->head, openers[i], size) == 0)
            return true;
    }
    return false;
}

static bool is_utf16(const struct nwi_probe *probe)
{
    const uint8_t *head = probe->head;
    if (probe->head_size < 8)
        return false;
    bool little = head[0] == 0xFF && head[1] == 0xFE && head[3] == 0 && head[5] == 0;
    bool big = head[0] == 0xFE && head[1] == 0xFF && head[2] == 0 && head[4] == 0;
    return little || big;
}

static const struct {
    const char *label;
    bool (*probe)(const struct nwi_probe *probe);
} texts[] = {
    {"HTML text", is_html},  {"XML text", is_xml},
    {"JSON text", is_json},  {"a text pickle (protocol 0)", is_text_pickle},
    {"plain text", is_text},
};

/* The size that a git-lfs pointer promises: false if there is none. */
static bool lfs_size(const struct nwi_probe *probe, uint64_t *size)
{
    static const char key[] = "\nsize ";
    const char *text = (const char *)probe->head;
    size_t length = sizeof key - 1;
    for (size_t i = 0; i + length < probe->head_size; i++) {
        if (memcmp(text + i, key, length) != 0)
            continue;
        size_t end = i + length;
        while (end < probe->head_size && text[end] >= '0' && text[end] <= '9')
            end++;
        return nwi_json_u64(text + i + length, end - i - length, size);
    }
    return false;
}

static bool describe_lfs(const struct nwi_probe *probe, char *message, size_t size)
{
    uint64_t real = 0;
    if (!text_begins(probe, "version https://git-lfs") &&
        !text_begins(probe, "version https://hawser"))
        return false;
    if (lfs_size(probe, &real))
        (void)snprintf(
            message, size,
            "a git-lfs pointer, not the file itself: the real object has %" PRIu64
            " bytes, this file %" PRIu64 "; fetch it with git lfs pull",
            real, probe->total);
    else
        (void)snprintf(message, size,
                       "a git-lfs pointer of %" PRIu64
                       " bytes, not the file itself; fetch it with git lfs pull",
                       probe->total);
    return true;
}

static bool describe_text(const struct nwi_probe *probe, char *message, size_t size)
{
    char line[272]; /* 60 characters of at most 4 bytes */
    size_t start = text_start(probe);
    size_t end = start;
    while (end < probe->head_size && probe->head[end] != '\n' &&
           probe->head[end] != '\r')
        end++;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!texts[i].probe(probe))
            continue;
        nwi_quote(line, sizeof line, (const char *)probe->head + start, end - start,
                  60);
        (void)snprintf(message, size, "%s, not a checkpoint: it begins with \"%s\"",
                       texts[i].label, line);
        return true;
    }
    return false;
}

/* ---- archives and other binary files ---- */

struct magic {
    const char *label;
    const char *bytes;
    uint8_t size;
    uint8_t at;
    bool archive; /* the checkpoint may be in it */
};

static const struct magic magics[] = {
    {"a gzip archive", "\x1f\x8b\x08", 3, 0, true},
    {"an xz archive", "\xfd\x37zXZ\0", 6, 0, true},
    {"a zstandard archive", "\x28\xb5\x2f\xfd", 4, 0, true},
    {"a bzip2 archive", "BZh", 3, 0, true},
    {"an lz4 archive", "\x04\x22\x4d\x18", 4, 0, true},
    {"a 7-Zip archive", "7z\xbc\xaf\x27\x1c", 6, 0, true},
    {"a RAR archive", "Rar!\x1a\x07", 6, 0, true},
    {"a numpy array (.npy)", "\x93NUMPY", 6, 0, false},
    {"an HDF5 file", "\x89HDF\r\n\x1a\n", 8, 0, false},
    {"an old GGML file", "lmgg", 4, 0, false},
    {"an old GGML file", "tjgg", 4, 0, false},
    {"an old GGML file", "fmgg", 4, 0, false},
    {"a TensorFlow Lite model", "TFL3", 4, 4, false},
    {"an ONNX model", "\x08\x03\x12", 3, 0, false},
    {"an ONNX model", "\x08\x04\x12", 3, 0, false},
    {"an ONNX model", "\x08\x06\x12", 3, 0, false},
    {"an ONNX model", "\x08\x07\x12", 3, 0, false},
    {"an ONNX model", "\x08\x08\x12", 3, 0, false},
    {"an ONNX model", "\x08\x09\x12", 3, 0, false},
    {"an ONNX model", "\x08\x0a\x12", 3, 0, false},
    {"a PNG image", "\x89PNG\r\n\x1a\n", 8, 0, false},
    {"a JPEG image", "\xff\xd8\xff", 3, 0, false},
    {"a GIF image", "GIF8", 4, 0, false},
    {"a WebP image", "WEBP", 4, 8, false},
    {"a video", "ftyp", 4, 4, false},
    {"a PDF document", "%PDF-", 5, 0, false},
    {"a program (ELF)",
     "\x7f"
     "ELF",
     4, 0, false},
    {"a program (Windows)", "MZ\x90", 3, 0, false},
    {"a SQLite database", "SQLite format 3", 15, 0, false},
    {"an AppleDouble file, which goes with the real one", "\x00\x05\x16\x07", 4, 0,
     false},
    {"UTF-8 text", "\xef\xbb\xbf", 3, 0, false},
};

static bool describe(char *message, size_t size, const char *label, bool archive)
{
    (void)snprintf(message, size, "%s, not a checkpoint%s", label,
                   archive ? "; unpack it first" : "");
    return true;
}

static bool describe_zip(const struct nwi_probe *probe, char *message, size_t size)
{
    if (nwi_probe_zip_names(probe, ".npy"))
        return describe(message, size, "a numpy archive (.npz)", false);
    if (nwi_probe_zip_names(probe, "[Content_Types].xml"))
        return describe(message, size, "an office document", false);
    return describe(message, size, "a zip archive", true);
}

static bool is_zero(const struct nwi_probe *probe)
{
    for (size_t i = 0; i < probe->head_size; i++) {
        if (probe->head[i])
            return false;
    }
    return probe->head_size >= 64;
}

static bool describe_binary(const struct nwi_probe *probe, char *message, size_t size)
{
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        const struct magic *magic = &magics[i];
        if (probe->head_size >= (size_t)magic->at + magic->size &&
            memcmp(probe->head + magic->at, magic->bytes, magic->size) == 0)
            return describe(message, size, magic->label, magic->archive);
    }
    if (nwi_probe_is_tar(probe))
        return describe(message, size, "a tar archive", true);
    if (is_utf16(probe))
        return describe(message, size, "UTF-16 text", false);
    if (is_zero(probe))
        return describe(message, size,
                        "nothing but zero bytes, a download that was not filled",
                        false);
    return false;
}

bool nwi_foreign_describe(const struct nwi_probe *probe, char *message, size_t size)
{
    if (describe_lfs(probe, message, size) || describe_text(probe, message, size))
        return true;
    if (nwi_probe_is_zip(probe))
        return describe_zip(probe, message, size);
    return describe_binary(probe, message, size);
}
