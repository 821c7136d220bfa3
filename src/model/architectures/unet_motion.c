/* SPDX-License-Identifier: Apache-2.0
 * UNetMotionModel (diffusers 0.42.1, models/unets/unet_motion_model.py): a U-Net of Stable
 * Diffusion with AnimateDiff's motion modules in it. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_unet.h"
#include "model/blocks_vae.h"

static const char depth_key[] = "transformer_layers_per_block";
static const char back_key[] = "reverse_transformer_layers_per_block";
static const char mid_key[] = "transformer_layers_per_mid_block";
static const char motion_key[] = "temporal_transformer_layers_per_block";
static const char motion_back_key[] = "reverse_temporal_transformer_layers_per_block";
static const char motion_mid_key[] = "temporal_transformer_layers_per_mid_block";
static const char *const default_ups[] = {"UpBlockMotion", "CrossAttnUpBlockMotion",
                                          "CrossAttnUpBlockMotion",
                                          "CrossAttnUpBlockMotion"};

static bool read(struct nwi_config *c, struct nwi_unet_levels *levels,
                 struct nwi_unet *u, struct nwi_config_texts *ups)
{
    if (!nwi_unet_read_levels(c, "CrossAttnDownBlockMotion", "DownBlockMotion", levels))
        return false;
    size_t n = levels->n;
    nwi_config_texts_or(c, "up_block_types", default_ups, 4, ups);
    if (ups->n != n)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config has %zu down_block_types and %zu up_block_types", n,
                        ups->n);
    nwi_unet_spread(c, "num_attention_heads", 8, n, false, &levels->heads);
    nwi_unet_spread(c, "motion_num_attention_heads", 8, n, false,
                    &levels->motion_heads);
    nwi_unet_spread(c, "cross_attention_dim", 1280, n, false, &levels->cross);
    nwi_unet_spread(c, "layers_per_block", 2, n, false, &levels->layers);
    *u = (struct nwi_unet){
        .time = 4 * levels->channels.at[0],
        .groups = nwi_config_int_or_null(c, "norm_num_groups", 32),
        .time_shift = "default",
        .frames = nwi_config_count(c, "motion_max_seq_length", 32),
        .linear = nwi_config_bool(c, "use_linear_projection", false),
        .motion = true,
        .motion_twice = true,
    };
    nwi_vae_activation(c, "act_fn", "silu");
    return c->code == NW_OK;
}

static void embeddings(struct nwi_module *m, struct nwi_config *c, int64_t in,
                       int64_t time)
{
    static const char inputs[] = "projection_class_embeddings_input_dim";
    int64_t width = nwi_config_int_or_null(c, inputs, NWI_NULL);
    nwi_unet_time(m, in, time,
                  nwi_config_int_or_null(c, "time_cond_proj_dim", NWI_NULL));
    if (!nwi_config_is(c, "addition_embed_type", NULL, "text_time"))
        return;
    if (width == NWI_NULL)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "the config needs a number in \"%s\"",
                        inputs);
    nwi_two_linears(m, "add_embedding", width, time, time);
}

static void down_blocks(struct nwi_module *m, const struct nwi_unet *u,
                        const struct nwi_unet_levels *levels)
{
    for (size_t i = 0; i < levels->n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            struct nwi_unet_level level = nwi_unet_down_level(levels, i);
            level.depth = nwi_unet_item(m->config, depth_key, i, false);
            level.motion_depth = nwi_unet_item(m->config, motion_key, i, false);
            nwi_unet_down(m, u, &level);
        }
}

static void up_blocks(struct nwi_module *m, const struct nwi_unet *u,
                      const struct nwi_unet_levels *levels,
                      const struct nwi_config_texts *types)
{
    bool back = nwi_unet_check_depths(m->config, depth_key, back_key);
    bool motion_back = nwi_unet_check_depths(m->config, motion_key, motion_back_key);
    for (size_t i = 0; i < levels->n; i++) {
        struct nwi_unet_level level = nwi_unet_up_level(levels, i);
        level.type = types->at[i];
        level.depth = nwi_unet_item(m->config, back ? back_key : depth_key, i, !back);
        level.motion_depth = nwi_unet_item(
            m->config, motion_back ? motion_back_key : motion_key, i, !motion_back);
        nwi_unet_up(m, u, "up_blocks", (int64_t)i, &level);
    }
}

static void mid_block(struct nwi_module *m, const struct nwi_unet *u,
                      const struct nwi_unet_levels *levels)
{
    struct nwi_config *c = m->config;
    struct nwi_unet_level level = nwi_unet_down_level(levels, levels->n - 1);
    bool motion = nwi_config_bool(c, "use_motion_mid_block", true);
    level.type = motion ? "UNetMidBlockCrossAttnMotion" : "UNetMidBlock2DCrossAttn";
    level.layers = nwi_config_count(c, "mid_block_layers", 1);
    level.depth = nwi_unet_middle_depth(c, mid_key, depth_key);
    level.motion_depth = nwi_config_raw(c, motion_mid_key);
    NWI_IN(m, "mid_block")
    {
        nwi_unet_middle(m, u, &level);
    }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_unet_levels levels = {0};
    struct nwi_config_texts ups;
    struct nwi_unet u;
    int64_t in = nwi_config_int(c, "in_channels", 4);
    int64_t out = nwi_config_int(c, "out_channels", 4);
    if (!read(c, &levels, &u, &ups))
        return;
    int64_t first = levels.channels.at[0];
    nwi_conv2d(m, "conv_in", in, first, 3, true);
    embeddings(m, c, first, u.time);
    down_blocks(m, &u, &levels);
    up_blocks(m, &u, &levels, &ups);
    mid_block(m, &u, &levels);
    if (u.groups != NWI_NULL)
        nwi_vae_group_norm(m, "conv_norm_out", first, u.groups);
    nwi_conv2d(m, "conv_out", first, out, 3, true);
}

/* ---- deriving ---- */

