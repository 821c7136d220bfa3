/* SPDX-License-Identifier: Apache-2.0
 * What FLUX.1, its control nets and Chroma share (diffusers 0.42.1,
 * models/transformers/transformer_flux.py). */
#ifndef NWI_BLOCKS_FLUX_H
#define NWI_BLOCKS_FLUX_H

#include "model/module.h"
#include "source/header.h"

struct nwi_flux {
    int64_t dim;
    int64_t head_dim;
    bool unmodulated; /* Chroma: one network makes the modulations of all blocks */
};

/* time_text_embed, context_embedder and x_embedder of `in` channels, from the keys of the
 * config that say their widths. */
void nwi_flux_embedders(struct nwi_module *m, struct nwi_config *c, int64_t in,
                        int64_t dim);

/* Into the module one is in. */
void nwi_flux_double_block(struct nwi_module *m, const struct nwi_flux *flux);
void nwi_flux_single_block(struct nwi_module *m, const struct nwi_flux *flux);

/* ---- deriving ---- */

/* Depths, heads, in_channels and joint_attention_dim. */
void nwi_flux_derive(struct nwi_config *c, const struct nwi_header *h);
/* pooled_projection_dim and guidance_embeds. */
void nwi_flux_derive_time_text(struct nwi_config *c, const struct nwi_header *h);
/* patch_size and out_channels, from proj_out, which makes the square of the one times the
 * other. */
void nwi_flux_derive_output(struct nwi_config *c, const struct nwi_header *h);
/* attention_head_dim and num_attention_heads, from a norm per head. */
void nwi_flux_derive_heads(struct nwi_config *c, int64_t dim, int64_t head_dim);

#endif
