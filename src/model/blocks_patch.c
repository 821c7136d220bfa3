/* SPDX-License-Identifier: Apache-2.0
 * Patches and their positions, as diffusers 0.42.1 lays them out (models/embeddings.py). */
#include "model/blocks_patch.h"

#define SIDE_MOST ((int64_t)1 << 20)

static void positions(struct nwi_module *m, const struct nwi_patch_embed *shape)
{
    int64_t grid = shape->sample / shape->patch;
    bool stored = shape->table != NWI_NULL && shape->table != 0;
    if (shape->dim % 4 != 0) {
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "positions of %lld channels, which 4 does not divide",
                        (long long)shape->dim);
        return;
    }
    if (stored)
        nwi_buffer(m, "pos_embed",
                   NWI_DIMS(1, shape->table * shape->table, shape->dim));
    else
        nwi_scratch_buffer(m, "pos_embed", NWI_DIMS(1, grid * grid, shape->dim));
}

void nwi_patch_embed(struct nwi_module *m, struct nwi_patch_embed shape)
{
    enum nw_fill fill = shape.zero ? NW_FILL_ZERO : NW_FILL_NONE;
    if (shape.patch <= 0) {
        nwi_config_fail(m->config, NW_E_BAD_CONFIG, "the config has patches of %lld",
                        (long long)shape.patch);
        return;
    }
    if (shape.positions)
        positions(m, &shape);
    NWI_IN(m, "proj")
    {
        nwi_parameter_filled(
            m, "weight", NWI_DIMS(shape.dim, shape.in, shape.patch, shape.patch), fill);
        nwi_parameter_filled(m, "bias", NWI_DIMS(shape.dim), fill);
    }
}

int64_t nwi_config_needed(struct nwi_config *c, const char *key)
{
    int64_t value = nwi_config_int_or_null(c, key, NWI_NULL);
    if (value > 0)
        return value;
    nwi_config_fail(c, NW_E_BAD_CONFIG, "the config needs \"%s\", 1 or more", key);
    return 1;
}

void nwi_derive_heads(struct nwi_config *c, int64_t dim, int64_t usual)
{
    if (dim <= 0)
        return;
    int64_t head_dim = usual > 0 && dim % usual == 0 ? usual : dim;
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", dim / head_dim);
}

int64_t nwi_square_side(int64_t area)
{
    int64_t low = 0;
    int64_t high = SIDE_MOST;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (middle * middle < area)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && low * low == area ? low : -1;
}
