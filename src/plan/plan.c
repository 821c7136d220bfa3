/* SPDX-License-Identifier: Apache-2.0
 * Making and freeing a plan. */
#include "plan/plan.h"

#include <string.h>

#include "base/system.h"
#include "plan/plan_parts.h"

#define SCRATCH_LEAST (1ull << 20)

static int check_choice(const char *name, uint32_t value, uint32_t last,
                        struct nw_error *err)
{
    if (value <= last)
        return NW_OK;
    return nwi_fail(err, NW_E_ARG, "%s is %u, the largest choice is %u", name, value,
                    last);
}

static int check_choices(const struct nw_load_options *options, struct nw_error *err)
{
    NWI_TRY(check_choice("fp8_overflow", options->fp8_overflow, NW_FP8_NAN, err));
    NWI_TRY(check_choice("dequantise", options->dequantise, NW_CHOICE_NO, err));
    NWI_TRY(check_choice("copy", options->copy, NW_COPY_NEVER, err));
    NWI_TRY(check_choice("backend", options->backend, NW_BACKEND_URING, err));
    NWI_TRY(check_choice("layout", options->layout, NW_LAYOUT_ORIGINAL, err));
    NWI_TRY(check_choice("missing", options->missing, NW_MISSING_ALLOW, err));
    return check_choice("unexpected", options->unexpected, NW_UNEXPECTED_IGNORE, err);
}

static int check_options(const struct nw_load_options *options, struct nw_error *err)
{
    NWI_TRY(check_choices(options, err));
    if (options->threads != NW_THREADS_NONE && options->threads > 256)
        return nwi_fail(err, NW_E_ARG, "threads is %u, at most 256 are possible",
                        options->threads);
    if (options->scratch_bytes && options->scratch_bytes < SCRATCH_LEAST)
        return nwi_fail(err, NW_E_ARG,
                        "scratch is %llu bytes, at least %llu are needed",
                        (unsigned long long)options->scratch_bytes,
                        (unsigned long long)SCRATCH_LEAST);
    uint32_t ends = NW_LOAD_TO_FILE | NW_LOAD_TO_SINK;
    if ((options->flags & ends) == ends)
        return nwi_fail(err, NW_E_ARG,
                        "a plan goes to a file or to a sink, not to both");
    return NW_OK;
}

/* The plan keeps scalars only: lists belong to the caller and may go. */
static void keep_scalars(struct nw_plan *plan, const struct nw_load_options *options)
{
    plan->options = *options;
    plan->options.component = NULL;
    plan->options.prefix = NULL;
    plan->options.dtype_rules = plan->options.keep_fp32 = NULL;
    plan->options.only = plan->options.drop = plan->options.rename = NULL;
    plan->options.n_dtype_rules = plan->options.n_keep_fp32 = 0;
    plan->options.n_only = plan->options.n_drop = plan->options.n_rename = 0;
    plan->options.klass = plan->options.config = NULL;
    plan->options.model = NULL;
    plan->options.rules = NULL;
    plan->options.ignore = plan->options.hints = NULL;
    plan->options.n_ignore = plan->options.n_hints = 0;
}

struct nw_plan *nwi_plan_new(struct nw_checkpoint *ckpt)
{
    struct nwi_memory *memory = nwi_memory_sibling(ckpt->memory);
    if (!memory)
        return NULL;
    struct nw_plan *plan = nwi_zalloc(memory, sizeof *plan);
    if (!plan) {
        nwi_memory_release(memory);
        return NULL;
    }
    plan->refs = 1;
    plan->memory = memory;
    plan->ckpt = nwi_checkpoint_retain(ckpt);
    nwi_arena_init(&plan->arena, memory);
    return plan;
}

/* A name that no component of the folder has may be a part of an all-in-one file (the
 * component without a name): the binder looks for it there. */
