/* SPDX-License-Identifier: Apache-2.0
 * To original: inputs find the output they belong to, then each output is put together. */
#include <string.h>

#include "base/arith.h"
#include "layout/applying.h"
#include "tensor/dtype.h"

#define RANK_ROOM 8 /* dimensions that unsqueezing may add */

/* The inputs of one output. */
struct group {
    const struct nwi_ready_rule *rule;
    uint32_t *inputs; /* [n], NW_NONE: missing */
    uint32_t n;
    uint32_t n_got;
};

struct back {
    struct nwi_applying *a;
    struct group *groups; /* one for each output */
    size_t capacity;
};

/* ---- finding the output ---- */

static int open_group(struct back *b, uint32_t input, const struct nwi_found *found,
                      uint32_t part)
{
    struct nwi_applying *a = b->a;
    struct nwi_mapped output = {
        .name = found->name, .name_size = found->name_size, .input = input};
    uint32_t n = found->rule->diffusers.n_parts;
    struct group group = {.rule = found->rule, .n = n > 0 ? n : 1, .n_got = 1};
    void *items = b->groups;
    size_t row = a->out->n_outputs;
    group.inputs = nwi_arena_array(a->scratch, group.n, sizeof *group.inputs);
    if (!group.inputs ||
        !nwi_arena_grow(a->scratch, &items, row, &b->capacity, sizeof group))
        return nwi_applying_nomem(a, sizeof group);
    for (uint32_t i = 0; i < group.n; i++)
        group.inputs[i] = NW_NONE;
    group.inputs[part] = input;
    b->groups = items;
    b->groups[row] = group;
    return nwi_applying_add(a, &output);
}

static int join_group(struct back *b, uint32_t input, const struct nwi_found *found)
{
    struct nwi_applying *a = b->a;
    uint32_t part = a->match.part == NW_NONE ? 0 : a->match.part;
    uint32_t row = nwi_map_find(&a->names, found->name, found->name_size);
    if (row == NWI_MAP_NONE || !b->groups)
        return open_group(b, input, found, part);
    struct group *group = &b->groups[row];
    bool is_free = group->rule == found->rule && group->inputs[part] == NW_NONE;
    if (!is_free) {
        struct nwi_mapped output = {
            .name = found->name, .name_size = found->name_size, .input = input};
        return nwi_applying_twice(a, a->out->outputs[row].input, &output);
    }
    group->inputs[part] = input;
    group->n_got++;
    return NW_OK;
}

static int place(struct back *b, uint32_t input)
{
    struct nwi_applying *a = b->a;
    const struct nwi_header_row *row = &a->input->rows[input];
    const char *name = row->name;
    size_t size = row->name_size;
    struct nwi_found found;
    NWI_TRY(nwi_applying_post(a, &name, &size));
    NWI_TRY(nwi_applying_find(a, name, size, &found));
    if (!found.rule)
        return NW_OK;
    if (found.rule->rule->op == NWI_RULE_CONSTANT) {
        a->out->fates[input] = NWI_DROPPED;
        a->out->reasons[input] = "constant";
        return NW_OK;
    }
    a->out->fates[input] = NWI_CLAIMED;
    NWI_TRY(nwi_carry_check(a, input, found.rule));
    return join_group(b, input, &found);
}

/* ---- what cannot be made ---- */

/* The diffusers name of a part that is not there, from one that is. */
static int fail_missing(struct back *b, const struct group *group, uint32_t part,
                        const struct nwi_mapped *output)
{
    struct nwi_applying *a = b->a;
    const struct nwi_header_row *row = &a->input->rows[output->input];
    struct nwi_found found = {NULL, row->name, row->name_size};
    NWI_TRY(nwi_applying_post(a, &found.name, &found.name_size));
    (void)nwi_pattern_match(&group->rule->diffusers, found.name, found.name_size,
                            &a->match);
    if (nwi_pattern_render(&group->rule->diffusers, &a->match, part, a->scratch,
                           &found.name, &found.name_size) != NW_OK)
        return nwi_applying_nomem(a, row->name_size);
    for (size_t i = 0; i < a->set.n_post && !found.rule; i++)
        NWI_TRY(nwi_applying_post_rule(a, &a->set.post[i], true, &found));
    int code = nwi_fail(a->err, NW_E_NOT_FOUND,
                        "%.180s is missing: it is part %u of %u of %.120s", found.name,
                        (unsigned)part + 1, (unsigned)group->n, output->name);
    return nwi_error_in_tensor(a->err, code, found.name);
}

