/* SPDX-License-Identifier: Apache-2.0
 * The transformer of Wan 2.1, and the parts that its descendants (VACE, Animate,
 * SkyReels-V2, ChronoEdit) take over unchanged. Facts: diffusers 0.42.1,
 * models/transformers/transformer_wan.py. */
#ifndef NWI_BLOCKS_WAN_DIT_H
#define NWI_BLOCKS_WAN_DIT_H

#include "model/blocks_video.h"

/* Widths from the config. Fields that differ between classes stand first: set them to the
 * class's defaults before reading. */
struct nwi_wan_dit {
    int64_t heads;
    int64_t ffn;
    int64_t n_layers;
    int64_t in;    /* NWI_NULL: the class reads its channels, `in` and `out`, itself */
    int64_t image; /* channels of image features; NWI_NULL: no image is embedded */
    int64_t dim;   /* heads * head_dim */
    int64_t head_dim;
    int64_t out;
    int64_t text;
    int64_t freq;
    int64_t added; /* channels that image keys and values are made of, or NWI_NULL */
    int64_t image_len; /* of a learnt position of image tokens, or NWI_NULL */
    int64_t rope_len;
    struct nwi_patch patch;
    bool cross_norm;
};

/* Defaults of most classes: 14B, text to video. */
#define NWI_WAN_DIT_14B                                                                \
    {                                                                                  \
        .heads = 40, .ffn = 13824, .n_layers = 40, .in = 16, .image = NWI_NULL         \
    }

void nwi_wan_dit_read(struct nwi_config *c, struct nwi_wan_dit *wan);

/* ---- the model's parts, in its order ---- */

/* scale_shift_table and rope. */
void nwi_wan_dit_start(struct nwi_module *m, const struct nwi_wan_dit *wan);
/* The convolution that makes tokens. */
void nwi_wan_dit_patch(struct nwi_module *m, const char *name,
                       const struct nwi_wan_dit *wan, int64_t in);
/* condition_embedder: time, text and image. */
void nwi_wan_dit_condition(struct nwi_module *m, const struct nwi_wan_dit *wan);
/* One attention; `added` as above. */
void nwi_wan_dit_attention(struct nwi_module *m, const char *name, int64_t dim,
                           int64_t added);
/* One block, in two halves: VACE puts projections around them. */
void nwi_wan_dit_block_table(struct nwi_module *m, const struct nwi_wan_dit *wan);
void nwi_wan_dit_block_body(struct nwi_module *m, const struct nwi_wan_dit *wan);
void nwi_wan_dit_blocks(struct nwi_module *m, const struct nwi_wan_dit *wan);
/* proj_out. */
void nwi_wan_dit_output(struct nwi_module *m, const struct nwi_wan_dit *wan);

/* All of it: WanTransformer3DModel itself. */
void nwi_wan_dit_build(struct nwi_module *m, const struct nwi_wan_dit *wan);

/* patch_size, in_channels and out_channels under the keys given, from patch_embedding and
 * the layer that makes the output. */
void nwi_wan_dit_derive_patch(struct nwi_config *c, const struct nwi_header *h,
                              const char *in, const char *out, const char *output);
/* Everything of nwi_wan_dit_read that shapes tell. Of the heads only their product with
 * the head's width is told: 128 counts unless the config says otherwise. */
void nwi_wan_dit_derive(struct nwi_config *c, const struct nwi_header *h);

#endif
