/* SPDX-License-Identifier: Apache-2.0
 * The documents of `plan`, `load` and `convert`: one plan's object, or {"plans": [...]}
 * with the totals. What a run added stands at the end of the outermost object. */
#include "plan/plan.h"

#include <stdio.h>

#include "base/error.h"
#include "layout/detect.h"
#include "source/rows.h"

/* What all parts of one document share. */
struct document {
    struct nwi_json_writer json;
    const struct nw_plan *const *plans;
    size_t n_plans;
    const struct nw_result *result; /* may be NULL */
    uint32_t flags;                 /* enum nw_plan_json_flag */
    bool failed;                    /* no memory, or a file that cannot be read */
};

/* ---- values ---- */

static void write_numbers(struct nwi_json_writer *w, const char *key,
                          const uint64_t *items, size_t n)
{
    nwi_json_key(w, key);
    nwi_json_array(w);
    for (size_t i = 0; i < n; i++)
        nwi_json_uint(w, items[i]);
    nwi_json_array_end(w);
}

static void write_name(struct nwi_json_writer *w, const struct nw_target *target)
{
    nwi_json_key(w, "name");
    nwi_json_str_n(w, target->name, target->name_size);
}

/* An option's spelling: AUTO is no type of the file format. */
static const char *dtype_text(int dtype)
{
    return dtype == NW_DTYPE_AUTO ? "auto" : nw_dtype_name(dtype);
}

/* ---- report and cost ---- */

