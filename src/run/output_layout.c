/* SPDX-License-Identifier: Apache-2.0
 * Which tensor lies where: shards by size, then within a file widest types first and
 * names in byte order, as safetensors itself writes them. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "run/output_parts.h"
#include "source/sort.h"
#include "tensor/dtype.h"

/* Shards while they are packed. Files get their final numbers when they are closed: a
 * tensor larger than a shard is closed at once, and so comes before the one that is
 * being filled. */
struct packing {
    struct nwi_output_file
        *files; /* the set's, in the order in which they were begun */
    uint64_t max;
    uint64_t current_bytes;
    uint32_t current; /* NWI_OUTPUT_SHARDS_MOST: none is open */
    uint32_t n_begun;
    uint32_t n_closed;
};

static void close_current(struct packing *packing)
{
    if (packing->current != NWI_OUTPUT_SHARDS_MOST)
        packing->files[packing->current].number = packing->n_closed++;
    packing->current = NWI_OUTPUT_SHARDS_MOST;
    packing->current_bytes = 0;
}

/* The file that takes a tensor of that size; NWI_OUTPUT_SHARDS_MOST: there are too
 * many. */
static uint32_t pack_one(struct packing *packing, uint64_t nbytes)
{
    bool alone = nbytes > packing->max;
    if (!alone && nbytes > packing->max - packing->current_bytes)
        close_current(packing);
    if (!alone && packing->current != NWI_OUTPUT_SHARDS_MOST) {
        packing->current_bytes += nbytes;
        return packing->current;
    }
    if (packing->n_begun == NWI_OUTPUT_SHARDS_MOST)
        return NWI_OUTPUT_SHARDS_MOST;
    uint32_t file = packing->n_begun++;
    if (alone) {
        packing->files[file].number = packing->n_closed++;
    } else {
        packing->current = file;
        packing->current_bytes = nbytes;
    }
    return file;
}

static int too_many_shards(struct nw_error *err, uint64_t max)
{
    return nwi_fail(err, NW_E_LIMIT,
                    "more than %u shards of at most %" PRIu64
                    " bytes would be needed: raise max_shard_bytes",
                    NWI_OUTPUT_SHARDS_MOST, max);
}

static int pack_targets(struct nwi_output *output, struct nwi_output_set *set,
                        struct packing *packing, struct nw_error *err)
{
    const struct nw_plan *plan = set->plan;
    for (size_t i = 0; i < plan->n_targets; i++) {
        uint64_t nbytes = plan->targets[i].info.nbytes;
        uint32_t file = pack_one(packing, nbytes);
        if (file == NWI_OUTPUT_SHARDS_MOST)
            return too_many_shards(err, packing->max);
        output->places[set->first_target + i].file = file;
        if (!nwi_add(set->total_bytes, nbytes, &set->total_bytes))
            return nwi_fail(err, NW_E_LIMIT, "the tensors do not fit 64 bits of bytes");
    }
    close_current(packing);
    return NW_OK;
}

int nwi_output_pack(struct nwi_output *output, struct nwi_output_set *set,
                    struct nw_error *err)
{
    struct packing packing = {
        .files = output->files + output->n_files,
        .max = output->max_shard_bytes,
        .current = NWI_OUTPUT_SHARDS_MOST,
    };
    set->first_file = (uint32_t)output->n_files;
    set->total_bytes = 0;
    NWI_TRY(pack_targets(output, set, &packing, err));
    if (output->single && set->total_bytes > output->max_shard_bytes)
        return nwi_fail(err, NW_E_ARG,
                        "one file was asked for, but %" PRIu64
                        " bytes of tensors exceed max_shard_bytes, %" PRIu64
                        ": give a folder",
                        set->total_bytes, output->max_shard_bytes);
    set->n_files = packing.n_begun ? packing.n_begun : 1;
    for (size_t i = 0; i < set->plan->n_targets; i++) {
        struct nwi_output_place *place = &output->places[set->first_target + i];
        place->file = set->first_file + packing.files[place->file].number;
    }
    for (uint32_t i = 0; i < set->n_files; i++)
        packing.files[i].set = (uint32_t)(set - output->sets);
    output->n_files += set->n_files;
    assert(output->n_files <= output->files_room);
    return NW_OK;
}

/* ---- order ---- */

static int compare_target_names(const struct nwi_target *a, const struct nwi_target *b)
{
    size_t common =
        a->info.name_size < b->info.name_size ? a->info.name_size : b->info.name_size;
    int order = memcmp(a->info.name, b->info.name, common);
    if (order != 0)
        return order;
    return (a->info.name_size > b->info.name_size) -
           (a->info.name_size < b->info.name_size);
}

