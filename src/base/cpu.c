/* SPDX-License-Identifier: Apache-2.0
 * How many CPUs there are for this process, and what they can do. */
#define _GNU_SOURCE

#include <sched.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/cgroup.h"
#include "base/system.h"
#include "base/thread.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

/* Bits of XCR0: register state that the system saves. */
#define XCR0_AVX    0x06u /* SSE and AVX */
#define XCR0_AVX512 0xE6u /* and opmask, upper halves, upper registers */

__attribute__((target("xsave"))) static uint64_t saved_state(void)
{
    return (uint64_t)_xgetbv(0);
}

static bool has(uint32_t bits, uint32_t wanted)
{
    return (bits & wanted) == wanted;
}

uint32_t nwi_cpu_detect(void)
{
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
    uint32_t d = 0;
    uint32_t levels = NW_CPU_SCALAR;
    if (!__get_cpuid(1, &a, &b, &c, &d) ||
        !has(c, bit_OSXSAVE | bit_AVX | bit_F16C | bit_FMA))
        return levels;
    uint32_t saved = (uint32_t)saved_state();
    if (!has(saved, XCR0_AVX) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
        !has(b, bit_AVX2))
        return levels;
    levels |= NW_CPU_AVX2;
    if (has(saved, XCR0_AVX512) &&
        has(b, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ))
        levels |= NW_CPU_AVX512;
    return levels;
}
#elif defined(__aarch64__)
uint32_t nwi_cpu_detect(void)
{
    return NW_CPU_SCALAR | NW_CPU_NEON; /* part of the base architecture */
}
#else
uint32_t nwi_cpu_detect(void)
{
    return NW_CPU_SCALAR;
}
#endif

static uint64_t allowed_cpus(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint64_t)CPU_COUNT(&set);
    long online =
        sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than cpu_set_t has room for */
    return online > 0 ? (uint64_t)online : 1;
}

/* The quota of one group in whole CPUs, rounded up; UINT64_MAX if it has none. */
static uint64_t quota_of(const struct nwi_cgroup *group, int version)
{
    char text[64];
    uint64_t quota = 0;
    uint64_t period = 0;
    const char *name = version == 2 ? "cpu.max" : "cpu.cfs_quota_us";
    if (!nwi_cgroup_read(group, name, text, sizeof text) ||
        !nwi_leading_number(text, &quota)) /* "max", "-1": none */
        return UINT64_MAX;
    if (version == 1 && !nwi_cgroup_read(group, "cpu.cfs_period_us", text, sizeof text))
        return UINT64_MAX;
    const char *at = text;
    if (version == 2) {
        while (*at && *at != ' ')
            at++;
        at += *at == ' ';
    }
    if (!nwi_leading_number(at, &period) || period == 0)
        return UINT64_MAX;
    return quota / period + (quota % period != 0);
}

uint32_t nwi_cpu_count_at(const char *root)
{
    struct nwi_cgroup group;
    uint64_t n = nwi_min(allowed_cpus(), UINT32_MAX);
    for (int version = 1; version <= 2; version++) {
        if (!nwi_cgroup_find(root, "cpu", version, &group))
            continue;
        do {
            n = nwi_min(n, quota_of(&group, version));
        } while (nwi_cgroup_up(&group));
    }
    return n > 0 ? (uint32_t)n : 1;
}

uint32_t nwi_cpu_count(void)
{
    return nwi_cpu_count_at("");
}
