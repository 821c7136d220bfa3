/* SPDX-License-Identifier: Apache-2.0
 * Bindings: for each wanted tensor the views of stored tensors it is made of, and what became
 * of every other name. Flat today: what is wanted is what is stored, under its own name. */
#ifndef NWI_BINDINGS_H
#define NWI_BINDINGS_H

#include "base/arena.h"
#include "source/catalog.h"

/* One wanted tensor. Pointers: on the arena given to the binder, or on the checkpoint's. */
struct nwi_binding {
    const char *name; /* on the way out; ends in NUL */
    size_t name_size;
    const uint64_t *shape; /* [rank], elements */
    uint32_t rank;
    uint32_t n_parts;
    const struct nw_part *parts; /* joined along dimension 0; all of one stored dtype */
};

struct nwi_left_out {
    const char *name;
    const char *reason;
};

struct nwi_bindings {
    struct nwi_binding *items; /* file order */
    size_t n;
    struct nwi_left_out *harmless; /* stored, known not to be wanted, and why */
    size_t n_harmless;
};

/* Every tensor of the component under its own name, then the caller's renaming and prefix, then
 * `only` and `drop` over the new names. ARG (bad rule, or a glob of `only` without any match:
 * NOT_FOUND), DUPLICATE (two tensors got one name), NOMEM. */
int nwi_bind_flat(const struct nw_checkpoint *ckpt, uint32_t component,
                  const struct nw_load_options *options, struct nwi_arena *arena,
                  struct nwi_bindings *out, struct nw_error *err);

#endif