/* With one layer the middle follows the last level; with more, each has its number. */
static void derive_middle(struct nwi_config *c, const struct nwi_header *h, int64_t n)
{
    static const char *const lists[] = {"attentions", "motion_modules"};
    static const char *const keys[] = {mid_key, motion_mid_key};
    bool motion = nwi_header_any(h, "mid_block.motion_modules.");
    int64_t depth[NWI_CONFIG_LIST] = {0};
    if (n <= 0 || n > (int64_t)NWI_CONFIG_LIST)
        return;
    nwi_config_derive_bool(c, "use_motion_mid_block", motion);
    for (size_t k = n == 1; k < 1 + (size_t)motion; k++) {
        const struct nwi_json_value *own = nwi_config_raw(c, keys[k]);
        bool same = !own || own->kind != NWI_JSON_IS_ARRAY;
        for (int64_t i = 0; i < n; i++) {
            depth[i] =
                nwi_vae_run(h, "norm1.weight", "mid_block.%s.%lld.transformer_blocks",
                            lists[k], (long long)i);
            same = same && depth[i] == depth[0];
        }
        if (same)
            nwi_config_derive(c, keys[k], depth[0]);
        else
            nwi_config_derive_ints(c, keys[k], depth, (size_t)n);
    }
}

static void derive_ends(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t cond = nwi_header_dim(h, "time_embedding.cond_proj.weight", 1);
    int64_t added = nwi_header_dim(h, "add_embedding.linear_1.weight", 1);
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "conv_in.weight", 1));
    nwi_config_derive(c, "out_channels", nwi_header_dim(h, "conv_out.weight", 0));
    nwi_config_derive(c, "time_cond_proj_dim", cond);
    if (cond < 0)
        nwi_config_derive_null(c, "time_cond_proj_dim");
    nwi_config_derive(c, "projection_class_embeddings_input_dim", added);
    if (added >= 0)
        nwi_config_derive_text(c, "addition_embed_type", "text_time");
    else if (nwi_config_is(c, "addition_embed_type", NULL, "text_time"))
        nwi_config_derive_null(c, "addition_embed_type");
    if (!nwi_header_has(h, "conv_norm_out.weight"))
        nwi_config_derive_null(c, "norm_num_groups");
    nwi_config_derive(
        c, "motion_max_seq_length",
        nwi_header_dim(
            h, "down_blocks.0.motion_modules.0.transformer_blocks.0.pos_embed.pe", 1));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t n = nwi_vae_run(h, "proj_in.weight", "mid_block.attentions");
    struct nwi_unet_told told = {.up = true,
                                 .motion = true,
                                 .layer_list = true,
                                 .cross_list = true,
                                 .plain = true};
    const struct nwi_unet_depths depths = {.list = "attentions",
                                           .key = depth_key,
                                           .back = back_key,
                                           .middle = mid_key,
                                           .no_middle = n != 1};
    static const struct nwi_unet_depths motions = {.list = "motion_modules",
                                                   .key = motion_key,
                                                   .back = motion_back_key,
                                                   .no_middle = true};
    derive_ends(c, h);
    nwi_unet_derive_levels(c, h, &told);
    if (told.n == 0)
        return;
    nwi_unet_derive_depths(c, h, &told, &depths);
    nwi_unet_derive_depths(c, h, &told, &motions);
    nwi_config_derive(c, "mid_block_layers", n);
    derive_middle(c, h, n);
}

static const char *const plain_keys[] = {"sample_size",
                                         "downsample_padding",
                                         "mid_block_scale_factor",
                                         "norm_eps",
                                         "reverse_motion_num_attention_heads",
                                         "encoder_hid_dim",
                                         "encoder_hid_dim_type",
                                         "addition_time_embed_dim",
                                         NULL};

const struct nwi_architecture nwi_arch_unet_motion = {
    .klass = "UNetMotionModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
