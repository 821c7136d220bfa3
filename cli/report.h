/* SPDX-License-Identifier: Apache-2.0
 * What plan, load and convert print for people. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "input.h"
#include "json_view.h"
#include "text.h"

/* The report and cost of all plans, from their document; with --map every target.
 * `result` (NULL: nothing was run) adds what the run did. */
void cli_report(const struct cli *cli, const struct cli_input *input,
                struct cli_json document, const struct nw_result *result,
                struct cli_text *out);

/* Ends plan, load and convert: prints the document or the report, then the refusal if
 * there is one. Releases `input`. */
int cli_report_finish(const struct cli *cli, struct cli_input *input,
                      const struct nw_result *result);

#endif
