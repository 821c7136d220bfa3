/* SPDX-License-Identifier: Apache-2.0
 * The table of model classes: one row a class, one file an architecture. */
#ifndef NWI_ARCHITECTURE_H
#define NWI_ARCHITECTURE_H

#include "model/config.h"
#include "model/module.h"
#include "source/header.h"

/* Deprecated spelling of a config key, and what it is called now. */
struct nwi_key_alias {
    const char *old;
    const char *now;
};

struct nwi_architecture {
    const char
        *klass; /* as config.json's _class_name (diffusers) or architectures[0] */
    const char *library; /* "diffusers", "transformers" */

    /* Reads the config and builds the tensors, named and ordered as the reference's
     * module tree. */
    void (*build)(struct nwi_module *m, struct nwi_config *config);

    /* Tells what the shapes of a file in this class's names say about its config: every
     * value that can be told. May be NULL. */
    void (*derive)(struct nwi_config *config, const struct nwi_header *header);

    /* Lists end in NULL; NULL is none. All as in the reference's class attributes. */
    const char *const *keep_fp32;  /* _keep_in_fp32_modules */
    const char *const *harmless;   /* _keys_to_ignore_on_load_unexpected, as globs */
    const char *const *optional;   /* _keys_to_ignore_on_load_missing, as globs */
    const char *const *plain_keys; /* of the config: known, but they shape no tensor */
    const struct nwi_key_alias *aliases; /* ends in a row of NULLs */

    const char
        *model_type; /* transformers: its config's model_type, for configs without
                               "architectures"; NULL otherwise */
};

#define ROW(name) extern const struct nwi_architecture nwi_arch_##name;
#include "model/architecture_list.h"
#undef ROW

extern const struct nwi_architecture *const nwi_architectures[]; /* ends in NULL */

/* The class of that name, or NULL. */
const struct nwi_architecture *nwi_architecture_find(const char *klass);

/* Which class a config.json is of: _class_name, or architectures[0], or model_type; NULL
 * and BAD_CONFIG or UNSUPPORTED (with the name) in the config if that cannot be told. */
const struct nwi_architecture *nwi_architecture_of(struct nwi_config *config);

#endif
