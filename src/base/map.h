/* SPDX-License-Identifier: Apache-2.0
 * Index from a name (any bytes) to a row number. The names are borrowed. Linear time for
 * hostile names: the hash is seeded per map, and probing is bounded by the load factor 1/2. */
#ifndef NWI_MAP_H
#define NWI_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define NWI_MAP_NONE UINT32_MAX

struct nwi_map_slot;

struct nwi_map {
    struct nwi_memory *memory;  /* borrowed */
    struct nwi_map_slot *slots; /* [1 << bits] */
    uint32_t bits;
    uint32_t n;
    uint64_t seed;
};

/* Room for n names is reserved at once; more may be added. NW_OK or NW_E_NOMEM. */
int nwi_map_init(struct nwi_map *map, struct nwi_memory *memory, size_t n);
void nwi_map_release(struct nwi_map *map);

/* Adds name -> row. If the name is there already, *existing gets its row and the map stays as
 * it is; else *existing = NWI_MAP_NONE. NW_OK or NW_E_NOMEM. */
int nwi_map_add(struct nwi_map *map, const char *name, size_t size, uint32_t row,
                uint32_t *existing);
/* The row, or NWI_MAP_NONE. Safe from several threads. */
uint32_t nwi_map_find(const struct nwi_map *map, const char *name, size_t size);

#endif
