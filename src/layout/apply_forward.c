/* SPDX-License-Identifier: Apache-2.0
 * To diffusers: the outputs that one input's rule makes. */
#include "base/arith.h"
#include "layout/applying.h"

/* What one input's outputs are made with. */
struct making {
    struct nwi_applying *a;
    const struct nwi_header_row *row;
    uint32_t input;
    const struct nwi_found *found;
    uint64_t row_size; /* elements of one row of dimension 0 */
};

static int emit(const struct making *m, uint32_t part, const struct nwi_shape *shape,
                const struct nw_part *parts, uint32_t n_parts)
{
    struct nwi_applying *a = m->a;
    struct nwi_mapped output = {
        .name = m->found->name,
        .name_size = m->found->name_size,
        .shape = shape->dims,
        .parts = parts,
        .rank = shape->rank,
        .n_parts = n_parts,
        .input = m->input,
    };
    if (part > 0) { /* whatever part 0 could make, the others can */
        struct nwi_arena *arena = a->set.n_post > 0 ? a->scratch : a->arena;
        if (nwi_pattern_render(&m->found->rule->diffusers, &a->match, part, arena,
                               &output.name, &output.name_size) != NW_OK)
            return nwi_applying_nomem(a, m->found->name_size);
    }
    const char *before = output.name;
    if (a->set.n_post > 0)
        NWI_TRY(nwi_applying_post(a, &output.name, &output.name_size));
    if (a->set.n_post > 0 && output.name == before) {
        output.name = nwi_arena_copy(a->arena, before, output.name_size);
        if (!output.name)
            return nwi_applying_nomem(a, output.name_size);
    }
    return nwi_applying_add(a, &output);
}

/* Dense rows of the input in another shape. */
static int emit_dense(const struct making *m, uint32_t part, uint64_t start,
                      const struct nwi_shape *shape)
{
    struct nw_part *view = nwi_arena_alloc(m->a->arena, sizeof *view);
    if (!view || !shape->dims ||
        !nwi_part_dense(m->a->arena, m->row->source, start, shape, view))
        return nwi_applying_nomem(m->a, sizeof *view);
    return emit(m, part, shape, view, 1);
}

static struct nwi_shape shape_of(const struct making *m)
{
    return nwi_shape_copy(m->a->arena, m->row->shape, m->row->rank, 0);
}

static int need_rows(const struct making *m, const char *what)
{
    if (m->row->rank > 0)
        return NW_OK;
    return nwi_applying_fail(m->a, m->input, NW_E_MISMATCH,
                             "a tensor without dimensions cannot be %s", what);
}

static int whole(const struct making *m, uint32_t part)
{
    struct nwi_shape shape = shape_of(m);
    if (shape.dims)
        nwi_shape_squeeze(&shape, m->found->rule->rule->squeeze);
    return emit_dense(m, part, 0, &shape);
}

/* Every part gets all of it. */
static int copies(const struct making *m)
{
    uint32_t n = m->found->rule->diffusers.n_parts;
    for (uint32_t part = 0; part < (n > 0 ? n : 1); part++)
        NWI_TRY(whole(m, part));
    return NW_OK;
}

static int split(const struct making *m)
{
    const struct nwi_ready_rule *rule = m->found->rule;
    uint32_t n = rule->diffusers.n_parts;
    uint64_t sizes[NWI_PATTERN_WORDS];
    uint64_t at = 0;
    NWI_TRY(need_rows(m, "split"));
    if (!nwi_cut(rule, m->row->shape[0], n, sizes))
        return nwi_applying_fail(m->a, m->input, NW_E_MISMATCH,
                                 "%llu rows cannot be split into %u parts%s%.60s",
                                 (unsigned long long)m->row->shape[0], (unsigned)n,
                                 rule->rule->sizes ? " of " : "",
                                 rule->rule->sizes ? rule->rule->sizes : "");
    for (uint32_t part = 0; part < n; part++) {
        struct nwi_shape shape = shape_of(m);
        if (shape.dims) {
            shape.dims[0] = sizes[part];
            nwi_shape_squeeze(&shape, rule->rule->squeeze);
        }
        NWI_TRY(emit_dense(m, part, at * m->row_size, &shape));
        at += sizes[part];
    }
    return NW_OK;
}

