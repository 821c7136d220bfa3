/* SPDX-License-Identifier: Apache-2.0
 * netweight plan PATH */
#include "command.h"
#include "input.h"
#include "report.h"

int cli_plan(struct cli *cli)
{
    struct cli_input input;
    struct nw_error err;
    if (cli_input_plan(cli, cli->options.paths.items[0], &input, &err) != NW_OK)
        return cli_input_fail(cli, &input, &err);
    return cli_report_finish(cli, &input, NULL);
}
