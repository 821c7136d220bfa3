/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <stdlib.h>
#include <string.h>

#include "hub.h"
#include "output.h"

struct nw_open_options cli_open_options(const struct cli *cli, struct cli_text *cache)
{
    const struct cli_options *o = &cli->options;
    struct nw_open_options open = NW_OPTIONS_INIT(open);
    cli_hub_cache(cache);
    if (cache->used > 0)
        cli_text_add(cache, "", 1); /* the NUL */
    open.flags = NW_OPEN_REPORT;
    if (o->follow_links)
        open.flags |= NW_OPEN_FOLLOW_LINKS;
    open.tolerate = o->tolerate;
    open.header_limit = o->header_limit;
    open.use_safetensors = o->use_safetensors;
    open.component = o->component;
    open.subfolder = o->subfolder;
    open.variant = o->variant;
    open.revision = o->revision;
    open.with = o->with.items;
    open.n_with = o->with.n;
    open.cache_dir = cache->failed ? NULL : cache->data;
    return open;
}

int cli_open(const struct cli *cli, const char *path, struct nw_checkpoint **out,
             struct nw_error *err)
{
    struct cli_text cache = {0};
    struct nw_open_options open = cli_open_options(cli, &cache);
    int code = nw_open(path, &open, out, err);
    cli_text_release(&cache);
    return code;
}

static struct nw_load_options load_options(const struct cli *cli)
{
    const struct cli_options *o = &cli->options;
    struct nw_load_options load = NW_OPTIONS_INIT(load);
    load.dtype = o->dtype;
    load.fp8_overflow = o->fp8_overflow;
    load.dtype_rules = o->dtype_rules.items;
    load.n_dtype_rules = o->dtype_rules.n;
    load.keep_fp32 = o->keep_fp32.items;
    load.n_keep_fp32 = o->keep_fp32.n;
    load.only = o->only.items;
    load.n_only = o->only.n;
    load.drop = o->drop.items;
    load.n_drop = o->drop.n;
    load.rename = o->rename.items;
    load.n_rename = o->rename.n;
    load.prefix = o->prefix;
    load.dequantise = o->dequantise;
    load.copy = o->copy;
    load.backend = o->backend;
    load.threads = o->threads;
    load.scratch_bytes = o->scratch;
    load.budget_bytes = o->budget;
    load.layout = o->layout;
    load.klass = o->klass;
    load.config = o->config;
    load.ignore = o->ignore.items;
    load.n_ignore = o->ignore.n;
    load.hints = o->hints.items;
    load.n_hints = o->hints.n;
    load.missing = o->missing;
    load.unexpected = o->unexpected;
    if (o->strict_cast)
        load.flags |= NW_LOAD_STRICT_CAST;
    if (o->prefault)
        load.flags |= NW_LOAD_PREFAULT;
    if (o->digest)
        load.flags |= NW_LOAD_DIGEST;
    if (o->flat)
        load.flags |= NW_LOAD_FLAT;
    if (o->ema)
        load.flags |= NW_LOAD_EMA;
    if (o->ignore_mismatched_sizes)
        load.flags |= NW_LOAD_IGNORE_MISMATCHED;
    if (o->no_keep_fp32)
        load.flags |= NW_LOAD_NO_KEEP_FP32;
    if (o->command == CLI_CONVERT)
        load.flags |= NW_LOAD_TO_FILE;
    if (o->command == CLI_DIFF)
        load.flags |= NW_LOAD_TO_SINK;
    return load;
}

/* One plan more; a refusal is kept and is no failure. */
static int add_plan(struct cli_input *input, const char *name,
                    const struct nw_load_options *options, struct nw_error *err)
{
    struct nw_plan *plan = NULL;
    int code = nw_plan_create(input->ckpt, options, &plan, err);
    if (plan == NULL)
        return code;
    input->names[input->n_plans] = name;
    input->plans[input->n_plans++] = plan;
    if (code != NW_OK && !input->refused) {
        input->refused = true;
        input->failure = *err;
    }
    return NW_OK;
}

