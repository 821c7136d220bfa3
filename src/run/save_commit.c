/* SPDX-License-Identifier: Apache-2.0
 * From temporaries to final names. Whenever the process or the machine stops, the
 * folder opens as what was there before, as what is new, or is refused: an index wins
 * over a single file, and shards without an index are refused.
 *
 *     one file   rename it: an old index still wins
 *                remove that index: now the new file counts
 *     shards     remove a single file that the old index hides
 *                remove the old index: refused from here (without one, a single file
 *                goes on counting)
 *                rename the shards
 *                rename the new index: now it counts
 *     pipeline   before all that a text that no loader takes replaces
 *                model_index.json; the new one comes last
 *
 * Each line waits until the one before it is on the disk. Then what is superseded goes. */
#define _GNU_SOURCE /* renameat2, of <stdio.h> */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/output_parts.h"

/* ---- steps ---- */

static int before(const struct nwi_output *output, const char *what, const char *name)
{
    const struct nwi_output_hook *hook = output->hook;
    return hook ? hook->step(hook->ctx, what, name) : 0;
}

static int fail_step(const struct nwi_output *output, int sys, const char *what,
                     const char *name, struct nw_error *err)
{
    int code = nwi_fail_sys(err, sys, "cannot %s the file", what);
    return nwi_output_in_file(output, name, err, code);
}

/* Gives a temporary its final name. Without leave to overwrite, nothing that has come
 * there in the meantime is replaced, where the file system can promise that. */
static int put_in_place(const struct nwi_output *output, const char *name,
                        struct nw_error *err)
{
    char temp[NWI_OUTPUT_PATH];
    nwi_output_temp_name(output, name, temp);
    int sys = before(output, "rename", name);
    unsigned flags = output->overwrite ? 0 : RENAME_NOREPLACE;
    if (sys == 0 && renameat2(output->root, temp, output->root, name, flags) != 0)
        sys = errno;
    if (flags && (sys == EINVAL || sys == ENOSYS))
        sys = renameat(output->root, temp, output->root, name) == 0 ? 0 : errno;
    return sys == 0 ? NW_OK : fail_step(output, sys, "rename", name, err);
}

/* A file that may not be there. */
static int take_away(const struct nwi_output *output, const char *name,
                     struct nw_error *err)
{
    int sys = before(output, "remove", name);
    if (sys == 0 && unlinkat(output->root, name, 0) != 0 && errno != ENOENT)
        sys = errno;
    return sys == 0 ? NW_OK : fail_step(output, sys, "remove", name, err);
}

