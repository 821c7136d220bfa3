/* SPDX-License-Identifier: Apache-2.0
 * Everything that leaves the command: results to standard output, messages to standard
 * error. Texts are built first and printed whole, so that a failure leaves no half
 * result. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "table.h"
#include "text.h"

/* Looks at the terminal, the options and the environment (COLUMNS, NO_COLOR, TERM). */
void cli_output_init(struct cli *cli);

/* A variable of the environment; NULL if it is not set or empty. */
const char *cli_env(const char *name);

/* Prints and releases a text. CLI_DONE, or CLI_FAILED with a message. */
int cli_print(const struct cli *cli, struct cli_text *text);

/* Ends standard output: whatever could not be written is a failure. */
int cli_output_finish(const struct cli *cli, int status);

/* Says what failed: a line on standard error, with --json also a document on standard
 * output (problems of `ckpt`, which may be NULL, included). Returns the status that
 * fits the code. */
int cli_fail(const struct cli *cli, const struct nw_error *err,
             const struct nw_checkpoint *ckpt);

/* The code of a call that wrote a document into `text`: the library says that the receiver
 * stopped where in truth memory ran out. */
int cli_received(const struct cli_text *text, int code, struct nw_error *err);

/* The line on standard error alone, and the status of a code. */
void cli_complain(const struct cli *cli, const struct nw_error *err);
int cli_status_of(const struct nw_error *err);

/* A problem as an error; `path` where it names no file. */
void cli_problem_error(const char *path, const struct nw_problem *problem,
                       struct nw_error *err);

/* A line for every problem that is no note; `path` where it names no file. */
void cli_complain_problems(const struct cli *cli, const char *path,
                           const struct nw_checkpoint *ckpt);

/* The same without the first, which was told already; without -v only how many there
 * are. */
void cli_complain_rest(const struct cli *cli, const char *path,
                       const struct nw_checkpoint *ckpt);

/* A remark on standard error, unless -q. */
__attribute__((format(printf, 2, 3))) void cli_remark(const struct cli *cli,
                                                      const char *format, ...);

/* ---- pieces of human output ------------------------------------------------------ */

enum cli_style { CLI_PLAIN = 0, CLI_BOLD, CLI_GOOD, CLI_BAD, CLI_WARN };

/* The escape sequence of a style; "" without colour. */
const char *cli_style(const struct cli *cli, enum cli_style style);

/* A heading on a line of its own, after an empty one unless it is the first. */
void cli_title(const struct cli *cli, struct cli_text *out, const char *title);

/* "  label      value", cut to the terminal. `value` is released. */
void cli_field(const struct cli *cli, struct cli_text *out, const char *label,
               struct cli_text *value);

/* Prints the table below what is there, and releases it. */
void cli_add_table(const struct cli *cli, struct cli_text *out,
                   struct cli_table *table);

#endif
