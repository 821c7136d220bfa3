/* SPDX-License-Identifier: Apache-2.0
 * Families: what a checkpoint can be, one row for each model of a family (its denoiser,
 * its VAE ...), one file a family. Adding a family is adding a file and a line in
 * family_list.h. */
#ifndef NWI_FAMILY_H
#define NWI_FAMILY_H

#include "layout/rules.h"

/* Facts that must all hold, each a predicate; NULL ends. The more of them, the more
 * specific: the row (or variant) with most wins, and a tie is reported, never decided. */
struct nwi_signature {
    const char *const *facts;
};
#define NWI_WHEN(...)                                                                  \
    {                                                                                  \
        (const char *const[])                                                          \
        {                                                                              \
            __VA_ARGS__, NULL                                                          \
        }                                                                              \
    }

/* A release, or a kind, of the model: sd-inpainting, FLUX.1-Fill, Wan 2.2 TI2V ... */
struct nwi_variant {
    const char *name;
    struct nwi_signature
        original; /* over names without their prefix; facts NULL: cannot
                                       be told there */
    struct nwi_signature diffusers; /* the same in the class's own names */
    const char
        *preset; /* config of that release as a JSON object: only what differs from
                           the class's defaults and shapes do not tell; NULL: nothing */
    const char *source; /* where the values are from: "org/name, file" */
};

struct nwi_family;

/* Beside a denoiser in one original file of its tradition: what a component of the
 * pipeline looks like there, where it is not its own family's way. */
struct nwi_original_part {
    const char *component;
    const char *variant;             /* of the denoiser; NULL: any */
    const struct nwi_family *family; /* whose rules; NULL: its own */
    const char *prefix;              /* NULL: the family's */
};

enum nwi_model_kind {
    NWI_KIND_DENOISER,
    NWI_KIND_VAE,
    NWI_KIND_TEXT_ENCODER,
    NWI_KIND_IMAGE_ENCODER,
    NWI_KIND_CONTROLNET,
    NWI_KIND_ADAPTER, /* motion modules and the like: completes a denoiser */
    NWI_KIND_UPSCALER,
    NWI_KIND_OTHER
};

struct nwi_family {
    const char *name;      /* "sdxl": of the family */
    const char *title;     /* "Stable Diffusion XL" */
    const char *component; /* name in a pipeline folder: "unet", "transformer", "vae",
                              "text_encoder" ... */
    const char *klass; /* "UNet2DConditionModel"; NULL: no class is known, it is only
                              recognised */
    uint8_t kind;      /* enum nwi_model_kind */
    bool same_names;   /* original and diffusers names are the same: `rules` NULL */

    const struct nwi_rules *rules; /* NULL: there is no original layout to convert */
    const struct nwi_rules *deprecated; /* older spellings of the class's own names (the
                                           original side) and today's; NULL: none */
    const struct nwi_signature *original;  /* any of these; ends in {NULL} */
    const struct nwi_signature *diffusers; /* any of these; ends in {NULL} */
    const struct nwi_variant *variants;    /* ends in a row without name; NULL: none */
    const char *preset; /* for all variants, under the variant's own */

    /* Denoisers: what else an all-in-one file of this family holds, by component
     * ("vae", "text_encoder", "text_encoder_2"); ends in NULL. */
    const char *const *pipeline;
    /* Denoisers: how those are written into one original file; ends in {0}. NULL: each as
     * its own family says. */
    const struct nwi_original_part *parts;
    /* Prefix of this component in an all-in-one file of its own tradition
     * ("model.diffusion_model."): the one that is written when the caller asks for one
     * original file and names none. NULL: none. */
    const char *prefix;

    /* "epsilon" or "v_prediction" where the file or the family tells; NULL otherwise. */
    const char *prediction_type;
};

#define ROW(name) extern const struct nwi_family nwi_family_##name;
#include "layout/family_list.h"
#undef ROW

extern const struct nwi_family *const nwi_families[]; /* ends in NULL */

#endif
