/* SPDX-License-Identifier: Apache-2.0
 * Where each result tensor will live in memory, and exactly what that allocates: decided at
 * plan time, so that the predicted peak is the real one.
 *
 * A tensor is mapped (no memory), has pages of its own, or, below NWI_POOL_LIMIT, lies in a
 * pool block that goes when its last tensor goes. Each has a storage record of its own. */
#ifndef NWI_PLACEMENT_H
#define NWI_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define NWI_POOL_LIMIT (64u << 10)       /* tensors below this share a block (design) */
#define NWI_POOL_BLOCK (1u << 20)        /* largest block */
#define NWI_POOL_ALIGN 64u               /* of each tensor in a block */
#define NWI_HUGE_LIMIT (4u << 20)        /* tensors from here on ask for huge pages */

#define NWI_NO_POOL UINT32_MAX

/* Where one target goes. */
struct nwi_place {
    uint32_t pool;        /* block, or NWI_NO_POOL: mapped, empty or pages of its own */
    uint32_t pool_offset; /* within the block */
};

/* One pool block, as planned. */
struct nwi_pool_plan {
    uint32_t nbytes;
    uint32_t n_tensors;
};

#endif
