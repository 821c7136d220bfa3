/* SPDX-License-Identifier: Apache-2.0
 * Packs small targets into pool blocks, in target order. */
#include "plan/plan_parts.h"

#include "base/arith.h"

struct packer {
    struct nw_plan *plan;
    size_t capacity; /* of plan->pools */
    bool open;       /* the last block takes more */
};

static bool is_pooled(const struct nwi_target *target)
{
    return !nwi_target_mapped(target) && target->info.nbytes > 0 &&
           target->info.nbytes < NWI_POOL_LIMIT;
}

static bool new_block(struct packer *packer)
{
    struct nw_plan *plan = packer->plan;
    void *pools = plan->pools;
    if (!nwi_arena_grow(&plan->arena, &pools, plan->n_pools, &packer->capacity,
                        sizeof *plan->pools))
        return false;
    plan->pools = pools;
    uint32_t head = (uint32_t)nwi_round_up(sizeof(struct nwi_pool), NWI_POOL_ALIGN);
    plan->pools[plan->n_pools++] = (struct nwi_pool_plan){.nbytes = head};
    packer->open = true;
    return true;
}

static bool place(struct packer *packer, struct nwi_target *target)
{
    struct nw_plan *plan = packer->plan;
    uint32_t need = (uint32_t)nwi_round_up(target->info.nbytes, NWI_POOL_ALIGN);
    if (packer->open && plan->pools[plan->n_pools - 1].nbytes + need > NWI_POOL_BLOCK)
        packer->open = false;
    if (!packer->open && !new_block(packer))
        return false;
    struct nwi_pool_plan *block = &plan->pools[plan->n_pools - 1];
    target->place.pool = (uint32_t)(plan->n_pools - 1);
    target->place.pool_offset = block->nbytes;
    block->nbytes += need;
    block->n_tensors++;
    return true;
}

int nwi_plan_placement(struct nw_plan *plan, struct nw_error *err)
{
    struct packer packer = {.plan = plan};
    for (size_t i = 0; i < plan->n_targets; i++) {
        struct nwi_target *target = &plan->targets[i];
        target->place.pool = NWI_NO_POOL;
        if (is_pooled(target) && !place(&packer, target))
            return nwi_fail_nomem(err, sizeof *plan->pools);
    }
    return NW_OK;
}
