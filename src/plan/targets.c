/* SPDX-License-Identifier: Apache-2.0
 * Decides for every binding what it becomes: its dtype, its operation, its kernel. */
#include "plan/plan_parts.h"

#include <string.h>

#include "plan/policy.h"
#include "tensor/dtype.h"

/* Zero copy needs one whole, dense, aligned piece of a real file. */
static bool is_one_piece(const struct nwi_binding *binding,
                         const struct nwi_stored *stored)
{
    if (binding->n_parts != 1 || stored->nbytes == 0)
        return false;
    const struct nw_part *part = &binding->parts[0];
    uint64_t dense = 1;
    for (uint32_t dim = part->rank; dim-- > 0; dense *= part->shape[dim]) {
        if (part->shape[dim] != 1 && part->strides[dim] != dense)
            return false;
    }
    return true;
}

static bool is_aligned(const struct nwi_binding *binding,
                       const struct nwi_stored *stored)
{
    uint64_t width = nw_dtype_bits(stored->dtype) / 8;
    if (width <= 1)
        return true;
    if (stored->dtype == NW_C64)
        width /= 2; /* aligned as its two halves are */
    return (stored->offset + binding->parts[0].start * width) % width == 0;
}

static bool has_mapping(const struct nw_checkpoint *ckpt,
                        const struct nwi_stored *stored)
{
    const struct nwi_file *file = ckpt->files[stored->file].file;
    return file && file->kind == NWI_FILE_FD;
}

static bool may_map(const struct nw_plan *plan)
{
    return plan->options.copy != NW_COPY_ALWAYS &&
           (plan->options.backend == NW_BACKEND_AUTO ||
            plan->options.backend == NW_BACKEND_MMAP);
}

static uint32_t choose_op(const struct nw_plan *plan, const struct nwi_binding *binding,
                          const struct nwi_stored *stored, struct nwi_target *target)
{
    if (target->info.dtype != stored->dtype)
        return NW_OP_CAST;
    if (!may_map(plan) || !has_mapping(plan->ckpt, stored) ||
        !is_one_piece(binding, stored))
        return NW_OP_COPY;
    target->unaligned = !is_aligned(binding, stored);
    return target->unaligned ? NW_OP_COPY : NW_OP_MAP;
}

static int check_copy(const struct nw_plan *plan, const struct nwi_target *target,
                      struct nw_error *err)
{
    if (plan->options.copy != NW_COPY_NEVER || nwi_target_mapped(target) ||
        target->info.nbytes == 0)
        return NW_OK;
    int code = nwi_fail(
        err, NW_E_ARG, "%s would be copied, and copying is ruled out (copy)",
        target->unaligned ? "a tensor that lies unaligned in its file" : "a tensor");
    return nwi_error_in_tensor(err, code, target->info.name);
}

static int choose_cast(struct nw_plan *plan, struct nwi_target *target,
                       struct nw_error *err)
{
    if (target->info.op != NW_OP_CAST)
        return NW_OK;
    uint32_t flags =
        plan->options.fp8_overflow == NW_FP8_NAN ? (uint32_t)NWI_CAST_FP8_NAN : 0;
    if (nwi_cast_find(target->stored_dtype, target->info.dtype, plan->ckpt->cpu_mask,
                      flags, &target->cast))
        return NW_OK;
    int code = nwi_fail(err, NW_E_UNSUPPORTED, "%s cannot be converted to %s",
                        nw_dtype_name(target->stored_dtype),
                        nw_dtype_name(target->info.dtype));
    return nwi_error_in_tensor(err, code, target->info.name);
}

static int describe(const struct nwi_binding *binding, int dtype,
                    struct nwi_target *target, struct nw_error *err)
{
    target->info = (struct nw_target){
        .name = binding->name,
        .name_size = binding->name_size,
        .dtype = dtype,
        .rank = binding->rank,
        .shape = binding->shape,
        .n_parts = binding->n_parts,
    };
    target->parts = binding->parts;
    int code = nwi_tensor_bytes(dtype, binding->shape, binding->rank, NULL,
                                &target->info.nbytes, err);
    return code == NW_OK ? code : nwi_error_in_tensor(err, code, binding->name);
}

