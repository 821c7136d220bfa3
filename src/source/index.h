/* SPDX-License-Identifier: Apache-2.0
 * Index files of sharded checkpoints:
 *
 *     {"metadata": {"total_size": 464},
 *      "weight_map": {"a.weight": "model-00001-of-00002.safetensors", ...}}
 *
 * `metadata` may be missing. Shards are bare names of files beside the index. */
#ifndef NWI_INDEX_H
#define NWI_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "source/builder.h"

/* One shard that the index names. Texts are on the builder's scratch arena. */
struct nwi_index_shard {
    const char *name;   /* ends in NUL */
    const char *tensor; /* the first one it shall hold; need not end in a NUL */
    size_t tensor_size;
    uint64_t n_tensors; /* that it shall hold */
    uint64_t offset;    /* in the index, of the first mention */
    uint32_t file;      /* row of files once it is open, else NW_NONE */
    uint32_t row;       /* private: before sorting */
    bool unsafe;        /* not to be opened */
};

struct nwi_index_entry {
    const char *name; /* need not end in a NUL */
    uint32_t name_size;
    uint32_t shard; /* row of shards */
};

struct nwi_index {
    const char *path;
    struct nwi_vector shards;  /* struct nwi_index_shard, sorted by name */
    struct nwi_vector entries; /* struct nwi_index_entry, as in the file */
    struct nwi_map names;      /* name -> row of entries */
    uint64_t total_size;       /* bytes of all tensors, as stated */
    bool has_total_size;
};

/* Reads and checks one; `path` must live as long as the builder. *found is false if it
 * is JSON without a weight_map, which is no index. Shard names that are unsafe are
 * problems of the builder (UNSAFE_PATH), and so is all else that is wrong (BAD_HEADER,
 * DUPLICATE, LIMIT). To be released in any case. */
int nwi_index_read(struct nwi_builder *b, const struct nwi_file *file, const char *path,
                   struct nwi_index *index, bool *found);
void nwi_index_release(struct nwi_index *index, struct nwi_memory *memory);

struct nwi_index_shard *nwi_index_shard(const struct nwi_index *index, size_t row);

/* The file row that the index gives for a tensor, NW_NONE if it has none. */
uint32_t nwi_index_file(const struct nwi_index *index, const char *name, size_t size);

/* Compares the newest component (ended) with the index: INDEX_MISMATCH for every tensor
 * that only one of them has, or that they place in different shards; notes under
 * NW_TOLERATE_INDEX. A wrong total_size is a note always. Shards that are not open are
 * left out. */
int nwi_index_compare(struct nwi_builder *b, const struct nwi_index *index);

/* True if `name` can only be a file in the index's own folder. */
bool nwi_index_name_is_safe(const char *name, size_t size);

#endif
