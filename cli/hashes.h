/* SPDX-License-Identifier: Apache-2.0
 * --hash: what inspect and convert say about the files themselves. */
#ifndef CLI_HASHES_H
#define CLI_HASHES_H

#include <stdint.h>

#include "command.h"
#include "json_view.h"
#include "text.h"

/* The flags of nw_checkpoint_json that --hash asks for. */
uint32_t cli_hash_flags(const struct cli *cli);

/* A table of the "hashes" of a document; nothing if it has none. */
void cli_add_hashes(const struct cli *cli, struct cli_json document,
                    struct cli_text *out);

/* Puts the hashes of what was written to `path` into `document`, before its last brace.
 */
int cli_splice_hashes(const struct cli *cli, const char *path,
                      struct cli_text *document, struct nw_error *err);

#endif