/* True if one of the components, but the nameless one, has that name. */
static bool is_component(const struct cli_input *input, const char *name)
{
    struct nw_component component;
    for (size_t i = 0; nw_checkpoint_component(input->ckpt, i, &component) == NW_OK;
         i++)
        if (component.name[0] != '\0' && strcmp(component.name, name) == 0)
            return true;
    return false;
}

/* True if that plan tells of what the file holds outside all its parts: of a file with
 * several the denoiser's does, which it is mostly left from. */
static bool tells_rest(const struct cli_input *input, const char *const *names,
                       size_t n, size_t row)
{
    if (is_component(input, names[row]))
        return true;
    for (size_t i = 0; i < n; i++) {
        bool denoiser =
            strcmp(names[i], "unet") == 0 || strcmp(names[i], "transformer") == 0;
        if (denoiser && !is_component(input, names[i]))
            return i == row;
    }
    return row == n - 1;
}

/* The plan of a component, without averages if it has none: then `lacking` says so. */
static int add_averaged(struct cli_input *input, const char *name,
                        const struct nw_load_options *options, struct nw_error *lacking,
                        struct nw_error *err)
{
    struct nw_load_options plain = *options;
    int code = add_plan(input, name, options, err);
    if (code != NW_E_NOT_FOUND || !(options->flags & NW_LOAD_EMA))
        return code;
    *lacking = *err;
    plain.flags &= ~(uint32_t)NW_LOAD_EMA;
    return add_plan(input, name, &plain, err);
}

/* One plan a name. A component in which `only` matches nothing is left out, as long as
 * it matches somewhere; so it is enough if one has averages. */
static int add_plans(struct cli_input *input, struct nw_load_options *options,
                     const char *const *names, size_t n, struct nw_error *err)
{
    bool choosy = options->n_only > 0 && n > 1;
    uint32_t flags = options->flags;
    size_t n_averaged = 0;
    struct nw_error lacking = {0};
    for (size_t i = 0; i < n; i++) {
        lacking.code = NW_OK;
        options->component = names[i];
        options->flags = flags | (tells_rest(input, names, n, i) ? NW_LOAD_REST : 0u);
        int code = add_averaged(input, names[i], options, &lacking, err);
        if (code == NW_E_NOT_FOUND && choosy)
            continue;
        if (code != NW_OK)
            return code;
        n_averaged += lacking.code == NW_OK;
    }
    if (input->n_plans > 0 && n_averaged == 0)
        *err = lacking;
    return n_averaged > 0 ? NW_OK : err->code;
}

/* Each plan was held against the budget alone; several run together need the sum. */
static int check_total(const struct cli *cli, struct cli_input *input,
                       struct nw_error *err)
{
    struct nw_cost cost;
    struct nw_system_memory machine;
    uint64_t budget = cli->options.budget;
    if (input->n_plans < 2 || budget == 0 || input->refused)
        return NW_OK;
    if (budget == NW_BUDGET_AUTO) {
        if (nw_system_memory(&machine, err) != NW_OK)
            return err->code;
        budget = machine.available_bytes;
    }
    nw_plans_cost((const struct nw_plan *const *)input->plans, input->n_plans, &cost);
    input->refused = cost.peak_bytes > budget;
    if (input->refused)
        (void)cli_error(&input->failure, NW_E_BUDGET,
                        "the predicted peak of %llu bytes for %zu components is larger "
                        "than the budget of %llu bytes",
                        (unsigned long long)cost.peak_bytes, input->n_plans,
                        (unsigned long long)budget);
    return NW_OK;
}

/* Every component of a pipeline folder, and those taken from other files. */
static size_t list_components(const struct cli_input *input, const char **names)
{
    size_t n = 0;
    struct nw_component component;
    for (size_t i = 0; nw_checkpoint_component(input->ckpt, i, &component) == NW_OK;
         i++)
        if (component.name[0] != '\0')
            names[n++] = component.name;
    return n;
}