int nwi_swap_parts(struct nwi_applying *a, uint32_t input, const struct nw_part **parts)
{
    const struct nwi_header_row *row = &a->input->rows[input];
    struct nwi_shape half = nwi_shape_copy(a->arena, row->shape, row->rank, 0);
    struct nw_part *views = nwi_arena_array(a->arena, 2, sizeof *views);
    if (row->rank == 0 || row->shape[0] % 2 != 0)
        return nwi_applying_fail(a, input, NW_E_MISMATCH,
                                 "%llu rows have no halves that could change places",
                                 (unsigned long long)(row->rank ? row->shape[0] : 1));
    if (!half.dims || !views)
        return nwi_applying_nomem(a, 2 * sizeof *views);
    half.dims[0] /= 2;
    uint64_t second = half.dims[0] * nwi_row_size(row->shape, row->rank);
    if (!nwi_part_dense(a->arena, row->source, second, &half, &views[0]))
        return nwi_applying_nomem(a, 2 * sizeof *views);
    views[1] = views[0];
    views[1].start = 0;
    *parts = views;
    return NW_OK;
}

static int swap(const struct making *m)
{
    const struct nw_part *parts = NULL;
    struct nwi_shape shape = shape_of(m);
    NWI_TRY(nwi_swap_parts(m->a, m->input, &parts));
    return shape.dims ? emit(m, 0, &shape, parts, 2) : nwi_applying_nomem(m->a, 8);
}

int nwi_transposed_part(struct nwi_applying *a, uint32_t input,
                        const struct nw_part **part)
{
    const struct nwi_header_row *row = &a->input->rows[input];
    struct nw_part *view = nwi_arena_alloc(a->arena, sizeof *view);
    uint64_t *dims = nwi_arena_array(a->arena, 4, sizeof *dims);
    if (row->rank != 2)
        return nwi_applying_fail(a, input, NW_E_MISMATCH,
                                 "a matrix was expected, the tensor's rank is %u",
                                 (unsigned)row->rank);
    if (!view || !dims)
        return nwi_applying_nomem(a, sizeof *view);
    dims[0] = row->shape[1];
    dims[1] = row->shape[0];
    dims[2] = 1;
    dims[3] = row->shape[1];
    *view = (struct nw_part){
        .source = row->source, .rank = 2, .shape = dims, .strides = dims + 2};
    *part = view;
    return NW_OK;
}

static int transpose(const struct making *m)
{
    const struct nw_part *part = NULL;
    struct nwi_shape shape = shape_of(m);
    NWI_TRY(nwi_transposed_part(m->a, m->input, &part));
    if (!shape.dims)
        return nwi_applying_nomem(m->a, 2 * sizeof *shape.dims);
    shape.dims[0] = m->row->shape[1];
    shape.dims[1] = m->row->shape[0];
    return emit(m, 0, &shape, part, 1);
}

/* The shape of `sizes`, with what is left where the star is. */
static bool reshaped(const struct nwi_ready_rule *rule, uint64_t n_elems,
                     struct nwi_shape *shape)
{
    uint64_t product = 1;
    uint32_t star = NW_NONE;
    for (uint32_t i = 0; i < rule->n_sizes; i++) {
        const struct nwi_size *size = &rule->sizes[i];
        if (size->is_star)
            star = i;
        else if (size->form.unknown || size->form.constant < 0 ||
                 !nwi_mul(product, (uint64_t)size->form.constant, &product))
            return false;
        shape->dims[i] = (uint64_t)size->form.constant;
    }
    shape->rank = rule->n_sizes;
    if (star == NW_NONE)
        return product == n_elems;
    if (product == 0 || n_elems % product != 0)
        return false;
    shape->dims[star] = n_elems / product;
    return true;
}

static int reshape(const struct making *m)
{
    const struct nwi_ready_rule *rule = m->found->rule;
    uint64_t n_elems = m->row_size * (m->row->rank ? m->row->shape[0] : 1);
    struct nwi_shape shape = {
        nwi_arena_array(m->a->arena, rule->n_sizes, sizeof *shape.dims), 0};
    if (!shape.dims)
        return nwi_applying_nomem(m->a, rule->n_sizes * sizeof *shape.dims);
    if (!reshaped(rule, n_elems, &shape))
        return nwi_applying_fail(m->a, m->input, NW_E_MISMATCH,
                                 "%llu elements do not have the shape [%.60s]",
                                 (unsigned long long)n_elems, rule->rule->sizes);
    return emit_dense(m, 0, 0, &shape);
}

