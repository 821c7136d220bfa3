/* SPDX-License-Identifier: Apache-2.0
 * Several plans as one: the parts of a pipeline that go into one file. */
#include "plan/plan_parts.h"

#include <string.h>

#include "base/map.h"

/* Several original names in one file are told apart as its tradition does. */
static int put_prefix(struct nw_plan *merged, const char *prefix,
                      struct nw_target *target, struct nw_error *err)
{
    char *name = nwi_arena_printf(&merged->arena, "%s%s", prefix, target->name);
    if (!name)
        return nwi_fail_nomem(err, target->name_size);
    target->name = name;
    target->name_size += strlen(prefix);
    return NW_OK;
}

static int add_targets(struct nw_plan *merged, const struct nw_plan *plan,
                       struct nw_error *err)
{
    const char *prefix = plan->bindings.file_prefix;
    uint32_t first = (uint32_t)merged->n_targets;
    memcpy(merged->targets + merged->n_targets, plan->targets,
           plan->n_targets * sizeof *plan->targets);
    for (size_t i = first; prefix && *prefix && i < first + plan->n_targets; i++)
        NWI_TRY(put_prefix(merged, prefix, &merged->targets[i].info, err));
    merged->n_targets += plan->n_targets;
    for (size_t i = 0; i < plan->n_steps; i++) {
        struct nwi_step *step = &merged->steps[merged->n_steps++];
        *step = plan->steps[i];
        step->target += first;
    }
    return NW_OK;
}

static int check_names(const struct nw_plan *merged, struct nw_error *err)
{
    struct nwi_map map;
    int code = nwi_map_init(&map, merged->memory, merged->n_targets);
    for (size_t i = 0; i < merged->n_targets && code == NW_OK; i++) {
        const struct nw_target *info = &merged->targets[i].info;
        uint32_t existing = NWI_MAP_NONE;
        code = nwi_map_add(&map, info->name, info->name_size, (uint32_t)i, &existing);
        if (code != NW_OK || existing == NWI_MAP_NONE)
            continue;
        code = nwi_fail(err, NW_E_DUPLICATE,
                        "two components have this name, and one file was asked for: "
                        "give a folder, one component, or prefixes");
        code = nwi_error_in_tensor(err, code, info->name);
    }
    nwi_map_release(&map);
    return code == NW_E_NOMEM ? nwi_fail_nomem(err, merged->n_targets) : code;
}

static int fill(struct nw_plan *merged, struct nw_plan *const *plans, size_t n_plans,
                struct nw_error *err)
{
    size_t n_targets = 0;
    size_t n_steps = 0;
    for (size_t i = 0; i < n_plans; i++) {
        n_targets += plans[i]->n_targets;
        n_steps += plans[i]->n_steps;
    }
    merged->targets =
        nwi_arena_array(&merged->arena, n_targets, sizeof *merged->targets);
    merged->steps = nwi_arena_array(&merged->arena, n_steps, sizeof *merged->steps);
    if (!merged->targets || !merged->steps)
        return nwi_fail_nomem(err, n_targets * sizeof *merged->targets);
    for (size_t i = 0; i < n_plans; i++)
        NWI_TRY(add_targets(merged, plans[i], err));
    nwi_sort_steps(merged->steps, merged->n_steps);
    return check_names(merged, err);
}

int nwi_plans_merge(struct nw_plan *const *plans, size_t n_plans, struct nw_plan **out,
                    struct nw_error *err)
{
    struct nw_plan *merged = nwi_plan_new(plans[0]->ckpt);
    if (!merged)
        return nwi_fail_nomem(err, sizeof *merged);
    merged->options = plans[0]->options;
    merged->component = plans[0]->component;
    merged->machine = plans[0]->machine;
    merged->budget_bytes = plans[0]->budget_bytes;
    merged->bindings.component = "";
    merged->bindings.layout = plans[0]->bindings.layout;
    int code = fill(merged, plans, n_plans, err);
    if (code != NW_OK) {
        nw_plan_free(merged);
        return code;
    }
    const struct nw_plan *self = merged;
    nwi_plans_cost(&self, 1, NWI_TO_FILE, &merged->cost, NULL);
    *out = merged;
    return NW_OK;
}