/* Refuses if the original needs what the way there dropped. */
static int check_needed(struct nwi_applying *a)
{
    for (size_t i = 0; i < a->set.n; i++) {
        const struct nwi_ready_rule *rule = &a->set.rules[i];
        if (!rule->is_active || rule->rule->op != NWI_RULE_DROP ||
            rule->rule->back != NWI_DROP_NEEDED)
            continue;
        const char *name = rule->rule->original;
        int code = nwi_fail(a->err, NW_E_UNSUPPORTED,
                            "the original layout needs %.200s, which the diffusers "
                            "layout does not keep",
                            name);
        return nwi_error_in_tensor(a->err, code, name);
    }
    return NW_OK;
}

static int fail_unlike(struct back *b, uint32_t first, uint32_t other)
{
    return nwi_applying_fail(b->a, other, NW_E_MISMATCH,
                             "its shape does not go with that of %.200s",
                             b->a->input->rows[first].name);
}

/* Parts share rank, trailing dimensions and, where they are stored, their type. */
static int check_alike(struct back *b, const struct group *group)
{
    const struct nwi_applying *a = b->a;
    const struct nwi_header_row *first = &a->input->rows[group->inputs[0]];
    for (uint32_t k = 0; k < group->n; k++) {
        const struct nwi_header_row *row = &a->input->rows[group->inputs[k]];
        if (row->rank == 0 || row->rank != first->rank ||
            (row->rank > 1 && memcmp(row->shape + 1, first->shape + 1,
                                     (row->rank - 1) * sizeof *row->shape) != 0))
            return fail_unlike(b, group->inputs[0], group->inputs[k]);
        if (!a->ckpt)
            continue;
        int one = a->ckpt->tensors[first->source].dtype;
        int two = a->ckpt->tensors[row->source].dtype;
        if (one != two)
            return nwi_applying_fail(b->a, group->inputs[k], NW_E_MISMATCH,
                                     "it is %s, but %.200s, which it is joined with, "
                                     "is %s",
                                     nw_dtype_name(two), first->name,
                                     nw_dtype_name(one));
    }
    return NW_OK;
}

/* ---- views ---- */

static struct nwi_shape shape_of(struct back *b, uint32_t input, uint64_t rows,
                                 uint8_t rank)
{
    const struct nwi_header_row *row = &b->a->input->rows[input];
    struct nwi_shape shape =
        nwi_shape_copy(b->a->arena, row->shape, row->rank, RANK_ROOM);
    if (!shape.dims)
        return shape;
    if (row->rank > 0)
        shape.dims[0] = rows;
    nwi_shape_unsqueeze(&shape, rank);
    return shape;
}

static void set_output(struct nwi_mapped *output, const struct nwi_shape *shape,
                       const struct nw_part *parts, uint32_t n_parts)
{
    output->shape = shape->dims;
    output->rank = shape->rank;
    output->parts = parts;
    output->n_parts = n_parts;
}

static int whole(struct back *b, const struct group *group, struct nwi_mapped *output)
{
    const struct nwi_header_row *row = &b->a->input->rows[output->input];
    struct nwi_shape shape = shape_of(b, output->input, row->rank ? row->shape[0] : 1,
                                      group->rule->rule->rank);
    struct nw_part *part = nwi_arena_alloc(b->a->arena, sizeof *part);
    if (!shape.dims || !part ||
        !nwi_part_dense(b->a->arena, row->source, 0, &shape, part))
        return nwi_applying_nomem(b->a, sizeof *part);
    set_output(output, &shape, part, 1);
    return NW_OK;
}