static void write_harmless(struct nwi_json_writer *w, const struct nw_plan *plan)
{
    nwi_json_key(w, "harmless");
    nwi_json_array(w);
    for (size_t i = 0; i < plan->bindings.n_harmless; i++) {
        nwi_json_object(w);
        nwi_json_put_str(w, "name", plan->bindings.harmless[i].name);
        nwi_json_put_str(w, "reason", plan->bindings.harmless[i].reason);
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

static void write_kept_fp32(struct nwi_json_writer *w, const struct nw_plan *plan)
{
    nwi_json_key(w, "kept_fp32");
    nwi_json_array(w);
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nw_target *target = &plan->targets[i].info;
        if (plan->targets[i].kept_fp32)
            nwi_json_str_n(w, target->name, target->name_size);
    }
    nwi_json_array_end(w);
}

static void write_names(struct nwi_json_writer *w, const char *key,
                        const struct nwi_names *names)
{
    nwi_json_key(w, key);
    nwi_json_array(w);
    for (size_t i = 0; i < names->n; i++)
        nwi_json_str(w, names->items[i]);
    nwi_json_array_end(w);
}

static void write_mismatched(struct nwi_json_writer *w,
                             const struct nwi_bindings *bindings)
{
    nwi_json_key(w, "mismatched");
    nwi_json_array(w);
    for (size_t i = 0; i < bindings->n_mismatched; i++) {
        const struct nwi_mismatch *row = &bindings->mismatched[i];
        nwi_json_object(w);
        nwi_json_put_str(w, "name", row->name);
        write_numbers(w, "stored", row->stored, row->stored_rank);
        write_numbers(w, "wanted", row->wanted, row->wanted_rank);
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

/* What the config says that the class does not know, or the file says otherwise. */
static void write_notes(struct nwi_json_writer *w, const struct nwi_bindings *bindings)
{
    if (bindings->n_notes == 0)
        return;
    nwi_json_key(w, "config");
    nwi_json_array(w);
    for (size_t i = 0; i < bindings->n_notes; i++) {
        const struct nwi_config_note *note = &bindings->notes[i];
        nwi_json_object(w);
        nwi_json_put_str(w, "key", note->key);
        nwi_json_put_str(w, "what", note->given ? "contradicts the file" : "unknown");
        nwi_json_put_str(w, "config", note->given);
        nwi_json_put_str(w, "file", note->derived);
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

static void write_report(struct nwi_json_writer *w, const struct nw_plan *plan)
{
    const struct nwi_bindings *bindings = &plan->bindings;
    nwi_json_key(w, "report");
    nwi_json_object(w);
    nwi_json_put_uint(w, "wanted", plan->report.wanted);
    nwi_json_put_uint(w, "loaded", plan->report.loaded);
    write_names(w, "tied", &bindings->tied);
    write_names(w, "by_rule", &bindings->by_rule);
    write_names(w, "missing", &bindings->missing);
    write_mismatched(w, bindings);
    write_names(w, "unexpected", &bindings->unexpected);
    write_harmless(w, plan);
    write_kept_fp32(w, plan);
    write_names(w, "initialised", &bindings->initialised);
    write_names(w, "companions", &bindings->companions);
    nwi_json_put_uint(w, "unaligned", plan->report.unaligned);
    write_notes(w, bindings);
    nwi_json_object_end(w);
}

static void write_cost(struct nwi_json_writer *w, const struct nw_cost *cost,
                       const struct nw_system_memory *machine)
{
    nwi_json_key(w, "cost");
    nwi_json_object(w);
    nwi_json_put_uint(w, "read_bytes", cost->read_bytes);
    nwi_json_put_uint(w, "final_bytes", cost->final_bytes);
    nwi_json_put_uint(w, "scratch_bytes", cost->scratch_bytes);
    nwi_json_put_uint(w, "peak_bytes", cost->peak_bytes);
    nwi_json_put_uint(w, "zero_copy_bytes", cost->zero_copy_bytes);
    nwi_json_put_uint(w, "disk_bytes", cost->disk_bytes);
    nwi_json_object_end(w);
    nwi_json_key(w, "machine");
    if (machine->source) {
        nwi_json_object(w);
        nwi_json_put_uint(w, "limit", machine->limit_bytes);
        nwi_json_put_uint(w, "available", machine->available_bytes);
        nwi_json_put_str(w, "source", machine->source);
        nwi_json_object_end(w);
    } else {
        nwi_json_null(w);
    }
    nwi_json_put_str(w, "fits", nwi_plan_fits(cost, machine));
}

/* ---- targets ---- */

static void write_parts(struct nwi_json_writer *w, const struct nw_plan *plan,
                        const struct nwi_target *target)
{
    const struct nw_checkpoint *ckpt = plan->ckpt;
    nwi_json_key(w, "parts");
    nwi_json_array(w);
    for (uint32_t i = 0; i < target->info.n_parts; i++) {
        const struct nw_part *part = &target->parts[i];
        const struct nwi_stored *stored = &ckpt->tensors[part->source];
        nwi_json_object(w);
        nwi_json_key(w, "source");
        nwi_json_str_n(w, stored->name, stored->name_size);
        nwi_json_put_str(w, "file", ckpt->files[stored->file].info.name);
        nwi_json_put_uint(w, "start", part->start);
        write_numbers(w, "shape", part->shape, part->rank);
        write_numbers(w, "strides", part->strides, part->rank);
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

/* `i` counts over all plans of the result. */
static void write_target_result(struct document *document, size_t i)
{
    struct nw_target_result result;
    struct nwi_json_writer *w = &document->json;
    if (!document->result || nw_result_target(document->result, i, &result) != NW_OK)
        return;
    if (result.overflow)
        nwi_json_put_uint(w, "overflow", result.overflow);
    if (result.flushed)
        nwi_json_put_uint(w, "flushed", result.flushed);
    if (result.has_crc32) {
        char text[9];
        (void)snprintf(text, sizeof text, "%08lx", (unsigned long)result.crc32);
        nwi_json_put_str(w, "crc32", text);
    }
}

static void write_targets(struct document *document, const struct nw_plan *plan,
                          size_t first)
{
    static const char *const ops[] = {
        [NW_OP_MAP] = "map",           [NW_OP_COPY] = "copy",
        [NW_OP_CAST] = "cast",         [NW_OP_DEQUANTISE] = "dequantise",
        [NW_OP_QUANTISE] = "quantise", [NW_OP_FILL] = "fill",
    };
    struct nwi_json_writer *w = &document->json;
    nwi_json_key(w, "targets");
    nwi_json_array(w);
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nw_target *info = &plan->targets[i].info;
        nwi_json_object(w);
        write_name(w, info);
        nwi_json_put_str(w, "dtype", nw_dtype_name(info->dtype));
        write_numbers(w, "shape", info->shape, info->rank);
        nwi_json_put_str(w, "device", "cpu");
        nwi_json_put_str(w, "op", ops[info->op]);
        write_parts(w, plan, &plan->targets[i]);
        write_target_result(document, first + i);
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

/* ---- one plan ---- */

/* A plan under the stored names has not looked what they are: the document does, so that
 * it says so too. */
static void write_family(struct document *document, const struct nw_plan *plan)
{
    struct nwi_arena arena;
    struct nwi_detection detection = {0};
    const struct nwi_found *found = NULL;
    const char *family = plan->bindings.family;
    const char *variant = plan->bindings.variant;
    /* Not the plan's own: its peak counts. */
    struct nwi_memory *memory = family ? NULL : nwi_memory_sibling(plan->memory);
    if (memory) {
        nwi_arena_init(&arena, memory);
        document->failed |= nwi_detect(plan->ckpt, plan->component, NULL, &arena,
                                       &detection, NULL) != NW_OK;
    } else {
        document->failed |= !family;
    }
    for (size_t i = 0; !document->failed && i < detection.n; i++) {
        const struct nwi_found *part = &detection.parts[i];
        if (part->family && (!found || part->kind == NWI_KIND_DENOISER))
            found = part;
    }
    nwi_json_put_str(&document->json, "family", found ? found->family_name : family);
    nwi_json_put_str(&document->json, "variant",
                     found && found->variant ? found->variant->name : variant);
    if (!memory)
        return;
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
}

/* The members of a plan's object; `first` is its first target's place in the result. */
static void write_plan(struct document *document, const struct nw_plan *plan,
                       size_t first)
{
    struct nwi_json_writer *w = &document->json;
    const struct nwi_bindings *bindings = &plan->bindings;
    nwi_json_put_str(w, "component", bindings->component);
    nwi_json_put_str(w, "class", bindings->klass);
    write_family(document, plan);
    nwi_json_put_str(w, "layout", bindings->layout);
    nwi_json_put_str(w, "dtype", dtype_text(plan->options.dtype));
    write_report(w, plan);
    write_cost(w, &plan->cost, &plan->machine);
    nwi_json_key(w, "device_map");
    nwi_json_object(w);
    nwi_json_object_end(w);
    /* A digest is asked for to be seen. */
    if (document->flags & NW_PLAN_JSON_TARGETS || plan->options.flags & NW_LOAD_DIGEST)
        write_targets(document, plan, first);
}

static void write_plans(struct document *document)
{
    struct nwi_json_writer *w = &document->json;
    struct nw_cost total;
    size_t first = 0;
    nwi_json_key(w, "plans");
    nwi_json_array(w);
    for (size_t i = 0; i < document->n_plans; i++) {
        nwi_json_object(w);
        write_plan(document, document->plans[i], first);
        nwi_json_object_end(w);
        first += document->plans[i]->n_targets;
    }
    nwi_json_array_end(w);
    nwi_plans_cost(document->plans, document->n_plans,
                   nwi_plan_purpose(document->plans[0]), &total, NULL);
    write_cost(w, &total, &document->plans[0]->machine);
}

/* ---- what a run did ---- */

/* Tensors with values beyond the range of their new type: a person must see them
 * without asking for every target. */
static void write_overflowed(struct document *document)
{
    struct nwi_json_writer *w = &document->json;
    size_t at = 0;
    nwi_json_key(w, "overflowed");
    nwi_json_array(w);
    for (size_t k = 0; k < document->n_plans; k++) {
        const struct nw_plan *plan = document->plans[k];
        for (size_t i = 0; i < plan->n_targets; i++, at++) {
            struct nw_target_result result;
            if (nw_result_target(document->result, at, &result) != NW_OK ||
                !result.overflow)
                continue;
            nwi_json_object(w);
            nwi_json_put_str(w, "component", plan->bindings.component);
            write_name(w, &plan->targets[i].info);
            nwi_json_put_uint(w, "overflow", result.overflow);
            nwi_json_put_uint(w, "flushed", result.flushed);
            nwi_json_object_end(w);
        }
    }
    nwi_json_array_end(w);
}

static void write_dropped_metadata(struct nwi_json_writer *w,
                                   const struct nw_result *result)
{
    const char *key = nw_result_dropped_metadata(result, 0);
    if (!key)
        return;
    nwi_json_key(w, "dropped_metadata");
    nwi_json_array(w);
    for (size_t i = 0; (key = nw_result_dropped_metadata(result, i)); i++)
        nwi_json_str(w, key);
    nwi_json_array_end(w);
}

static void write_lacking(struct nwi_json_writer *w, const struct nw_result *result)
{
    const char *name = nw_result_lacking(result, 0);
    if (!name)
        return;
    nwi_json_key(w, "lacking");
    nwi_json_array(w);
    for (size_t i = 0; (name = nw_result_lacking(result, i)); i++)
        nwi_json_str(w, name);
    nwi_json_array_end(w);
}

static void write_result(struct document *document)
{
    struct nwi_json_writer *w = &document->json;
    struct nw_result_figures figures;
    nw_result_figures(document->result, &figures);
    nwi_json_key(w, "result");
    nwi_json_object(w);
    nwi_json_key(w, "seconds");
    nwi_json_real(w, figures.seconds);
    nwi_json_put_uint(w, "read_bytes", figures.read_bytes);
    nwi_json_put_str(w, "backend", figures.backend);
    if (figures.reason)
        nwi_json_put_str(w, "reason", figures.reason);
    nwi_json_put_uint(w, "threads", figures.threads);
    nwi_json_put_uint(w, "peak_bytes", figures.peak_bytes);
    nwi_json_put_uint(w, "predicted_peak_bytes", figures.predicted_peak_bytes);
    nwi_json_put_uint(w, "baseline_bytes", figures.baseline_bytes);
    nwi_json_put_uint(w, "rss_peak_bytes", figures.rss_peak_bytes);
    nwi_json_put_uint(w, "overflow", figures.overflow);
    nwi_json_put_uint(w, "flushed", figures.flushed);
    if (figures.overflow)
        write_overflowed(document);
    write_dropped_metadata(w, document->result);
    write_lacking(w, document->result);
    nwi_json_object_end(w);
}

static void write_written(struct nwi_json_writer *w, const struct nw_result *result)
{
    size_t n = nw_result_written_count(result);
    if (n == 0)
        return;
    nwi_json_key(w, "written");
    nwi_json_array(w);
    for (size_t i = 0; i < n; i++) {
        struct nw_written row;
        if (nw_result_written(result, i, &row) != NW_OK)
            continue;
        nwi_json_object(w);
        nwi_json_put_str(w, "name", row.name);
        nwi_json_put_uint(w, "bytes", row.nbytes);
        nwi_json_put_uint(w, "tensors", row.n_tensors);
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

/* ---- the whole ---- */

static void write_failure(struct nwi_json_writer *w, const struct nw_error *failure)
{
    if (!failure || failure->code == NW_OK)
        return;
    nwi_put_error(w, failure, NULL);
}

static int check_arguments(const struct nw_plan *const *plans, size_t n_plans,
                           nw_write_fn *write, struct nw_error *err)
{
    if (!plans || n_plans == 0 || !write)
        return nwi_fail(err, NW_E_ARG,
                        "a document needs a plan and a function to write to");
    for (size_t i = 0; i < n_plans; i++) {
        if (!plans[i])
            return nwi_fail(err, NW_E_ARG, "plan %zu of %zu is NULL", i, n_plans);
    }
    return NW_OK;
}

/* NOLINTNEXTLINE(readability-function-size): a public signature */
int nw_plan_json(const struct nw_plan *const *plans, size_t n_plans, uint32_t flags,
                 const struct nw_result *result, const struct nw_error *failure,
                 nw_write_fn *write, void *ctx, struct nw_error *err)
{
    /* The caller may hand in the same struct as failure and err. */
    struct nw_error kept = failure ? *failure : (struct nw_error){0};
    nwi_error_clear(err);
    NWI_TRY(check_arguments(plans, n_plans, write, err));
    struct document document = {
        .plans = plans,
        .n_plans = n_plans,
        .result = result,
        .flags = flags,
    };
    nwi_json_writer_init(&document.json, write, ctx);
    nwi_json_object(&document.json);
    if (n_plans == 1)
        write_plan(&document, plans[0], 0);
    else
        write_plans(&document);
    if (result) {
        write_result(&document);
        write_written(&document.json, result);
    }
    write_failure(&document.json, &kept);
    nwi_json_object_end(&document.json);
    int code = nwi_json_writer_finish(&document.json);
    if (document.failed)
        return nwi_fail_nomem(err, 4096);
    if (code == NW_OK)
        return NW_OK;
    return nwi_fail(err, NW_E_CANCELLED, "the document's receiver asked to stop");
}
