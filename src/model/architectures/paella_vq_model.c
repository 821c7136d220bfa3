/* SPDX-License-Identifier: Apache-2.0
 * PaellaVQModel (diffusers 0.42.1,
 * pipelines/deprecated/wuerstchen/modeling_paella_vq_model.py): the VQGAN of Stable Cascade
 * and Wuerstchen. */
#include "model/architecture.h"
#include "model/blocks_vae.h"

#include <stdio.h>

static void mixing_block(struct nwi_module *m, const char *list, int64_t i,
                         int64_t width)
{
    NWI_IN(m, "%s.%lld", list, (long long)i)
    {
        nwi_parameter_filled(m, "gammas", NWI_DIMS(6), NW_FILL_ZERO);
        nwi_conv(m, "depthwise.1", NWI_DIMS(width, 1, 3, 3), true);
        nwi_linear(m, "channelwise.0", width, 4 * width, true);
        nwi_linear(m, "channelwise.2", 4 * width, width, true);
    }
}

/* Channels of a level: each has half of the next one's. */
static int64_t width_of(int64_t dim, int64_t levels, int64_t i)
{
    return nwi_vae_halved(dim, (size_t)(levels - 1 - i));
}

/* Encoder: a block a level, with a convolution that halves the image before all but the
 * first. Gives the place of the list that comes next. */
static int64_t down_blocks(struct nwi_module *m, int64_t dim, int64_t levels)
{
    int64_t at = 0;
    for (int64_t i = 0; i < levels; i++) {
        int64_t width = width_of(dim, levels, i);
        if (i > 0)
            NWI_IN(m, "down_blocks")
            {
                char name[24];
                (void)snprintf(name, sizeof name, "%lld", (long long)at++);
                nwi_conv2d(m, name, width_of(dim, levels, i - 1), width, 4, true);
            }
        mixing_block(m, "down_blocks", at++, width);
    }
    return at;
}

static void up_blocks(struct nwi_module *m, int64_t dim, int64_t levels,
                      int64_t bottleneck)
{
    int64_t at = 1;
    for (int64_t i = levels - 1; i >= 0; i--) {
        int64_t width = width_of(dim, levels, i);
        int64_t blocks = i == levels - 1 ? bottleneck : 1;
        for (int64_t j = 0; j < blocks; j++)
            mixing_block(m, "up_blocks", at++, width);
        if (i == 0)
            break;
        NWI_IN(m, "up_blocks.%lld", (long long)at++)
        {
            int64_t next = width_of(dim, levels, i - 1);
            nwi_parameter(m, "weight", NWI_DIMS(width, next, 4, 4));
            nwi_parameter(m, "bias", NWI_DIMS(next));
        }
    }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t in = nwi_config_int(c, "in_channels", 3);
    int64_t out = nwi_config_int(c, "out_channels", 3);
    int64_t factor = nwi_vae_positive(c, "up_down_scale_factor", 2);
    int64_t levels = nwi_config_count(c, "levels", 2);
    int64_t bottleneck = nwi_config_count(c, "bottleneck_blocks", 12);
    int64_t dim = nwi_config_int(c, "embed_dim", 384);
    int64_t latent = nwi_config_int(c, "latent_channels", 4);
    int64_t entries = nwi_vae_positive(c, "num_vq_embeddings", 8192);
    int64_t area = factor * factor;
    if (levels == 0) {
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"levels\" of the config is 0");
        return;
    }

    nwi_conv2d(m, "in_block.1", in * area, width_of(dim, levels, 0), 1, true);
    int64_t at = down_blocks(m, dim, levels);
    NWI_IN(m, "down_blocks.%lld", (long long)at)
    {
        nwi_conv2d(m, "0", dim, latent, 1, false);
        nwi_vae_batch_norm(m, "1", latent, true);
    }
    nwi_embedding(m, "vquantizer.embedding", entries, latent);
    nwi_conv2d(m, "up_blocks.0.0", latent, dim, 1, true);
    up_blocks(m, dim, levels, bottleneck);
    nwi_conv2d(m, "out_block.0", width_of(dim, levels, 0), out * area, 1, true);
}

static int64_t count_levels(const struct nwi_header *h)
{
    int64_t last = nwi_header_count(h, "down_blocks.") - 1;
    return last > 0 ? (last + 1) / 2 : -1;
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t bottleneck = 0;
    while (bottleneck < NWI_CONFIG_DEPTH &&
           nwi_vae_has(h, "up_blocks.%lld.gammas", (long long)bottleneck + 1))
        bottleneck++;
    nwi_vae_derive_patch(c, "up_down_scale_factor", 2,
                         nwi_header_dim(h, "in_block.1.weight", 1),
                         nwi_header_dim(h, "out_block.0.weight", 0));
    nwi_config_derive(c, "levels", count_levels(h));
    nwi_config_derive(c, "bottleneck_blocks", bottleneck);
    nwi_config_derive(c, "embed_dim", nwi_header_dim(h, "up_blocks.0.0.weight", 0));
    nwi_config_derive(c, "latent_channels",
                      nwi_header_dim(h, "vquantizer.embedding.weight", 1));
    nwi_config_derive(c, "num_vq_embeddings",
                      nwi_header_dim(h, "vquantizer.embedding.weight", 0));
}

static const char *const plain_keys[] = {"scale_factor", NULL};

const struct nwi_architecture nwi_arch_paella_vq_model = {
    .klass = "PaellaVQModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
