/* SPDX-License-Identifier: Apache-2.0
 * From the options to an open checkpoint and its plans. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "text.h"

/* One PATH: its checkpoint and the plans made on it, one a component. All zero is
 * empty. */
struct cli_input {
    const char *path; /* borrowed */
    struct nw_checkpoint *ckpt;
    struct nw_detection *detection; /* what it is made of */
    struct nw_plan **plans;         /* [n_plans] */
    const char **names;             /* [n_plans], of the components; borrowed */
    size_t n_plans;
    bool refused; /* the plans are complete, but may not be run; see `failure` */
    struct nw_error failure; /* why */
};

/* The options of nw_open; `cache` keeps the folder they point to and has to outlive
 * them. */
struct nw_open_options cli_open_options(const struct cli *cli, struct cli_text *cache);

/* nw_open as the options say; problems are listed on the checkpoint. */
int cli_open(const struct cli *cli, const char *path, struct nw_checkpoint **out,
             struct nw_error *err);

/* Opens `path` and plans what was asked for. NW_OK also if the plans are refused. On
 * failure `out->ckpt` stays open if it was, so that its problems can be told.
 * cli_input_release is due in every case. */
int cli_input_plan(const struct cli *cli, const char *path, struct cli_input *out,
                   struct nw_error *err);
void cli_input_release(struct cli_input *input);

/* Shows why an input that failed did, as cli_fail, and releases it. */
int cli_input_fail(const struct cli *cli, struct cli_input *input,
                   const struct nw_error *err);

/* The document of the plans; `result` may be NULL. */
int cli_input_document(const struct cli_input *input, const struct nw_result *result,
                       uint32_t flags, struct cli_text *out, struct nw_error *err);

/* What the options say about the document of plans (enum nw_plan_json_flag). */
uint32_t cli_plan_flags(const struct cli *cli);

#endif