/* A tensor that no file holds: of the type that a stored one would get. */
static int fill_constant(const struct nwi_policy *policy,
                         const struct nwi_binding *binding, struct nwi_target *target,
                         struct nw_error *err)
{
    struct nwi_decision decision = {0};
    struct nwi_stored as_stored = {
        .name = binding->name,
        .name_size = (uint32_t)binding->name_size,
        .shape = binding->shape,
        .rank = binding->rank,
        .dtype = binding->fill_dtype,
        .dtype_text = nw_dtype_name(binding->fill_dtype),
        .companion_of = NW_NONE,
    };
    NWI_TRY(nwi_tensor_bytes(binding->fill_dtype, binding->shape, binding->rank, NULL,
                             &as_stored.nbytes, err));
    NWI_TRY(nwi_policy_decide(policy, &as_stored, binding, &decision, err));
    NWI_TRY(describe(binding, decision.dtype, target, err));
    target->info.op = NW_OP_FILL;
    target->fill = binding->fill;
    target->stored_dtype = (uint8_t)decision.dtype;
    target->kept_fp32 = decision.kept_fp32;
    return NW_OK;
}

static int fill_target(struct nw_plan *plan, const struct nwi_policy *policy,
                       const struct nwi_binding *binding, struct nwi_target *target,
                       struct nw_error *err)
{
    if (binding->n_parts == 0)
        return fill_constant(policy, binding, target, err);
    const struct nwi_stored *stored = &plan->ckpt->tensors[binding->parts[0].source];
    struct nwi_decision decision = {0};
    NWI_TRY(nwi_policy_decide(policy, stored, binding, &decision, err));
    NWI_TRY(describe(binding, decision.dtype, target, err));
    target->stored_dtype = stored->dtype;
    target->kept_fp32 = decision.kept_fp32;
    target->info.op = choose_op(plan, binding, stored, target);
    NWI_TRY(check_copy(plan, target, err));
    return choose_cast(plan, target, err);
}

static void count_target(struct nw_report *report, const struct nwi_target *target)
{
    report->kept_fp32 += target->kept_fp32;
    report->unaligned += target->unaligned;
}

static void count_names(struct nw_report *report, const struct nwi_bindings *bindings)
{
    report->wanted = bindings->wanted;
    report->loaded = bindings->loaded;
    report->tied = bindings->tied.n;
    report->by_rule = bindings->by_rule.n;
    report->missing = bindings->missing.n;
    report->mismatched = bindings->n_mismatched;
    report->unexpected = bindings->unexpected.n;
    report->harmless = bindings->n_harmless;
    report->initialised = bindings->initialised.n;
    report->companions = bindings->companions.n;
}

static int bind(struct nw_plan *plan, const struct nw_load_options *options,
                struct nw_error *err)
{
    struct nwi_bindings *bindings = &plan->bindings;
    NWI_TRY(
        nwi_bind(plan->ckpt, plan->component, options, &plan->arena, bindings, err));
    count_names(&plan->report, bindings);
    if (bindings->n <= UINT32_MAX)
        return NW_OK;
    return nwi_fail(err, NW_E_LIMIT, "%zu tensors are more than a plan can hold",
                    bindings->n);
}

/* The caller's names to keep in F32, and the class's, unless those are not to count. */
static int join_keep_fp32(struct nw_plan *plan, const struct nw_load_options *options,
                          struct nw_load_options *joined, struct nw_error *err)
{
    const char *const *own = plan->bindings.keep_fp32;
    size_t n = 0;
    *joined = *options;
    if (options->flags & NW_LOAD_NO_KEEP_FP32 || !own)
        return NW_OK;
    while (own[n])
        n++;
    const char **all =
        nwi_arena_array(&plan->arena, n + options->n_keep_fp32, sizeof *all);
    if (!all)
        return nwi_fail_nomem(err, n * sizeof *all);
    memcpy(all, own, n * sizeof *all);
    for (size_t i = 0; i < options->n_keep_fp32; i++)
        all[n + i] = options->keep_fp32[i];
    joined->keep_fp32 = all;
    joined->n_keep_fp32 = n + options->n_keep_fp32;
    return NW_OK;
}

int nwi_plan_targets(struct nw_plan *plan, const struct nw_load_options *options,
                     struct nw_error *err)
{
    struct nwi_policy policy;
    struct nw_load_options joined;
    struct nwi_bindings *bindings = &plan->bindings;
    NWI_TRY(bind(plan, options, err));
    NWI_TRY(join_keep_fp32(plan, options, &joined, err));
    NWI_TRY(nwi_policy_init(&policy, &joined, &plan->arena, err));
    plan->targets = nwi_arena_array(&plan->arena, bindings->n, sizeof *plan->targets);
    if (!plan->targets)
        return nwi_fail_nomem(err, bindings->n * sizeof *plan->targets);
    memset(plan->targets, 0, bindings->n * sizeof *plan->targets);
    for (size_t i = 0; i < bindings->n; i++) {
        NWI_TRY(
            fill_target(plan, &policy, &bindings->items[i], &plan->targets[i], err));
        count_target(&plan->report, &plan->targets[i]);
        plan->n_targets++;
    }
    bindings->items = NULL; /* the targets have all of it */
    return NW_OK;
}