/* The rows of the parts, added up; they are those that the way there would cut. */
static int sum_rows(struct back *b, const struct group *group, uint64_t *total)
{
    uint64_t sizes[NWI_PATTERN_WORDS];
    *total = 0;
    for (uint32_t k = 0; k < group->n; k++) {
        if (!nwi_add(*total, b->a->input->rows[group->inputs[k]].shape[0], total))
            return fail_unlike(b, group->inputs[0], group->inputs[k]);
    }
    bool even = nwi_cut(group->rule, *total, group->n, sizes);
    for (uint32_t k = 0; k < group->n; k++) {
        uint64_t rows = b->a->input->rows[group->inputs[k]].shape[0];
        if (even && rows == sizes[k])
            continue;
        if (!even)
            return fail_unlike(b, group->inputs[0], group->inputs[group->n - 1]);
        return nwi_applying_fail(b->a, group->inputs[k], NW_E_MISMATCH,
                                 "it has %llu rows, %llu are its part of %llu",
                                 (unsigned long long)rows, (unsigned long long)sizes[k],
                                 (unsigned long long)*total);
    }
    return NW_OK;
}

static int join(struct back *b, const struct group *group, struct nwi_mapped *output)
{
    struct nwi_arena *arena = b->a->arena;
    uint8_t rank = group->rule->rule->rank;
    uint64_t total = 0;
    NWI_TRY(check_alike(b, group));
    NWI_TRY(sum_rows(b, group, &total));
    struct nwi_shape shape = shape_of(b, group->inputs[0], total, rank);
    struct nw_part *parts = nwi_arena_array(arena, group->n, sizeof *parts);
    if (!shape.dims || !parts)
        return nwi_applying_nomem(b->a, group->n * sizeof *parts);
    for (uint32_t k = 0; k < group->n; k++) {
        const struct nwi_header_row *row = &b->a->input->rows[group->inputs[k]];
        struct nwi_shape own = shape_of(b, group->inputs[k], row->shape[0], rank);
        if (!own.dims || !nwi_part_dense(arena, row->source, 0, &own, &parts[k]))
            return nwi_applying_nomem(b->a, group->n * sizeof *parts);
    }
    set_output(output, &shape, parts, group->n);
    return NW_OK;
}

/* Head by head, the rows of each part: all views share one shape. */
static int interleave(struct back *b, const struct group *group,
                      struct nwi_mapped *output)
{
    struct nwi_arena *arena = b->a->arena;
    const struct nwi_header_row *first = &b->a->input->rows[group->inputs[0]];
    const struct nwi_form *form = &group->rule->sizes[0].form;
    NWI_TRY(check_alike(b, group));
    uint64_t rows = first->shape[0];
    uint64_t depth = form->unknown || form->constant < 1 ? 0 : (uint64_t)form->constant;
    if (depth == 0 || rows % depth != 0)
        return nwi_applying_fail(b->a, group->inputs[0], NW_E_MISMATCH,
                                 "%llu rows are not made of heads of %llu",
                                 (unsigned long long)rows, (unsigned long long)depth);
    for (uint32_t k = 1; k < group->n; k++) {
        if (b->a->input->rows[group->inputs[k]].shape[0] != rows)
            return fail_unlike(b, group->inputs[0], group->inputs[k]);
    }
    uint64_t n_heads = rows / depth;
    if (n_heads > NWI_JOIN_MOST || n_heads * group->n > NWI_JOIN_MOST)
        return nwi_applying_fail(b->a, group->inputs[0], NW_E_UNSUPPORTED,
                                 "%llu heads are over %u parts of one tensor",
                                 (unsigned long long)n_heads, NWI_JOIN_MOST);
    uint32_t n_parts = (uint32_t)n_heads * group->n;
    struct nwi_shape shape = shape_of(b, group->inputs[0], rows * group->n, 0);
    struct nwi_shape own = shape_of(b, group->inputs[0], depth, 0);
    struct nw_part *parts = nwi_arena_array(arena, n_parts, sizeof *parts);
    struct nw_part one;
    if (!shape.dims || !own.dims || !parts || !nwi_part_dense(arena, 0, 0, &own, &one))
        return nwi_applying_nomem(b->a, n_parts * sizeof *parts);
    uint64_t step = depth * nwi_row_size(first->shape, first->rank);
    for (uint32_t i = 0, head = 0; head < n_heads; head++) {
        for (uint32_t k = 0; k < group->n; k++, i++) {
            parts[i] = one;
            parts[i].source = b->a->input->rows[group->inputs[k]].source;
            parts[i].start = head * step;
        }
    }
    set_output(output, &shape, parts, n_parts);
    return NW_OK;
}

