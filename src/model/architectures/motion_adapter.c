/* SPDX-License-Identifier: Apache-2.0
 * MotionAdapter (diffusers 0.42.1, models/unets/unet_motion_model.py): AnimateDiff's motion
 * modules, beside the levels of a U-Net. */
#include "model/architecture.h"
#include "model/blocks_unet.h"
#include "model/blocks_vae.h"

static const char layers_key[] = "motion_layers_per_block";
static const char depth_key[] = "motion_transformer_layers_per_block";
static const char mid_layers_key[] = "motion_mid_block_layers_per_block";
static const char mid_depth_key[] = "motion_transformer_layers_per_mid_block";

struct adapter {
    struct nwi_unet unet;
    struct nwi_config_ints channels;
    struct nwi_config_ints layers;
    struct nwi_config_ints heads;
    bool middle;
};

static void modules(struct nwi_module *m, const struct adapter *net, size_t at,
                    int64_t layers, const struct nwi_json_value *depth)
{
    struct nwi_unet_level level = {.out = net->channels.at[at],
                                   .layers = layers,
                                   .motion_heads = net->heads.at[at],
                                   .motion_depth = depth};
    bool list = depth && depth->kind == NWI_JSON_IS_ARRAY;
    if (layers > NWI_CONFIG_DEPTH)
        nwi_config_fail(m->config, NW_E_LIMIT, "the config has %lld layers",
                        (long long)layers);
    if (list && depth->n_children != (size_t)(layers > 0 ? layers : 0))
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "%lld layers of the config have %zu numbers of transformers",
                        (long long)layers, depth->n_children);
    nwi_unet_motion(m, &net->unet, &level);
}

static void middle(struct nwi_module *m, const struct adapter *net, int64_t layers,
                   const struct nwi_json_value *depth)
{
    NWI_IN(m, "mid_block")
    {
        modules(m, net, net->channels.n - 1, layers, depth);
    }
}

static void levels(struct nwi_module *m, const struct adapter *net)
{
    size_t n = net->channels.n;
    for (size_t i = 0; i < n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            modules(m, net, i, net->layers.at[i],
                    nwi_unet_item(m->config, depth_key, i, false));
        }
    for (size_t i = 0; i < n; i++)
        NWI_IN(m, "up_blocks.%zu", i)
        {
            modules(m, net, n - 1 - i, net->layers.at[n - 1 - i] + 1,
                    nwi_unet_item(m->config, depth_key, i, true));
        }
}

static void read(struct nwi_config *c, struct adapter *net)
{
    static const int64_t channels[] = {320, 640, 1280, 1280};
    nwi_vae_ints(c, "block_out_channels", channels, 4, &net->channels);
    (void)nwi_vae_need(c, "block_out_channels", net->channels.n, 1);
    nwi_unet_spread(c, layers_key, 2, net->channels.n, false, &net->layers);
    nwi_unet_spread(c, "motion_num_attention_heads", 8, net->channels.n, false,
                    &net->heads);
    net->unet.groups = nwi_config_int(c, "motion_norm_num_groups", 32);
    net->unet.frames = nwi_config_count(c, "motion_max_seq_length", 32);
    net->unet.motion_twice = true;
    net->middle = nwi_config_bool(c, "use_motion_mid_block", true);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct adapter net = {0};
    int64_t in = nwi_config_int_or_null(c, "conv_in_channels", NWI_NULL);
    int64_t layers = nwi_config_count(c, mid_layers_key, 1);
    const struct nwi_json_value *depth = nwi_config_raw(c, mid_depth_key);
    read(c, &net);
    if (depth && depth->kind == NWI_JSON_IS_ARRAY &&
        depth->n_children != (size_t)layers)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"%s\" of the config has %zu items, %lld are needed",
                        mid_depth_key, depth->n_children, (long long)layers);
    if (c->code != NW_OK)
        return;
    if (in != NWI_NULL && in != 0)
        nwi_conv2d(m, "conv_in", in, net.channels.at[0], 3, true);
    if (net.middle)
        middle(m, &net, layers, depth);
    levels(m, &net);
}

/* ---- deriving ---- */

/* The middle has its own number of layers, and of transformers for each of them. */
static void derive_middle(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t depth[NWI_CONFIG_LIST] = {0};
    int64_t n = nwi_vae_run(h, "norm.weight", "mid_block.motion_modules");
    const struct nwi_json_value *own = nwi_config_raw(c, mid_depth_key);
    bool same = !own || own->kind != NWI_JSON_IS_ARRAY;
    nwi_config_derive_bool(c, "use_motion_mid_block", n > 0);
    if (n == 0 || n > (int64_t)NWI_CONFIG_LIST)
        return;
    for (int64_t i = 0; i < n; i++) {
        depth[i] = nwi_vae_run(h, "norm1.weight",
                               "mid_block.motion_modules.%lld.transformer_blocks",
                               (long long)i);
        same = same && depth[i] == depth[0];
    }
    nwi_config_derive(c, mid_layers_key, n);
    if (same)
        nwi_config_derive(c, mid_depth_key, depth[0]);
    else
        nwi_config_derive_ints(c, mid_depth_key, depth, (size_t)n);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    static const struct nwi_unet_depths depths = {
        .list = "motion_modules", .key = depth_key, .no_middle = true};
    struct nwi_unet_told told = {.up = true, .layer_list = true};
    int64_t in = nwi_header_dim(h, "conv_in.weight", 1);
    nwi_unet_look(h, &told);
    if (told.n == 0)
        return;
    nwi_unet_derive_sizes(c, h, &told, layers_key);
    nwi_unet_derive_depths(c, h, &told, &depths);
    nwi_config_derive(
        c, "motion_max_seq_length",
        nwi_header_dim(
            h, "down_blocks.0.motion_modules.0.transformer_blocks.0.pos_embed.pe", 1));
    if (in >= 0)
        nwi_config_derive(c, "conv_in_channels", in);
    else
        nwi_config_derive_null(c, "conv_in_channels");
    derive_middle(c, h);
}

const struct nwi_architecture nwi_arch_motion_adapter = {
    .klass = "MotionAdapter",
    .library = "diffusers",
    .build = build,
    .derive = derive,
};
