/* SPDX-License-Identifier: Apache-2.0
 * The list of what a commit writes: the weights of each set and their index, then the
 * others. */
#include <assert.h>
#include <string.h>

#include "run/output_parts.h"

static size_t count_written(const struct nwi_output *output)
{
    size_t n = output->n_files;
    for (size_t i = 0; i < output->n_sets; i++)
        n += output->sets[i].index_state != NWI_OUTPUT_ABSENT;
    for (size_t i = 0; i < output->n_others; i++)
        n += output->others[i].state != NWI_OUTPUT_ABSENT;
    return n;
}

/* Calls add for every file: weights of a set, then its index; the others at the end. */
struct listing {
    struct nwi_output *output;
    size_t names_size;
    bool measure; /* only add up names_size */
};

static void list_one(struct listing *listing, const char *name, uint64_t nbytes,
                     uint64_t n_tensors)
{
    struct nwi_output *output = listing->output;
    size_t size = strlen(name) + 1;
    if (!listing->measure) {
        char *copy = output->written_names + listing->names_size;
        memcpy(copy, name, size);
        output->written[output->n_written++] =
            (struct nw_written){.name = copy, .nbytes = nbytes, .n_tensors = n_tensors};
    }
    listing->names_size += size;
}

static void list_all(struct listing *listing)
{
    const struct nwi_output *output = listing->output;
    char name[NWI_OUTPUT_PATH];
    for (size_t i = 0; i < output->n_sets; i++) {
        const struct nwi_output_set *set = &output->sets[i];
        for (size_t row = set->first_file; row < set->first_file + set->n_files;
             row++) {
            const struct nwi_output_file *file = &output->files[row];
            nwi_output_file_name(output, row, name);
            list_one(listing, name, file->nbytes, file->n_tensors);
        }
        if (set->index_state == NWI_OUTPUT_ABSENT)
            continue;
        nwi_output_index_name(output, set, false, name);
        list_one(listing, name, set->index_bytes, 0);
    }
    for (size_t i = 0; i < output->n_others; i++) {
        const struct nwi_output_other *other = &output->others[i];
        if (other->state != NWI_OUTPUT_ABSENT)
            list_one(listing, other->name, other->nbytes, 0);
    }
}

int nwi_output_list_written(struct nwi_output *output, struct nw_error *err)
{
    struct listing listing = {.output = output, .measure = true};
    size_t n = count_written(output);
    list_all(&listing);
    output->written_names_size = listing.names_size;
    output->written_room = n;
    output->written = nwi_alloc(output->memory, n * sizeof *output->written);
    output->written_names = nwi_alloc(output->memory, listing.names_size);
    if (!output->written || !output->written_names)
        return nwi_fail_nomem(err, n * sizeof *output->written + listing.names_size);
    listing = (struct listing){.output = output};
    list_all(&listing);
    assert(output->n_written == n);
    return NW_OK;
}
