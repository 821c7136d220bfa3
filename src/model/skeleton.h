/* SPDX-License-Identifier: Apache-2.0
 * The skeleton: every tensor that a model wants, in the order of the reference's module
 * tree (of each module: its parameters, its buffers, then its children). Knows nothing of
 * files. Immutable once built. */
#ifndef NWI_SKELETON_H
#define NWI_SKELETON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"

struct nwi_wanted {
    const char *name; /* ends in NUL */
    const uint64_t *shape;
    size_t name_size;
    uint32_t rank;
    uint32_t tied_to; /* an earlier row whose memory this is, or NW_NONE */
    uint8_t kind;     /* enum nw_wanted_kind */
    uint8_t fill;     /* enum nw_fill */
    int8_t dtype;     /* enum nw_dtype where the class fixes it (an integer buffer),
                         else NW_DTYPE_AUTO */
};

/* One wish list. All pointers: on its arena, or static. */
struct nw_model {
    int refs; /* atomic */
    struct nwi_memory *memory;
    struct nwi_arena arena;
    const char *klass;   /* "FluxTransformer2DModel"; "" for a caller's table */
    const char *library; /* "diffusers" or "transformers"; NULL if not known */
    struct nwi_wanted *wanted;
    size_t n_wanted;
    struct nwi_map names; /* name -> row of wanted */
    const char **blocks;  /* paths of modules that must not be split */
    size_t n_blocks;
    const char *const *keep_fp32; /* dot components kept in F32; NULL ends */
    const char *const
        *harmless; /* globs of stored names that nobody misses; NULL ends */
    const char *const
        *optional; /* globs of wanted names that may be missing; NULL ends */
    const char **unknown_keys; /* of the config, that nobody asked for */
    size_t n_unknown_keys;
    const char *config_text; /* the config.json that describes it; NULL for a table */
};

struct nw_model *nwi_model_retain(struct nw_model *model);

#endif
