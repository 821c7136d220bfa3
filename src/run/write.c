/* SPDX-License-Identifier: Apache-2.0
 * Runs whose results do not stay in memory: into files, or into a caller's sink. */
#include <string.h>

#include "base/text.h"
#include "run/output.h"
#include "run/result.h"

/* What both kinds hold while they run. */
struct delivery {
    struct nwi_memory *memory;       /* of this run */
    size_t *first_target;            /* [n_plans] */
    struct nwi_target_state *states; /* [n_targets] */
    size_t n_targets;
    struct nw_plan *const *plans;
    size_t n_plans;
};

static int delivery_init(struct delivery *delivery, struct nw_plan *const *plans,
                         size_t n_plans, struct nw_error *err)
{
    *delivery = (struct delivery){.plans = plans, .n_plans = n_plans};
    delivery->memory = nwi_memory_sibling(plans[0]->ckpt->memory);
    if (!delivery->memory)
        return nwi_fail_nomem(err, nwi_memory_self_bytes());
    nwi_run_limit(delivery->memory, plans, n_plans);
    for (size_t i = 0; i < n_plans; i++)
        delivery->n_targets += plans[i]->n_targets;
    size_t states = delivery->n_targets * NWI_TARGET_RECORD_BYTES;
    delivery->first_target =
        nwi_zalloc(delivery->memory, n_plans * sizeof *delivery->first_target);
    delivery->states = nwi_zalloc(delivery->memory, states);
    if (!delivery->first_target || (states && !delivery->states))
        return nwi_fail_nomem(err, states);
    for (size_t p = 0, first = 0; p < n_plans; first += plans[p]->n_targets, p++) {
        delivery->first_target[p] = first;
        for (size_t i = 0; i < plans[p]->n_targets; i++)
            delivery->states[first + i].plan = (uint32_t)p;
    }
    return NW_OK;
}

static void delivery_release(struct delivery *delivery)
{
    if (!delivery->memory)
        return;
    nwi_free(delivery->memory, delivery->first_target,
             delivery->n_plans * sizeof *delivery->first_target);
    nwi_free(delivery->memory, delivery->states,
             delivery->n_targets * NWI_TARGET_RECORD_BYTES);
    nwi_memory_release(delivery->memory);
}

static int delivery_run(struct delivery *delivery, enum nwi_purpose purpose,
                        struct nwi_sink sink, const struct nw_run_options *options,
                        struct nw_result_figures *figures, struct nw_error *err)
{
    struct nwi_run_request request = {
        .plans = delivery->plans,
        .n_plans = delivery->n_plans,
        .first_target = delivery->first_target,
        .states = delivery->states,
        .sink = sink,
        .purpose = purpose,
        .memory = delivery->memory,
        .options = options,
    };
    NWI_TRY(nwi_run(&request, figures, err));
    nwi_run_peaks(delivery->memory, delivery->plans, delivery->n_plans, purpose,
                  figures);
    nwi_sum_counts(delivery->states, delivery->n_targets, figures);
    return NW_OK;
}

static int delivery_result(const struct delivery *delivery,
                           const struct nw_result_figures *figures,
                           struct nw_result **out, struct nw_error *err)
{
    nwi_memory_set_limit(delivery->memory, UINT64_MAX);
    return nwi_result_new(delivery->memory, figures, delivery->plans, delivery->states,
                          delivery->n_targets, out, err);
}

/* ---- files ---- */

static int write_result(const struct delivery *delivery,
                        const struct nw_result_figures *figures,
                        const struct nwi_output *output, struct nw_result **out,
                        struct nw_error *err)
{
    const struct nw_written *written;
    const char *const *dropped;
    size_t n_written = nwi_output_written(output, &written);
    size_t n_dropped = nwi_output_dropped(output, &dropped);
    NWI_TRY(delivery_result(delivery, figures, out, err));
    const char *const *lacking;
    size_t n_lacking = nwi_output_lacking(output, &lacking);
    int code =
        nwi_result_set_written(*out, written, n_written, dropped, n_dropped, err);
    if (code == NW_OK)
        code = nwi_result_set_lacking(*out, lacking, n_lacking, err);
    if (code != NW_OK) {
        nw_result_free(*out);
        *out = NULL;
    }
    return code;
}

