/* SPDX-License-Identifier: Apache-2.0
 * The caller's last word on names: renaming and prefix, then `only` and `drop` over the
 * new names, and that no two are the same. */
#ifndef NWI_SELECT_H
#define NWI_SELECT_H

#include "layout/bindings.h"
#include "layout/rename.h"

struct nwi_selector {
    const struct nw_load_options *options; /* borrowed */
    struct nwi_renamer renamer;
    bool *only_hit; /* [options->n_only]: that glob has matched a name */
};

/* ARG: a bad rule or a NULL pattern. NOMEM. */
int nwi_selector_init(struct nwi_selector *selector,
                      const struct nw_load_options *options, struct nwi_arena *arena,
                      struct nw_error *err);

/* True if the globs let a (final) name through; notes which of `only` ever match. */
bool nwi_selector_takes(struct nwi_selector *selector, const char *name, size_t size);

/* NOT_FOUND for the first glob of `only` that no name matched. */
int nwi_selector_check(const struct nwi_selector *selector, struct nw_error *err);

/* DUPLICATE naming both stored tensors. Only renaming can make two names one. */
int nwi_selector_unique(const struct nwi_selector *selector,
                        const struct nw_checkpoint *ckpt,
                        const struct nwi_bindings *bindings, struct nw_error *err);

#endif
