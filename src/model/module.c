/* SPDX-License-Identifier: Apache-2.0
 * Appending tensors to a skeleton. */
#include "model/module.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"

/* ---- where one is ---- */

static size_t enter(struct nwi_module *m, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static size_t enter(struct nwi_module *m, const char *format, va_list args)
{
    size_t back = m->path_size;
    size_t room = sizeof m->path - back;
    int n = vsnprintf(m->path + back, room, format, args);
    if (n < 0 || (size_t)n + 1 >= room) {
        m->path[back] = '\0';
        nwi_config_fail(m->config, NW_E_LIMIT, "a module's path is too long");
        return back;
    }
    m->path_size += (size_t)n;
    m->path[m->path_size++] = '.';
    m->path[m->path_size] = '\0';
    return back;
}

size_t nwi_enter(struct nwi_module *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t back = enter(m, format, args);
    va_end(args);
    return back;
}

void nwi_leave(struct nwi_module *m, size_t back)
{
    m->path_size = back;
    m->path[back] = '\0';
}

static void fail_nomem(struct nwi_module *m)
{
    nwi_config_fail(m->config, NW_E_NOMEM, "no memory for the model's description");
}

static void add_block(struct nwi_module *m)
{
    struct nw_model *model = m->model;
    void *items = model->blocks;
    if (m->config->code != NW_OK)
        return;
    char *path = nwi_arena_copy(&model->arena, m->path, m->path_size - 1);
    if (!path || !nwi_arena_grow(&model->arena, &items, model->n_blocks,
                                 &m->blocks_room, sizeof *model->blocks)) {
        fail_nomem(m);
        return;
    }
    model->blocks = items;
    model->blocks[model->n_blocks++] = path;
}

size_t nwi_enter_block(struct nwi_module *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t back = enter(m, format, args);
    va_end(args);
    add_block(m);
    return back;
}

/* ---- single tensors ---- */

/* Bytes of the widest type that a tensor may have: what a file can hold. */
#define TENSOR_BYTES ((uint64_t)INT64_MAX)
#define WIDEST       16u

static void copy_dims(struct nwi_module *m, const char *name, struct nwi_dims dims,
                      uint64_t *shape)
{
    uint64_t bytes = WIDEST;
    for (size_t i = 0; i < dims.n; i++) {
        if (dims.at[i] < 0) {
            nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                            "the config makes a dimension of %s%s %lld", m->path, name,
                            (long long)dims.at[i]);
            return;
        }
        shape[i] = (uint64_t)dims.at[i];
        if (!nwi_mul(bytes, shape[i], &bytes) || bytes > TENSOR_BYTES) {
            nwi_config_fail(m->config, NW_E_LIMIT,
                            "the config makes %s%s larger than any file can be",
                            m->path, name);
            return;
        }
    }
}

static const uint64_t *copy_shape(struct nwi_module *m, const char *name,
                                  struct nwi_dims dims)
{
    uint64_t *shape = nwi_arena_array(&m->model->arena, dims.n, sizeof *shape);
    if (shape)
        copy_dims(m, name, dims, shape);
    else
        fail_nomem(m);
    return shape;
}

static struct nwi_wanted *add(struct nwi_module *m, const char *name)
{
    struct nw_model *model = m->model;
    void *items = model->wanted;
    if (m->config->code != NW_OK)
        return NULL;
    if (model->n_wanted == NWI_MODEL_TENSORS) {
        nwi_config_fail(m->config, NW_E_LIMIT, "the config makes more than %u tensors",
                        NWI_MODEL_TENSORS);
        return NULL;
    }
    char *path = nwi_arena_printf(&model->arena, "%s%s", m->path, name);
    if (!path || !nwi_arena_grow(&model->arena, &items, model->n_wanted, &m->room,
                                 sizeof *model->wanted)) {
        fail_nomem(m);
        return NULL;
    }
    model->wanted = items;
    struct nwi_wanted *wanted = &model->wanted[model->n_wanted++];
    *wanted = (struct nwi_wanted){
        .name = path, .name_size = strlen(path), .tied_to = NW_NONE};
    return wanted;
}

