/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/told.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

struct telling {
    const struct nwi_told_input *in;
    struct nwi_map ends; /* of the wanted names */
    bool *renamed;       /* [given->n]: the rules give its end another name; NULL: not
                            known */
    bool torn;           /* of a tensor of the original only parts are there */
};

/* ---- ends of names ---- */

/* "norm1.weight": a layer and its parameter. */
static const char *end_of(const char *name, size_t size)
{
    unsigned dots = 0;
    const char *end = name + size;
    while (end > name && (end[-1] != '.' || ++dots < 2))
        end--;
    return end;
}

static bool same_end(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const char *x = end_of(a, a_size);
    const char *y = end_of(b, b_size);
    size_t size = a_size - (size_t)(x - a);
    return size == b_size - (size_t)(y - b) && memcmp(x, y, size) == 0;
}

static int add_ends(struct telling *t, struct nw_error *err)
{
    const struct nw_model *model = t->in->model;
    uint32_t earlier = 0;
    int code = nwi_map_init(&t->ends, t->in->arena->memory, model->n_wanted);
    for (size_t i = 0; code == NW_OK && i < model->n_wanted; i++) {
        const struct nwi_wanted *wanted = &model->wanted[i];
        const char *end = end_of(wanted->name, wanted->name_size);
        code =
            nwi_map_add(&t->ends, end, wanted->name_size - (size_t)(end - wanted->name),
                        (uint32_t)i, &earlier);
    }
    return code == NW_OK ? NW_OK : nwi_fail_nomem(err, model->n_wanted);
}

/* ---- names that the rules know ---- */

/* Lets the rules name everything back. What else they refuse tells nothing. */
static int name_back(struct telling *t, struct nw_error *err)
{
    struct nwi_mapping_of back;
    struct nw_error refusal = {0};
    const struct nwi_told_input *in = t->in;
    if (!in->rules)
        return NW_OK;
    int code = nwi_rules_apply(in->rules, NWI_TO_ORIGINAL, in->given, in->ckpt,
                               in->hints, in->arena, &back, &refusal);
    t->renamed = nwi_arena_zalloc(in->arena, in->given->n);
    if (code == NW_E_NOMEM || !t->renamed)
        return nwi_fail_nomem(err, in->given->n);
    t->torn = code == NW_E_NOT_FOUND;
    for (size_t i = 0; i < back.n_outputs; i++) {
        const struct nwi_mapped *output = &back.outputs[i];
        const struct nwi_header_row *row = &in->given->rows[output->input];
        t->renamed[output->input] =
            !same_end(output->name, output->name_size, row->name, row->name_size);
    }
    return NW_OK;
}

static bool is_renamed(const struct telling *t, const struct nwi_stranger *stranger)
{
    const struct nwi_header_row *row = &t->in->given->rows[stranger->input];
    return (t->renamed && t->renamed[stranger->input]) ||
           !same_end(row->name, row->name_size, stranger->name, strlen(stranger->name));
}

/* The rules know its place, and the model has its like in another. */
static bool is_alike(const struct telling *t, const struct nwi_stranger *stranger)
{
    const struct nwi_header_row *row = &t->in->given->rows[stranger->input];
    size_t size = strlen(stranger->name);
    const char *end = end_of(stranger->name, size);
    bool moved = row->name_size != size || memcmp(row->name, stranger->name, size) != 0;
    return moved && nwi_map_find(&t->ends, end,
                                 size - (size_t)(end - stranger->name)) != NWI_MAP_NONE;
}

/* A bias is nothing without its weight, and nothing that a layer may have besides. */
static int is_half(const struct telling *t, const char *name, bool *half)
{
    *half = false;
    if (!nwi_ends_with(name, ".bias"))
        return NW_OK;
    char *weight = nwi_arena_printf(t->in->arena, "%.*s.weight",
                                    (int)(strlen(name) - strlen(".bias")), name);
    if (!weight)
        return NW_E_NOMEM;
    *half = !nwi_header_has(t->in->given, weight) ||
            nwi_map_find(&t->in->model->names, weight, strlen(weight)) != NWI_MAP_NONE;
    return NW_OK;
}

/* ---- the verdict ---- */

static int refuse(const struct telling *t, struct nwi_bindings *out, const char *name,
                  struct nw_error *err)
{
    char shown[200];
    nwi_quote(shown, sizeof shown, name, strlen(name), 120);
    out->refusal = nwi_arena_printf(
        t->in->arena,
        "\"%s\" belongs to %.80s, but not as the shapes tell it: a tensor beside it is "
        "missing (or give the config, or --missing allow)",
        shown, t->in->model->klass);
    if (!out->refusal)
        return nwi_fail_nomem(err, 300);
    out->refused = NW_E_MISSING;
    return NW_OK;
}

static int check(struct telling *t, struct nwi_bindings *out, struct nw_error *err)
{
    NWI_TRY(add_ends(t, err));
    NWI_TRY(name_back(t, err));
    for (size_t i = 0; i < out->n_strangers; i++) {
        const struct nwi_stranger *stranger = &out->strangers[i];
        bool known = t->torn || is_renamed(t, stranger) || is_alike(t, stranger);
        if (!known && is_half(t, stranger->name, &known) != NW_OK)
            return nwi_fail_nomem(err, strlen(stranger->name));
        if (known)
            return refuse(t, out, stranger->name, err);
    }
    return NW_OK;
}

int nwi_told_check(const struct nwi_told_input *input, struct nwi_bindings *out,
                   struct nw_error *err)
{
    struct telling t = {.in = input};
    if (out->n_strangers == 0 || out->refused != NW_OK)
        return NW_OK;
    int code = check(&t, out, err);
    nwi_map_release(&t.ends);
    return code;
}
