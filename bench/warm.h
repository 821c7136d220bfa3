/* SPDX-License-Identifier: Apache-2.0
 * Memory that a virtual machine has given back to its host comes again only slowly, so that
 * a first touch would be measured instead of the load: it is touched once before, by the
 * process that is timed, in huge pages as loads ask for them. */
#ifndef BENCH_WARM_H
#define BENCH_WARM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

static inline void warm_memory(size_t size)
{
    if (size == 0)
        return;
    uint8_t *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED)
        return;
    (void)madvise(area, size, MADV_HUGEPAGE);
    for (size_t at = 0; at < size; at += 4096)
        area[at] = 1;
    (void)munmap(area, size);
}

#endif
