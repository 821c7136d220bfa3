/* SPDX-License-Identifier: Apache-2.0
 * A skeleton from a caller's own table: a binding that walked a live module. */
#include <string.h>

#include "base/error.h"
#include "model/model.h"
#include "model/module.h"

static const char *copy_text(struct nw_model *model, const char *text)
{
    return nwi_arena_copy(&model->arena, text, strlen(text));
}

/* A list that ends in NULL; *n may be NULL. */
static int copy_list(struct nw_model *model, const char *const *list,
                     const char *const **out, size_t *n, struct nw_error *err)
{
    size_t count = 0;
    *out = NULL;
    if (!list)
        return NW_OK;
    while (list[count])
        count++;
    const char **copy = nwi_arena_array(&model->arena, count + 1, sizeof *copy);
    if (!copy)
        return nwi_fail_nomem(err, count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = copy_text(model, list[i]);
        if (!copy[i])
            return nwi_fail_nomem(err, strlen(list[i]));
    }
    copy[count] = NULL;
    *out = copy;
    if (n)
        *n = count;
    return NW_OK;
}

static int check_row(const struct nw_model_table *table, size_t i, struct nw_error *err)
{
    const struct nw_wanted_tensor *row = &table->tensors[i];
    if (!row->name)
        return nwi_fail(err, NW_E_ARG, "tensor %zu of the table has no name", i);
    if (row->rank > 0 && !row->shape)
        return nwi_fail(err, NW_E_ARG, "%.200s has no shape", row->name);
    if (row->kind > NW_NON_PERSISTENT || row->fill > NW_FILL_ARANGE ||
        row->dtype < NW_DTYPE_AUTO || row->dtype >= NW_DTYPE_UNKNOWN)
        return nwi_fail(err, NW_E_ARG, "%.200s has an unknown kind, fill or dtype",
                        row->name);
    if (row->tied_to == NW_NONE)
        return NW_OK;
    if (row->tied_to >= i)
        return nwi_fail(err, NW_E_ARG,
                        "%.200s is tied to row %u, which is no earlier one", row->name,
                        row->tied_to);
    const struct nw_wanted_tensor *first = &table->tensors[row->tied_to];
    if (first->rank != row->rank ||
        (row->rank > 0 &&
         memcmp(first->shape, row->shape, row->rank * sizeof *row->shape) != 0))
        return nwi_fail(err, NW_E_ARG, "%.200s is tied to a tensor of another shape",
                        row->name);
    return NW_OK;
}

static int copy_row(struct nw_model *model, const struct nw_wanted_tensor *row,
                    struct nwi_wanted *out, struct nw_error *err)
{
    size_t size = row->name_size ? row->name_size : strlen(row->name);
    char *name = nwi_arena_copy(&model->arena, row->name, size);
    uint64_t *shape = nwi_arena_array(&model->arena, row->rank, sizeof *shape);
    if (!name || !shape)
        return nwi_fail_nomem(err, size);
    if (row->rank)
        memcpy(shape, row->shape, row->rank * sizeof *shape);
    *out = (struct nwi_wanted){
        .name = name,
        .name_size = size,
        .shape = shape,
        .rank = row->rank,
        .tied_to = row->tied_to,
        .kind = (uint8_t)row->kind,
        .fill = (uint8_t)row->fill,
        .dtype = (int8_t)row->dtype,
    };
    return NW_OK;
}

static int copy_rows(struct nw_model *model, const struct nw_model_table *table,
                     struct nw_error *err)
{
    if (table->n_tensors > NWI_MODEL_TENSORS)
        return nwi_fail(err, NW_E_LIMIT, "the table has %zu tensors, at most %u fit",
                        table->n_tensors, NWI_MODEL_TENSORS);
    if (table->n_tensors && !table->tensors)
        return nwi_fail(err, NW_E_ARG, "the table's tensors are NULL");
    model->wanted =
        nwi_arena_array(&model->arena, table->n_tensors, sizeof *model->wanted);
    if (!model->wanted)
        return nwi_fail_nomem(err, table->n_tensors * sizeof *model->wanted);
    for (size_t i = 0; i < table->n_tensors; i++) {
        NWI_TRY(check_row(table, i, err));
        NWI_TRY(copy_row(model, &table->tensors[i], &model->wanted[i], err));
        model->n_wanted++;
    }
    return NW_OK;
}

static int fill(struct nw_model *model, const struct nw_model_table *table,
                struct nw_error *err)
{
    NWI_TRY(copy_rows(model, table, err));
    if (table->klass && !(model->klass = copy_text(model, table->klass)))
        return nwi_fail_nomem(err, strlen(table->klass));
    const char *const *blocks = NULL;
    NWI_TRY(copy_list(model, table->blocks, &blocks, &model->n_blocks, err));
    model->blocks = (const char **)(uintptr_t)blocks;
    NWI_TRY(copy_list(model, table->keep_fp32, &model->keep_fp32, NULL, err));
    NWI_TRY(copy_list(model, table->harmless, &model->harmless, NULL, err));
    NWI_TRY(copy_list(model, table->optional, &model->optional, NULL, err));
    return nwi_model_index(model, NW_E_ARG, err);
}

int nwi_model_from_table(const struct nw_model_table *table, struct nwi_memory *memory,
                         struct nw_model **out, struct nw_error *err)
{
    struct nw_model *model = nwi_model_new(memory);
    if (!model)
        return nwi_fail_nomem(err, sizeof *model);
    int code = fill(model, table, err);
    if (code != NW_OK) {
        nw_model_free(model);
        return code;
    }
    *out = model;
    return NW_OK;
}
