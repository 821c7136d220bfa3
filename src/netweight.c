/* SPDX-License-Identifier: Apache-2.0
 * Public entry points: check arguments, complete options, call inside, nothing else. */
#include "netweight.h"

#include "base/options.h"
#include "base/system.h"
#include "layout/detection.h"
#include "layout/rules_text.h"
#include "model/model.h"
#include "run/result.h"

#define STRING_OF(x) #x
#define STRING(x)    STRING_OF(x)

const char *nw_version(void)
{
    return STRING(NW_VERSION_MAJOR) "." STRING(NW_VERSION_MINOR) "." STRING(
        NW_VERSION_PATCH);
}

static const char *cpu_name(void)
{
    uint32_t levels = nwi_cpu_detect();
    if (levels & NW_CPU_AVX512)
        return "avx512";
    if (levels & NW_CPU_AVX2)
        return "avx2";
    return levels & NW_CPU_NEON ? "neon" : "scalar";
}

int nw_feature(size_t i, struct nw_feature *out)
{
    struct nw_feature features[] = {
        {"cpu", cpu_name()},
#ifdef NWI_HAVE_URING
        {"io_uring", "yes"},
#else
        {"io_uring", "no"},
#endif
#ifdef NWI_HAVE_CRYPTO
        {"sha256", "yes"},
#else
        {"sha256", "no"},
#endif
#ifdef NWI_HAVE_YAML
        {"yaml", "yes"},
#else
        {"yaml", "no"},
#endif
    };
    if (i >= sizeof features / sizeof *features)
        return 0;
    *out = features[i];
    return 1;
}

/* ---- options ---- */

static int need(const void *argument, const char *name, struct nw_error *err)
{
    return argument ? NW_OK : nwi_fail(err, NW_E_ARG, "%s is NULL", name);
}

static int complete_open(struct nw_open_options *dst,
                         const struct nw_open_options *options, struct nw_error *err)
{
    NWI_TRY(nwi_options_read(dst, sizeof *dst, options, "nw_open_options", err));
    if (!dst->allocator.alloc != !dst->allocator.free)
        return nwi_fail(err, NW_E_ARG, "an allocator needs both alloc and free");
    if (dst->use_safetensors > NW_CHOICE_NO)
        return nwi_fail(err, NW_E_ARG,
                        "use_safetensors is %u, the largest choice is %u",
                        dst->use_safetensors, (unsigned)NW_CHOICE_NO);
    return NW_OK;
}

/* ---- opening ---- */

static int begin_open(const void *what, const char *name, struct nw_checkpoint **out,
                      const struct nw_open_options *options,
                      struct nw_open_options *full, struct nw_error *err)
{
    nwi_error_clear(err);
    NWI_TRY(need(out, "out", err));
    *out = NULL;
    NWI_TRY(need(what, name, err));
    return complete_open(full, options, err);
}

int nw_open(const char *path, const struct nw_open_options *options,
            struct nw_checkpoint **out, struct nw_error *err)
{
    struct nw_open_options full;
    NWI_TRY(begin_open(path, "path", out, options, &full, err));
    return nwi_open_path(path, &full, out, err);
}

int nw_open_fd(int fd, const char *name, const struct nw_open_options *options,
               struct nw_checkpoint **out, struct nw_error *err)
{
    struct nw_open_options full;
    NWI_TRY(begin_open(name, "name", out, options, &full, err));
    struct nwi_memory *memory = nwi_memory_new(&full.allocator);
    if (!memory)
        return nwi_fail_nomem(err, nwi_memory_self_bytes());
    struct nwi_file *file = NULL;
    int code = nwi_file_from_fd(fd, name, memory, &file, err);
    if (code == NW_OK)
        code = nwi_open_file(file, &full, memory, out, err);
    nwi_memory_release(memory);
    return code;
}

int nw_open_memory(const void *data, size_t nbytes, const char *name,
                   const struct nw_open_options *options, struct nw_checkpoint **out,
                   struct nw_error *err)
{
    struct nw_open_options full;
    NWI_TRY(begin_open(name, "name", out, options, &full, err));
    if (nbytes)
        NWI_TRY(need(data, "data", err));
    struct nwi_memory *memory = nwi_memory_new(&full.allocator);
    if (!memory)
        return nwi_fail_nomem(err, nwi_memory_self_bytes());
    struct nwi_file *file = NULL;
    int code = nwi_file_from_memory(data, nbytes, name, memory, &file, err);
    if (code == NW_OK)
        code = nwi_open_file(file, &full, memory, out, err);
    nwi_memory_release(memory);
    return code;
}

