/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_INSPECT_VIEW_H
#define CLI_INSPECT_VIEW_H

#include "command.h"
#include "text.h"

/* What inspect prints for people about one checkpoint. */
void cli_inspect_view(const struct cli *cli, const char *path,
                      const struct nw_checkpoint *ckpt, struct cli_text *out);

#endif
