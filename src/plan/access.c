/* SPDX-License-Identifier: Apache-2.0
 * Reading a finished plan through the public header. */
#include "plan/plan.h"

size_t nw_plan_target_count(const struct nw_plan *plan)
{
    return plan ? plan->n_targets : 0;
}

int nw_plan_target(const struct nw_plan *plan, size_t i, struct nw_target *out)
{
    if (!plan || !out || i >= plan->n_targets)
        return NW_E_ARG;
    *out = plan->targets[i].info;
    return NW_OK;
}

int nw_plan_part(const struct nw_plan *plan, size_t target, size_t i,
                 struct nw_part *out)
{
    if (!plan || !out || target >= plan->n_targets ||
        i >= plan->targets[target].info.n_parts)
        return NW_E_ARG;
    *out = plan->targets[target].parts[i];
    return NW_OK;
}

void nw_plan_cost(const struct nw_plan *plan, struct nw_cost *out)
{
    *out = plan ? plan->cost : (struct nw_cost){0};
}

void nw_plans_cost(const struct nw_plan *const *plans, size_t n_plans,
                   struct nw_cost *out)
{
    enum nwi_purpose purpose = n_plans ? nwi_plan_purpose(plans[0]) : NWI_TO_MEMORY;
    nwi_plans_cost(plans, n_plans, purpose, out, NULL);
}

void nw_plan_report(const struct nw_plan *plan, struct nw_report *out)
{
    *out = plan ? plan->report : (struct nw_report){0};
}
