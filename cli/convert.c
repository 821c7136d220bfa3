/* SPDX-License-Identifier: Apache-2.0
 * netweight convert IN OUT */
#include "command.h"
#include "input.h"
#include "output.h"
#include "progress.h"
#include "report.h"

static struct nw_write_options write_options(const struct cli_options *o)
{
    struct nw_write_options options = NW_OPTIONS_INIT(options);
    options.flags = o->overwrite ? NW_WRITE_OVERWRITE : 0;
    options.max_shard_bytes = o->max_shard_size;
    options.variant = o->out_variant;
    options.metadata = o->metadata.items;
    options.n_metadata = o->metadata.n;
    return options;
}

int cli_convert(struct cli *cli)
{
    struct cli_input input;
    struct nw_error err;
    struct cli_progress progress;
    struct nw_run_options run = NW_OPTIONS_INIT(run);
    struct nw_write_options options = write_options(&cli->options);
    struct nw_result *result = NULL;
    int code = cli_input_plan(cli, cli->options.paths.items[0], &input, &err);
    if (code != NW_OK)
        return cli_input_fail(cli, &input, &err);
    if (input.refused)
        return cli_report_finish(cli, &input, NULL);
    run.progress = cli_progress_update;
    run.progress_ctx = &progress;
    cli_progress_begin(&progress, cli, "convert");
    progress.lasting = true;
    code = nw_plans_write(input.plans, input.n_plans, cli->options.paths.items[1],
                          &options, &run, &result, &err);
    cli_progress_end(&progress);
    int status = code == NW_OK ? cli_report_finish(cli, &input, result)
                               : cli_input_fail(cli, &input, &err);
    nw_result_free(result);
    return status;
}