int nw_open_input(const struct nw_input *input, const char *name,
                  const struct nw_open_options *options, struct nw_checkpoint **out,
                  struct nw_error *err)
{
    struct nw_open_options full;
    NWI_TRY(begin_open(name, "name", out, options, &full, err));
    NWI_TRY(need(input, "input", err));
    if (!input->read_at)
        return nwi_fail(err, NW_E_ARG, "the input has no read_at");
    struct nwi_memory *memory = nwi_memory_new(&full.allocator);
    if (!memory)
        return nwi_fail_nomem(err, nwi_memory_self_bytes());
    struct nwi_file *file = NULL;
    int code = nwi_file_from_input(input, name, memory, &file, err);
    if (code == NW_OK)
        code = nwi_open_file(file, &full, memory, out, err);
    nwi_memory_release(memory);
    return code;
}

/* ---- what it is ---- */

int nw_detect(const struct nw_checkpoint *ckpt, const char *const *hints,
              size_t n_hints, struct nw_detection **out, struct nw_error *err)
{
    const struct nwi_hints given = {hints, n_hints};
    nwi_error_clear(err);
    NWI_TRY(need(out, "out", err));
    *out = NULL;
    NWI_TRY(need(ckpt, "ckpt", err));
    if (n_hints)
        NWI_TRY(need((const void *)hints, "hints", err));
    return nwi_detection_new(ckpt, &given, out, err);
}

/* ---- what is wanted ---- */

/* Memory that counts for itself; NULL after a failure. */
static struct nwi_memory *model_memory(const struct nw_allocator *allocator,
                                       struct nw_error *err)
{
    if (allocator && !allocator->alloc != !allocator->free) {
        (void)nwi_fail(err, NW_E_ARG, "an allocator needs both alloc and free");
        return NULL;
    }
    struct nwi_memory *memory = nwi_memory_new(allocator);
    if (!memory)
        (void)nwi_fail_nomem(err, nwi_memory_self_bytes());
    return memory;
}

int nw_model_from_config(const char *json, size_t json_size, const char *klass,
                         const struct nw_allocator *allocator, struct nw_model **out,
                         struct nw_error *err)
{
    struct nw_error local = {0};
    err = err ? err : &local;
    nwi_error_clear(err);
    NWI_TRY(need(out, "out", err));
    *out = NULL;
    if (!json && !klass)
        return nwi_fail(err, NW_E_ARG, "a model needs a config or a class");
    struct nwi_memory *memory = model_memory(allocator, err);
    if (!memory)
        return err->code;
    int code = nwi_model_from_json(json, json_size, klass, memory, out, err);
    nwi_memory_release(memory);
    return code;
}

int nw_model_from_table(const struct nw_model_table *table,
                        const struct nw_allocator *allocator, struct nw_model **out,
                        struct nw_error *err)
{
    struct nw_error local = {0};
    struct nw_model_table full;
    err = err ? err : &local;
    nwi_error_clear(err);
    NWI_TRY(need(out, "out", err));
    *out = NULL;
    NWI_TRY(need(table, "table", err));
    NWI_TRY(nwi_options_read(&full, sizeof full, table, "nw_model_table", err));
    struct nwi_memory *memory = model_memory(allocator, err);
    if (!memory)
        return err->code;
    int code = nwi_model_from_table(&full, memory, out, err);
    nwi_memory_release(memory);
    return code;
}

int nw_rules_from_text(const char *text, size_t size,
                       const struct nw_allocator *allocator, struct nw_rules **out,
                       struct nw_error *err)
{
    struct nw_error local = {0};
    err = err ? err : &local;
    nwi_error_clear(err);
    NWI_TRY(need(out, "out", err));
    *out = NULL;
    if (size > 0)
        NWI_TRY(need(text, "text", err));
    struct nwi_memory *memory = model_memory(allocator, err);
    if (!memory)
        return err->code;
    int code = nwi_rules_new(size > 0 ? text : "", size, memory, out, err);
    nwi_memory_release(memory);
    return code;
}

