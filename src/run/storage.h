/* SPDX-License-Identifier: Apache-2.0
 * Tensors in memory: records (plan/placement.h), pages, pool blocks, mappings. */
#ifndef NWI_STORAGE_H
#define NWI_STORAGE_H

#include "plan/plan.h"
#include "run/mapping.h"

/* A record for a target, with refs 1 and no data yet. NULL: no memory. */
struct nw_storage *nwi_storage_new(struct nwi_memory *memory,
                                   const struct nw_target *target);

/* A pool block with one reference, the loader's, cut from the stretch. NULL: no memory. */
struct nwi_pool *nwi_pool_new(struct nwi_memory *memory, struct nwi_stretch *stretch,
                              uint32_t nbytes);
void nwi_pool_release(struct nwi_memory *memory, struct nwi_pool *pool);

/* Gives the record its data: one of these, once. */
void nwi_storage_in_pool(struct nw_storage *storage, struct nwi_pool *pool,
                         uint32_t offset);
void nwi_storage_in_mapping(struct nw_storage *storage, struct nwi_mapping *mapping,
                            uint64_t offset);
int nwi_storage_own_pages(struct nw_storage *storage, struct nwi_stretch *stretch,
                          struct nw_error *err);

void nwi_storage_describe(struct nw_storage *storage, struct nw_tensor *out);

#endif
