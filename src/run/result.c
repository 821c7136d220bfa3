/* SPDX-License-Identifier: Apache-2.0 */
#include "run/result.h"

#include <string.h>

static void fill_target(const struct nw_plan *plan,
                        const struct nwi_target_state *state,
                        struct nw_target_result *out)
{
    *out = (struct nw_target_result){
        .overflow = state->overflow,
        .flushed = state->flushed,
        .crc32 = state->crc,
        .has_crc32 = (plan->options.flags & NW_LOAD_DIGEST) != 0,
    };
}

int nwi_result_new(struct nwi_memory *memory, const struct nw_result_figures *figures,
                   struct nw_plan *const *plans, const struct nwi_target_state *states,
                   size_t n_targets, struct nw_result **out, struct nw_error *err)
{
    struct nw_result *result = nwi_zalloc(memory, sizeof *result);
    if (!result)
        return nwi_fail_nomem(err, sizeof *result);
    result->memory = nwi_memory_retain(memory);
    result->figures = *figures;
    nwi_arena_init(&result->arena, memory);
    result->targets =
        nwi_arena_array(&result->arena, n_targets, sizeof *result->targets);
    if (!result->targets) {
        nw_result_free(result);
        return nwi_fail_nomem(err, n_targets * sizeof *result->targets);
    }
    result->n_targets = n_targets;
    for (size_t i = 0; i < n_targets; i++)
        fill_target(plans[states[i].plan], &states[i], &result->targets[i]);
    *out = result;
    return NW_OK;
}

static const char *keep(struct nw_result *result, const char *text)
{
    return nwi_arena_copy(&result->arena, text, strlen(text));
}

int nwi_result_set_written(struct nw_result *result, const struct nw_written *written,
                           size_t n, const char *const *dropped, size_t n_dropped,
                           struct nw_error *err)
{
    result->written = nwi_arena_array(&result->arena, n, sizeof *result->written);
    result->dropped =
        nwi_arena_array(&result->arena, n_dropped, sizeof *result->dropped);
    bool refused = !result->written || !result->dropped;
    for (size_t i = 0; !refused && i < n; i++) {
        result->written[i] = written[i];
        result->written[i].name = keep(result, written[i].name);
        refused = !result->written[i].name;
        result->n_written++;
    }
    for (size_t i = 0; !refused && i < n_dropped; i++) {
        result->dropped[i] = keep(result, dropped[i]);
        refused = !result->dropped[i];
        result->n_dropped++;
    }
    return refused ? nwi_fail_nomem(err, n * sizeof *written) : NW_OK;
}

int nwi_result_set_lacking(struct nw_result *result, const char *const *lacking,
                           size_t n, struct nw_error *err)
{
    result->lacking = nwi_arena_array(&result->arena, n, sizeof *result->lacking);
    if (!result->lacking)
        return nwi_fail_nomem(err, n * sizeof *lacking);
    for (size_t i = 0; i < n; i++) {
        result->lacking[i] = keep(result, lacking[i]);
        if (!result->lacking[i])
            return nwi_fail_nomem(err, strlen(lacking[i]));
        result->n_lacking++;
    }
    return NW_OK;
}

const char *nw_result_lacking(const struct nw_result *result, size_t i)
{
    return i < result->n_lacking ? result->lacking[i] : NULL;
}

void nw_result_figures(const struct nw_result *result, struct nw_result_figures *out)
{
    *out = result->figures;
}

int nw_result_target(const struct nw_result *result, size_t i,
                     struct nw_target_result *out)
{
    memset(out, 0, sizeof *out);
    if (i >= result->n_targets)
        return NW_E_ARG;
    *out = result->targets[i];
    return NW_OK;
}

size_t nw_result_written_count(const struct nw_result *result)
{
    return result->n_written;
}

int nw_result_written(const struct nw_result *result, size_t i, struct nw_written *out)
{
    memset(out, 0, sizeof *out);
    if (i >= result->n_written)
        return NW_E_ARG;
    *out = result->written[i];
    return NW_OK;
}

const char *nw_result_dropped_metadata(const struct nw_result *result, size_t i)
{
    return i < result->n_dropped ? result->dropped[i] : NULL;
}

void nw_result_free(struct nw_result *result)
{
    if (!result)
        return;
    struct nwi_memory *memory = result->memory;
    nwi_arena_release(&result->arena);
    nwi_free(memory, result, sizeof *result);
    nwi_memory_release(memory);
}
