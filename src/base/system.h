/* SPDX-License-Identifier: Apache-2.0
 * Facts about the machine and this process: memory left, resident size, CPU features. */
#ifndef NWI_SYSTEM_H
#define NWI_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* cgroup v1 and v2 (the smallest limit on the way up counts) and /proc/meminfo. */
int nwi_system_memory(struct nw_system_memory *out, struct nw_error *err);

/* The same with `root` before /proc and /sys, so that a test can bring its own. */
int nwi_system_memory_at(const char *root, struct nw_system_memory *out,
                         struct nw_error *err);

/* VmRSS and VmHWM of this process, bytes; 0 where /proc does not tell. */
uint64_t nwi_resident_bytes(void);
uint64_t nwi_resident_peak_bytes(void);
/* Starts VmHWM anew at the present size (writes 5 to /proc/self/clear_refs). False where that
 * is not allowed: then VmHWM goes back to the start of the process. */
bool nwi_reset_resident_peak(void);

/* Bits of enum nw_cpu_level that this CPU and the OS have (CPUID and XGETBV; NEON on aarch64).
 * NW_CPU_SCALAR is always set. */
uint32_t nwi_cpu_detect(void);

#endif
