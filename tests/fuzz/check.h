/* SPDX-License-Identifier: Apache-2.0
 * What holds for every checkpoint that could be opened, whatever the bytes. */
#ifndef NWT_FUZZ_CHECK_H
#define NWT_FUZZ_CHECK_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "source/catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int condition)
{
    if (!condition)
        abort();
}

/* Texts of a document, kept to be read again. */
struct kept {
    char *text;
    size_t size;
};

static inline int keep(void *ctx, const char *text, size_t size)
{
    struct kept *kept = ctx;
    char *larger = realloc(kept->text, kept->size + size + 1);
    require(larger != NULL);
    memcpy(larger + kept->size, text, size);
    kept->text = larger;
    kept->size += size;
    return 0;
}

/* Documents are JSON, which our own reader takes. */
static inline void check_document(const struct nw_checkpoint *ckpt)
{
    struct kept kept = {0};
    struct nw_error err;
    struct nwi_arena arena;
    struct nwi_json_value *root = NULL;
    require(nw_checkpoint_json(ckpt, NW_INSPECT_TENSORS, keep, &kept, NULL) == NW_OK);
    nwi_arena_init(&arena, ckpt->memory);
    nwi_error_clear(&err);
    require(nwi_json_parse(kept.text, kept.size, 0, NW_E_BAD_CONFIG, &arena, &root,
                           &err) == NW_OK);
    require(nwi_json_get(root, "tensors") != NULL);
    nwi_arena_release(&arena);
    free(kept.text);
}

static inline void check_tensor(const struct nw_checkpoint *ckpt, uint32_t i)
{
    const struct nwi_stored *row = &ckpt->tensors[i];
    const struct nwi_component *component = &ckpt->components[row->component];
    require(row->file < ckpt->n_files && ckpt->files[row->file].file != NULL);
    require(i >= component->first_tensor &&
            i < component->first_tensor + component->n_tensors);
    require(nwi_map_find(&component->names, row->name, row->name_size) == i);
    require(row->name[row->name_size] == '\0');
    require(row->dtype > NW_DTYPE_AUTO && row->dtype <= NW_DTYPE_UNKNOWN);
    require(row->offset >= ckpt->files[row->file].data_start);
    require(row->companion_of == NW_NONE || row->companion_of < ckpt->n_tensors);
    if (i == component->first_tensor)
        return;
    const struct nwi_stored *before = row - 1;
    require(before->file < row->file ||
            (before->file == row->file && before->offset <= row->offset));
}

/* A checkpoint without problems keeps inside its files and leaves no byte out. */
static inline void check_tiling(const struct nw_checkpoint *ckpt)
{
    for (size_t f = 0; f < ckpt->n_files; f++) {
        const struct nwi_source_file *file = &ckpt->files[f];
        uint64_t reached = file->data_start;
        if (!file->file)
            continue;
        for (size_t i = 0; i < ckpt->n_tensors; i++) {
            if (ckpt->tensors[i].file != f)
                continue;
            require(ckpt->tensors[i].offset == reached);
            reached += ckpt->tensors[i].nbytes;
        }
        require(reached == file->info.nbytes);
    }
}

static inline void check_checkpoint(const struct nw_checkpoint *ckpt)
{
    uint32_t n = 0;
    for (size_t i = 0; i < ckpt->n_components; i++) {
        require(ckpt->components[i].first_tensor == n);
        n += ckpt->components[i].n_tensors;
    }
    require(n == ckpt->n_tensors);
    for (uint32_t i = 0; i < ckpt->n_tensors; i++)
        check_tensor(ckpt, i);
    for (size_t i = 0; i < ckpt->n_problems; i++)
        require(ckpt->problems[i].code > NW_OK &&
                ckpt->problems[i].code < NW_CODE_COUNT &&
                ckpt->problems[i].message[0] != '\0');
    require(ckpt->n_problems <= 1001);
    check_document(ckpt);
}

#endif
