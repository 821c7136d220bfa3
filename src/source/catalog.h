/* SPDX-License-Identifier: Apache-2.0
 * The catalog: every tensor as stored. struct nw_checkpoint owns it; immutable once
 * open. */
#ifndef NWI_CATALOG_H
#define NWI_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"

/* All pointers: on the checkpoint's arena. Tensors are grouped by component; within one
 * they are sorted by file, then data offset. */
struct nwi_stored {
    const char *name;      /* ends in NUL */
    const uint64_t *shape; /* [rank], elements */
    uint64_t offset;       /* of the data, from the start of the file */
    uint64_t nbytes;
    const char *scheme;     /* NULL if it is no part of a quantised layer */
    const char *dtype_text; /* as in the file */
    uint32_t name_size;
    uint32_t file;         /* row of files */
    uint32_t component;    /* row of components */
    uint32_t companion_of; /* row of tensors, or NW_NONE */
    uint32_t rank;
    uint8_t dtype;  /* enum nw_dtype */
    bool quantised; /* a float cast of its bytes would be wrong: weights under a scheme
                       with scales, and their companions */
};

struct nwi_source_file {
    struct nw_stored_file info;
    struct nwi_file
        *file; /* open while the checkpoint lives, if its tensors are used; else
                  NULL (an index or config counts as used, but is closed) */
    uint64_t data_start; /* safetensors: first byte after the header */
    const char
        *sha256_name; /* hub blobs: the 64 hex digits its real name promises, or NULL */
};

struct nwi_component {
    struct nw_component info;
    uint32_t first_tensor;
    uint32_t n_tensors;
    struct nwi_map names;    /* name -> row of tensors */
    const char *config_path; /* its config.json, NULL if there is none */
    const char *stem; /* of its weights: "diffusion_pytorch_model", "model" ... */
    const char *quant_method; /* of quantization_config in config.json, or NULL */
};

/* A file of a pipeline or model folder that holds no weights: copied by convert. */
struct nwi_other_file {
    const char *name; /* relative to the opened folder */
    const char *path;
    uint32_t component; /* row of components, NW_NONE at the top */
};

struct nw_checkpoint {
    int refs;                  /* atomic */
    struct nwi_memory *memory; /* retained; counts everything of this checkpoint */
    struct nwi_arena arena;
    uint32_t cpu_mask; /* kernels plans may use: detected, cut by the option */
    const char *path;  /* as opened */
    bool is_pipeline;  /* a folder with model_index.json or several components */

    struct nwi_source_file *files;
    size_t n_files;
    struct nwi_stored *tensors;
    size_t n_tensors;
    struct nwi_component *components;
    size_t n_components;
    struct nw_metadata *metadata;
    size_t n_metadata;
    struct nw_problem *problems;
    size_t n_problems;
    struct nw_quantisation *quantisation;
    size_t n_quantisation;
    const char **variants; /* "" first if the unnamed one is there */
    size_t n_variants;
    struct nwi_other_file *others;
    size_t n_others;
};

struct nw_checkpoint *nwi_checkpoint_retain(struct nw_checkpoint *ckpt);

/* The first problem that is no note, as an error; NW_OK if there is none. */
int nwi_checkpoint_refuse(const struct nw_checkpoint *ckpt, struct nw_error *err);

/* The component of that name; NULL name: the only one. NOT_FOUND naming those there
 * are, ARG if there are several and none was named. */
int nwi_checkpoint_pick(const struct nw_checkpoint *ckpt, const char *name,
                        uint32_t *out, struct nw_error *err);

/* The four ways to open; options checked by the caller. */
int nwi_open_path(const char *path, const struct nw_open_options *options,
                  struct nw_checkpoint **out, struct nw_error *err);
/* Takes over one reference of `file`, also on failure. */
int nwi_open_file(struct nwi_file *file, const struct nw_open_options *options,
                  struct nwi_memory *memory, struct nw_checkpoint **out,
                  struct nw_error *err);

#endif
