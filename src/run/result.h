/* SPDX-License-Identifier: Apache-2.0
 * What a run did: figures, per-target counts, files written. */
#ifndef NWI_RESULT_H
#define NWI_RESULT_H

#include "run/run.h"

struct nw_result {
    struct nwi_memory *memory; /* retained */
    struct nw_result_figures figures;
    struct nw_target_result *targets; /* [n_targets] */
    size_t n_targets;
    struct nw_written *written; /* [n_written], names on the arena */
    size_t n_written;
    const char **dropped; /* [n_dropped] */
    size_t n_dropped;
    const char **lacking; /* [n_lacking] */
    size_t n_lacking;
    struct nwi_arena arena;
};

/* From the states of a finished run; `digests` tells for each plan whether it had one.
 */
int nwi_result_new(struct nwi_memory *memory, const struct nw_result_figures *figures,
                   struct nw_plan *const *plans, const struct nwi_target_state *states,
                   size_t n_targets, struct nw_result **out, struct nw_error *err);

/* Copies what was written; for results of files. */
int nwi_result_set_written(struct nw_result *result, const struct nw_written *written,
                           size_t n, const char *const *dropped, size_t n_dropped,
                           struct nw_error *err);

/* Copies the names of what a pipeline folder lacks. */
int nwi_result_set_lacking(struct nw_result *result, const char *const *lacking,
                           size_t n, struct nw_error *err);

/* ---- memory results ---- */

struct nw_weights {
    struct nwi_memory *memory; /* retained; of this run */
    struct nw_plan **plans;    /* [n_plans], retained */
    size_t *first_target;      /* [n_plans] */
    size_t n_plans;
    struct nw_storage **storages;    /* [n_targets]; NULL: taken, released */
    struct nwi_target_state *states; /* [n_targets] */
    size_t n_targets;
    struct nwi_pool **pools; /* [n_pools], plans in order; kept while loading */
    size_t *first_pool;      /* [n_plans] */
    size_t n_pools;
    struct nwi_mapping **mappings; /* [n_files], made when first wanted; likewise */
    size_t n_files;
    struct nwi_stretch
        stretch; /* tensors and blocks are cut from it; closed after loading */
    struct nw_result_figures figures;
    struct nwi_map names; /* of the plan asked for last; empty until then */
    size_t names_plan;    /* NW_NONE: none yet */
};

/* ---- what every run needs around nwi_run: load.c ---- */

/* Holds the run's memory to the plans' budget, less what they and the catalog hold. */
void nwi_run_limit(struct nwi_memory *memory, struct nw_plan *const *plans,
                   size_t n_plans);
/* Fills peak_bytes and predicted_peak_bytes. */
void nwi_run_peaks(const struct nwi_memory *memory, struct nw_plan *const *plans,
                   size_t n_plans, enum nwi_purpose purpose,
                   struct nw_result_figures *figures);
/* Fills overflow and flushed. */
void nwi_sum_counts(const struct nwi_target_state *states, size_t n,
                    struct nw_result_figures *figures);
/* NOMEM becomes BUDGET if it was the limit that refused. */
int nwi_run_code(int code, const struct nwi_memory *memory, struct nw_error *err);

/* Runs into memory. The caller has checked the plans. */
int nwi_load(struct nw_plan *const *plans, size_t n_plans,
             const struct nw_run_options *options, struct nw_weights **out,
             struct nw_error *err);

/* Runs into a file, folder or sink; `out` may be NULL. */
int nwi_write(struct nw_plan *const *plans, size_t n_plans, const char *path,
              const struct nw_write_options *write_options,
              const struct nw_run_options *options, struct nw_result **out,
              struct nw_error *err);
int nwi_deliver(struct nw_plan *const *plans, size_t n_plans,
                const struct nw_sink *sink, const struct nw_run_options *options,
                struct nw_result **out, struct nw_error *err);

#endif
