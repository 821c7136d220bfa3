/* SPDX-License-Identifier: Apache-2.0
 * What every command gets, and the functions that are the commands. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "netweight.h"
#include "options.h"

enum cli_status {
    CLI_DONE = 0,
    CLI_FAILED = 1, /* the input cannot be used, the work failed, or the answer is no */
    CLI_USAGE = 2,
    CLI_REFUSED = 3, /* by the plan */
    CLI_INTERRUPTED = 130
};

struct cli {
    struct cli_options options;
    size_t width;     /* columns of standard output, 0 if it is no terminal */
    size_t err_width; /* the same for standard error */
    bool color;       /* on standard output */
    bool err_color;   /* on standard error */
    bool progress;    /* a bar may be shown */
};

/* One file each. All return an enum cli_status. */
int cli_inspect(struct cli *cli);
int cli_plan(struct cli *cli);
int cli_load(struct cli *cli);
int cli_convert(struct cli *cli);
int cli_diff(struct cli *cli);
int cli_verify(struct cli *cli);
int cli_families(struct cli *cli);

/* Texts made from the tables. */
struct cli_text;
void cli_usage_text(struct cli_text *out);
void cli_help_text(enum cli_command command, struct cli_text *out);
bool cli_completions_text(const char *shell, struct cli_text *out);

#endif
