/* SPDX-License-Identifier: Apache-2.0
 * What a file is made of: its parts, and for each the family that fits best. Reads names
 * and shapes only, but for facts that ask whether a tensor holds anything but zeros
 * ("~NAME", one tensor is read, and `probed` says which). */
#ifndef NWI_DETECT_H
#define NWI_DETECT_H

#include "base/json.h"
#include "layout/family.h"
#include "layout/regions.h"

enum nwi_stored_layout {
    NWI_LAYOUT_UNKNOWN,
    NWI_LAYOUT_ORIGINAL,
    NWI_LAYOUT_DIFFUSERS
};

#define NWI_ABSENT_MOST 4u

/* One part of a file. Everything on the arena, or static. */
struct nwi_found {
    const char
        *name; /* "unet", "vae" ... "other" for what belongs to none; "" if it is the
                         whole and unknown */
    const char *klass;               /* NULL: not known */
    const struct nwi_family *family; /* NULL: not recognised */
    const struct nwi_variant *variant;
    const char *family_name; /* of the file: its denoiser's where there is one */
    const char *prediction_type;
    const char *probed; /* the tensor whose values were looked at; NULL: none */
    const char *absent[NWI_ABSENT_MOST]; /* of a partial one */
    uint32_t n_absent;
    uint8_t layout;           /* enum nwi_stored_layout */
    uint8_t state;            /* enum nw_state */
    uint8_t kind;             /* enum nwi_model_kind */
    struct nwi_region region; /* empty if absent */
    uint64_t nbytes;
    const char *why_not; /* not recognised: the nearest families and what each lacks */
};

struct nwi_detection {
    struct nwi_found *parts;
    size_t n;
    const struct nwi_found
        *ema; /* the part of model_ema names; NULL: none. One of parts */
};

/* The parts of one component of the catalog. NOMEM, IO (a probe could not read). */
int nwi_detect(const struct nw_checkpoint *ckpt, uint32_t component,
               const struct nwi_hints *hints, struct nwi_arena *arena,
               struct nwi_detection *out, struct nw_error *err);

/* The first part that is a denoiser of a known family, or NULL. */
struct nwi_found *nwi_find_denoiser(const struct nwi_detection *out);

/* The best row for the names of one region; *out is NULL if none fits or two fit equally
 * well, and then *why_not says what is near (one line). `role` narrows nothing, it breaks
 * no tie. */
struct nwi_recognition {
    const struct nwi_family *family;
    const struct nwi_variant *variant;
    uint8_t layout; /* enum nwi_stored_layout */
    const char *probed;
    const char *why_not;
};
int nwi_detect_region(const struct nw_checkpoint *ckpt, const struct nwi_header *header,
                      const struct nwi_hints *hints, struct nwi_arena *arena,
                      struct nwi_recognition *out, struct nw_error *err);

/* The config that a family and variant have built in: variant over family; NULL if there is
 * none. BAD_CONFIG: the table is wrong (a test reads every row). */
int nwi_family_preset(const struct nwi_family *family,
                      const struct nwi_variant *variant, struct nwi_arena *arena,
                      const struct nwi_json_value **out, struct nw_error *err);

#endif
