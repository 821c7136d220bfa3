/* SPDX-License-Identifier: Apache-2.0
 * The quantisation schemes that are known, as data: which tensors stand beside a
 * weight, and what that makes of it. */
#ifndef NWI_SCHEMES_H
#define NWI_SCHEMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/catalog.h"

/* What a companion is to its weight. */
enum nwi_companion {
    NWI_WITH_SCALE = 1 << 0,     /* weight_scale: a factor, or one a row or block */
    NWI_WITH_OLD_SCALE = 1 << 1, /* scale_weight: a factor */
    NWI_WITH_SCALE_INV = 1 << 2, /* weight_scale_inv: a factor a block */
    NWI_WITH_SCALE_2 = 1 << 3,   /* a factor over the block scales */
    NWI_WITH_INPUT = 1 << 4,     /* scales of activations: nothing to the weight */
    NWI_WITH_SMOOTH = 1 << 5,    /* pre_quant_scale: belongs into the columns */
    NWI_WITH_COMFY = 1 << 6,     /* comfy_quant: JSON that names the format */
    NWI_WITH_ASYM = 1 << 7,      /* row scales, channel scales, codebook */
    NWI_WITH_ZEROS = 1 << 8,
    NWI_WITH_BNB = 1 << 9,  /* absmax, maps */
    NWI_WITH_NF4 = 1 << 10, /* quant_state: JSON */
    NWI_WITH_FP4 = 1 << 11,
    NWI_WITH_SCB = 1 << 12,     /* row maxima of LLM.int8() */
    NWI_WITH_WSCALES = 1 << 13, /* nunchaku */
    NWI_WITH_WZEROS = 1 << 14,
    NWI_WITH_BRANCH = 1 << 15, /* nunchaku's low-rank branch and smoothing */
    NWI_WITH_SCALES = 1 << 16, /* GPTQ and AWQ */
    NWI_WITH_QZEROS = 1 << 17,
    NWI_WITH_G_IDX = 1 << 18,
    NWI_WITH_QUANTO = 1 << 19,
    NWI_WITH_TORCHAO = 1 << 20,
    NWI_WITH_PACKED = 1 << 21 /* compressed-tensors */
};

struct nwi_companion_row {
    const char *suffix; /* of the companion's name, with its dot */
    size_t size;        /* of the suffix, bytes */
    const char *weight; /* what stands in its place in the weight's name */
    enum nwi_companion kind;
    bool strict; /* without a weight it is worth a note */
};

extern const struct nwi_companion_row nwi_companions[];
extern const size_t nwi_n_companions;

/* The scheme of a weight with those companions (enum nwi_companion); `scale` is its
 * weight_scale, or NULL. NULL if they do not make it a quantised one. Static. */
const char *nwi_scheme(const struct nwi_stored *weight, uint32_t companions,
                       const struct nwi_stored *scale);

/* True if any companion of that kind holds numbers without which the weight is not what
 * its bytes say. */
bool nwi_scheme_has_scale(uint32_t companions);

/* Types that scales are made for: 8 bits and fewer. */
bool nwi_scheme_is_narrow(const struct nwi_stored *weight);

#endif
