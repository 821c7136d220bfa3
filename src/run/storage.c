/* SPDX-License-Identifier: Apache-2.0 */
#include "run/storage.h"

#include <string.h>

struct nw_storage *nwi_storage_new(struct nwi_memory *memory,
                                   const struct nw_target *target)
{
    size_t size = (size_t)nwi_storage_bytes(target->rank, target->name_size);
    struct nw_storage *storage = nwi_zalloc(memory, size);
    if (!storage)
        return NULL;
    storage->refs = 1;
    storage->dtype = target->dtype;
    storage->memory = nwi_memory_retain(memory);
    storage->nbytes = target->nbytes;
    storage->rank = target->rank;
    storage->shape = (uint64_t *)(storage + 1);
    storage->name = (char *)(storage->shape + target->rank);
    storage->name_size = target->name_size;
    if (target->rank)
        memcpy(storage->shape, target->shape, target->rank * sizeof *storage->shape);
    memcpy(storage->name, target->name,
           target->name_size); /* the NUL is there: zeroed */
    return storage;
}

struct nwi_pool *nwi_pool_new(struct nwi_memory *memory, struct nwi_stretch *stretch,
                              uint32_t nbytes)
{
    struct nwi_pool *pool = nwi_stretch_alloc(stretch, memory, nbytes);
    if (!pool)
        return NULL;
    pool->refs = 1;
    pool->nbytes = nbytes;
    return pool;
}

void nwi_pool_release(struct nwi_memory *memory, struct nwi_pool *pool)
{
    if (pool && __atomic_sub_fetch(&pool->refs, 1, __ATOMIC_ACQ_REL) == 0)
        nwi_free_pages(memory, pool, pool->nbytes);
}

void nwi_storage_in_pool(struct nw_storage *storage, struct nwi_pool *pool,
                         uint32_t offset)
{
    __atomic_fetch_add(&pool->refs, 1, __ATOMIC_RELAXED);
    storage->pool = pool;
    storage->data = (uint8_t *)pool + offset;
}

void nwi_storage_in_mapping(struct nw_storage *storage, struct nwi_mapping *mapping,
                            uint64_t offset)
{
    storage->mapping = nwi_mapping_retain(mapping);
    storage->data = mapping->data + offset;
}

int nwi_storage_own_pages(struct nw_storage *storage, struct nwi_stretch *stretch,
                          struct nw_error *err)
{
    if (storage->nbytes == 0)
        return NW_OK;
    storage->data =
        nwi_stretch_alloc(stretch, storage->memory, (size_t)storage->nbytes);
    return storage->data ? NW_OK : nwi_fail_nomem(err, storage->nbytes);
}

void nwi_storage_describe(struct nw_storage *storage, struct nw_tensor *out)
{
    *out = (struct nw_tensor){
        .name = storage->name,
        .name_size = storage->name_size,
        .dtype = storage->dtype,
        .rank = storage->rank,
        .shape = storage->shape,
        .data = storage->data,
        .nbytes = storage->nbytes,
        .mapped = storage->mapping != NULL,
        .storage = storage,
    };
}

void nw_storage_retain(struct nw_storage *storage)
{
    __atomic_fetch_add(&storage->refs, 1, __ATOMIC_RELAXED);
}

static void release_data(struct nw_storage *storage)
{
    if (storage->mapping) {
        nwi_mapping_drop(storage->mapping, storage->data, (size_t)storage->nbytes);
        nwi_mapping_release(storage->mapping);
    } else if (storage->pool) {
        nwi_pool_release(storage->memory, storage->pool);
    } else if (storage->data) {
        nwi_free_pages(storage->memory, storage->data, (size_t)storage->nbytes);
    }
}

void nw_storage_release(struct nw_storage *storage)
{
    if (!storage || __atomic_sub_fetch(&storage->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    struct nwi_memory *memory = storage->memory;
    release_data(storage);
    nwi_free(memory, storage,
             (size_t)nwi_storage_bytes(storage->rank, storage->name_size));
    nwi_memory_release(memory);
}
