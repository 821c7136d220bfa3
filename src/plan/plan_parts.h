/* SPDX-License-Identifier: Apache-2.0
 * The stages of making a plan, in order: targets, placement, steps, cost. */
#ifndef NWI_PLAN_PARTS_H
#define NWI_PLAN_PARTS_H

#include "plan/plan.h"

/* targets.c: decides dtype and operation of every binding; fills targets and the
 * report. */
int nwi_plan_targets(struct nw_plan *plan, const struct nw_load_options *options,
                     struct nw_error *err);

/* placement.c: pool blocks for small targets; NOMEM. */
int nwi_plan_placement(struct nw_plan *plan, struct nw_error *err);

/* steps.c: every target with bytes as contiguous extents, sorted by file, offset,
 * target. */
int nwi_plan_steps(struct nw_plan *plan, struct nw_error *err);

/* Sorts steps by file, offset, target. */
void nwi_sort_steps(struct nwi_step *steps, size_t n);

/* An empty plan on the checkpoint; NULL: no memory. */
struct nw_plan *nwi_plan_new(struct nw_checkpoint *ckpt);

/* True if a load to memory takes the target from a mapping of its file. */
static inline bool nwi_target_mapped(const struct nwi_target *target)
{
    return target->info.op == NW_OP_MAP;
}

#endif
