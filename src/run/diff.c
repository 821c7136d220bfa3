/* SPDX-License-Identifier: Apache-2.0
 * nw_diff: two plans, name by name. Rows are collected first, because the document
 * begins with `equal` and nothing is written if the comparison fails. */
#include <string.h>

#include "base/error.h"
#include "base/json_write.h"
#include "base/map.h"
#include "base/options.h"
#include "run/diff_values.h"

enum what { WHAT_DTYPE, WHAT_SHAPE, WHAT_VALUES, WHAT_METADATA };

/* One difference. */
struct row {
    enum what what;
    const struct nwi_target *targets[2]; /* all but METADATA */
    const struct nw_metadata
        *metadata[2];                    /* METADATA; NULL: that side has not the key */
    const struct nwi_value_diff *values; /* VALUES; on the arena */
};

/* Everything of one call; index 0 is a, 1 is b. */
struct diff {
    const struct nw_plan *plans[2];
    struct nw_diff_options options;
    struct nwi_memory *memory; /* of this call alone */
    struct nwi_arena arena;
    struct nwi_map names[2]; /* name -> row of targets */
    struct nwi_map keys[2];  /* metadata key -> row of the checkpoint's metadata */
    struct nwi_differ differ;
    struct row *rows; /* [n_rows], on the arena */
    size_t n_rows;
    size_t capacity;
    size_t n_only; /* names that only one side has */
};

static bool add_row(struct diff *diff, struct row row)
{
    void *rows = diff->rows;
    if (!nwi_arena_grow(&diff->arena, &rows, diff->n_rows, &diff->capacity, sizeof row))
        return false;
    diff->rows = rows;
    diff->rows[diff->n_rows++] = row;
    return true;
}

/* ---- indexes ---- */

static int map_names(struct nwi_map *map, const struct nw_plan *plan,
                     struct nwi_memory *memory)
{
    NWI_TRY(nwi_map_init(map, memory, plan->n_targets));
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nw_target *target = &plan->targets[i].info;
        uint32_t existing;
        NWI_TRY(
            nwi_map_add(map, target->name, target->name_size, (uint32_t)i, &existing));
    }
    return NW_OK;
}

/* Of the plan's component; where shards repeat a key, the first one counts. */
static int map_keys(struct nwi_map *map, const struct nw_plan *plan,
                    struct nwi_memory *memory)
{
    const struct nw_checkpoint *ckpt = plan->ckpt;
    NWI_TRY(nwi_map_init(map, memory, ckpt->n_metadata));
    for (size_t i = 0; i < ckpt->n_metadata; i++) {
        const struct nw_metadata *row = &ckpt->metadata[i];
        uint32_t existing;
        if (row->component != plan->component)
            continue;
        NWI_TRY(nwi_map_add(map, row->key, row->key_size, (uint32_t)i, &existing));
    }
    return NW_OK;
}

static int map_all(struct diff *diff, struct nw_error *err)
{
    int code = NW_OK;
    for (int side = 0; side < 2 && code == NW_OK; side++) {
        code = map_names(&diff->names[side], diff->plans[side], diff->memory);
        if (code == NW_OK)
            code = map_keys(&diff->keys[side], diff->plans[side], diff->memory);
    }
    return code == NW_OK ? NW_OK : nwi_fail_nomem(err, sizeof *diff);
}

/* Row of the other side's target of that name, or NWI_MAP_NONE. */
static uint32_t find_other(const struct diff *diff, int side, size_t i)
{
    const struct nw_target *target = &diff->plans[side]->targets[i].info;
    return nwi_map_find(&diff->names[!side], target->name, target->name_size);
}

/* ---- comparing ---- */

