/* SPDX-License-Identifier: Apache-2.0
 * The pipelines of diffusers that an all-in-one file becomes: what their model_index.json
 * says, and the parts that are no weights. */
#ifndef NWI_PIPELINES_H
#define NWI_PIPELINES_H

#include "base/arena.h"
#include "base/error.h"

/* A part without weights. */
struct nwi_pipeline_part {
    const char *name;    /* "scheduler", "tokenizer" */
    const char *library; /* "diffusers", "transformers"; NULL: [null, null] */
    const char *klass;
    const char *file; /* of the text, "scheduler_config.json"; NULL: cannot be made */
    const char *text; /* its content */
};

struct nwi_pipeline {
    const char *family;
    const char *variant;                   /* of the denoiser; NULL: any other */
    const char *klass;                     /* "StableDiffusionPipeline" */
    const struct nwi_pipeline_part *parts; /* ends in a row without name */
    const char
        *extra; /* more members of the index, as JSON text (",\"k\": v"); "" for none */
};

/* The pipeline of that family and variant (may be NULL), or NULL. */
const struct nwi_pipeline *nwi_pipeline_find(const char *family, const char *variant);

/* A component with weights, as the index names it. */
struct nwi_pipeline_model {
    const char *name;
    const char *library;
    const char *klass;
};

/* The text of model_index.json, on the arena. NOMEM. */
int nwi_pipeline_index(const struct nwi_pipeline *pipeline,
                       const struct nwi_pipeline_model *models, size_t n,
                       struct nwi_arena *arena, const char **out, struct nw_error *err);

#endif
