/* SPDX-License-Identifier: Apache-2.0
 * What the control nets for U-Nets share (diffusers 0.42.1, models/controlnets/
 * controlnet.py, controlnet_union.py, controlnet_sparsectrl.py): the way down of a U-Net, and
 * a convolution that begins as zeros behind each of its steps. */
#ifndef NWI_BLOCKS_CONTROLNET_H
#define NWI_BLOCKS_CONTROLNET_H

#include "model/blocks_unet.h"

struct nwi_controlnet {
    struct nwi_unet unet;
    struct nwi_unet_levels levels;
    struct nwi_unet_embeds embeds;
    struct nwi_config_ints condition; /* conditioning_embedding_out_channels */
    bool motion;                      /* SparseCtrl's blocks */
};

/* Reads what the classes share; `cross`: the default cross_attention_dim. `motion` is set
 * before. False if it failed. */
bool nwi_controlnet_read(struct nwi_config *c, struct nwi_controlnet *net,
                         const int64_t *condition, int64_t cross);
/* conv_in and time_embedding, each into the module one is in. */
void nwi_controlnet_conv_in(struct nwi_module *m, const struct nwi_controlnet *net);
void nwi_controlnet_time(struct nwi_module *m, const struct nwi_controlnet *net);
/* controlnet_cond_embedding: from an image of `in` channels, in eighth the size. */
void nwi_controlnet_condition(struct nwi_module *m, const struct nwi_controlnet *net,
                              int64_t in);
/* down_blocks, controlnet_down_blocks, controlnet_mid_block, and mid_block of that type,
 * whose transformers are as deep as the last level's or as `depth`. */
void nwi_controlnet_levels(struct nwi_module *m, const struct nwi_controlnet *net,
                           const char *middle, const struct nwi_json_value *depth);

/* Everything that `nwi_controlnet_read` and these modules ask for. */
void nwi_controlnet_derive(struct nwi_config *c, const struct nwi_header *h,
                           bool motion);

#endif
