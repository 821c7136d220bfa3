/* SPDX-License-Identifier: Apache-2.0
 * Memory of the machine, of the control group and of this process. */
#define _GNU_SOURCE

#include "base/system.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/cgroup.h"

/* cgroup v1 writes the largest multiple of a page for "no limit"; nobody has 4 EiB. */
#define NO_LIMIT ((uint64_t)1 << 62)

/* Enough for memory.stat, /proc/meminfo and /proc/self/status. */
#define TEXT_SIZE 8192

/* Names of the files and lines of one cgroup version. */
struct memory_names {
    int version;
    const char *limit;
    const char *usage;
    const char *inactive; /* lines of memory.stat: page cache that can be given up */
    const char *active;
};

static const struct memory_names versions[] = {
    {1, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
     "total_active_file"},
    {2, "memory.max", "memory.current", "inactive_file", "active_file"},
};

static uint64_t page_cache(const struct nwi_cgroup *group,
                           const struct memory_names *names)
{
    char text[TEXT_SIZE];
    uint64_t inactive = 0;
    uint64_t active = 0;
    if (!nwi_cgroup_read(group, "memory.stat", text, sizeof text))
        return 0;
    (void)nwi_line_number(text, names->inactive, &inactive);
    (void)nwi_line_number(text, names->active, &active);
    return inactive > UINT64_MAX - active ? UINT64_MAX : inactive + active;
}

/* Lowers *out to what this one group allows. */
static void limit_by_group(const struct nwi_cgroup *group,
                           const struct memory_names *names,
                           struct nw_system_memory *out)
{
    char text[64];
    uint64_t limit = 0;
    uint64_t usage = 0;
    if (!nwi_cgroup_read(group, names->limit, text, sizeof text) ||
        !nwi_leading_number(text, &limit) || limit >= NO_LIMIT)
        return;
    if (nwi_cgroup_read(group, names->usage, text, sizeof text))
        (void)nwi_leading_number(text, &usage);
    usage = nwi_sub_floor(usage, page_cache(group, names));
    uint64_t available = nwi_sub_floor(limit, usage);
    out->limit_bytes = nwi_min(out->limit_bytes, limit);
    if (available < out->available_bytes) {
        out->available_bytes = available;
        out->source = "cgroup";
    }
}

static bool read_meminfo(const char *root, struct nw_system_memory *out)
{
    char text[TEXT_SIZE];
    uint64_t total = 0;
    uint64_t available = 0;
    if (!nwi_read_start(root, "/proc/meminfo", text, sizeof text) ||
        !nwi_line_number(text, "MemTotal", &total))
        return false;
    /* Linux before 3.14 has no MemAvailable. */
    if (!nwi_line_number(text, "MemAvailable", &available) &&
        !nwi_line_number(text, "MemFree", &available))
        return false;
    out->limit_bytes = total * 1024;
    out->available_bytes = available * 1024;
    out->source = "meminfo";
    return true;
}

int nwi_system_memory_at(const char *root, struct nw_system_memory *out,
                         struct nw_error *err)
{
    struct nwi_cgroup group;
    *out = (struct nw_system_memory){0};
    if (!read_meminfo(root, out)) {
        int code = nwi_fail(err, NW_E_IO, "cannot read how much memory is free");
        return nwi_error_in_file(err, code, "/proc/meminfo");
    }
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        if (!nwi_cgroup_find(root, "memory", versions[i].version, &group))
            continue;
        do {
            limit_by_group(&group, &versions[i], out);
        } while (nwi_cgroup_up(&group));
    }
    return NW_OK;
}

int nwi_system_memory(struct nw_system_memory *out, struct nw_error *err)
{
    return nwi_system_memory_at("", out, err);
}

static uint64_t status_bytes(const char *line)
{
    char text[TEXT_SIZE];
    uint64_t kibibytes = 0;
    if (!nwi_read_start("", "/proc/self/status", text, sizeof text) ||
        !nwi_line_number(text, line, &kibibytes))
        return 0;
    return kibibytes * 1024;
}

uint64_t nwi_resident_bytes(void)
{
    return status_bytes("VmRSS");
}

uint64_t nwi_resident_peak_bytes(void)
{
    return status_bytes("VmHWM");
}

bool nwi_reset_resident_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool written = write(fd, "5", 1) == 1;
    (void)close(fd);
    return written;
}
