/* SPDX-License-Identifier: Apache-2.0
 * What Stable Diffusion 3 and its control nets share (diffusers 0.42.1,
 * models/transformers/transformer_sd3.py, models/controlnets/controlnet_sd3.py). */
#ifndef NWI_BLOCKS_SD3_H
#define NWI_BLOCKS_SD3_H

#include "model/blocks_attention.h"
#include "model/blocks_patch.h"
#include "source/header.h"

struct nwi_sd3 {
    int64_t dim;
    int64_t heads;
    int64_t head_dim;
    int64_t n; /* layers */
    enum nwi_qk_norm qk_norm;
    struct nwi_config_ints dual;  /* layers whose image has an attention of its own */
    struct nwi_patch_embed patch; /* with in_channels */
};

/* The keys that both classes have. */
void nwi_sd3_read(struct nwi_config *c, struct nwi_sd3 *sd3);

void nwi_sd3_time_text_embed(struct nwi_module *m, struct nwi_config *c, int64_t dim);
void nwi_sd3_context_embedder(struct nwi_module *m, struct nwi_config *c,
                              int64_t joint);

/* Block i, into the module one is in. `last`: nothing reads its text afterwards. */
void nwi_sd3_joint_block(struct nwi_module *m, const struct nwi_sd3 *sd3, int64_t i,
                         bool last);

/* Everything but the channels and patches. */
void nwi_sd3_derive(struct nwi_config *c, const struct nwi_header *h);

#endif
