/* SPDX-License-Identifier: Apache-2.0
 * Bindings: for each wanted tensor the views of stored tensors it is made of, and what
 * became of every name on both sides. */
#ifndef NWI_BINDINGS_H
#define NWI_BINDINGS_H

#include "base/arena.h"
#include "source/catalog.h"

/* One tensor on the way out. Pointers: on the arena given to the binder, or on the
 * checkpoint's. */
struct nwi_binding {
    const char *name; /* on the way out; ends in NUL */
    size_t name_size;
    const uint64_t *shape; /* [rank], elements */
    uint32_t rank;
    uint32_t n_parts;            /* 0: made by `fill` */
    const struct nw_part *parts; /* joined along dimension 0; all of one stored dtype */
    uint8_t fill;                /* enum nw_fill, without parts */
    uint8_t fill_dtype; /* enum nw_dtype, without parts: what it is stored as */
};

struct nwi_left_out {
    const char *name;
    const char *reason;
};

struct nwi_names {
    const char **items;
    size_t n;
    size_t room;
};

struct nwi_mismatch {
    const char *name;
    const uint64_t *stored;
    const uint64_t *wanted;
    uint32_t stored_rank;
    uint32_t wanted_rank;
};

/* A config that says another thing than the file. */
struct nwi_config_note {
    const char *key;
    const char *given;   /* NULL: the class does not know the key */
    const char *derived; /* what the shapes tell */
};

/* An unexpected tensor under the name that the rules gave it. */
struct nwi_stranger {
    const char *name;
    uint32_t input; /* row of what the rules took */
};

struct nwi_bindings {
    struct nwi_binding *items; /* file order, then those made by a fill */
    size_t n;

    /* What it is; texts NULL where not known. */
    const char *component;
    const char *klass;
    const char *family;
    const char *variant;
    const char
        *layout; /* of the names on the way out: "stored", "diffusers", "original" */
    const char *const *pipeline; /* of a denoiser: what else its pipeline has; ends in
                                    NULL; NULL: not known */
    const char *prefix;          /* that the names had in the file */
    const char
        *file_prefix; /* that original names have where several components share a
                                file; NULL: none, or the caller's own is there */
    const char
        *config_text; /* a config.json for it, where the family's own was taken */
    const char *config_path; /* the caller's config.json that was taken; NULL: none */
    const char *config_root; /* the folder that the caller named for it; NULL: none */

    /* The wanted side: every tensor in one class. */
    uint64_t wanted;
    uint64_t loaded;
    struct nwi_names tied;
    struct nwi_names
        by_rule; /* computed by the module, a constant, or allowed to miss */
    struct nwi_names missing;
    struct nwi_mismatch *mismatched;
    size_t n_mismatched;
    struct nwi_names initialised; /* of missing and mismatched */
    struct nwi_names companions; /* scales and the like, beside quantised weights: items
                                     that the class does not name */

    /* The stored side: what was not claimed. */
    struct nwi_names unexpected;
    struct nwi_stranger
        *strangers; /* of these, where `told`: what the rules let through */
    size_t n_strangers;
    struct nwi_left_out *harmless; /* known not to be wanted, and why */
    size_t n_harmless;

    bool told; /* no config: the model is what the family and the shapes tell */
    const char *const *keep_fp32; /* of the class; NULL ends */
    struct nwi_config_note *notes;
    size_t n_notes;

    int refused; /* NW_OK, or why the plan must be refused: its message in `refusal` */
    const char *refusal;
    const char *refused_tensor; /* NULL: several */
};

/* Binds as the options say: flat, or to a model. What the report must show is in *out even
 * if `refused` is set. ARG (bad rule or pattern), NOT_FOUND (component, a glob of `only`
 * without a match), UNKNOWN_LAYOUT, WRONG_FORMAT (an adapter is no model), BAD_CONFIG,
 * UNSUPPORTED, DUPLICATE, IO, NOMEM. */
int nwi_bind(const struct nw_checkpoint *ckpt, uint32_t component,
             const struct nw_load_options *options, struct nwi_arena *arena,
             struct nwi_bindings *out, struct nw_error *err);

/* Every tensor of the component under its own name, then the caller's renaming and prefix,
 * then `only` and `drop` over the new names. ARG, NOT_FOUND, DUPLICATE, NOMEM. */
int nwi_bind_flat(const struct nw_checkpoint *ckpt, uint32_t component,
                  const struct nw_load_options *options, struct nwi_arena *arena,
                  struct nwi_bindings *out, struct nw_error *err);

#endif