void nw_rules_free(struct nw_rules *rules)
{
    nwi_rules_free(rules);
}

/* ---- planning ---- */

int nw_plan_create(struct nw_checkpoint *ckpt, const struct nw_load_options *options,
                   struct nw_plan **out, struct nw_error *err)
{
    struct nw_load_options full;
    nwi_error_clear(err);
    NWI_TRY(need(out, "out", err));
    *out = NULL;
    NWI_TRY(need(ckpt, "ckpt", err));
    NWI_TRY(nwi_options_read(&full, sizeof full, options, "nw_load_options", err));
    return nwi_plan_create(ckpt, &full, out, err);
}

/* ---- running ---- */

static int check_plans(struct nw_plan *const *plans, size_t n_plans,
                       struct nw_error *err)
{
    NWI_TRY(need(plans, "plans", err));
    if (n_plans == 0)
        return nwi_fail(err, NW_E_ARG, "there is no plan to run");
    for (size_t i = 0; i < n_plans; i++) {
        NWI_TRY(need(plans[i], "a plan", err));
        if (plans[i]->ckpt != plans[0]->ckpt)
            return nwi_fail(err, NW_E_ARG,
                            "plans 0 and %zu are of different checkpoints", i);
        if (plans[i]->refused != NW_OK)
            return nwi_fail(err, NW_E_ARG, "plan %zu was refused (%s)", i,
                            nw_code_name(plans[i]->refused));
    }
    return NW_OK;
}

static int begin_run(struct nw_plan *const *plans, size_t n_plans,
                     const struct nw_run_options *options, struct nw_run_options *full,
                     struct nw_error *err)
{
    NWI_TRY(check_plans(plans, n_plans, err));
    return nwi_options_read(full, sizeof *full, options, "nw_run_options", err);
}

int nw_plans_run(struct nw_plan *const *plans, size_t n_plans,
                 const struct nw_run_options *options, struct nw_weights **out,
                 struct nw_error *err)
{
    struct nw_run_options full;
    nwi_error_clear(err);
    NWI_TRY(need(out, "out", err));
    *out = NULL;
    NWI_TRY(begin_run(plans, n_plans, options, &full, err));
    return nwi_load(plans, n_plans, &full, out, err);
}

int nw_plan_run(struct nw_plan *plan, const struct nw_run_options *options,
                struct nw_weights **out, struct nw_error *err)
{
    return nw_plans_run(&plan, 1, options, out, err);
}

int nw_plans_write(struct nw_plan *const *plans, size_t n_plans, const char *path,
                   const struct nw_write_options *write_options,
                   const struct nw_run_options *run_options, struct nw_result **out,
                   struct nw_error *err)
{
    struct nw_run_options full;
    struct nw_write_options full_write;
    nwi_error_clear(err);
    if (out)
        *out = NULL;
    NWI_TRY(need(path, "path", err));
    NWI_TRY(begin_run(plans, n_plans, run_options, &full, err));
    NWI_TRY(nwi_options_read(&full_write, sizeof full_write, write_options,
                             "nw_write_options", err));
    return nwi_write(plans, n_plans, path, &full_write, &full, out, err);
}

int nw_plan_write(struct nw_plan *plan, const char *path,
                  const struct nw_write_options *write_options,
                  const struct nw_run_options *run_options, struct nw_result **out,
                  struct nw_error *err)
{
    return nw_plans_write(&plan, 1, path, write_options, run_options, out, err);
}

int nw_plans_deliver(struct nw_plan *const *plans, size_t n_plans,
                     const struct nw_sink *sink, const struct nw_run_options *options,
                     struct nw_result **out, struct nw_error *err)
{
    struct nw_run_options full;
    nwi_error_clear(err);
    if (out)
        *out = NULL;
    NWI_TRY(need(sink, "sink", err));
    NWI_TRY(need((const void *)(uintptr_t)sink->place, "the sink's place", err));
    NWI_TRY(begin_run(plans, n_plans, options, &full, err));
    return nwi_deliver(plans, n_plans, sink, &full, out, err);
}

int nw_system_memory(struct nw_system_memory *out, struct nw_error *err)
{
    nwi_error_clear(err);
    NWI_TRY(need(out, "out", err));
    return nwi_system_memory(out, err);
}
