/* SPDX-License-Identifier: Apache-2.0
 * The memory sink, and the run that fills it. */
#include <string.h>

#include "plan/plan_parts.h"
#include "run/result.h"
#include "run/storage.h"

static size_t weights_bytes(size_t n_plans)
{
    return n_plans * NWI_RUN_RECORD_BYTES;
}

_Static_assert(sizeof(struct nw_weights) + sizeof(void *) + 2 * sizeof(size_t) <=
                   NWI_RUN_RECORD_BYTES,
               "one record holds the handle and the rows of one plan");

static const struct nwi_target *target_of(const struct nw_weights *weights,
                                          size_t number)
{
    size_t plan = weights->states[number].plan;
    return &weights->plans[plan]->targets[number - weights->first_target[plan]];
}

/* ---- the handle ---- */

static void *zalloc_array(struct nwi_memory *memory, size_t n, size_t size,
                          bool *refused)
{
    void *array = n ? nwi_zalloc(memory, n * size) : NULL;
    *refused = *refused || (n && !array);
    return array;
}

/* `memory` is released on failure. */
static struct nw_weights *new_weights(struct nwi_memory *memory,
                                      struct nw_plan *const *plans, size_t n_plans)
{
    struct nw_weights *weights = nwi_zalloc(memory, weights_bytes(n_plans));
    if (!weights) {
        nwi_memory_release(memory);
        return NULL;
    }
    weights->memory = memory;
    weights->plans = (struct nw_plan **)(weights + 1);
    weights->first_target = (size_t *)(weights->plans + n_plans);
    weights->first_pool = weights->first_target + n_plans;
    weights->names_plan = NW_NONE;
    for (size_t i = 0; i < n_plans; i++) {
        weights->plans[i] = nwi_plan_retain(plans[i]);
        weights->first_target[i] = weights->n_targets;
        weights->first_pool[i] = weights->n_pools;
        weights->n_targets += plans[i]->n_targets;
        weights->n_pools += plans[i]->n_pools;
        weights->n_plans++;
    }
    bool refused = false;
    weights->storages =
        zalloc_array(memory, weights->n_targets, sizeof *weights->storages, &refused);
    weights->states =
        zalloc_array(memory, weights->n_targets, NWI_TARGET_RECORD_BYTES, &refused);
    weights->pools =
        zalloc_array(memory, weights->n_pools, sizeof *weights->pools, &refused);
    weights->n_files = plans[0]->ckpt->n_files;
    weights->mappings =
        zalloc_array(memory, weights->n_files, sizeof *weights->mappings, &refused);
    if (refused) {
        nw_weights_free(weights);
        return NULL;
    }
    return weights;
}

/* The loader's own references: blocks and mappings then live by their tensors alone. */
static void release_loader(struct nw_weights *weights)
{
    struct nwi_memory *memory = weights->memory;
    nwi_stretch_close(&weights->stretch);
    for (size_t i = 0; weights->pools && i < weights->n_pools; i++)
        nwi_pool_release(memory, weights->pools[i]);
    for (size_t i = 0; weights->mappings && i < weights->n_files; i++)
        nwi_mapping_release(weights->mappings[i]);
    nwi_free(memory, weights->pools, weights->n_pools * sizeof *weights->pools);
    nwi_free(memory, weights->mappings, weights->n_files * sizeof *weights->mappings);
    weights->pools = NULL;
    weights->mappings = NULL;
}

void nw_weights_free(struct nw_weights *weights)
{
    if (!weights)
        return;
    struct nwi_memory *memory = weights->memory;
    release_loader(weights);
    for (size_t i = 0; weights->storages && i < weights->n_targets; i++)
        nw_storage_release(weights->storages[i]);
    nwi_map_release(&weights->names);
    nwi_free(memory, weights->storages, weights->n_targets * sizeof *weights->storages);
    nwi_free(memory, weights->states, weights->n_targets * NWI_TARGET_RECORD_BYTES);
    size_t n_plans = weights->n_plans;
    for (size_t i = 0; i < n_plans; i++)
        nw_plan_free(weights->plans[i]);
    nwi_free(memory, weights, weights_bytes(n_plans));
    nwi_memory_release(memory);
}

