/* SPDX-License-Identifier: Apache-2.0
 * What an earlier save of the same stem, variant and format left, and the temporaries
 * of saves that were stopped: nothing else is touched. The new files count by now, so a
 * file that cannot be removed is left where it is. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/output_parts.h"

struct sweep {
    const struct nwi_output *output;
    const struct nwi_output_set *set; /* NULL: a folder without weights */
    const char *folder;
};

static bool is_superseded(const struct sweep *sweep, const char *name)
{
    const struct nwi_output_set *set = sweep->set;
    uint32_t numbers[2];
    if (!set || sweep->output->single)
        return false;
    bool sharded = set->n_files > 1;
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

/* True if this output writes, or an earlier one may have written, such a file. */
static bool is_ours(const struct sweep *sweep, const char *name)
{
    const struct nwi_output *output = sweep->output;
    char path[NWI_OUTPUT_PATH];
    uint32_t numbers[2];
    if (output->single)
        return strcmp(name, output->single) == 0;
    if (sweep->set && nwi_save_kind(name, sweep->set->stem, output->variant, numbers) !=
                          NWI_SAVE_NONE)
        return true;
    nwi_output_join(sweep->folder, name, path);
    if (output->pipeline && strcmp(path, NWI_OUTPUT_UNFINISHED) == 0)
        return true;
    for (size_t i = 0; i < output->n_others; i++) {
        if (strcmp(output->others[i].name, path) == 0)
            return true;
    }
    return false;
}

/* The temporary of a file of ours, given up, or left by a process that is no more. */
static bool is_orphan(const struct sweep *sweep, const char *name)
{
    char final_name[NWI_OUTPUT_PATH];
    char process[64];
    size_t size = 0;
    uint64_t pid = 0;
    if (!nwi_output_is_temp(name, &size, &pid) || size >= sizeof final_name / 2)
        return false;
    memcpy(final_name, name + 1, size);
    final_name[size] = '\0';
    (void)snprintf(process, sizeof process, "/proc/%" PRIu64, pid);
    bool gone =
        pid == 0 || (access("/proc/self", F_OK) == 0 && access(process, F_OK) != 0);
    return gone && is_ours(sweep, final_name);
}

static int remove_stale(void *ctx, const char *name)
{
    const struct sweep *sweep = ctx;
    char path[NWI_OUTPUT_PATH];
    if (!is_superseded(sweep, name) && !is_orphan(sweep, name))
        return NW_OK;
    nwi_output_join(sweep->folder, name, path);
    (void)unlinkat(sweep->output->root, path, 0);
    return NW_OK;
}

static void sweep_folder(const struct nwi_output *output,
                         const struct nwi_output_set *set, const char *folder)
{
    struct sweep sweep = {output, set, folder};
    (void)nwi_output_each_name(output, folder, remove_stale, &sweep, NULL);
}

static bool has_set(const struct nwi_output *output, const char *folder)
{
    for (size_t i = 0; i < output->n_sets; i++) {
        if (strcmp(output->sets[i].folder, folder) == 0)
            return true;
    }
    return false;
}

void nwi_save_sweep(const struct nwi_output *output)
{
    char folder[NWI_OUTPUT_PATH];
    char before[NWI_OUTPUT_PATH] = ""; /* the root is swept in any case */
    for (size_t i = 0; i < output->n_sets; i++)
        sweep_folder(output, &output->sets[i], output->sets[i].folder);
    if (output->pipeline)
        sweep_folder(output, NULL, "");
    for (size_t i = 0; i < output->n_others; i++) {
        nwi_output_folder_of(output->others[i].name, folder);
        if (strcmp(folder, before) != 0 && !has_set(output, folder))
            sweep_folder(output, NULL, folder);
        memcpy(before, folder, sizeof before);
    }
}

/* ---- failure ---- */

/* What happens to a temporary of a save that failed. */
typedef void temporary_fn(const struct nwi_output *output, const char *name,
                          const char *temp);

static void remove_temporary(const struct nwi_output *output, const char *name,
                             const char *temp)
{
    (void)name;
    (void)unlinkat(output->root, temp, 0);
}

/* Process 0 in place of this one: the next save of this name may take it away. */
static void give_up(const struct nwi_output *output, const char *name, const char *temp)
{
    char given_up[NWI_OUTPUT_PATH];
    char folder[NWI_OUTPUT_PATH];
    char last[NWI_OUTPUT_PATH];
    nwi_output_folder_of(name, folder);
    (void)snprintf(last, sizeof last, ".%.200s" NWI_TEMPORARY_MARK "-0-%s",
                   nwi_path_base(name), strrchr(output->suffix, '-') + 1);
    nwi_output_join(folder, last, given_up);
    (void)renameat(output->root, temp, output->root, given_up);
}

static void each_temporary(const struct nwi_output *output, temporary_fn *fn,
                           const char *name, uint8_t state)
{
    char temp[NWI_OUTPUT_PATH];
    if (state != NWI_OUTPUT_TEMPORARY && state != NWI_OUTPUT_SYNCED)
        return;
    nwi_output_temp_name(output, name, temp);
    fn(output, name, temp);
}

/* Shards in place that no index names: only where nothing was there before. */
static void remove_unindexed(const struct nwi_output *output,
                             const struct nwi_output_set *set, size_t row)
{
    char name[NWI_OUTPUT_PATH];
    if (set->n_files == 1 || set->index_state == NWI_OUTPUT_IN_PLACE ||
        atomic_load(&output->files[row].state) != NWI_OUTPUT_IN_PLACE)
        return;
    nwi_output_file_name(output, row, name);
    (void)unlinkat(output->root, name, 0);
}

static void each_of_set(const struct nwi_output *output, temporary_fn *fn,
                        const struct nwi_output_set *set)
{
    char name[NWI_OUTPUT_PATH];
    for (size_t row = set->first_file; row < set->first_file + set->n_files; row++) {
        nwi_output_file_name(output, row, name);
        each_temporary(output, fn, name, atomic_load(&output->files[row].state));
        if (!output->past_return)
            remove_unindexed(output, set, row);
    }
    if (set->index_state == NWI_OUTPUT_ABSENT)
        return;
    nwi_output_index_name(output, set, false, name);
    each_temporary(output, fn, name, set->index_state);
}

void nwi_save_roll_back(struct nwi_output *output)
{
    temporary_fn *fn = output->past_return ? give_up : remove_temporary;
    if (output->committed || output->root < 0)
        return;
    for (size_t i = 0; i < output->n_sets; i++)
        each_of_set(output, fn, &output->sets[i]);
    for (size_t i = 0; i < output->n_others; i++)
        each_temporary(output, fn, output->others[i].name, output->others[i].state);
    for (size_t i = output->n_folders; i-- > 0;)
        (void)unlinkat(output->root, output->folders[i], AT_REMOVEDIR);
    if (output->root_created)
        (void)rmdir(output->root_path);
}
