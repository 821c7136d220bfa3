/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PROBLEMS_H
#define CLI_PROBLEMS_H

#include "command.h"
#include "json_view.h"
#include "text.h"

/* "  CODE  file: tensor: message", one line; `note`: it is harmless. Texts may be NULL.
 */
struct cli_problem {
    const char *code;
    const char *file;
    const char *tensor;
    const char *message;
    bool note;
};

void cli_add_problem(const struct cli *cli, struct cli_text *out,
                     const struct cli_problem *problem);

/* How many problems are listed without -v. */
#define CLI_PROBLEMS_SHOWN 20

/* "and 7 more (-v lists them)" */
void cli_add_more(struct cli_text *out, size_t n);

#endif
