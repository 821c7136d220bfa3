/* SPDX-License-Identifier: Apache-2.0
 * Splitting the names of a file into its parts: the prefixes under which training code
 * and user interfaces put a denoiser, a VAE, text encoders ... into one file, on their
 * own or stacked ("module.model.diffusion_model._orig_mod."). */
#ifndef NWI_REGIONS_H
#define NWI_REGIONS_H

#include "source/catalog.h"
#include "source/header.h"

#define NWI_OUTER_MOST 4 /* foreign segments that may stand before all names */

enum nwi_role {
    NWI_ROLE_ROOT, /* no known prefix */
    NWI_ROLE_DENOISER,
    NWI_ROLE_VAE,
    NWI_ROLE_AUDIO_VAE,
    NWI_ROLE_VOCODER,
    NWI_ROLE_TEXT_ENCODER,
    NWI_ROLE_IMAGE_ENCODER,
    NWI_ROLE_CONTROLNET,
    NWI_ROLE_EMA,
    NWI_ROLE_DEPTH
};

/* All tensors whose names begin with one prefix. */
struct nwi_region {
    const char *prefix; /* in full, as stored; "" for the root */
    size_t prefix_size;
    uint8_t role;                /* enum nwi_role */
    struct nwi_header_row *rows; /* [n], names without the prefix */
    size_t n;
};

struct nwi_regions {
    struct nwi_region
        *items; /* the root first (it may be empty), then as they appear */
    size_t n;
};

/* Of the tensors of one component of the catalog. Everything on the arena. NOMEM.
 * Linear in the names; past 256 prefixes everything counts as the root's. */
int nwi_regions_find(const struct nw_checkpoint *ckpt, uint32_t component,
                     struct nwi_arena *arena, struct nwi_regions *out,
                     struct nw_error *err);

/* Takes off the first dotted segment that all names of the region share, if they do (and
 * it is no number); false if they do not. Changes rows and prefix. */
bool nwi_region_shorten(struct nwi_region *region, struct nwi_arena *arena);

#endif
