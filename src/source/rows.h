/* SPDX-License-Identifier: Apache-2.0
 * Rows that several documents share: files, problems, failures. */
#ifndef NWI_ROWS_H
#define NWI_ROWS_H

#include "base/json_write.h"
#include "source/catalog.h"

/* "files": every file that was looked at. `ckpt` may be NULL: none. */
void nwi_put_files(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt);

/* One object: code, tensor, file, offset, message, note. */
void nwi_put_problem(struct nwi_json_writer *w, const struct nw_problem *problem);

/* The same of a failure, without the note. */
void nwi_put_failure(struct nwi_json_writer *w, const struct nw_error *failure);

/* "error": the failure, and under "all" every problem of `ckpt` (may be NULL) or, if it has none,
 * the failure itself. */
void nwi_put_error(struct nwi_json_writer *w, const struct nw_error *failure,
                   const struct nw_checkpoint *ckpt);

#endif