static bool same_shape(const struct nw_target *a, const struct nw_target *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 ||
            memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

static bool wants_values(const struct diff *diff, const struct nwi_target *a,
                         const struct nwi_target *b)
{
    return diff->options.values && same_shape(&a->info, &b->info) &&
           nwi_differ_applies(a, b);
}

static int compare_values(struct diff *diff, size_t i, size_t j, struct row row,
                          struct nw_error *err)
{
    struct nwi_value_diff found;
    NWI_TRY(nwi_differ_compare(&diff->differ, i, j, &found, err));
    if (found.n_differ == 0)
        return NW_OK;
    struct nwi_value_diff *kept = nwi_arena_alloc(&diff->arena, sizeof *kept);
    if (!kept)
        return nwi_fail_nomem(err, sizeof *kept);
    *kept = found;
    row.what = WHAT_VALUES;
    row.values = kept;
    return add_row(diff, row) ? NW_OK : nwi_fail_nomem(err, sizeof row);
}

static int compare_targets(struct diff *diff, size_t i, size_t j, struct nw_error *err)
{
    const struct nwi_target *a = &diff->plans[0]->targets[i];
    const struct nwi_target *b = &diff->plans[1]->targets[j];
    struct row row = {.targets = {a, b}};
    row.what = WHAT_DTYPE;
    if (a->info.dtype != b->info.dtype && !add_row(diff, row))
        return nwi_fail_nomem(err, sizeof row);
    row.what = WHAT_SHAPE;
    if (!same_shape(&a->info, &b->info) && !add_row(diff, row))
        return nwi_fail_nomem(err, sizeof row);
    return wants_values(diff, a, b) ? compare_values(diff, i, j, row, err) : NW_OK;
}

static int compare_all(struct diff *diff, struct nw_error *err)
{
    for (size_t i = 0; i < diff->plans[0]->n_targets; i++) {
        uint32_t j = find_other(diff, 0, i);
        if (j == NWI_MAP_NONE)
            diff->n_only++;
        else
            NWI_TRY(compare_targets(diff, i, j, err));
    }
    for (size_t j = 0; j < diff->plans[1]->n_targets; j++)
        diff->n_only += find_other(diff, 1, j) == NWI_MAP_NONE;
    return NW_OK;
}

/* The other side's value of a key, or NULL. */
static const struct nw_metadata *find_key(const struct diff *diff, int side,
                                          const struct nw_metadata *key)
{
    uint32_t row = nwi_map_find(&diff->keys[side], key->key, key->key_size);
    return row == NWI_MAP_NONE ? NULL : &diff->plans[side]->ckpt->metadata[row];
}

static bool same_value(const struct nw_metadata *a, const struct nw_metadata *b)
{
    return b && a->value_size == b->value_size &&
           memcmp(a->value, b->value, a->value_size) == 0;
}

/* Keys of one side: all of a's; of b's those that a does not have. */
static int compare_keys(struct diff *diff, int side, struct nw_error *err)
{
    const struct nw_checkpoint *ckpt = diff->plans[side]->ckpt;
    for (size_t i = 0; i < ckpt->n_metadata; i++) {
        const struct nw_metadata *mine = &ckpt->metadata[i];
        if (mine->component != diff->plans[side]->component ||
            find_key(diff, side, mine) != mine)
            continue;
        const struct nw_metadata *other = find_key(diff, !side, mine);
        if (same_value(mine, other) || (side == 1 && other))
            continue;
        struct row row = {.what = WHAT_METADATA};
        row.metadata[side] = mine;
        row.metadata[!side] = other;
        if (!add_row(diff, row))
            return nwi_fail_nomem(err, sizeof row);
    }
    return NW_OK;
}

/* Files that changed while they were compared would make the answer worthless. */
static int check_unchanged(const struct nw_checkpoint *ckpt, struct nw_error *err)
{
    for (size_t i = 0; i < ckpt->n_files; i++) {
        if (ckpt->files[i].file)
            NWI_TRY(nwi_file_check_unchanged(ckpt->files[i].file, err));
    }
    return NW_OK;
}

static uint64_t count_bytes(const struct diff *diff)
{
    uint64_t total = 0;
    for (size_t i = 0; i < diff->plans[0]->n_targets; i++) {
        uint32_t j = find_other(diff, 0, i);
        if (j == NWI_MAP_NONE)
            continue;
        const struct nwi_target *a = &diff->plans[0]->targets[i];
        const struct nwi_target *b = &diff->plans[1]->targets[j];
        if (wants_values(diff, a, b))
            total += nwi_differ_bytes(a, b);
    }
    return total;
}

static int begin_values(struct diff *diff, struct nw_error *err)
{
    NWI_TRY(nwi_differ_init(&diff->differ, diff->plans[0], diff->plans[1], diff->memory,
                            err));
    diff->differ.tolerance_abs = diff->options.tolerance_abs;
    diff->differ.tolerance_rel = diff->options.tolerance_rel;
    diff->differ.progress = (struct nwi_progress){
        .call = diff->options.progress,
        .ctx = diff->options.progress_ctx,
        .total = count_bytes(diff),
    };
    return NW_OK;
}

static int end_values(const struct diff *diff, struct nw_error *err)
{
    NWI_TRY(check_unchanged(diff->plans[0]->ckpt, err));
    return check_unchanged(diff->plans[1]->ckpt, err);
}

static int compare(struct diff *diff, struct nw_error *err)
{
    NWI_TRY(map_all(diff, err));
    if (diff->options.values)
        NWI_TRY(begin_values(diff, err));
    NWI_TRY(compare_all(diff, err));
    NWI_TRY(compare_keys(diff, 0, err));
    NWI_TRY(compare_keys(diff, 1, err));
    return diff->options.values ? end_values(diff, err) : NW_OK;
}

/* ---- the document ---- */

static void write_numbers(struct nwi_json_writer *w, const uint64_t *items, size_t n)
{
    nwi_json_array(w);
    for (size_t i = 0; i < n; i++)
        nwi_json_uint(w, items[i]);
    nwi_json_array_end(w);
}

/* The indices of element `at`, outermost first. */
static void write_indices(struct nwi_json_writer *w, const struct nw_target *target,
                          uint64_t at)
{
    uint64_t step = 1;
    for (uint32_t dim = 1; dim < target->rank; dim++)
        step *= target->shape[dim];
    nwi_json_array(w);
    for (uint32_t dim = 0; dim < target->rank; dim++) {
        nwi_json_uint(w, at / step);
        at %= step;
        if (dim + 1 < target->rank)
            step /= target->shape[dim + 1];
    }
    nwi_json_array_end(w);
}

/* What one side has. */
static void write_side(struct nwi_json_writer *w, const struct row *row, int side)
{
    switch (row->what) {
    case WHAT_DTYPE:
        nwi_json_str(w, nw_dtype_name(row->targets[side]->info.dtype));
        break;
    case WHAT_SHAPE:
        write_numbers(w, row->targets[side]->info.shape, row->targets[side]->info.rank);
        break;
    case WHAT_VALUES:
        nwi_value_write(w, side == 0 ? row->values->a : row->values->b);
        break;
    case WHAT_METADATA:
        if (row->metadata[side])
            nwi_json_str_n(w, row->metadata[side]->value,
                           row->metadata[side]->value_size);
        else
            nwi_json_null(w);
        break;
    }
}

static void write_row(struct nwi_json_writer *w, const struct row *row)
{
    static const char *const words[] = {
        [WHAT_DTYPE] = "dtype",
        [WHAT_SHAPE] = "shape",
        [WHAT_VALUES] = "values",
        [WHAT_METADATA] = "metadata",
    };
    nwi_json_object(w);
    nwi_json_key(w, "name");
    if (row->what == WHAT_METADATA) {
        const struct nw_metadata *key = row->metadata[row->metadata[0] == NULL];
        nwi_json_str_n(w, key->key, key->key_size);
    } else {
        nwi_json_str_n(w, row->targets[0]->info.name, row->targets[0]->info.name_size);
    }
    nwi_json_put_str(w, "what", words[row->what]);
    nwi_json_key(w, "a");
    write_side(w, row, 0);
    nwi_json_key(w, "b");
    write_side(w, row, 1);
    if (row->what == WHAT_VALUES) {
        nwi_json_key(w, "max_abs");
        nwi_json_real(w, row->values->max_abs);
        nwi_json_key(w, "first");
        write_indices(w, &row->targets[0]->info, row->values->first);
        nwi_json_put_uint(w, "n_differ", row->values->n_differ);
    }
    nwi_json_object_end(w);
}

static void write_only(struct nwi_json_writer *w, const struct diff *diff, int side)
{
    const struct nw_plan *plan = diff->plans[side];
    nwi_json_key(w, side == 0 ? "only_a" : "only_b");
    nwi_json_array(w);
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nw_target *target = &plan->targets[i].info;
        if (find_other(diff, side, i) == NWI_MAP_NONE)
            nwi_json_str_n(w, target->name, target->name_size);
    }
    nwi_json_array_end(w);
}

