/* SPDX-License-Identifier: Apache-2.0
 * The table of containers, and how a file finds its row. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "source/builder.h"
#include "source/format.h"
#include "source/recognised.h"
#include "source/safetensors.h"

/* GGUF before safetensors, because its 123rd tensor count looks like a brace;
 * safetensors before pickles, because a header of 640 bytes looks like one. */
const struct nwi_format *const nwi_formats[] = {
    &nwi_format_gguf,         &nwi_format_safetensors,
    &nwi_format_dduf,         &nwi_format_torch_zip,
    &nwi_format_torch_legacy, &nwi_format_torch_tar,
    &nwi_format_flashpack,    NULL,
};

#define SHORTEST_FILE 8 /* bytes: the header length of safetensors */

/* Head and tail of a file. */
struct ends {
    struct nwi_probe probe;
    uint8_t head[NWI_PROBE_BYTES];
    uint8_t tail[NWI_PROBE_BYTES];
};

static int read_ends(const struct nwi_file *file, struct ends *ends,
                     struct nw_error *err)
{
    uint64_t total = file->identity.size;
    size_t size = (size_t)nwi_min(total, NWI_PROBE_BYTES);
    ends->probe = (struct nwi_probe){ends->head, size, ends->tail, size, total};
    NWI_TRY(nwi_file_read(file, 0, ends->head, size, err));
    return nwi_file_read(file, total - size, ends->tail, size, err);
}

static const struct nwi_format *find_format(const struct nwi_probe *probe)
{
    const struct nwi_format *const *row = nwi_formats;
    while (*row && !(*row)->probe(probe))
        row++;
    return *row;
}

/* "safetensors" for "x/model.safetensors"; NULL if the name has no suffix of one of
 * ours. */
static const char *claimed_suffix(const char *path)
{
    static const char *const suffixes[] = {
        ".safetensors", ".gguf", ".ckpt", ".bin", ".pt", ".pth", ".dduf", ".flashpack"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (nwi_ends_with(path, suffixes[i]))
            return suffixes[i] + 1;
    }
    return NULL;
}

static bool is_torch(const struct nwi_format *format)
{
    return strncmp(format->container, "torch", 5) == 0;
}

/* Whether the suffix promises something else than the content is. */
static const char *wrong_suffix(const struct nwi_format *format, const char *path)
{
    static const char *const torch_suffixes[] = {"ckpt", "bin", "pt", "pth"};
    const char *claimed = claimed_suffix(path);
    if (!claimed || (format->suffix && strcmp(claimed, format->suffix + 1) == 0))
        return NULL;
    for (size_t i = 0; is_torch(format) && i < 4; i++) {
        if (strcmp(claimed, torch_suffixes[i]) == 0)
            return NULL;
    }
    return claimed;
}

static int fail_unsupported(struct nwi_builder *b, const struct nwi_place *place,
                            const struct nwi_format *format, const char *claimed)
{
    return nwi_builder_problem(b, place, NW_E_UNSUPPORTED,
                               "%s%s%scontent is %s, which this version cannot read",
                               claimed ? "suffix says " : "", claimed ? claimed : "",
                               claimed ? ", " : "", format->label);
}

static int parse_as(struct nwi_builder *b, uint32_t row,
                    const struct nwi_format *format)
{
    struct nwi_source_file *file = nwi_builder_file(b, row);
    const char *claimed = wrong_suffix(format, file->info.path);
    struct nwi_place place = {.file = file->info.path, .offset = NW_OFFSET_NONE};
    file->info.container = format->container;
    if (!format->parse)
        return fail_unsupported(b, &place, format, claimed);
    file->info.used = 1;
    if (claimed)
        NWI_TRY(nwi_builder_remark(b, row, "suffix says %s, content is %s", claimed,
                                   format->label));
    return format->parse(b, row);
}

/* Bytes that nothing claims: if a safetensors reader could tell what is wrong, it
 * shall. */
static bool may_be_safetensors(const struct nwi_probe *probe, const char *path)
{
    bool small = probe->head[5] == 0 && probe->head[6] == 0 && probe->head[7] == 0;
    bool brace = probe->head_size > 8 && probe->head[8] == '{';
    return small || brace || nwi_ends_with(path, ".safetensors");
}

static int refuse(struct nwi_builder *b, uint32_t row, const struct nwi_probe *probe)
{
    char message[400];
    const char *path = nwi_builder_file(b, row)->info.path;
    struct nwi_place place = {.file = path, .offset = NW_OFFSET_NONE};
    if (nwi_foreign_describe(probe, message, sizeof message))
        return nwi_builder_problem(b, &place, NW_E_WRONG_FORMAT, "%s", message);
    if (may_be_safetensors(probe, path))
        return parse_as(b, row, &nwi_format_safetensors);
    const uint8_t *h = probe->head;
    return nwi_builder_problem(b, &place, NW_E_WRONG_FORMAT,
                               "no known format: the file begins with the bytes "
                               "%02x %02x %02x %02x %02x %02x %02x %02x",
                               h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]);
}

int nwi_container_parse(struct nwi_builder *b, uint32_t row)
{
    struct ends ends;
    struct nw_error failure;
    struct nwi_source_file *file = nwi_builder_file(b, row);
    uint64_t total = file->file->identity.size;
    if (total < SHORTEST_FILE) {
        struct nwi_place place = {.file = file->info.path, .offset = total};
        return nwi_builder_problem(b, &place, NW_E_TRUNCATED,
                                   "%" PRIu64 " bytes are too short for any format",
                                   total);
    }
    nwi_error_clear(&failure);
    if (read_ends(file->file, &ends, &failure) != NW_OK)
        return nwi_builder_absorb(b, &failure);
    const struct nwi_format *format = find_format(&ends.probe);
    return format ? parse_as(b, row, format) : refuse(b, row, &ends.probe);
}

const char *nwi_container_name(const struct nwi_file *file)
{
    struct ends ends;
    if (file->identity.size < SHORTEST_FILE || read_ends(file, &ends, NULL) != NW_OK)
        return NULL;
    const struct nwi_format *format = find_format(&ends.probe);
    return format ? format->container : NULL;
}
