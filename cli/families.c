/* SPDX-License-Identifier: Apache-2.0
 * netweight families */
#include "command.h"
#include "output.h"

int cli_families(struct cli *cli)
{
    struct cli_text text = {0};
    if (cli->options.json)
        cli_text_puts(&text, "{\"families\":[]}\n");
    else if (!cli->options.quiet)
        cli_text_puts(&text,
                      "  family  class  layouts\n"
                      "none: this version loads flat, under the names as stored\n");
    return cli_print(cli, &text);
}
