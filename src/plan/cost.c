/* SPDX-License-Identifier: Apache-2.0
 * What a run will read and allocate, from the targets, their places and the steps. */
#include "plan/plan_parts.h"

#include <string.h>

#include "base/arith.h"
#include "base/thread.h"

#define SCRATCH_DEFAULT  (64ull << 20)
#define RING_MOST        (48ull << 20) /* design section 7 */
#define RING_LEAST       (1ull << 20)
#define RING_SHARE       10 /* of the bytes that pass through it: small loads stay small */
#define ONE_THREAD_BELOW (1ull << 20) /* bytes not worth starting a thread for */

static bool to_memory(const struct nw_load_options *options)
{
    return !(options->flags & (NW_LOAD_TO_FILE | NW_LOAD_TO_SINK));
}

/* Source bytes that a run reads through the ring; mapped targets are read for a digest
 * only. */
static uint64_t count_read_bytes(const struct nw_plan *plan)
{
    uint64_t n = 0;
    for (size_t i = 0; i < plan->n_steps; i++) {
        bool mapped = nwi_target_mapped(&plan->targets[plan->steps[i].target]);
        if (!mapped || !to_memory(&plan->options) ||
            plan->options.flags & NW_LOAD_DIGEST)
            n += plan->steps[i].nbytes;
    }
    return n;
}

static uint64_t ring_bytes(const struct nw_load_options *options, uint64_t read_bytes)
{
    uint64_t scratch =
        options->scratch_bytes ? options->scratch_bytes : SCRATCH_DEFAULT;
    uint64_t most = nwi_min(RING_MOST, scratch - scratch / 4);
    if (!read_bytes)
        return 0;
    uint64_t ring = nwi_max(read_bytes / RING_SHARE, RING_LEAST);
    return nwi_round_up(nwi_min(ring, most), 4096);
}

static uint64_t results_bytes(const struct nw_plan *plan)
{
    if (!to_memory(&plan->options))
        return 0;
    uint64_t n = 0;
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nwi_target *target = &plan->targets[i];
        n += nwi_storage_bytes(target->info.rank, target->info.name_size);
        if (!nwi_target_mapped(target) && target->place.pool == NWI_NO_POOL)
            n += nwi_pages_size(plan->memory, target->info.nbytes);
    }
    for (size_t i = 0; i < plan->n_pools; i++)
        n += nwi_pages_size(plan->memory, plan->pools[i].nbytes);
    return n;
}

uint32_t nwi_plan_most_workers(const struct nw_plan *plan)
{
    bool automatic = plan->options.threads == 0 && plan->threads > 0;
    if (automatic)
        return (uint32_t)nwi_max(plan->threads, NWI_AUTO_WORKERS);
    return plan->threads ? plan->threads : 1;
}

/* Records of one plan; what a run has once, however many plans, is in
 * shared_records_bytes. */
static uint64_t records_bytes(const struct nw_plan *plan)
{
    return NWI_RUN_RECORD_BYTES +
           (uint64_t)plan->n_targets * (NWI_TARGET_RECORD_BYTES + sizeof(void *)) +
           (uint64_t)plan->n_pools * sizeof(void *);
}

static uint64_t shared_records_bytes(const struct nw_plan *const *plans, size_t n)
{
    uint64_t workers = 0;
    for (size_t i = 0; i < n; i++)
        workers = nwi_max(workers, nwi_plan_most_workers(plans[i]));
    uint64_t n_files = n ? plans[0]->ckpt->n_files : 0;
    return nwi_memory_self_bytes() + workers * NWI_WORKER_RECORD_BYTES +
           n_files * (sizeof(int) + sizeof(void *) + NWI_MAPPING_RECORD_BYTES);
}

static uint32_t decide_threads(const struct nw_load_options *options,
                               uint64_t read_bytes)
{
    if (options->threads == NW_THREADS_NONE || read_bytes < ONE_THREAD_BELOW)
        return 0;
    return options->threads ? options->threads : nwi_cpu_count();
}

static uint64_t sum_final_bytes(const struct nw_plan *plan, bool mapped_only)
{
    uint64_t n = 0;
    for (size_t i = 0; i < plan->n_targets; i++) {
        if (!mapped_only || nwi_target_mapped(&plan->targets[i]))
            n += plan->targets[i].info.nbytes;
    }
    return n;
}

void nwi_plan_cost_fill(struct nw_plan *plan)
{
    uint64_t read_bytes = count_read_bytes(plan);
    plan->threads = decide_threads(&plan->options, read_bytes);
    plan->footprint = (struct nwi_footprint){
        .results = results_bytes(plan),
        .ring = ring_bytes(&plan->options, read_bytes),
        .records = records_bytes(plan),
    };
    uint64_t final_bytes = sum_final_bytes(plan, false);
    plan->cost = (struct nw_cost){
        .read_bytes = read_bytes,
        .final_bytes = final_bytes,
        .zero_copy_bytes = to_memory(&plan->options) ? sum_final_bytes(plan, true) : 0,
        .disk_bytes = plan->options.flags & NW_LOAD_TO_FILE ? final_bytes : 0,
    };
    const struct nw_plan *self = plan;
    nwi_plans_cost(&self, 1, &plan->cost, NULL);
}

/* Adds up what several plans need beside each other; the ring is shared. */
static struct nwi_footprint sum_footprints(const struct nw_plan *const *plans, size_t n)
{
    struct nwi_footprint sum = {0};
    uint64_t read_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        read_bytes += plans[i]->cost.read_bytes;
        sum.results += plans[i]->footprint.results;
        sum.records += plans[i]->footprint.records;
        if (n > 1)
            sum.records += (uint64_t)plans[i]->n_steps * NWI_STEP_REF_BYTES;
    }
    if (n)
        sum.ring = ring_bytes(&plans[0]->options, read_bytes);
    sum.records += shared_records_bytes(plans, n);
    return sum;
}

void nwi_plans_cost(const struct nw_plan *const *plans, size_t n, struct nw_cost *out,
                    struct nwi_footprint *footprint)
{
    struct nw_cost sum = {0};
    struct nwi_footprint need = sum_footprints(plans, n);
    uint64_t held = n ? nwi_memory_used(plans[0]->ckpt->memory) : 0;
    for (size_t i = 0; i < n; i++) {
        sum.read_bytes += plans[i]->cost.read_bytes;
        sum.final_bytes += plans[i]->cost.final_bytes;
        sum.zero_copy_bytes += plans[i]->cost.zero_copy_bytes;
        sum.disk_bytes += plans[i]->cost.disk_bytes;
        held += nwi_memory_used(plans[i]->memory);
    }
    sum.scratch_bytes = need.ring + need.records;
    sum.peak_bytes = held + need.results + sum.scratch_bytes;
    if (n)
        sum.peak_bytes =
            nwi_max(sum.peak_bytes, nwi_memory_peak(plans[0]->ckpt->memory));
    *out = sum;
    if (footprint)
        *footprint = need;
}

const char *nwi_plan_fits(const struct nw_cost *cost,
                          const struct nw_system_memory *machine)
{
    if (!machine->source)
        return NULL;
    if (cost->peak_bytes > machine->available_bytes)
        return "no";
    uint64_t with_pages = cost->peak_bytes + cost->zero_copy_bytes;
    return with_pages > machine->available_bytes ? "pages" : "yes";
}
