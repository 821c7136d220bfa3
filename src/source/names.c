/* SPDX-License-Identifier: Apache-2.0
 * From right to left: the suffix, then the shard, then the variant. */
#include "source/names.h"

#include <string.h>

#include "base/text.h"

static const char *const stems[] = {"diffusion_pytorch_model", "model",
                                    "pytorch_model"};

static const struct {
    const char *suffix;
    enum nwi_name_type type;
} suffixes[] = {
    {".safetensors", NWI_TYPE_SAFETENSORS},
    {".bin", NWI_TYPE_BIN},
    {".ckpt", NWI_TYPE_LOOSE},
    {".pt", NWI_TYPE_LOOSE},
    {".pth", NWI_TYPE_LOOSE},
    {".gguf", NWI_TYPE_LOOSE},
    {".flashpack", NWI_TYPE_LOOSE},
    {".dduf", NWI_TYPE_LOOSE},
    {".msgpack", NWI_TYPE_FOREIGN},
    {".h5", NWI_TYPE_FOREIGN},
    {".onnx", NWI_TYPE_FOREIGN},
    {".onnx_data", NWI_TYPE_FOREIGN},
    {".pb", NWI_TYPE_FOREIGN},
    {".tflite", NWI_TYPE_FOREIGN},
    {".npz", NWI_TYPE_FOREIGN},
    {".ot", NWI_TYPE_FOREIGN},
};

#define N_SUFFIXES (sizeof suffixes / sizeof suffixes[0])

const char *nwi_stem(uint32_t rank)
{
    return rank < NWI_STEM_OTHER ? stems[rank] : NULL;
}

bool nwi_name_is(const char *text, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

/* Takes `end` off the end of text[size]. */
static bool strip(const char *text, size_t *size, const char *end)
{
    size_t length = strlen(end);
    if (*size < length || memcmp(text + *size - length, end, length) != 0)
        return false;
    *size -= length;
    return true;
}

/* Takes the last piece after a dot off; false if there is none. */
static bool strip_piece(const char *text, size_t *size, const char **piece,
                        size_t *piece_size)
{
    for (size_t i = *size; i-- > 0;) {
        if (text[i] != '.')
            continue;
        *piece = text + i + 1;
        *piece_size = *size - i - 1;
        *size = i;
        return *piece_size > 0;
    }
    return false;
}

/* Reads the digits that end at text[*size]: 2 to 9 of them. */
static bool strip_number(const char *text, size_t *size, uint32_t *out)
{
    size_t end = *size;
    uint32_t value = 0;
    while (*size > 0 && text[*size - 1] >= '0' && text[*size - 1] <= '9')
        --*size;
    if (end - *size < 2 || end - *size > 9)
        return false;
    for (size_t i = *size; i < end; i++)
        value = value * 10 + (uint32_t)(text[i] - '0');
    *out = value;
    return true;
}

/* Takes "-00001-of-00003" off; leaves everything as it is where there is none. */
static bool strip_shard(struct nwi_weight_name *name, size_t *size)
{
    const char *text = name->name;
    size_t left = *size;
    uint32_t shard = 0;
    uint32_t n = 0;
    if (!strip_number(text, &left, &n) || !strip(text, &left, "-of-") ||
        !strip_number(text, &left, &shard) || !strip(text, &left, "-"))
        return false;
    *size = left;
    name->shard = shard;
    name->n_shards = n;
    name->form = NWI_NAME_SHARD;
    return true;
}

static bool is_variant_word(const char *text, size_t size)
{
    bool letter =
        (text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z');
    return letter && size <= 16;
}

/* Tells the stem from the variant that may follow it. A usual stem is known; of another
 * one the last piece is taken for a variant if it looks like a word (not the "0" of
 * "xl_1.0"). */
static void split_stem(struct nwi_weight_name *name, size_t size)
{
    const char *text = name->name;
    name->stem = text;
    name->stem_size = size;
    name->stem_rank = NWI_STEM_OTHER;
    for (uint32_t i = 0; i < NWI_STEM_OTHER; i++) {
        size_t length = strlen(stems[i]);
        bool same = size >= length && memcmp(text, stems[i], length) == 0;
        if (!same || (size > length && text[length] != '.'))
            continue;
        name->stem_rank = i;
        name->stem_size = length;
        if (size > length && name->variant_size == 0) {
            name->variant = text + length + 1;
            name->variant_size = size - length - 1;
        }
        return;
    }
    const char *piece = NULL;
    size_t piece_size = 0;
    if (name->variant_size == 0 && strip_piece(text, &size, &piece, &piece_size) &&
        size > 0 && is_variant_word(piece, piece_size)) {
        name->stem_size = size;
        name->variant = piece;
        name->variant_size = piece_size;
    }
}

static bool strip_suffix(struct nwi_weight_name *name, size_t *size)
{
    for (size_t i = 0; i < N_SUFFIXES; i++) {
        if (!strip(name->name, size, suffixes[i].suffix))
            continue;
        name->type = suffixes[i].type;
        return *size > 0;
    }
    return false;
}

/* "<stem>.safetensors.index.json" and its two spellings with a variant. */
static bool parse_index(struct nwi_weight_name *name)
{
    const char *text = name->name;
    size_t size = strlen(text);
    if (!strip(text, &size, ".json"))
        return false;
    name->form = NWI_NAME_INDEX;
    if (!strip(text, &size, ".index")) {
        if (!strip_piece(text, &size, &name->variant, &name->variant_size) ||
            !strip(text, &size, ".index"))
            return false;
    } else if (!nwi_ends_with(text, ".safetensors.index.json") &&
               !nwi_ends_with(text, ".bin.index.json")) {
        if (!strip_piece(text, &size, &name->variant, &name->variant_size))
            return false;
        name->form = NWI_NAME_INDEX_LEGACY;
    }
    if (!strip_suffix(name, &size) || name->type > NWI_TYPE_BIN)
        return false;
    split_stem(name, size);
    return true;
}

static bool parse_weights(struct nwi_weight_name *name)
{
    const char *text = name->name;
    size_t size = strlen(text);
    if (!strip_suffix(name, &size))
        return false;
    name->form = NWI_NAME_SINGLE;
    if (!strip_shard(name, &size)) {
        /* Old spelling: the variant stands after the number of the shard. */
        size_t before = size;
        const char *piece = NULL;
        size_t piece_size = 0;
        if (strip_piece(text, &before, &piece, &piece_size) &&
            strip_shard(name, &before)) {
            size = before;
            name->variant = piece;
            name->variant_size = piece_size;
        }
    }
    split_stem(name, size);
    return true;
}

struct nwi_weight_name nwi_weight_name(const char *name)
{
    struct nwi_weight_name other = {.name = name, .variant = ""};
    struct nwi_weight_name out = other;
    if (strstr(name, NWI_TEMPORARY_MARK)) {
        out.form = NWI_NAME_TEMPORARY;
        return out;
    }
    if (parse_index(&out))
        return out;
    out = other;
    return parse_weights(&out) ? out : other;
}
