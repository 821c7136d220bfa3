/* SPDX-License-Identifier: Apache-2.0
 * A checkpoint while it is being opened: arrays that grow, the list of problems, and
 * what has to be done once everything is there (name maps, quantisation).
 *
 * Failures go to `err` of the builder; functions that return a code say NW_OK if
 * opening may go on. Under NW_OPEN_REPORT a problem with the files is listed and
 * opening goes on. */
#ifndef NWI_BUILDER_H
#define NWI_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "source/catalog.h"

#define NWI_HEADER_LIMIT                                                               \
    100000000 /* bytes of a header or index, unless the option says more */
#define NWI_CONFIG_LIMIT  16777216 /* bytes of a config.json or model_index.json */
#define NWI_PROBLEM_LIMIT 1000     /* listed one by one; the rest is counted */

struct nwi_index;

/* An array that grows by doubling, in memory of its own, so that nothing is left
 * behind. */
struct nwi_vector {
    void *items; /* [capacity] */
    size_t n;
    size_t capacity;
    size_t item_size; /* bytes; set before the first item */
};

struct nwi_builder {
    struct nw_checkpoint *ckpt; /* owned until finish */
    const struct nw_open_options *options;
    struct nw_error *err;      /* never NULL */
    struct nwi_memory *memory; /* the checkpoint's */
    struct nwi_arena *arena;   /* the checkpoint's */
    struct nwi_arena scratch;  /* goes when opening ends */

    struct nwi_vector files;      /* struct nwi_source_file */
    struct nwi_vector tensors;    /* struct nwi_stored */
    struct nwi_vector components; /* struct nwi_component */
    struct nwi_vector metadata;   /* struct nw_metadata */
    struct nwi_vector problems;   /* struct nw_problem */
    struct nwi_vector variants;   /* const char * */
    struct nwi_vector others;     /* struct nwi_other_file */
    bool names_dirty; /* the map of the newest component must be made anew */

    uint64_t n_unlisted; /* problems past the limit */
    int32_t
        unlisted_code; /* of the first of them; of the first that is no note, if any */
    bool unlisted_problem; /* one of them is no note */
};

/* What a problem is about; zero (and NW_OFFSET_NONE) where it is not. */
struct nwi_place {
    const char *file;   /* path */
    const char *tensor; /* need not end in a NUL */
    size_t tensor_size;
    uint64_t offset; /* in the file */
};

/* Takes no reference of `memory` away from the caller. On failure nothing is to be
 * released. */
int nwi_builder_init(struct nwi_builder *b, const struct nw_open_options *options,
                     struct nwi_memory *memory, struct nw_error *err);
/* Hands the checkpoint out; the builder holds nothing afterwards, also on failure. */
int nwi_builder_finish(struct nwi_builder *b, struct nw_checkpoint **out);
/* Drops everything, unless finish has handed it out. */
void nwi_builder_release(struct nwi_builder *b);

/* Fills err with NW_E_NOMEM. */
int nwi_builder_nomem(struct nwi_builder *b, uint64_t nbytes);

/* Something is wrong with the files. */
int nwi_builder_problem(struct nwi_builder *b, const struct nwi_place *place, int code,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Worth saying, and no reason to refuse. */
int nwi_builder_note(struct nwi_builder *b, const struct nwi_place *place, int code,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* A failure that a lower level has described: a problem if it is about the files, else
 * the end of opening (NOMEM, IO, ARG ...). */
int nwi_builder_absorb(struct nwi_builder *b, const struct nw_error *failure);
/* True if the next problem would be counted only: spares the work of describing it. */
bool nwi_builder_is_full(const struct nwi_builder *b);

/* A row of files. `name` and `path` are copied; `file` (may be NULL) is taken over,
 * also on failure. */
int nwi_builder_add_file(struct nwi_builder *b, const char *name, const char *path,
                         struct nwi_file *file, uint32_t *row);
struct nwi_source_file *nwi_builder_file(struct nwi_builder *b, uint32_t row);
/* Sets the remark of a file; a second one is joined with "; ". */
int nwi_builder_remark(struct nwi_builder *b, uint32_t row, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Texts of `tensor` and `metadata` must be on the arena, or static. */
int nwi_builder_add_tensor(struct nwi_builder *b, const struct nwi_stored *tensor);
int nwi_builder_add_metadata(struct nwi_builder *b, const struct nw_metadata *metadata);
int nwi_builder_add_other(struct nwi_builder *b, const struct nwi_other_file *other);
/* Once each; `variant` is copied. */
int nwi_builder_add_variant(struct nwi_builder *b, const char *variant, size_t size);

/* Tensors and metadata added from now on belong to a new component. */
int nwi_builder_begin_component(struct nwi_builder *b,
                                const struct nwi_component *component);
/* Makes room in the newest component's map for about n names. */
int nwi_builder_reserve_names(struct nwi_builder *b, size_t n);
/* Enters the name (on the arena) of the tensor that is to be added next into the newest
 * component's map. *taken: file row `file` has one of that name. A tensor that is not
 * added after all, or moves to another row, leaves names_dirty to be set. */
int nwi_builder_enter_name(struct nwi_builder *b, const char *name, size_t size,
                           uint32_t file, bool *taken);
/* Names are unique in a component: two tensors of one name are settled by `index`
 * (NULL: there is none), which names the file that counts; else DUPLICATE. */
int nwi_builder_end_component(struct nwi_builder *b, const struct nwi_index *index);
/* The newest component. */
struct nwi_component *nwi_builder_component(struct nwi_builder *b);
uint32_t nwi_builder_component_row(const struct nwi_builder *b);

/* A zeroed new last item; NULL if there is no memory. */
void *nwi_vector_add(struct nwi_vector *vector, struct nwi_memory *memory);
void nwi_vector_release(struct nwi_vector *vector, struct nwi_memory *memory);

/* header_limit of the options, or the default. */
uint64_t nwi_builder_header_limit(const struct nwi_builder *b);

#endif
