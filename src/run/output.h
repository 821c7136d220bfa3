/* SPDX-License-Identifier: Apache-2.0
 * The file sink: results as safetensors, one file or a folder. Everything is written
 * under temporary names beside its final place; nothing under a final name changes
 * before commit. */
#ifndef NWI_OUTPUT_H
#define NWI_OUTPUT_H

#include "run/sink.h"

struct nwi_output;

/* Lays out every file, checks that it may be written (ARG), creates the temporaries and
 * writes their headers. All memory comes from `memory` (of the run, so that its peak is
 * the run's; never from the checkpoint's: that one is done growing) and is counted
 * there; retained. */
int nwi_output_begin(struct nw_plan *const *plans, size_t n_plans, const char *path,
                     const struct nw_write_options *options, struct nwi_memory *memory,
                     struct nwi_output **out, struct nw_error *err);

/* The sink that fills them; valid until free. */
struct nwi_sink nwi_output_sink(struct nwi_output *output);

/* All bytes are there: fsync, rename in the order of design section 7 (Saving), remove
 * what an earlier save of the same stem, variant and format left. */
int nwi_output_commit(struct nwi_output *output, struct nw_error *err);

/* Removes the temporaries if it was not committed, and everything else of it. NULL
 * allowed. */
void nwi_output_free(struct nwi_output *output);

/* What was written, for the result; borrowed. */
size_t nwi_output_written(const struct nwi_output *output,
                          const struct nw_written **out);
/* Metadata keys dropped because the change makes them false; borrowed, n returned. */
size_t nwi_output_dropped(const struct nwi_output *output, const char *const **out);
/* Parts of a pipeline folder that could not be made ("tokenizer"); the same. */
size_t nwi_output_lacking(const struct nwi_output *output, const char *const **out);

#endif