static int pick_component(struct nw_plan *plan, const struct nw_load_options *options,
                          struct nw_error *err)
{
    const struct nw_checkpoint *ckpt = plan->ckpt;
    const char *name = options->component;
    bool all_in_one = !ckpt->is_pipeline && ckpt->n_components > 0 &&
                      ckpt->components[0].info.name[0] == '\0';
    for (size_t i = 0; name && i < ckpt->n_components; i++) {
        if (strcmp(ckpt->components[i].info.name, name) == 0)
            all_in_one = false;
    }
    if (all_in_one && (name || ckpt->n_components == 1))
        return NW_OK;
    return nwi_checkpoint_pick(ckpt, name, &plan->component, err);
}

static int make(struct nw_plan *plan, const struct nw_load_options *options,
                struct nw_error *err)
{
    NWI_TRY(pick_component(plan, options, err));
    NWI_TRY(nwi_plan_targets(plan, options, err));
    NWI_TRY(nwi_plan_placement(plan, err));
    NWI_TRY(nwi_plan_steps(plan, err));
    const struct nw_plan *self = plan;
    nwi_plans_cost(&self, 1, nwi_plan_purpose(plan), &plan->cost, NULL);
    /* A machine that does not tell is no reason to refuse: source stays NULL. */
    if (nwi_system_memory(&plan->machine, NULL) != NW_OK)
        plan->machine.source = NULL;
    return NW_OK;
}

/* What the bindings' policies refuse; the plan's document can be shown all the same. */
static int check_bindings(struct nw_plan *plan, struct nw_error *err)
{
    const struct nwi_bindings *bindings = &plan->bindings;
    if (bindings->refused == NW_OK)
        return NW_OK;
    plan->refused = bindings->refused;
    int code = nwi_fail(err, bindings->refused, "%s", bindings->refusal);
    if (bindings->refused_tensor)
        code = nwi_error_in_tensor(err, code, bindings->refused_tensor);
    return code;
}

static int check_budget(struct nw_plan *plan, struct nw_error *err)
{
    plan->budget_bytes = plan->options.budget_bytes;
    if (plan->budget_bytes == NW_BUDGET_AUTO) {
        if (!plan->machine.source)
            return nwi_fail(err, NW_E_UNSUPPORTED,
                            "this system does not tell how much memory is left");
        plan->budget_bytes = plan->machine.available_bytes;
    }
    if (!plan->budget_bytes || plan->cost.peak_bytes <= plan->budget_bytes)
        return NW_OK;
    plan->refused = NW_E_BUDGET;
    return nwi_fail(
        err, NW_E_BUDGET,
        "the predicted peak of %llu bytes is larger than the budget of %llu bytes",
        (unsigned long long)plan->cost.peak_bytes,
        (unsigned long long)plan->budget_bytes);
}

int nwi_plan_create(struct nw_checkpoint *ckpt, const struct nw_load_options *options,
                    struct nw_plan **out, struct nw_error *err)
{
    NWI_TRY(check_options(options, err));
    NWI_TRY(nwi_checkpoint_refuse(ckpt, err));
    struct nw_plan *plan = nwi_plan_new(ckpt);
    if (!plan)
        return nwi_fail_nomem(err, sizeof *plan);
    keep_scalars(plan, options);
    int code = make(plan, options, err);
    if (code != NW_OK) {
        nw_plan_free(plan);
        return code;
    }
    *out = plan;
    NWI_TRY(check_bindings(plan, err));
    return check_budget(plan, err);
}

struct nw_plan *nwi_plan_retain(struct nw_plan *plan)
{
    __atomic_fetch_add(&plan->refs, 1, __ATOMIC_RELAXED);
    return plan;
}

void nw_plan_free(struct nw_plan *plan)
{
    if (!plan || __atomic_sub_fetch(&plan->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    struct nwi_memory *memory = plan->memory;
    nwi_arena_release(&plan->arena);
    nw_checkpoint_free(plan->ckpt);
    nwi_free(memory, plan, sizeof *plan);
    nwi_memory_release(memory);
}