static int write_document(const struct diff *diff, bool equal, nw_write_fn *write,
                          void *ctx, struct nw_error *err)
{
    struct nwi_json_writer w;
    nwi_json_writer_init(&w, write, ctx);
    nwi_json_object(&w);
    nwi_json_key(&w, "equal");
    nwi_json_bool(&w, equal);
    write_only(&w, diff, 0);
    write_only(&w, diff, 1);
    nwi_json_key(&w, "differ");
    nwi_json_array(&w);
    for (size_t i = 0; i < diff->n_rows; i++)
        write_row(&w, &diff->rows[i]);
    nwi_json_array_end(&w);
    nwi_json_object_end(&w);
    if (nwi_json_writer_finish(&w) == NW_OK)
        return NW_OK;
    return nwi_fail(err, NW_E_CANCELLED, "the document's receiver asked to stop");
}

/* ---- the whole ---- */

/* Written so that NaN is refused too. */
static int check_options(const struct nw_diff_options *options, struct nw_error *err)
{
    if (options->tolerance_abs >= 0 && options->tolerance_rel >= 0)
        return NW_OK;
    return nwi_fail(err, NW_E_ARG, "a tolerance is negative or no number");
}

static void release(struct diff *diff)
{
    nwi_differ_release(&diff->differ);
    for (int side = 0; side < 2; side++) {
        nwi_map_release(&diff->names[side]);
        nwi_map_release(&diff->keys[side]);
    }
    nwi_arena_release(&diff->arena);
    nwi_memory_release(diff->memory);
}

/* NOLINTNEXTLINE(readability-function-size): a public signature */
int nw_diff(struct nw_plan *a, struct nw_plan *b, const struct nw_diff_options *options,
            int *equal, nw_write_fn *write, void *ctx, struct nw_error *err)
{
    struct diff diff = {.plans = {a, b}};
    nwi_error_clear(err);
    if (equal)
        *equal = 0;
    if (!a || !b || !equal || !write)
        return nwi_fail(err, NW_E_ARG,
                        "a comparison needs two plans, a place for its answer and a "
                        "function to write to");
    NWI_TRY(nwi_options_read(&diff.options, sizeof diff.options, options,
                             "diff options", err));
    NWI_TRY(check_options(&diff.options, err));
    diff.memory = nwi_memory_sibling(a->ckpt->memory);
    if (!diff.memory)
        return nwi_fail_nomem(err, sizeof diff);
    nwi_arena_init(&diff.arena, diff.memory);
    int code = compare(&diff, err);
    bool same = diff.n_only == 0 && diff.n_rows == 0;
    if (code == NW_OK)
        code = write_document(&diff, same, write, ctx, err);
    if (code == NW_OK)
        *equal = same;
    release(&diff);
    return code;
}
