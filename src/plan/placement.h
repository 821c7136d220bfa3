/* SPDX-License-Identifier: Apache-2.0
 * Where each result tensor will live in memory, and exactly what that allocates:
 * decided at plan time, so that the predicted peak is the real one.
 *
 * A tensor is mapped (no memory), has pages of its own, or, below NWI_POOL_LIMIT, lies
 * in a pool block that goes when its last tensor goes. Each has a storage record of its
 * own. */
#ifndef NWI_PLACEMENT_H
#define NWI_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define NWI_POOL_LIMIT (64u << 10) /* tensors below this share a block (design) */
#define NWI_POOL_BLOCK (1u << 20)  /* largest block */
#define NWI_POOL_ALIGN 64u         /* of each tensor in a block */

#define NWI_NO_POOL UINT32_MAX

/* Sizes of a run's records, so that the plan can count them; src/run asserts that its
 * structs fit and allocates exactly these. */
#define NWI_RUN_RECORD_BYTES     ((size_t)1024) /* a plan of the run */
#define NWI_WORKER_RECORD_BYTES  ((size_t)4096)
#define NWI_TARGET_RECORD_BYTES  ((size_t)64)
#define NWI_MAPPING_RECORD_BYTES ((size_t)64)
#define NWI_FILE_RECORD_BYTES    ((size_t)36) /* descriptors and windows of a file */
#define NWI_STEP_REF_BYTES       ((size_t)8) /* a step, where several plans run together */

/* The same for the file sink (src/run/output.c). */
#define NWI_OUTPUT_BYTES        16384u /* the sink itself, and room for its names */
#define NWI_OUTPUT_TARGET_BYTES 88u
#define NWI_OUTPUT_OTHER_BYTES  48u
#define NWI_OUTPUT_PAIR_BYTES   144u /* a key of the metadata */

/* Files beside the weights of a pipeline that is made of an all-in-one file, at most, and what
 * their names take together. */
#define NWI_PIPELINE_OTHERS     256u
#define NWI_PIPELINE_NAME_BYTES 32768u

/* Workers of a run with automatic threads, at most: direct reads without io_uring need
 * many. */
#define NWI_AUTO_WORKERS 16u

/* Where one target goes. */
struct nwi_target_place {
    uint32_t pool;        /* block, or NWI_NO_POOL: mapped, empty or pages of its own */
    uint32_t pool_offset; /* within the block, its head included */
};

/* One pool block, as planned. */
struct nwi_pool_plan {
    uint32_t nbytes;
    uint32_t n_tensors;
};

struct nwi_mapping; /* src/run/mapping.h */

/* The head of a pool block; the tensors follow at multiples of NWI_POOL_ALIGN. */
struct nwi_pool {
    int refs;        /* atomic: tensors in it that live, and one while the load runs */
    uint32_t nbytes; /* of the whole block */
};

/* One tensor handed out. Everything it needs hangs on it, so that it may outlive all
 * handles. Allocated with its shape and name behind it: nwi_storage_bytes. */
struct nw_storage {
    int refs;                  /* atomic */
    int32_t dtype;             /* enum nw_dtype */
    struct nwi_memory *memory; /* retained */
    void *data;                /* NULL if nbytes is 0 */
    uint64_t nbytes;
    struct nwi_pool *pool;       /* NULL unless data lies in one */
    struct nwi_mapping *mapping; /* NULL unless data lies in one; retained */
    uint64_t *shape;             /* [rank] */
    char *name;                  /* ends in NUL */
    size_t name_size;
    uint32_t rank;
};

/* What nwi_alloc is asked for, for a storage record. */
static inline uint64_t nwi_storage_bytes(uint32_t rank, size_t name_size)
{
    return sizeof(struct nw_storage) + (uint64_t)rank * sizeof(uint64_t) + name_size +
           1;
}

#endif