static int compare_rows(const void *a, const void *b)
{
    const struct nwi_output_row *x = a;
    const struct nwi_output_row *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    uint32_t rank_x = nwi_dtype_info(x->target->info.dtype)->save_rank;
    uint32_t rank_y = nwi_dtype_info(y->target->info.dtype)->save_rank;
    if (rank_x != rank_y)
        return rank_x < rank_y ? -1 : 1;
    return compare_target_names(x->target, y->target);
}

static int compare_rows_by_name(const void *a, const void *b)
{
    const struct nwi_output_row *x = a;
    const struct nwi_output_row *y = b;
    return compare_target_names(x->target, y->target);
}

void nwi_output_order(const struct nwi_output *output, const struct nwi_output_set *set,
                      struct nwi_output_row *rows, struct nwi_output_row *spare)
{
    const struct nw_plan *plan = set->plan;
    for (size_t i = 0; i < plan->n_targets; i++) {
        size_t number = set->first_target + i;
        rows[i] = (struct nwi_output_row){
            .target = &plan->targets[i],
            .file = output->places[number].file,
            .number = (uint32_t)number,
        };
    }
    nwi_sort(rows, spare, plan->n_targets, sizeof *rows, compare_rows);
}

void nwi_output_order_by_name(struct nwi_output_row *rows, struct nwi_output_row *spare,
                              size_t n)
{
    nwi_sort(rows, spare, n, sizeof *rows, compare_rows_by_name);
}

size_t nwi_output_run_length(const struct nwi_output_row *rows, size_t n)
{
    size_t i = 0;
    while (i < n && rows[i].file == rows[0].file)
        i++;
    return i;
}

/* ---- offsets ---- */

static int place_file(struct nwi_output *output, const struct nwi_output_set *set,
                      uint32_t file, const struct nwi_output_row *rows, size_t n,
                      struct nw_error *err)
{
    struct nwi_output_file *out = &output->files[file];
    uint64_t at = 0;
    NWI_TRY(nwi_output_header_size(set, rows, n, &at, err));
    uint64_t data_start = at;
    for (size_t i = 0; i < n; i++) {
        output->places[rows[i].number].offset = at;
        if (!nwi_add(at, rows[i].target->info.nbytes, &at) || at > INT64_MAX)
            return nwi_fail(err, NW_E_LIMIT,
                            "the file would be larger than a file can be");
    }
    out->nbytes = at;
    out->n_tensors = (uint32_t)n;
    atomic_store(&out->left, at - data_start);
    return NW_OK;
}

int nwi_output_place_all(struct nwi_output *output, const struct nwi_output_set *set,
                         const struct nwi_output_row *rows, struct nw_error *err)
{
    size_t left = set->plan->n_targets;
    for (uint32_t i = 0; i < set->n_files; i++) {
        size_t n = nwi_output_run_length(rows, left);
        NWI_TRY(place_file(output, set, set->first_file + i, rows, n, err));
        rows += n;
        left -= n;
    }
    assert(left == 0);
    return NW_OK;
}

/* ---- is it what was there before? ---- */

/* The part is all of the stored tensor, in row-major order. */
static bool is_whole(const struct nw_part *part, const struct nwi_stored *stored)
{
    uint64_t dense = 1;
    if (part->start != 0 || part->rank != stored->rank)
        return false;
    for (uint32_t d = part->rank; d-- > 0; dense *= stored->shape[d]) {
        if (part->shape[d] != stored->shape[d])
            return false;
        if (stored->nbytes > 0 && part->shape[d] > 1 && part->strides[d] != dense)
            return false;
    }
    return true;
}

bool nwi_output_is_identity(const struct nw_plan *plan, const struct nwi_target *target)
{
    const struct nw_target *info = &target->info;
    if (target->cast.first || info->n_parts != 1)
        return false;
    const struct nwi_stored *stored = &plan->ckpt->tensors[target->parts[0].source];
    if (info->dtype != stored->dtype || info->rank != stored->rank ||
        info->name_size != stored->name_size ||
        memcmp(info->name, stored->name, info->name_size) != 0)
        return false;
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->shape[d] != stored->shape[d])
            return false;
    }
    return is_whole(&target->parts[0], stored);
}

bool nwi_output_is_unchanged(const struct nwi_output_set *set,
                             const struct nwi_output_row *rows)
{
    const struct nw_plan *plan = set->plan;
    const struct nw_checkpoint *ckpt = plan->ckpt;
    const struct nwi_stored *before = NULL;
    if (plan->n_targets != ckpt->components[plan->component].n_tensors)
        return false;
    for (size_t i = 0; i < plan->n_targets; i++) {
        if (!nwi_output_is_identity(plan, rows[i].target))
            return false;
        const struct nwi_stored *now = &ckpt->tensors[rows[i].target->parts[0].source];
        if (before) {
            bool same_file = rows[i].file == rows[i - 1].file;
            if (same_file != (now->file == before->file) ||
                (same_file && now->offset < before->offset))
                return false;
        }
        before = now;
    }
    return true;
}
