/* SPDX-License-Identifier: Apache-2.0
 * inspect --recursive: every checkpoint below a folder. */
#ifndef CLI_FIND_H
#define CLI_FIND_H

#include "command.h"

/* Takes one path that is a checkpoint, or should be one. `ckpt` is what was opened
 * there and is taken over, or NULL if it was not tried. Non-zero stops. */
typedef int cli_found_fn(void *ctx, const char *path, struct nw_checkpoint *ckpt);

/* A folder that opens as a model is one; any other is searched, in the order of names:
 * its folders, and its files that look like checkpoints, each by itself. Links to
 * folders are followed with --follow-links only. NW_OK, NW_E_IO, NW_E_NOMEM. */
int cli_find(const struct cli *cli, const char *path, cli_found_fn *found, void *ctx,
             struct nw_error *err);

#endif