/* The result is made before the commit: after it, nothing may fail any more. */
static int write_files(struct delivery *delivery, const char *path,
                       const struct nw_write_options *write_options,
                       const struct nw_run_options *options, struct nw_result **out,
                       struct nw_error *err)
{
    struct nw_result_figures figures = {0};
    struct nwi_output *output = NULL;
    double begin = nwi_now();
    int code = nwi_output_begin(delivery->plans, delivery->n_plans, path, write_options,
                                delivery->memory, &output, err);
    if (code == NW_OK)
        code = delivery_run(delivery, NWI_TO_FILE, nwi_output_sink(output), options,
                            &figures, err);
    if (code == NW_OK && out)
        code = write_result(delivery, &figures, output, out, err);
    if (code == NW_OK)
        code = nwi_output_commit(output, err);
    nwi_output_free(output);
    if (out && *out && code != NW_OK) {
        nw_result_free(*out);
        *out = NULL;
    } else if (out && *out) {
        (*out)->figures.seconds = nwi_now() - begin;
    }
    return code;
}

static int write_plans(struct nw_plan *const *plans, size_t n_plans, const char *path,
                       const struct nw_write_options *write_options,
                       const struct nw_run_options *options, struct nw_result **out,
                       struct nw_error *err)
{
    struct delivery delivery;
    int code = delivery_init(&delivery, plans, n_plans, err);
    if (code == NW_OK)
        code = write_files(&delivery, path, write_options, options, out, err);
    if (delivery.memory)
        code = nwi_run_code(code, delivery.memory, err);
    delivery_release(&delivery);
    return code;
}

/* Several plans go into a folder of their components, or together into one file. */
int nwi_write(struct nw_plan *const *plans, size_t n_plans, const char *path,
              const struct nw_write_options *write_options,
              const struct nw_run_options *options, struct nw_result **out,
              struct nw_error *err)
{
    struct nw_plan *merged = NULL;
    if (n_plans < 2 || !nwi_ends_with(path, ".safetensors"))
        return write_plans(plans, n_plans, path, write_options, options, out, err);
    NWI_TRY(nwi_plans_merge(plans, n_plans, &merged, err));
    int code = write_plans(&merged, 1, path, write_options, options, out, err);
    nw_plan_free(merged);
    return code;
}

/* ---- a caller's sink ---- */

struct caller {
    struct nw_sink sink;
    const struct delivery *delivery;
};

static int caller_answer(int answer, const char *what, struct nw_error *err)
{
    if (answer == 0)
        return NW_OK;
    return nwi_fail(err, NW_E_DEVICE, "the sink's %s returned %d", what, answer);
}

static int caller_place(void *ctx, size_t number, void **dst, struct nw_error *err)
{
    const struct caller *caller = ctx;
    const struct delivery *delivery = caller->delivery;
    size_t plan = delivery->states[number].plan;
    const struct nwi_target *target =
        &delivery->plans[plan]->targets[number - delivery->first_target[plan]];
    *dst = NULL;
    return caller_answer(
        caller->sink.place(caller->sink.ctx, number, &target->info, dst), "place", err);
}

static int caller_write(void *ctx, size_t number, uint64_t offset, const void *data,
                        size_t nbytes, struct nw_error *err)
{
    const struct caller *caller = ctx;
    if (!caller->sink.write)
        return nwi_fail(err, NW_E_ARG, "the sink gave no destination and has no write");
    return caller_answer(
        caller->sink.write(caller->sink.ctx, number, offset, data, nbytes), "write",
        err);
}

static int caller_done(void *ctx, size_t number, struct nw_error *err)
{
    const struct caller *caller = ctx;
    if (!caller->sink.done)
        return NW_OK;
    return caller_answer(caller->sink.done(caller->sink.ctx, number), "done", err);
}

int nwi_deliver(struct nw_plan *const *plans, size_t n_plans,
                const struct nw_sink *sink, const struct nw_run_options *options,
                struct nw_result **out, struct nw_error *err)
{
    struct delivery delivery;
    struct nw_result_figures figures = {0};
    struct caller caller = {.sink = *sink, .delivery = &delivery};
    struct nwi_sink inner = {.ctx = &caller,
                             .place = caller_place,
                             .write = caller_write,
                             .done = caller_done};
    int code = delivery_init(&delivery, plans, n_plans, err);
    if (code == NW_OK)
        code = delivery_run(&delivery, NWI_TO_SINK, inner, options, &figures, err);
    if (code == NW_OK && out)
        code = delivery_result(&delivery, &figures, out, err);
    if (delivery.memory)
        code = nwi_run_code(code, delivery.memory, err);
    delivery_release(&delivery);
    return code;
}
