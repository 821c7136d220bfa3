/* SPDX-License-Identifier: Apache-2.0
 * Which skeleton a part of a file is to be matched with: the caller's, that of a config
 * (the caller's, or the one beside the weights), or that of the family's built-in values
 * over what the shapes tell. */
#ifndef NWI_WANTED_H
#define NWI_WANTED_H

#include "layout/bindings.h"
#include "layout/detect.h"
#include "model/model.h"

struct nwi_wanted_input {
    const struct nw_checkpoint *ckpt;
    uint32_t component;
    const struct nwi_found *part;
    const struct nw_load_options *options;
    const struct nwi_header *given; /* names in the class's layout */
    struct nwi_arena *arena;        /* of the bindings: notes and texts go there */
};

/* *out is a new reference, or NULL if no class is known. Notes of the config go to
 * bindings->notes, the class to ->klass, a config.json of the family's values to
 * ->config_text. BAD_CONFIG, LIMIT, UNSUPPORTED, IO, NOT_FOUND, NOMEM. */
int nwi_wanted_model(const struct nwi_wanted_input *input,
                     struct nwi_bindings *bindings, struct nw_model **out,
                     struct nw_error *err);

#endif