/* ---- the sink ---- */

static int put_in_pool(struct nw_weights *weights, size_t plan,
                       const struct nwi_target_place *place, struct nw_storage *storage,
                       struct nw_error *err)
{
    struct nwi_pool **pool = &weights->pools[weights->first_pool[plan] + place->pool];
    uint32_t nbytes = weights->plans[plan]->pools[place->pool].nbytes;
    if (!*pool)
        *pool = nwi_pool_new(weights->memory, &weights->stretch, nbytes);
    if (!*pool)
        return nwi_fail_nomem(err, nbytes);
    nwi_storage_in_pool(storage, *pool, place->pool_offset);
    return NW_OK;
}

static int put_in_mapping(struct nw_weights *weights, size_t plan,
                          const struct nwi_target *target, struct nw_storage *storage,
                          struct nw_error *err)
{
    const struct nw_checkpoint *ckpt = weights->plans[plan]->ckpt;
    const struct nw_part *part = &target->parts[0];
    const struct nwi_stored *stored = &ckpt->tensors[part->source];
    struct nwi_mapping **mapping = &weights->mappings[stored->file];
    if (!*mapping)
        NWI_TRY(nwi_mapping_new(ckpt->files[stored->file].file, weights->memory,
                                mapping, err));
    uint64_t start = part->start * nw_dtype_bits(stored->dtype) / 8;
    nwi_storage_in_mapping(storage, *mapping, stored->offset + start);
    return NW_OK;
}

static int place(void *ctx, size_t number, void **dst, struct nw_error *err)
{
    struct nw_weights *weights = ctx;
    const struct nwi_target *target = target_of(weights, number);
    size_t plan = weights->states[number].plan;
    struct nw_storage *storage = nwi_storage_new(weights->memory, &target->info);
    if (!storage)
        return nwi_fail_nomem(
            err, nwi_storage_bytes(target->info.rank, target->info.name_size));
    weights->storages[number] = storage;
    int code;
    if (nwi_target_mapped(target))
        code = put_in_mapping(weights, plan, target, storage, err);
    else if (target->place.pool != NWI_NO_POOL)
        code = put_in_pool(weights, plan, &target->place, storage, err);
    else
        code = nwi_storage_own_pages(storage, &weights->stretch, err);
    *dst = storage->data;
    return nwi_error_in_tensor(err, code, target->info.name);
}

/* ---- the run ---- */

static void number_states(struct nw_weights *weights)
{
    for (size_t p = 0; p < weights->n_plans; p++) {
        for (size_t i = 0; i < weights->plans[p]->n_targets; i++)
            weights->states[weights->first_target[p] + i].plan = (uint32_t)p;
    }
}

static int prefault(const struct nw_checkpoint *ckpt, const struct nwi_target *target,
                    const struct nw_storage *storage, struct nw_error *err)
{
    const struct nwi_stored *stored = &ckpt->tensors[target->parts[0].source];
    int code = nwi_mapping_populate(storage->mapping, ckpt->files[stored->file].file,
                                    storage->data, (size_t)storage->nbytes, err);
    return nwi_error_in_tensor(err, code, target->info.name);
}

static int place_mapped(struct nw_weights *weights, struct nw_error *err)
{
    void *data = NULL;
    for (size_t i = 0; i < weights->n_targets; i++) {
        const struct nwi_target *target = target_of(weights, i);
        if (!nwi_target_mapped(target))
            continue;
        NWI_TRY(place(weights, i, &data, err));
        const struct nw_plan *plan = weights->plans[weights->states[i].plan];
        if (plan->options.flags & NW_LOAD_PREFAULT)
            NWI_TRY(prefault(plan->ckpt, target, weights->storages[i], err));
    }
    return NW_OK;
}