/* Rows are [heads][parts][rows of a head]; each part takes its own of every head: a view
 * with one dimension more than the output. */
static int heads(const struct making *m)
{
    const struct nwi_ready_rule *rule = m->found->rule;
    const struct nwi_form *form = &rule->sizes[0].form;
    uint32_t n = rule->diffusers.n_parts;
    NWI_TRY(need_rows(m, "cut into heads"));
    uint64_t depth = form->unknown || form->constant < 1 ? 0 : (uint64_t)form->constant;
    uint64_t block = 0;
    if (!nwi_mul(depth, n, &block) || block == 0 || m->row->shape[0] % block != 0)
        return nwi_applying_fail(m->a, m->input, NW_E_MISMATCH,
                                 "%llu rows are not made of heads of %u times %llu",
                                 (unsigned long long)m->row->shape[0], (unsigned)n,
                                 (unsigned long long)depth);
    for (uint32_t part = 0; part < n; part++) {
        struct nwi_shape shape = shape_of(m);
        struct nwi_shape view =
            nwi_shape_copy(m->a->arena, m->row->shape, 1, m->row->rank);
        struct nw_part *out = nwi_arena_alloc(m->a->arena, sizeof *out);
        if (!shape.dims || !view.dims || !out)
            return nwi_applying_nomem(m->a, sizeof *out);
        view.rank = m->row->rank + 1;
        view.dims[0] = m->row->shape[0] / block;
        view.dims[1] = depth;
        for (uint32_t i = 1; i < m->row->rank; i++)
            view.dims[i + 1] = m->row->shape[i];
        uint64_t *strides = nwi_dense_strides(m->a->arena, &view);
        if (!strides)
            return nwi_applying_nomem(m->a, view.rank * sizeof *strides);
        strides[0] *= n;
        shape.dims[0] /= n;
        *out = (struct nw_part){.source = m->row->source,
                                .rank = view.rank,
                                .start = part * depth * m->row_size,
                                .shape = view.dims,
                                .strides = strides};
        NWI_TRY(emit(m, part, &shape, out, 1));
    }
    return NW_OK;
}

int nwi_forward(struct nwi_applying *a, uint32_t input, const struct nwi_found *found)
{
    const struct nwi_header_row *row = &a->input->rows[input];
    struct making m = {a, row, input, found, nwi_row_size(row->shape, row->rank)};
    if (nwi_carry_of(a, input) == NWI_CARRY_WHOLE)
        return copies(&m);
    switch ((enum nwi_rule_op)found->rule->rule->op) {
    case NWI_RULE_SPLIT:
        return split(&m);
    case NWI_RULE_SWAP:
        return swap(&m);
    case NWI_RULE_TRANSPOSE:
        return transpose(&m);
    case NWI_RULE_RESHAPE:
        return reshape(&m);
    case NWI_RULE_HEADS:
        return heads(&m);
    case NWI_RULE_RENAME:
    case NWI_RULE_DROP:
    case NWI_RULE_CONSTANT:
        break;
    }
    return whole(&m, 0);
}

/* ---- constants ---- */

static int constant(struct nwi_applying *a, const struct nwi_ready_rule *rule)
{
    struct nwi_mapped output = {.rank = 2, .fill = rule->rule->fill};
    uint64_t *dims = nwi_arena_array(a->arena, 2, sizeof *dims);
    if (!dims || nwi_pattern_render(&rule->diffusers, &a->match, 0, a->arena,
                                    &output.name, &output.name_size) != NW_OK)
        return nwi_applying_nomem(a, 2 * sizeof *dims);
    const struct nwi_header_row *row = nwi_header_find(a->input, rule->rule->original);
    if (!row || row->rank == 0)
        return NW_OK;
    dims[0] = dims[1] = row->shape[0];
    output.shape = dims;
    output.input = (uint32_t)(row - a->input->rows);
    return nwi_applying_add(a, &output);
}

int nwi_forward_constants(struct nwi_applying *a)
{
    for (size_t i = 0; i < a->set.n; i++) {
        const struct nwi_ready_rule *rule = &a->set.rules[i];
        if (rule->is_active && rule->rule->op == NWI_RULE_CONSTANT)
            NWI_TRY(constant(a, rule));
    }
    return NW_OK;
}
