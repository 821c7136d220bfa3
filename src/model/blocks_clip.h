/* SPDX-License-Identifier: Apache-2.0
 * CLIP's and SigLIP's encoders (transformers 5.24, models/clip, models/siglip): the whole
 * text or vision tower, into the module one is in. */
#ifndef NWI_BLOCKS_CLIP_H
#define NWI_BLOCKS_CLIP_H

#include "model/config.h"
#include "model/module.h"
#include "source/header.h"

/* What CLIPTextConfig and CLIPVisionConfig say. */
struct nwi_clip {
    int64_t dim;
    int64_t inner; /* of the MLPs */
    int64_t layers;
    int64_t projection; /* of CLIP only; NWI_NULL: null */
};

struct nwi_clip nwi_clip_text(struct nwi_module *m, struct nwi_config *c);
struct nwi_clip nwi_clip_vision(struct nwi_module *m, struct nwi_config *c);

/* SiglipVisionModel; returns the width. */
int64_t nwi_siglip_vision(struct nwi_module *m, struct nwi_config *c);
/* Siglip2VisionModel: patches come cut, and are as many as the config says. */
void nwi_siglip2_vision(struct nwi_module *m, struct nwi_config *c);

/* Deriving from the tensors under `at` ("", "text_model."). */
void nwi_clip_text_derive(struct nwi_config *c, const struct nwi_header *h,
                          const char *at);
void nwi_clip_vision_derive(struct nwi_config *c, const struct nwi_header *h,
                            const char *at);
void nwi_siglip_vision_derive(struct nwi_config *c, const struct nwi_header *h,
                              const char *at);

/* From a square table of n positions over patches of that size: the image size that
 * models are published with, or else the smallest. */
void nwi_image_size_derive(struct nwi_config *c, int64_t n, int64_t patch);
/* Heads shape nothing here, but have to divide the width. */
void nwi_vision_heads_derive(struct nwi_config *c, int64_t dim);
/* image_size / patch_size, BAD_CONFIG if that cannot be. */
int64_t nwi_patches_a_side(struct nwi_config *c, int64_t image, int64_t patch);

#endif
