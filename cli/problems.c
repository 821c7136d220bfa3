/* SPDX-License-Identifier: Apache-2.0 */
#include "problems.h"

#include <string.h>

#include "output.h"

static void add_part(struct cli_text *out, const char *part)
{
    if (part == NULL || part[0] == '\0')
        return;
    cli_text_safe(out, part, strlen(part));
    cli_text_puts(out, ": ");
}

void cli_add_problem(const struct cli *cli, struct cli_text *out,
                     const struct cli_problem *problem)
{
    cli_text_printf(out, "  %s%-12s%s  ",
                    cli_style(cli, problem->note ? CLI_WARN : CLI_BAD),
                    problem->note ? "note" : problem->code, cli_style(cli, CLI_PLAIN));
    add_part(out, problem->file);
    add_part(out, problem->tensor);
    cli_text_safe(out, problem->message, strlen(problem->message));
    cli_text_add(out, "\n", 1);
}

void cli_add_more(struct cli_text *out, size_t n)
{
    if (n > 0)
        cli_text_printf(out, "  and %zu more (-v lists them)\n", n);
}
