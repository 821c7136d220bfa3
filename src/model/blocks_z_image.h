/* SPDX-License-Identifier: Apache-2.0
 * What Z-Image's transformer and its control net share (diffusers 0.42.1,
 * models/transformers/transformer_z_image.py, models/controlnets/controlnet_z_image.py). */
#ifndef NWI_BLOCKS_Z_IMAGE_H
#define NWI_BLOCKS_Z_IMAGE_H

#include "model/module.h"
#include "source/header.h"

#define NWI_Z_IMAGE_CONDITION 256 /* widest that time conditions with */

struct nwi_z_image {
    int64_t dim;
    int64_t heads;
    int64_t head_dim;
    int64_t condition; /* dim, at most NWI_Z_IMAGE_CONDITION */
    bool qk_norm;
};
/* dim, n_heads and qk_norm; their defaults are the same in both classes. */
struct nwi_z_image nwi_z_image_read(struct nwi_config *config);

/* The tensors of one block, in the module one is in. */
void nwi_z_image_block(struct nwi_module *m, const struct nwi_z_image *z,
                       bool modulation);
/* n of them, not to be split, as NAME.0, NAME.1 ... */
void nwi_z_image_blocks(struct nwi_module *m, const char *name, int64_t n,
                        const struct nwi_z_image *z, bool modulation);

/* all_patch_size and all_f_patch_size, pairwise: space and time. */
struct nwi_z_image_patches {
    struct nwi_config_ints space;
    struct nwi_config_ints time;
    size_t n;
};
/* `equal`: the lists must be of one length; else the shorter one counts. */
void nwi_z_image_patches(struct nwi_config *config, bool equal,
                         struct nwi_z_image_patches *out);
/* True if no earlier pair is the same: equal pairs share a module. */
bool nwi_z_image_patch_is_new(const struct nwi_z_image_patches *patches, size_t i);
/* How many values a patch of `channels` has. */
int64_t nwi_z_image_patch_width(struct nwi_config *config,
                                const struct nwi_z_image_patches *patches, size_t i,
                                int64_t channels);
/* One linear layer a pair, NAME.SPACE-TIME. */
void nwi_z_image_embedders(struct nwi_module *m, const char *name,
                           const struct nwi_z_image_patches *patches, int64_t channels,
                           int64_t dim);

/* dim, heads and qk_norm from the block at `block` ("layers.0."), patches and channels
 * (under `channels`) from the embedders called `embedders` ("all_x_embedder."). */
struct nwi_z_image_names {
    const char *block;
    const char *embedders;
    const char *channels;
};
void nwi_z_image_derive(struct nwi_config *config, const struct nwi_header *header,
                        struct nwi_z_image_names names);

#endif
