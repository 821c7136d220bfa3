/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "run/mapping.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plan/placement.h"

_Static_assert(sizeof(struct nwi_mapping) <= NWI_MAPPING_RECORD_BYTES,
               "the plan counts NWI_MAPPING_RECORD_BYTES for a mapping");

int nwi_mapping_new(const struct nwi_file *file, struct nwi_memory *memory,
                    struct nwi_mapping **out, struct nw_error *err)
{
    struct nwi_mapping *mapping = nwi_zalloc(memory, NWI_MAPPING_RECORD_BYTES);
    if (!mapping)
        return nwi_fail_nomem(err, NWI_MAPPING_RECORD_BYTES);
    size_t size = (size_t)file->identity.size;
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                      file->fd, 0);
    if (data == MAP_FAILED) {
        int sys = errno;
        nwi_free(memory, mapping, NWI_MAPPING_RECORD_BYTES);
        int code = nwi_fail_sys(err, sys, "cannot map %zu bytes", size);
        return nwi_error_in_file(err, code, file->path);
    }
    mapping->refs = 1;
    mapping->memory = nwi_memory_retain(memory);
    mapping->data = data;
    mapping->size = size;
    *out = mapping;
    return NW_OK;
}

struct nwi_mapping *nwi_mapping_retain(struct nwi_mapping *mapping)
{
    __atomic_fetch_add(&mapping->refs, 1, __ATOMIC_RELAXED);
    return mapping;
}

void nwi_mapping_release(struct nwi_mapping *mapping)
{
    if (!mapping || __atomic_sub_fetch(&mapping->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    struct nwi_memory *memory = mapping->memory;
    munmap(mapping->data, mapping->size);
    nwi_free(memory, mapping, NWI_MAPPING_RECORD_BYTES);
    nwi_memory_release(memory);
}

void nwi_mapping_drop(struct nwi_mapping *mapping, void *data, size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t begin = (size_t)((uint8_t *)data - mapping->data);
    size_t end = (begin + nbytes) & ~(page - 1);
    begin = (begin + page - 1) & ~(page - 1);
    if (begin < end)
        (void)madvise(mapping->data + begin, end - begin, MADV_DONTNEED);
}

/* errno of what went wrong, or 0. */
static int bring_in(uint8_t *data, size_t nbytes)
{
    if (madvise(data, nbytes, MADV_WILLNEED) != 0)
        return errno;
    while (madvise(data, nbytes, MADV_POPULATE_READ) != 0) {
        if (errno == EINTR || errno == EAGAIN)
            continue;
        if (errno == EINVAL) /* before Linux 5.14: read ahead is all there is */
            return 0;
        return errno;
    }
    return 0;
}

int nwi_mapping_populate(const struct nwi_mapping *mapping, const struct nwi_file *file,
                         const void *data, size_t nbytes, struct nw_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t offset = (size_t)((const uint8_t *)data - mapping->data);
    size_t begin = offset & ~(page - 1);
    if (!nbytes)
        return NW_OK;
    int sys = bring_in(mapping->data + begin, offset + nbytes - begin);
    if (!sys)
        return NW_OK;
    /* A file that was cut has no page there: that is the reason to tell. */
    NWI_TRY(nwi_file_check_unchanged(file, err));
    int code = nwi_fail_sys_at(err, sys, offset,
                               "cannot bring the pages of a mapped tensor in");
    return nwi_error_in_file(err, code, file->path);
}
