/* SPDX-License-Identifier: Apache-2.0
 * Reading, taking and releasing the tensors of a load. */
#include <string.h>

#include "run/result.h"
#include "run/storage.h"

size_t nw_weights_count(const struct nw_weights *weights)
{
    return weights->n_targets;
}

int nw_weights_tensor(const struct nw_weights *weights, size_t i, struct nw_tensor *out)
{
    memset(out, 0, sizeof *out);
    if (i >= weights->n_targets)
        return NW_E_ARG;
    if (!weights->storages[i])
        return NW_E_NOT_FOUND;
    nwi_storage_describe(weights->storages[i], out);
    return NW_OK;
}

/* Names of one plan at a time: loops over one component's names stay linear. */
static int index_names(struct nw_weights *weights, size_t plan, struct nw_error *err)
{
    if (weights->names_plan == plan)
        return NW_OK;
    const struct nw_plan *owner = weights->plans[plan];
    nwi_map_release(&weights->names);
    weights->names_plan = NW_NONE;
    if (nwi_map_init(&weights->names, weights->memory, owner->n_targets) != NW_OK)
        return nwi_fail_nomem(err, owner->n_targets);
    for (size_t i = 0; i < owner->n_targets; i++) {
        const struct nw_target *target = &owner->targets[i].info;
        uint32_t existing;
        if (nwi_map_add(&weights->names, target->name, target->name_size, (uint32_t)i,
                        &existing) != NW_OK)
            return nwi_fail_nomem(err, owner->n_targets);
    }
    weights->names_plan = plan;
    return NW_OK;
}

int nw_weights_get(const struct nw_weights *weights, size_t plan, const char *name,
                   struct nw_tensor *out, struct nw_error *err)
{
    nwi_error_clear(err);
    memset(out, 0, sizeof *out);
    if (plan >= weights->n_plans)
        return nwi_fail(err, NW_E_ARG, "plan %zu was asked for, there are %zu", plan,
                        weights->n_plans);
    /* The index is a cache: the handle belongs to one thread at a time. */
    NWI_TRY(index_names((struct nw_weights *)(uintptr_t)weights, plan, err));
    uint32_t row = nwi_map_find(&weights->names, name, strlen(name));
    struct nw_storage *storage =
        row == NWI_MAP_NONE ? NULL
                            : weights->storages[weights->first_target[plan] + row];
    if (!storage) {
        int code = nwi_fail(err, NW_E_NOT_FOUND, "there is no tensor of that name%s",
                            row == NWI_MAP_NONE ? "" : " any more");
        return nwi_error_in_tensor(err, code, name);
    }
    nwi_storage_describe(storage, out);
    return NW_OK;
}

int nw_weights_take(struct nw_weights *weights, size_t i, struct nw_tensor *out,
                    struct nw_error *err)
{
    nwi_error_clear(err);
    int code = nw_weights_tensor(weights, i, out);
    if (code == NW_E_ARG)
        return nwi_fail(err, code, "tensor %zu was asked for, there are %zu", i,
                        weights->n_targets);
    if (code != NW_OK)
        return nwi_fail(err, code, "tensor %zu was taken or released before", i);
    weights->storages[i] = NULL;
    return NW_OK;
}

int nw_weights_release(struct nw_weights *weights, size_t i)
{
    if (i >= weights->n_targets)
        return NW_E_ARG;
    if (!weights->storages[i])
        return NW_E_NOT_FOUND;
    nw_storage_release(weights->storages[i]);
    weights->storages[i] = NULL;
    return NW_OK;
}

int nw_weights_result(const struct nw_weights *weights, struct nw_result **out,
                      struct nw_error *err)
{
    nwi_error_clear(err);
    *out = NULL;
    return nwi_result_new(weights->memory, &weights->figures, weights->plans,
                          weights->states, weights->n_targets, out, err);
}