/* The way there cannot have made another shape than `sizes` says. */
static int flatten(struct back *b, const struct group *group, struct nwi_mapped *output)
{
    const struct nwi_header_row *row = &b->a->input->rows[output->input];
    const struct nwi_ready_rule *rule = group->rule;
    bool fits = row->rank == rule->n_sizes;
    uint64_t n = 1;
    for (uint32_t i = 0; fits && i < row->rank; i++) {
        const struct nwi_size *size = &rule->sizes[i];
        fits = nwi_mul(n, row->shape[i], &n) &&
               (size->is_star || (!size->form.unknown && size->form.constant >= 0 &&
                                  (uint64_t)size->form.constant == row->shape[i]));
    }
    if (!fits)
        return nwi_applying_fail(b->a, output->input, NW_E_MISMATCH,
                                 "its shape is not [%.60s]", rule->rule->sizes);
    struct nwi_shape shape = {nwi_arena_alloc(b->a->arena, sizeof *shape.dims), 1};
    struct nw_part *part = nwi_arena_alloc(b->a->arena, sizeof *part);
    if (!shape.dims || !part)
        return nwi_applying_nomem(b->a, sizeof *part);
    shape.dims[0] = n;
    if (!nwi_part_dense(b->a->arena, row->source, 0, &shape, part))
        return nwi_applying_nomem(b->a, sizeof *part);
    set_output(output, &shape, part, 1);
    return NW_OK;
}

static int swap(struct back *b, struct nwi_mapped *output)
{
    const struct nwi_header_row *row = &b->a->input->rows[output->input];
    const struct nw_part *parts = NULL;
    NWI_TRY(nwi_swap_parts(b->a, output->input, &parts));
    struct nwi_shape shape = nwi_shape_copy(b->a->arena, row->shape, row->rank, 0);
    if (!shape.dims)
        return nwi_applying_nomem(b->a, row->rank * sizeof *shape.dims);
    set_output(output, &shape, parts, 2);
    return NW_OK;
}

static int transpose(struct back *b, struct nwi_mapped *output)
{
    const struct nwi_header_row *row = &b->a->input->rows[output->input];
    const struct nw_part *part = NULL;
    NWI_TRY(nwi_transposed_part(b->a, output->input, &part));
    struct nwi_shape shape = nwi_shape_copy(b->a->arena, row->shape, row->rank, 0);
    if (!shape.dims)
        return nwi_applying_nomem(b->a, 2 * sizeof *shape.dims);
    shape.dims[0] = row->shape[1];
    shape.dims[1] = row->shape[0];
    set_output(output, &shape, part, 1);
    return NW_OK;
}

static int make(struct back *b, const struct group *group, struct nwi_mapped *output)
{
    for (uint32_t k = 0; k < group->n; k++) {
        if (group->inputs[k] == NW_NONE)
            return fail_missing(b, group, k, output);
    }
    if (nwi_carry_of(b->a, output->input) == NWI_CARRY_WHOLE) {
        NWI_TRY(nwi_carry_join(b->a, group->inputs, group->n));
        return whole(b, group, output);
    }
    switch ((enum nwi_rule_op)group->rule->rule->op) {
    case NWI_RULE_SPLIT:
        return join(b, group, output);
    case NWI_RULE_SWAP:
        return swap(b, output);
    case NWI_RULE_TRANSPOSE:
        return transpose(b, output);
    case NWI_RULE_RESHAPE:
        return flatten(b, group, output);
    case NWI_RULE_HEADS:
        return interleave(b, group, output);
    case NWI_RULE_RENAME:
    case NWI_RULE_DROP:
    case NWI_RULE_CONSTANT:
        break;
    }
    return whole(b, group, output);
}

int nwi_back(struct nwi_applying *a)
{
    struct back b = {.a = a};
    NWI_TRY(check_needed(a));
    for (size_t i = 0; i < a->input->n; i++)
        NWI_TRY(place(&b, (uint32_t)i));
    for (size_t i = 0; b.groups && i < a->out->n_outputs; i++)
        NWI_TRY(make(&b, &b.groups[i], &a->out->outputs[i]));
    return NW_OK;
}