void nwi_run_limit(struct nwi_memory *memory, struct nw_plan *const *plans,
                   size_t n_plans)
{
    uint64_t budget = plans[0]->budget_bytes;
    uint64_t held = nwi_plans_held_bytes((const struct nw_plan *const *)plans, n_plans);
    if (budget)
        nwi_memory_set_limit(memory, budget > held ? budget - held : 0);
}

void nwi_run_peaks(const struct nwi_memory *memory, struct nw_plan *const *plans,
                   size_t n_plans, enum nwi_purpose purpose,
                   struct nw_result_figures *figures)
{
    struct nw_cost cost;
    nwi_plans_cost((const struct nw_plan *const *)plans, n_plans, purpose, &cost, NULL);
    figures->predicted_peak_bytes = cost.peak_bytes;
    figures->peak_bytes =
        nwi_plans_held_bytes((const struct nw_plan *const *)plans, n_plans) +
        nwi_memory_peak(memory);
    uint64_t opening = nwi_memory_peak(plans[0]->ckpt->memory);
    if (opening > figures->peak_bytes)
        figures->peak_bytes = opening;
}

void nwi_sum_counts(const struct nwi_target_state *states, size_t n,
                    struct nw_result_figures *figures)
{
    figures->overflow = figures->flushed = 0;
    for (size_t i = 0; i < n; i++) {
        figures->overflow += states[i].overflow;
        figures->flushed += states[i].flushed;
    }
}

/* One for all plans: they are read in the order of the file, not one after the other. */
static void reserve_stretch(struct nw_weights *weights)
{
    uint64_t nbytes = 0;
    for (size_t i = 0; i < weights->n_plans; i++)
        nbytes += nwi_plan_data_bytes(weights->plans[i]);
    nwi_stretch_reserve(&weights->stretch, weights->memory, nbytes);
}

static int fill(struct nw_weights *weights, const struct nw_run_options *options,
                struct nw_error *err)
{
    struct nwi_run_request request = {
        .plans = weights->plans,
        .n_plans = weights->n_plans,
        .first_target = weights->first_target,
        .states = weights->states,
        .sink = {.ctx = weights, .place = place},
        .purpose = NWI_TO_MEMORY,
        .memory = weights->memory,
        .options = options,
    };
    number_states(weights);
    nwi_run_limit(weights->memory, weights->plans, weights->n_plans);
    reserve_stretch(weights);
    NWI_TRY(place_mapped(weights, err));
    NWI_TRY(nwi_run(&request, &weights->figures, err));
    nwi_run_peaks(weights->memory, weights->plans, weights->n_plans, NWI_TO_MEMORY,
                  &weights->figures);
    nwi_sum_counts(weights->states, weights->n_targets, &weights->figures);
    return NW_OK;
}

/* NOMEM that was our own limit is BUDGET. */
int nwi_run_code(int code, const struct nwi_memory *memory, struct nw_error *err)
{
    if (code != NW_E_NOMEM || !nwi_memory_hit_limit(memory))
        return code;
    if (err)
        err->code = NW_E_BUDGET;
    return NW_E_BUDGET;
}

int nwi_load(struct nw_plan *const *plans, size_t n_plans,
             const struct nw_run_options *options, struct nw_weights **out,
             struct nw_error *err)
{
    struct nwi_memory *memory = nwi_memory_sibling(plans[0]->ckpt->memory);
    if (!memory)
        return nwi_fail_nomem(err, nwi_memory_self_bytes());
    struct nw_weights *weights = new_weights(memory, plans, n_plans);
    if (!weights)
        return nwi_fail_nomem(err, weights_bytes(n_plans));
    int code = nwi_run_code(fill(weights, options, err), weights->memory, err);
    if (code != NW_OK) {
        nw_weights_free(weights);
        return code;
    }
    nwi_memory_set_limit(weights->memory, UINT64_MAX);
    release_loader(weights);
    *out = weights;
    return NW_OK;
}
