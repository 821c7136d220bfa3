/* SPDX-License-Identifier: Apache-2.0
 * What an earlier save of the same stem, variant and format left: nothing else is
 * touched. The new files count by now, so a file that cannot be removed is left where
 * it is. */
#define _GNU_SOURCE

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/output_parts.h"

struct sweep {
    const struct nwi_output *output;
    const struct nwi_output_set *set;
};

static bool is_superseded(const struct sweep *sweep, const char *name)
{
    const struct nwi_output_set *set = sweep->set;
    bool sharded = set->n_files > 1;
    uint32_t numbers[2];
    switch (nwi_save_kind(name, set->stem, sweep->output->variant, numbers)) {
    case NWI_SAVE_SINGLE:
        return sharded;
    case NWI_SAVE_SHARD:
        return !sharded || numbers[1] != set->n_files || numbers[0] < 1 ||
               numbers[0] > set->n_files;
    case NWI_SAVE_LEGACY_SHARD:
        return true;
    case NWI_SAVE_INDEX:
    case NWI_SAVE_NONE:
        break; /* indexes went when the new files came */
    }
    return false;
}

/* The temporary of a file of this set, left by a process that is no more. */
static bool is_orphan(const struct sweep *sweep, const char *name)
{
    char final_name[NWI_OUTPUT_PATH];
    char process[64];
    size_t size = 0;
    uint64_t pid = 0;
    uint32_t numbers[2];
    const struct nwi_output *output = sweep->output;
    if (!nwi_output_is_temp(name, &size, &pid) || size >= sizeof final_name)
        return false;
    memcpy(final_name, name + 1, size);
    final_name[size] = '\0';
    bool of_set = output->single
                      ? strcmp(final_name, output->single) == 0
                      : nwi_save_kind(final_name, sweep->set->stem, output->variant,
                                      numbers) != NWI_SAVE_NONE;
    (void)snprintf(process, sizeof process, "/proc/%" PRIu64, pid);
    return of_set && access("/proc/self", F_OK) == 0 && access(process, F_OK) != 0;
}

static int remove_stale(void *ctx, const char *name)
{
    const struct sweep *sweep = ctx;
    bool stale = is_orphan(sweep, name) ||
                 (!sweep->output->single && is_superseded(sweep, name));
    char path[NWI_OUTPUT_PATH];
    if (stale) {
        nwi_output_join(sweep->set->folder, name, path);
        (void)unlinkat(sweep->output->root, path, 0);
    }
    return NW_OK;
}

void nwi_save_sweep(const struct nwi_output *output, const struct nwi_output_set *set)
{
    struct sweep sweep = {output, set};
    (void)nwi_output_each_name(output, set->folder, remove_stale, &sweep, NULL);
}
