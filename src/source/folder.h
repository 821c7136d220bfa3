/* SPDX-License-Identifier: Apache-2.0
 * One folder with weights: which of the sets in it is taken, and taking it. */
#ifndef NWI_FOLDER_H
#define NWI_FOLDER_H

#include "source/names.h"
#include "source/scope.h"

struct nwi_folder {
    const char *path;
    const char *prefix; /* before names in the list of files: "unet/", or "" */
    struct nwi_weight_name *names; /* [n], all that is in the folder, sorted */
    size_t n;
};

/* Lists the folder. Texts go to the scratch arena. */
int nwi_folder_read(struct nwi_builder *b, const char *path, const char *prefix,
                    struct nwi_folder *folder);

/* True if it holds weights that a model could be loaded from. */
bool nwi_folder_has_weights(const struct nwi_folder *folder);

/* The first file of the set for a variant ("": the default): its index, the one file,
 * or the first of its shards if there is no index. NULL if the folder has no such set,
 * or several of which none is the usual one. */
const struct nwi_weight_name *nwi_folder_choose(const struct nwi_builder *b,
                                                const struct nwi_folder *folder,
                                                const char *variant);

/* NOT_FOUND, with what there is instead. */
int nwi_folder_fail(struct nwi_builder *b, const struct nwi_folder *folder,
                    const char *variant);

/* Adds the folder's variants to the checkpoint's. */
int nwi_folder_variants(struct nwi_builder *b, const struct nwi_folder *folder);

/* Opens the set that begins with `lead` as a new component. `remark` (may be NULL) is
 * put to its first file. */
int nwi_folder_load(struct nwi_builder *b, const struct nwi_scope *scope,
                    const struct nwi_folder *folder, const struct nwi_weight_name *lead,
                    const char *remark, struct nwi_component *component);

/* Lists the weights of the folder that are not among the files yet as ignored. `lead`:
 * the set that was taken instead, NULL if the folder's weights do not count at all. */
int nwi_folder_ignore(struct nwi_builder *b, const struct nwi_scope *scope,
                      const struct nwi_folder *folder,
                      const struct nwi_weight_name *lead);

/* Adds what is no weights to `others`. Links that lead out are left out with a note. */
int nwi_folder_others(struct nwi_builder *b, const struct nwi_scope *scope,
                      const struct nwi_folder *folder, uint32_t component);

#endif
