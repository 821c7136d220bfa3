/* SPDX-License-Identifier: Apache-2.0
 * Open addressing with linear probing, never more than half full. The hash is
 * SipHash-1-3: for it nobody can prepare names that collide under a seed they do not
 * know. */
#define _GNU_SOURCE

#include "base/map.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/arith.h"

#define SMALLEST_BITS 3u

struct nwi_map_slot {
    const char *name; /* [size], borrowed */
    size_t size;
    uint32_t row; /* NWI_MAP_NONE: the slot is empty */
    uint32_t tag; /* upper half of the hash: spares most comparisons of names */
};

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

static uint64_t hash_name(uint64_t seed, const char *name, size_t size)
{
    const uint64_t second = ~rotate(seed, 29); /* the other half of the key */
    uint64_t v[4] = {
        /* "somepseudorandomlygeneratedbytes", as the algorithm prescribes */
        seed ^ 0x736f6d6570736575u, second ^ 0x646f72616e646f6du,
        seed ^ 0x6c7967656e657261u, second ^ 0x7465646279746573u};
    size_t at = 0;
    for (; size - at >= 8; at += 8) {
        uint64_t word = 0;
        memcpy(&word, name + at, 8);
        sip_word(v, word);
    }
    uint64_t last = (uint64_t)size << 56;
    for (size_t i = 0; at + i < size; i++)
        last |= (uint64_t)(unsigned char)name[at + i] << (8 * i);
    sip_word(v, last);
    v[2] ^= 0xFF;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t new_seed(const void *address)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed)
        return seed;
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    seed = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uintptr_t)address;
    return seed * 0x9E3779B97F4A7C15u; /* 2^64 / golden ratio: spreads the low bits */
}

/* NULL if refused. */
static struct nwi_map_slot *new_slots(struct nwi_memory *memory, uint32_t bits)
{
    size_t nbytes = sizeof(struct nwi_map_slot) << bits;
    struct nwi_map_slot *slots = nwi_alloc(memory, nbytes);
    if (slots)
        memset(slots, 0xFF, nbytes); /* row = NWI_MAP_NONE */
    return slots;
}

static void free_slots(struct nwi_map *map)
{
    if (map->slots)
        nwi_free(map->memory, map->slots, sizeof *map->slots << map->bits);
}

int nwi_map_init(struct nwi_map *map, struct nwi_memory *memory, size_t n)
{
    uint32_t bits = SMALLEST_BITS;
    *map = (struct nwi_map){.memory = memory};
    if (n == 0)
        return NW_OK;
    if (n >= UINT32_MAX)
        return NW_E_NOMEM;
    while (((size_t)1 << bits) / 2 < n)
        bits++;
    map->slots = new_slots(memory, bits);
    if (!map->slots)
        return NW_E_NOMEM;
    map->bits = bits;
    map->seed = new_seed(map);
    return NW_OK;
}

void nwi_map_release(struct nwi_map *map)
{
    free_slots(map);
    map->slots = NULL;
    map->bits = 0;
    map->n = 0;
}

static bool holds(const struct nwi_map_slot *slot, uint32_t tag, const char *name,
                  size_t size)
{
    return slot->tag == tag && slot->size == size &&
           (size == 0 || memcmp(slot->name, name, size) == 0);
}

/* The slot of that name, or the empty one where it belongs. */
static struct nwi_map_slot *locate(const struct nwi_map *map, uint64_t hash,
                                   const char *name, size_t size)
{
    size_t mask = ((size_t)1 << map->bits) - 1;
    size_t at = (size_t)hash & mask;
    while (map->slots[at].row != NWI_MAP_NONE &&
           !holds(&map->slots[at], (uint32_t)(hash >> 32), name, size))
        at = (at + 1) & mask;
    return &map->slots[at];
}

static int grow(struct nwi_map *map)
{
    struct nwi_map larger = *map;
    larger.bits = map->slots ? map->bits + 1 : SMALLEST_BITS;
    larger.slots = new_slots(map->memory, larger.bits);
    if (!larger.slots)
        return NW_E_NOMEM;
    if (!map->slots)
        larger.seed = new_seed(map);
    size_t n_slots = map->slots ? (size_t)1 << map->bits : 0;
    for (size_t i = 0; i < n_slots; i++) {
        const struct nwi_map_slot *slot = &map->slots[i];
        if (slot->row == NWI_MAP_NONE)
            continue;
        uint64_t hash = hash_name(larger.seed, slot->name, slot->size);
        *locate(&larger, hash, slot->name, slot->size) = *slot;
    }
    free_slots(map);
    *map = larger;
    return NW_OK;
}

int nwi_map_add(struct nwi_map *map, const char *name, size_t size, uint32_t row,
                uint32_t *existing)
{
    *existing = nwi_map_find(map, name, size);
    if (*existing != NWI_MAP_NONE)
        return NW_OK;
    if (map->n == UINT32_MAX - 1)
        return NW_E_NOMEM;
    if (!map->slots || map->n >= ((size_t)1 << map->bits) / 2) {
        int code = grow(map);
        if (code != NW_OK)
            return code;
    }
    uint64_t hash = hash_name(map->seed, name, size);
    *locate(map, hash, name, size) =
        (struct nwi_map_slot){name, size, row, (uint32_t)(hash >> 32)};
    map->n++;
    return NW_OK;
}

uint32_t nwi_map_find(const struct nwi_map *map, const char *name, size_t size)
{
    if (!map->slots)
        return NWI_MAP_NONE;
    return locate(map, hash_name(map->seed, name, size), name, size)->row;
}