static int sync_folder(const struct nwi_output *output, const char *folder,
                       struct nw_error *err)
{
    int sys = before(output, "sync", folder);
    if (sys != 0)
        return fail_step(output, sys, "sync", folder, err);
    int fd = openat(output->root, folder[0] ? folder : ".",
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_step(output, errno, "open", folder, err);
    int code = nwi_output_fsync(fd, err);
    (void)close(fd);
    return nwi_output_in_file(output, folder, err, code);
}

static bool exists(const struct nwi_output *output, const char *name)
{
    return faccessat(output->root, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- one set ---- */

struct index_names {
    char modern[NWI_OUTPUT_PATH];
    char legacy[NWI_OUTPUT_PATH];
    bool modern_there;
    bool legacy_there; /* only read where there is no modern one */
};

static bool find_indexes(const struct nwi_output *output,
                         const struct nwi_output_set *set, struct index_names *names)
{
    nwi_output_index_name(output, set, false, names->modern);
    nwi_output_index_name(output, set, true, names->legacy);
    names->modern_there = exists(output, names->modern);
    names->legacy_there = output->variant && exists(output, names->legacy);
    return names->modern_there || names->legacy_there;
}

/* The one that is read goes last. */
static int remove_indexes(const struct nwi_output *output,
                          const struct index_names *names, struct nw_error *err)
{
    if (names->legacy_there)
        NWI_TRY(take_away(output, names->legacy, err));
    return names->modern_there ? take_away(output, names->modern, err) : NW_OK;
}

static int publish_single(struct nwi_output *output, const struct nwi_output_set *set,
                          struct nw_error *err)
{
    char name[NWI_OUTPUT_PATH];
    struct index_names indexes;
    nwi_output_file_name(output, set->first_file, name);
    NWI_TRY(put_in_place(output, name, err));
    atomic_store(&output->files[set->first_file].state, NWI_OUTPUT_IN_PLACE);
    NWI_TRY(sync_folder(output, set->folder, err));
    if (output->single || !find_indexes(output, set, &indexes))
        return NW_OK;
    NWI_TRY(remove_indexes(output, &indexes, err));
    return sync_folder(output, set->folder, err);
}

static int hide_old(struct nwi_output *output, const struct nwi_output_set *set,
                    struct nw_error *err)
{
    char single[NWI_OUTPUT_PATH];
    struct index_names indexes;
    if (!find_indexes(output, set, &indexes))
        return NW_OK;
    nwi_output_single_name(output, set, single);
    if (exists(output, single)) {
        NWI_TRY(take_away(output, single, err));
        NWI_TRY(sync_folder(output, set->folder, err));
    }
    NWI_TRY(remove_indexes(output, &indexes, err));
    output->past_return = true;
    return sync_folder(output, set->folder, err);
}

static int publish_shards(struct nwi_output *output, struct nwi_output_set *set,
                          struct nw_error *err)
{
    char name[NWI_OUTPUT_PATH];
    NWI_TRY(sync_folder(output, set->folder, err)); /* the temporaries' names */
    NWI_TRY(hide_old(output, set, err));
    for (uint32_t i = 0; i < set->n_files; i++) {
        nwi_output_file_name(output, set->first_file + i, name);
        NWI_TRY(put_in_place(output, name, err));
        atomic_store(&output->files[set->first_file + i].state, NWI_OUTPUT_IN_PLACE);
    }
    NWI_TRY(sync_folder(output, set->folder, err));
    nwi_output_index_name(output, set, false, name);
    NWI_TRY(put_in_place(output, name, err));
    set->index_state = NWI_OUTPUT_IN_PLACE;
    return sync_folder(output, set->folder, err);
}

/* ---- the other files ---- */

static int sync_folder_of(const struct nwi_output *output, const char *name,
                          struct nw_error *err)
{
    char folder[NWI_OUTPUT_PATH];
    nwi_output_folder_of(name, folder);
    return sync_folder(output, folder, err);
}

static bool in_one_folder(const char *a, const char *b)
{
    char folder_a[NWI_OUTPUT_PATH];
    char folder_b[NWI_OUTPUT_PATH];
    nwi_output_folder_of(a, folder_a);
    nwi_output_folder_of(b, folder_b);
    return strcmp(folder_a, folder_b) == 0;
}

static int publish_others(struct nwi_output *output, struct nw_error *err)
{
    const char *done = NULL; /* name of the file before */
    for (size_t i = 0; i < output->n_others; i++) {
        struct nwi_output_other *other = &output->others[i];
        if (other->last || other->state != NWI_OUTPUT_SYNCED)
            continue;
        if (done && !in_one_folder(done, other->name))
            NWI_TRY(sync_folder_of(output, done, err));
        NWI_TRY(put_in_place(output, other->name, err));
        other->state = NWI_OUTPUT_IN_PLACE;
        done = other->name;
    }
    return done ? sync_folder_of(output, done, err) : NW_OK;
}

/* ---- pipelines ---- */

#define PIPELINE_INDEX "model_index.json"

static int write_mark(int fd, struct nw_error *err)
{
    static const char text[] = "The components of this folder are being saved, or that "
                               "was interrupted: what is "
                               "here need\nnot belong together. Save it again, or "
                               "rename the files that end in "
                               "the mark of a temporary.\n";
    NWI_TRY(nwi_output_pwrite(fd, 0, text, sizeof text - 1, err));
    return nwi_output_fsync(fd, err);
}

/* Over what is there: in the end that is the mark. */
static int move_index(const struct nwi_output *output, const char *temp,
                      struct nw_error *err)
{
    int sys = before(output, "rename", PIPELINE_INDEX);
    if (sys == 0 && renameat(output->root, temp, output->root, PIPELINE_INDEX) != 0)
        sys = errno;
    return sys == 0 ? NW_OK : fail_step(output, sys, "rename", PIPELINE_INDEX, err);
}

/* While the components of a pipeline change, its index is a text that no loader takes. */
static int hide_pipeline(struct nwi_output *output, struct nw_error *err)
{
    char temp[NWI_OUTPUT_PATH];
    int fd = -1;
    if (!output->pipeline)
        return NW_OK;
    nwi_output_temp_name(output, NWI_OUTPUT_UNFINISHED, temp);
    NWI_TRY(sync_folder(output, "", err)); /* the temporaries' names */
    NWI_TRY(nwi_output_create(output, NWI_OUTPUT_UNFINISHED, &fd, err));
    int code = write_mark(fd, err);
    (void)close(fd);
    if (code == NW_OK)
        code = move_index(output, temp, err);
    if (code != NW_OK) {
        (void)unlinkat(output->root, temp, 0);
        return nwi_output_in_file(output, PIPELINE_INDEX, err, code);
    }
    output->past_return = true;
    return sync_folder(output, "", err);
}

/* The index of the input takes its place, or what had none has none again. */
static int show_pipeline(struct nwi_output *output, struct nw_error *err)
{
    char temp[NWI_OUTPUT_PATH];
    if (!output->pipeline)
        return NW_OK;
    for (size_t i = 0; i < output->n_others; i++) {
        struct nwi_output_other *other = &output->others[i];
        if (!other->last)
            continue;
        nwi_output_temp_name(output, other->name, temp);
        NWI_TRY(move_index(output, temp, err));
        other->state = NWI_OUTPUT_IN_PLACE;
        return sync_folder(output, "", err);
    }
    NWI_TRY(take_away(output, PIPELINE_INDEX, err));
    return sync_folder(output, "", err);
}

/* ---- all of it ---- */

static int check_complete(const struct nwi_output *output, struct nw_error *err)
{
    for (size_t i = 0; i < output->n_files; i++) {
        const struct nwi_output_file *file = &output->files[i];
        if (atomic_load(&file->state) == NWI_OUTPUT_SYNCED)
            continue;
        char name[NWI_OUTPUT_PATH];
        nwi_output_file_name(output, i, name);
        int code = nwi_fail(err, NW_E_TRUNCATED,
                            "%llu of the file's %llu bytes have not been delivered",
                            (unsigned long long)atomic_load(&file->left),
                            (unsigned long long)file->nbytes);
        return nwi_output_in_file(output, name, err, code);
    }
    return NW_OK;
}

/* The folder's own name, in the folder above it. */
static int sync_root_name(struct nwi_output *output, struct nw_error *err)
{
    if (!output->root_created)
        return NW_OK;
    return sync_folder(output, "..", err);
}

static int publish(struct nwi_output *output, struct nw_error *err)
{
    NWI_TRY(sync_root_name(output, err));
    NWI_TRY(publish_others(output, err));
    NWI_TRY(hide_pipeline(output, err));
    for (size_t i = 0; i < output->n_sets; i++) {
        struct nwi_output_set *set = &output->sets[i];
        NWI_TRY(set->n_files > 1 ? publish_shards(output, set, err)
                                 : publish_single(output, set, err));
    }
    return show_pipeline(output, err);
}

int nwi_output_commit(struct nwi_output *output, struct nw_error *err)
{
    NWI_TRY(check_complete(output, err));
    NWI_TRY(publish(output, err));
    output->committed = true;
    nwi_save_sweep(output);
    return NW_OK;
}
