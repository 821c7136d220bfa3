/* SPDX-License-Identifier: Apache-2.0
 * netweight load PATH: the weights are made, measured and given back. */
#include "command.h"
#include "input.h"
#include "progress.h"
#include "report.h"

int cli_load(struct cli *cli)
{
    struct cli_input input;
    struct nw_error err;
    struct cli_progress progress;
    struct nw_run_options run = NW_OPTIONS_INIT(run);
    struct nw_weights *weights = NULL;
    struct nw_result *result = NULL;
    int code = cli_input_plan(cli, cli->options.paths.items[0], &input, &err);
    if (code != NW_OK)
        return cli_input_fail(cli, &input, &err);
    if (input.refused)
        return cli_report_finish(cli, &input, NULL);
    run.progress = cli_progress_update;
    run.progress_ctx = &progress;
    cli_progress_begin(&progress, cli, "load");
    code = nw_plans_run(input.plans, input.n_plans, &run, &weights, &err);
    cli_progress_end(&progress);
    if (code == NW_OK)
        code = nw_weights_result(weights, &result, &err);
    nw_weights_free(weights);
    int status = code == NW_OK ? cli_report_finish(cli, &input, result)
                               : cli_input_fail(cli, &input, &err);
    nw_result_free(result);
    return status;
}
