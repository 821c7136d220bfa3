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

bool nwi_step_wanted(const struct nw_plan *plan, const struct nwi_step *step,
                     enum nwi_purpose purpose)
{
    return purpose != NWI_TO_MEMORY ||
           !nwi_target_mapped(&plan->targets[step->target]) ||
           plan->options.flags & NW_LOAD_DIGEST;
}

static uint64_t count_read_bytes(const struct nw_plan *plan, enum nwi_purpose purpose)
{
    uint64_t n = 0;
    for (size_t i = 0; i < plan->n_steps; i++) {
        if (nwi_step_wanted(plan, &plan->steps[i], purpose))
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

uint64_t nwi_plan_data_bytes(const struct nw_plan *plan)
{
    uint64_t n = 0;
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nwi_target *target = &plan->targets[i];
        if (!nwi_target_mapped(target) && target->place.pool == NWI_NO_POOL)
            n += nwi_pages_size(plan->memory, target->info.nbytes);
    }
    for (size_t i = 0; i < plan->n_pools; i++)
        n += nwi_pages_size(plan->memory, plan->pools[i].nbytes);
    return n;
}

static uint64_t memory_bytes(const struct nw_plan *plan)
{
    uint64_t n = nwi_plan_data_bytes(plan);
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nw_target *info = &plan->targets[i].info;
        n += nwi_storage_bytes(info->rank, info->name_size);
    }
    return n + plan->n_targets * sizeof(void *) + plan->n_pools * sizeof(void *);
}

/* Names and other texts stand in the output's records up to three times. */
uint64_t nwi_plan_output_bytes(const struct nw_plan *plan)
{
    const struct nw_checkpoint *ckpt = plan->ckpt;
    uint64_t n = NWI_OUTPUT_BYTES +
                 (uint64_t)plan->n_targets * NWI_OUTPUT_TARGET_BYTES +
                 (uint64_t)ckpt->n_metadata * NWI_OUTPUT_PAIR_BYTES;
    for (size_t i = 0; i < ckpt->n_others; i++)
        n += NWI_OUTPUT_OTHER_BYTES + 3 * (strlen(ckpt->others[i].name) + 1);
    for (size_t i = 0; i < ckpt->n_components; i++)
        n += NWI_OUTPUT_OTHER_BYTES +
             3 * (strlen(ckpt->components[i].info.name) + sizeof "/config.json");
    if (plan->bindings.config_text || plan->bindings.config_path)
        n += (NWI_PIPELINE_OTHERS + 1) * NWI_OUTPUT_OTHER_BYTES +
             NWI_PIPELINE_NAME_BYTES;
    return n;
}

static uint32_t decide_threads(const struct nw_load_options *options,
                               uint64_t read_bytes)
{
    if (options->threads == NW_THREADS_NONE || read_bytes < ONE_THREAD_BELOW)
        return 0;
    return options->threads ? options->threads : nwi_cpu_count();
}

/* Automatic threads may grow where a reader blocks: records are there for that. */
static uint32_t decide_workers(const struct nw_load_options *options, uint32_t threads)
{
    if (options->threads == 0 && threads > 0)
        return (uint32_t)nwi_max(threads, NWI_AUTO_WORKERS);
    return threads ? threads : 1;
}

static struct nwi_footprint footprint(const struct nw_plan *const *plans, size_t n,
                                      enum nwi_purpose purpose, uint64_t read_bytes)
{
    const struct nw_checkpoint *ckpt = plans[0]->ckpt;
    struct nwi_footprint need = {0};
    for (size_t i = 0; i < n; i++) {
        const struct nw_plan *plan = plans[i];
        need.records += NWI_RUN_RECORD_BYTES;
        need.records += (uint64_t)plan->n_targets * NWI_TARGET_RECORD_BYTES;
        if (n > 1)
            need.records += (uint64_t)plan->n_steps * NWI_STEP_REF_BYTES;
        if (purpose == NWI_TO_MEMORY)
            need.results += memory_bytes(plan);
        if (purpose == NWI_TO_FILE)
            need.records += nwi_plan_output_bytes(plan);
    }
    need.ring = ring_bytes(&plans[0]->options, read_bytes);
    need.threads = decide_threads(&plans[0]->options, read_bytes);
    need.n_workers = decide_workers(&plans[0]->options, need.threads);
    need.records += nwi_memory_self_bytes() + need.n_workers * NWI_WORKER_RECORD_BYTES;
    need.records += ckpt->n_files * NWI_FILE_RECORD_BYTES;
    if (purpose == NWI_TO_MEMORY)
        need.records += ckpt->n_files * (sizeof(void *) + NWI_MAPPING_RECORD_BYTES);
    return need;
}

static void add_bytes(const struct nw_plan *plan, enum nwi_purpose purpose,
                      struct nw_cost *sum)
{
    sum->read_bytes += count_read_bytes(plan, purpose);
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nw_target *target = &plan->targets[i].info;
        sum->final_bytes += target->nbytes;
        if (purpose == NWI_TO_FILE)
            sum->disk_bytes += target->nbytes;
        if (purpose == NWI_TO_MEMORY && target->op == NW_OP_MAP)
            sum->zero_copy_bytes += target->nbytes;
    }
}

uint64_t nwi_plans_held_bytes(const struct nw_plan *const *plans, size_t n)
{
    uint64_t held = n ? nwi_memory_used(plans[0]->ckpt->memory) : 0;
    for (size_t i = 0; i < n; i++)
        held += nwi_memory_used(plans[i]->memory);
    return held;
}

void nwi_plans_cost(const struct nw_plan *const *plans, size_t n,
                    enum nwi_purpose purpose, struct nw_cost *out,
                    struct nwi_footprint *need)
{
    struct nwi_footprint unused;
    memset(out, 0, sizeof *out);
    if (!need)
        need = &unused;
    memset(need, 0, sizeof *need);
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        add_bytes(plans[i], purpose, out);
    *need = footprint(plans, n, purpose, out->read_bytes);
    out->scratch_bytes = need->ring + need->records;
    out->peak_bytes =
        nwi_plans_held_bytes(plans, n) + need->results + out->scratch_bytes;
    out->peak_bytes = nwi_max(out->peak_bytes, nwi_memory_peak(plans[0]->ckpt->memory));
    /* Making a plan takes more for a moment than the plan. */
    for (size_t i = 0; i < n; i++)
        out->peak_bytes =
            nwi_max(out->peak_bytes, nwi_memory_used(plans[0]->ckpt->memory) +
                                         nwi_memory_peak(plans[i]->memory));
}

enum nwi_purpose nwi_plan_purpose(const struct nw_plan *plan)
{
    if (plan->options.flags & NW_LOAD_TO_FILE)
        return NWI_TO_FILE;
    return plan->options.flags & NW_LOAD_TO_SINK ? NWI_TO_SINK : NWI_TO_MEMORY;
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
