/* SPDX-License-Identifier: Apache-2.0
 * The plan: bindings + dtype policy + options -> targets, steps sorted by file and
 * offset, and their cost. Immutable once created; nothing here reads a tensor byte. */
#ifndef NWI_PLAN_H
#define NWI_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/bindings.h"
#include "plan/placement.h"
#include "tensor/cast.h"

/* One result tensor. */
struct nwi_target {
    struct nw_target info;
    const struct nw_part *parts;   /* [info.n_parts] */
    struct nwi_cast cast;          /* first == NULL: bytes are copied */
    struct nwi_target_place place; /* in a load to memory */
    uint8_t stored_dtype;
    uint8_t fill; /* enum nw_fill, for NW_OP_FILL */
    bool
        transposed; /* one part, a transposed matrix: its step is the whole of it as stored */
    bool kept_fp32;
    bool unaligned; /* copied only because it lies unaligned in its file */
};

/* One contiguous extent of a file that becomes one contiguous range of a target (of a
 * transposed one: its elements, wherever they go). */
struct nwi_step {
    uint64_t offset;     /* in the file */
    uint64_t nbytes;     /* a multiple of the stored element's size */
    uint64_t dst_offset; /* bytes, within the target */
    uint32_t file;       /* row of the checkpoint's files */
    uint32_t target;     /* row of targets */
};

/* Where the results of a run go. */
enum nwi_purpose { NWI_TO_MEMORY, NWI_TO_FILE, NWI_TO_SINK };

/* What a run will allocate, without the catalog and the plans (see cost.c), and with
 * how many workers. */
struct nwi_footprint {
    uint64_t results;   /* pages, pool blocks and storage records */
    uint64_t ring;      /* staging buffers, allocated as one piece */
    uint64_t records;   /* all else of a run: per target, per worker, per file */
    uint32_t threads;   /* workers; 0 = the calling thread alone */
    uint32_t n_workers; /* that there are records for */
};

struct nw_plan {
    int refs;                   /* atomic */
    struct nw_checkpoint *ckpt; /* retained */
    struct nwi_memory *memory; /* of this plan alone; same source as the checkpoint's */
    struct nwi_arena arena;
    uint32_t component;
    struct nw_load_options options; /* scalars only: its lists are not kept */
    uint64_t budget_bytes;          /* 0 = none; auto is resolved */
    struct nwi_target *targets;     /* file order */
    size_t n_targets;
    struct nwi_step *steps; /* of all targets with bytes, by file and offset */
    size_t n_steps;
    struct nwi_pool_plan *pools;
    size_t n_pools;
    struct nwi_bindings bindings; /* what it is, and every name's fate; without items */
    struct nw_report report;
    struct nw_cost cost;
    struct nw_system_memory machine; /* when the plan was made; source NULL = unknown */
    int refused; /* NW_OK, or the code with which it may not be run */
};

struct nw_plan *nwi_plan_retain(struct nw_plan *plan);

/* `options` is complete (as long as this version's struct). */
int nwi_plan_create(struct nw_checkpoint *ckpt, const struct nw_load_options *options,
                    struct nw_plan **out, struct nw_error *err);

/* Several plans of one checkpoint as one that writes a single file: targets in the order of
 * the plans, which must outlive it. DUPLICATE (one name in two of them), NOMEM. */
int nwi_plans_merge(struct nw_plan *const *plans, size_t n_plans, struct nw_plan **out,
                    struct nw_error *err);

/* Cost of running several plans of one checkpoint together: the ring exists once, and
 * is as large as for all of them. `need` may be NULL. */
void nwi_plans_cost(const struct nw_plan *const *plans, size_t n,
                    enum nwi_purpose purpose, struct nw_cost *out,
                    struct nwi_footprint *need);

/* What the plans' checkpoint and the plans themselves hold. */
uint64_t nwi_plans_held_bytes(const struct nw_plan *const *plans, size_t n);

/* What a load to memory takes for the tensors' bytes: pages of their own and pool blocks. */
uint64_t nwi_plan_data_bytes(const struct nw_plan *plan);

/* What the file sink allocates for the plan, at most. */
uint64_t nwi_plan_output_bytes(const struct nw_plan *plan);

/* What the plan's own cost and budget are about. */
enum nwi_purpose nwi_plan_purpose(const struct nw_plan *plan);

/* True if a run for that purpose reads the step's bytes. */
bool nwi_step_wanted(const struct nw_plan *plan, const struct nwi_step *step,
                     enum nwi_purpose purpose);

/* "yes", "pages" (only because mapped pages can be given back), "no"; NULL if unknown.
 */
const char *nwi_plan_fits(const struct nw_cost *cost,
                          const struct nw_system_memory *machine);

#endif
