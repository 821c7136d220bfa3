/* SPDX-License-Identifier: Apache-2.0
 * Looking at an open checkpoint, and letting go of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "source/catalog.h"
#include "tensor/dtype.h"

/* ---- life ---- */

struct nw_checkpoint *nwi_checkpoint_retain(struct nw_checkpoint *ckpt)
{
    (void)__atomic_add_fetch(&ckpt->refs, 1, __ATOMIC_RELAXED);
    return ckpt;
}

void nw_checkpoint_free(struct nw_checkpoint *ckpt)
{
    if (!ckpt || __atomic_sub_fetch(&ckpt->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    struct nwi_memory *memory = ckpt->memory;
    for (size_t i = 0; i < ckpt->n_files; i++)
        nwi_file_release(ckpt->files[i].file);
    for (size_t i = 0; i < ckpt->n_components; i++)
        nwi_map_release(&ckpt->components[i].names);
    nwi_arena_release(&ckpt->arena);
    nwi_free(memory, ckpt, sizeof *ckpt);
    nwi_memory_release(memory);
}

int nwi_checkpoint_refuse(const struct nw_checkpoint *ckpt, struct nw_error *err)
{
    for (size_t i = 0; i < ckpt->n_problems; i++) {
        const struct nw_problem *problem = &ckpt->problems[i];
        if (problem->note)
            continue;
        int code =
            nwi_fail_at(err, problem->code, problem->offset, "%s", problem->message);
        code = nwi_error_in_file(err, code, problem->file);
        return nwi_error_in_tensor(err, code, problem->tensor);
    }
    return NW_OK;
}

/* ---- components ---- */

/* "unet, vae" for a message. */
static void list_components(const struct nw_checkpoint *ckpt, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < ckpt->n_components; i++) {
        const char *name = ckpt->components[i].info.name;
        if (used + strlen(name) + 8 > size)
            return;
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
    }
}

int nwi_checkpoint_pick(const struct nw_checkpoint *ckpt, const char *name,
                        uint32_t *out, struct nw_error *err)
{
    char list[240];
    *out = 0;
    list_components(ckpt, list, sizeof list);
    if (!name && ckpt->n_components == 1)
        return NW_OK;
    if (!name)
        return nwi_fail(err, NW_E_ARG, "several components, name one of: %s", list);
    for (size_t i = 0; i < ckpt->n_components; i++) {
        *out = (uint32_t)i;
        if (strcmp(ckpt->components[i].info.name, name) == 0)
            return NW_OK;
    }
    *out = 0;
    if (!list[0])
        return nwi_fail(
            err, NW_E_NOT_FOUND,
            "no component \"%.80s\": this is a single model, no pipeline folder", name);
    return nwi_fail(err, NW_E_NOT_FOUND, "no component \"%.80s\"; there are: %s", name,
                    list);
}

/* ---- rows ---- */

size_t nw_checkpoint_tensor_count(const struct nw_checkpoint *ckpt)
{
    return ckpt ? ckpt->n_tensors : 0;
}

size_t nw_checkpoint_file_count(const struct nw_checkpoint *ckpt)
{
    return ckpt ? ckpt->n_files : 0;
}

size_t nw_checkpoint_component_count(const struct nw_checkpoint *ckpt)
{
    return ckpt ? ckpt->n_components : 0;
}

size_t nw_checkpoint_problem_count(const struct nw_checkpoint *ckpt)
{
    return ckpt ? ckpt->n_problems : 0;
}

size_t nw_checkpoint_quantisation_count(const struct nw_checkpoint *ckpt)
{
    return ckpt ? ckpt->n_quantisation : 0;
}

size_t nw_checkpoint_metadata_count(const struct nw_checkpoint *ckpt)
{
    return ckpt ? ckpt->n_metadata : 0;
}

size_t nw_checkpoint_variant_count(const struct nw_checkpoint *ckpt)
{
    return ckpt ? ckpt->n_variants : 0;
}

int nw_checkpoint_tensor(const struct nw_checkpoint *ckpt, size_t i,
                         struct nw_stored_tensor *out)
{
    if (!out)
        return NW_E_ARG;
    *out = (struct nw_stored_tensor){0};
    if (i >= nw_checkpoint_tensor_count(ckpt))
        return NW_E_ARG;
    const struct nwi_stored *row = &ckpt->tensors[i];
    *out = (struct nw_stored_tensor){.name = row->name,
                                     .name_size = row->name_size,
                                     .dtype = row->dtype,
                                     .rank = row->rank,
                                     .shape = row->shape,
                                     .file = row->file,
                                     .component = row->component,
                                     .offset = row->offset,
                                     .nbytes = row->nbytes,
                                     .dtype_text = row->dtype_text,
                                     .scheme = row->scheme,
                                     .companion_of = row->companion_of};
    return NW_OK;
}

/* Copies row i of an array of n; all zero past its end. */
static int copy_row(const void *rows, size_t n, size_t size, size_t i, void *out)
{
    if (!out)
        return NW_E_ARG;
    memset(out, 0, size);
    if (!rows || i >= n)
        return NW_E_ARG;
    memcpy(out, (const char *)rows + i * size, size);
    return NW_OK;
}

int nw_checkpoint_file(const struct nw_checkpoint *ckpt, size_t i,
                       struct nw_stored_file *out)
{
    bool there = i < nw_checkpoint_file_count(ckpt);
    return copy_row(there ? &ckpt->files[i].info : NULL, there, sizeof *out, 0, out);
}

int nw_checkpoint_component(const struct nw_checkpoint *ckpt, size_t i,
                            struct nw_component *out)
{
    bool there = i < nw_checkpoint_component_count(ckpt);
    return copy_row(there ? &ckpt->components[i].info : NULL, there, sizeof *out, 0,
                    out);
}

int nw_checkpoint_problem(const struct nw_checkpoint *ckpt, size_t i,
                          struct nw_problem *out)
{
    return copy_row(ckpt ? ckpt->problems : NULL, nw_checkpoint_problem_count(ckpt),
                    sizeof *out, i, out);
}

int nw_checkpoint_quantisation(const struct nw_checkpoint *ckpt, size_t i,
                               struct nw_quantisation *out)
{
    return copy_row(ckpt ? ckpt->quantisation : NULL,
                    nw_checkpoint_quantisation_count(ckpt), sizeof *out, i, out);
}

int nw_checkpoint_metadata(const struct nw_checkpoint *ckpt, size_t i,
                           struct nw_metadata *out)
{
    return copy_row(ckpt ? ckpt->metadata : NULL, nw_checkpoint_metadata_count(ckpt),
                    sizeof *out, i, out);
}

const char *nw_checkpoint_variant(const struct nw_checkpoint *ckpt, size_t i)
{
    return i < nw_checkpoint_variant_count(ckpt) ? ckpt->variants[i] : NULL;
}

/* ---- finding ---- */

static int fail_name(struct nw_error *err, int code, const char *name,
                     const char *message)
{
    (void)nwi_fail(err, code, "%s", message);
    return nwi_error_in_tensor(err, code, name);
}

int nw_checkpoint_find(const struct nw_checkpoint *ckpt, const char *component,
                       const char *name, size_t *out, struct nw_error *err)
{
    uint32_t found = NWI_MAP_NONE;
    uint32_t first = 0;
    nwi_error_clear(err);
    if (out)
        *out = 0;
    if (!ckpt || !name || !out)
        return nwi_fail(err, NW_E_ARG,
                        "a checkpoint, a name and a place for it are needed");
    size_t end = ckpt->n_components;
    if (component) {
        NWI_TRY(nwi_checkpoint_pick(ckpt, component, &first, err));
        end = (size_t)first + 1;
    }
    for (size_t i = first; i < end; i++) {
        uint32_t row = nwi_map_find(&ckpt->components[i].names, name, strlen(name));
        if (row == NWI_MAP_NONE)
            continue;
        if (found != NWI_MAP_NONE)
            return fail_name(err, NW_E_ARG, name,
                             "several components have a tensor of that name");
        found = row;
    }
    if (found == NWI_MAP_NONE)
        return fail_name(err, NW_E_NOT_FOUND, name, "no tensor of that name");
    *out = found;
    return NW_OK;
}

/* ---- reading ---- */

/* Bytes of one row along the first dimension; a scalar is one row. */
static int row_bytes(const struct nwi_stored *row, uint64_t *n_rows, uint64_t *nbytes,
                     struct nw_error *err)
{
    uint64_t bits = 0;
    *n_rows = row->rank ? row->shape[0] : 1;
    *nbytes = 0;
    if (*n_rows == 0)
        return NW_OK;
    if (nwi_mul(row->nbytes, 8, &bits) && bits / *n_rows % 8 == 0 &&
        bits % *n_rows == 0) {
        *nbytes = row->nbytes / *n_rows;
        return NW_OK;
    }
    return nwi_fail(err, NW_E_UNSUPPORTED,
                    "a row of %" PRIu64 " bits / %" PRIu64
                    " rows does not end on a byte",
                    bits, *n_rows);
}

static int read_rows(const struct nw_checkpoint *ckpt, const struct nwi_stored *row,
                     const uint64_t range[2], void *dst, size_t dst_size,
                     struct nw_error *err)
{
    uint64_t n_rows = 0;
    uint64_t size = 0;
    uint64_t wanted = 0;
    const struct nwi_file *file = ckpt->files[row->file].file;
    NWI_TRY(row_bytes(row, &n_rows, &size, err));
    if (range[0] > n_rows || range[1] > n_rows - range[0])
        return nwi_fail(err, NW_E_ARG,
                        "%" PRIu64 " rows from row %" PRIu64
                        " on, but the tensor has %" PRIu64,
                        range[1], range[0], n_rows);
    if (!nwi_mul(range[1], size, &wanted) || wanted != dst_size)
        return nwi_fail(err, NW_E_ARG,
                        "the rows have %" PRIu64 " bytes, the destination %zu", wanted,
                        dst_size);
    if (dst_size == 0)
        return NW_OK;
    if (!dst || !file)
        return nwi_fail(err, NW_E_ARG, "nowhere to read to, or from");
    return nwi_file_read(file, row->offset + range[0] * size, dst, dst_size, err);
}

/* NOLINTNEXTLINE(readability-function-size): a public signature */
int nw_checkpoint_read(const struct nw_checkpoint *ckpt, size_t i, uint64_t first,
                       uint64_t n_rows, void *dst, size_t dst_size,
                       struct nw_error *err)
{
    nwi_error_clear(err);
    if (i >= nw_checkpoint_tensor_count(ckpt))
        return nwi_fail(err, NW_E_ARG, "tensor %zu of %zu", i,
                        nw_checkpoint_tensor_count(ckpt));
    const struct nwi_stored *row = &ckpt->tensors[i];
    const uint64_t range[2] = {first, n_rows};
    int code = read_rows(ckpt, row, range, dst, dst_size, err);
    /* After the read: bytes that were swapped before it are not handed out. */
    if (code == NW_OK)
        code = nwi_file_check_unchanged(ckpt->files[row->file].file, err);
    if (code == NW_OK)
        return NW_OK;
    (void)nwi_error_in_file(err, code, ckpt->files[row->file].info.path);
    return nwi_error_in_tensor(err, code, row->name);
}