/* Every model that an all-in-one file holds, but those that come from elsewhere. */
static size_t list_parts(const struct cli_input *input, const char **names)
{
    size_t n = 0;
    struct nw_detected part;
    for (size_t i = 0; nw_detection_get(input->detection, i, &part) == NW_OK; i++)
        if (part.state != NW_STATE_ABSENT && part.klass != NULL &&
            !is_component(input, part.name))
            names[n++] = part.name;
    return n;
}

/* True if the names of the file's parts are to change, and none of them is picked. */
static bool wants_parts(const struct cli *cli, const struct nw_load_options *options)
{
    return options->layout >= NW_LAYOUT_DIFFUSERS && options->component == NULL &&
           options->klass == NULL && !cli->options.flat;
}

/* What is planned; none: the checkpoint as a whole. */
static size_t list_names(const struct cli *cli, const struct nw_load_options *options,
                         const struct cli_input *input, const char **names)
{
    if (options->component != NULL)
        return 0;
    size_t n = list_components(input, names);
    if (n == 0 && !wants_parts(cli, options))
        return 0;
    return n + (wants_parts(cli, options) ? list_parts(input, names + n) : 0);
}

static int plan_names(const struct cli *cli, struct cli_input *out, const char **names,
                      struct nw_error *err)
{
    struct nw_load_options options = load_options(cli);
    options.component = cli->options.component;
    size_t n = list_names(cli, &options, out, names);
    if (n > 1) {
        int code = add_plans(out, &options, names, n, err);
        return code == NW_OK ? check_total(cli, out, err) : code;
    }
    struct nw_component only = {.name = ""};
    (void)nw_checkpoint_component(out->ckpt, 0, &only);
    if (options.component == NULL)
        options.flags |= NW_LOAD_REST;
    const char *name = options.component ? options.component
                       : n == 1          ? names[0]
                                         : only.name;
    return add_plan(out, name, &options, err);
}

int cli_input_plan(const struct cli *cli, const char *path, struct cli_input *out,
                   struct nw_error *err)
{
    *out = (struct cli_input){.path = path};
    int code = cli_open(cli, path, &out->ckpt, err);
    if (code == NW_OK)
        code = nw_detect(out->ckpt, cli->options.hints.items, cli->options.hints.n,
                         &out->detection, err);
    if (code != NW_OK)
        return code;
    size_t room = nw_checkpoint_component_count(out->ckpt) +
                  nw_detection_count(out->detection) + 1;
    const char **names = calloc(room, sizeof *names);
    out->plans = calloc(room, sizeof(struct nw_plan *));
    out->names = calloc(room, sizeof *out->names);
    if (names == NULL || out->plans == NULL || out->names == NULL)
        code = cli_error(err, NW_E_NOMEM, "out of memory");
    else
        code = plan_names(cli, out, names, err);
    free(names);
    return code;
}

void cli_input_release(struct cli_input *input)
{
    for (size_t i = 0; i < input->n_plans; i++)
        nw_plan_free(input->plans[i]);
    free(input->plans);
    free(input->names);
    nw_detection_free(input->detection);
    nw_checkpoint_free(input->ckpt);
    *input = (struct cli_input){0};
}

int cli_input_fail(const struct cli *cli, struct cli_input *input,
                   const struct nw_error *err)
{
    struct nw_error told = *err; /* it may be the failure of the input */
    int status = cli_fail(cli, &told, input->ckpt);
    if (input->ckpt != NULL)
        cli_complain_rest(cli, input->path, input->ckpt);
    cli_input_release(input);
    return status;
}

uint32_t cli_plan_flags(const struct cli *cli)
{
    return cli->options.map || cli->options.digest ? NW_PLAN_JSON_TARGETS : 0;
}

int cli_input_document(const struct cli_input *input, const struct nw_result *result,
                       uint32_t flags, struct cli_text *out, struct nw_error *err)
{
    const struct nw_error *failure = input->refused ? &input->failure : NULL;
    int code = nw_plan_json((const struct nw_plan *const *)input->plans, input->n_plans,
                            flags, result, failure, cli_text_write, out, err);
    return cli_received(out, code, err);
}