void nwi_want(struct nwi_module *m, const char *name, struct nwi_dims dims,
              enum nw_wanted_kind kind, enum nw_fill fill, int dtype)
{
    struct nwi_wanted *wanted = add(m, name);
    if (!wanted)
        return;
    wanted->shape = copy_shape(m, name, dims);
    wanted->rank = (uint32_t)dims.n;
    wanted->kind = (uint8_t)kind;
    wanted->fill = (uint8_t)fill;
    wanted->dtype = (int8_t)dtype;
}

void nwi_parameter(struct nwi_module *m, const char *name, struct nwi_dims dims)
{
    nwi_want(m, name, dims, NW_PARAMETER, NW_FILL_NONE, NW_DTYPE_AUTO);
}

void nwi_parameter_filled(struct nwi_module *m, const char *name, struct nwi_dims dims,
                          enum nw_fill fill)
{
    nwi_want(m, name, dims, NW_PARAMETER, fill, NW_DTYPE_AUTO);
}

void nwi_buffer(struct nwi_module *m, const char *name, struct nwi_dims dims)
{
    nwi_want(m, name, dims, NW_BUFFER, NW_FILL_NONE, NW_DTYPE_AUTO);
}

void nwi_scratch_buffer(struct nwi_module *m, const char *name, struct nwi_dims dims)
{
    nwi_want(m, name, dims, NW_NON_PERSISTENT, NW_FILL_NONE, NW_DTYPE_AUTO);
}

void nwi_tied(struct nwi_module *m, const char *name, const char *path)
{
    struct nw_model *model = m->model;
    for (size_t i = model->n_wanted; m->config->code == NW_OK && i-- > 0;) {
        if (strcmp(model->wanted[i].name, path) != 0)
            continue;
        struct nwi_wanted first = model->wanted[i];
        struct nwi_wanted *wanted = add(m, name);
        if (!wanted)
            return;
        wanted->shape = first.shape;
        wanted->rank = first.rank;
        wanted->kind = first.kind;
        wanted->tied_to = (uint32_t)i;
        return;
    }
    nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                    "%s%s is tied to %s, which is not there", m->path, name, path);
}

/* ---- layers ---- */

void nwi_conv(struct nwi_module *m, const char *name, struct nwi_dims dims, bool bias)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter(m, "weight", dims);
        if (bias)
            nwi_parameter(m, "bias", NWI_DIMS(dims.at[0]));
    }
}

void nwi_linear(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                bool bias)
{
    nwi_conv(m, name, NWI_DIMS(out, in), bias);
}

void nwi_conv1d(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                int64_t kernel, bool bias)
{
    nwi_conv(m, name, NWI_DIMS(out, in, kernel), bias);
}

void nwi_conv2d(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                int64_t kernel, bool bias)
{
    nwi_conv(m, name, NWI_DIMS(out, in, kernel, kernel), bias);
}

/* NOLINTNEXTLINE(readability-function-size): a kernel has three sizes */
void nwi_conv3d(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                int64_t depth, int64_t height, int64_t width, bool bias)
{
    nwi_conv(m, name, NWI_DIMS(out, in, depth, height, width), bias);
}

void nwi_norm(struct nwi_module *m, const char *name, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter_filled(m, "weight", NWI_DIMS(dim), NW_FILL_ONE);
        nwi_parameter_filled(m, "bias", NWI_DIMS(dim), NW_FILL_ZERO);
    }
}

void nwi_rms_norm(struct nwi_module *m, const char *name, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter_filled(m, "weight", NWI_DIMS(dim), NW_FILL_ONE);
    }
}

void nwi_embedding(struct nwi_module *m, const char *name, int64_t n, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter(m, "weight", NWI_DIMS(n, dim));
    }
}
