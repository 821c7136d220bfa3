/* SPDX-License-Identifier: Apache-2.0
 * UNet2DConditionModel (diffusers 0.42.1, models/unets/unet_2d_condition.py): Stable
 * Diffusion 1, 2, XL and their kin, DeepFloyd IF, Kandinsky 2, the latent upscalers. */
#include <stdio.h>
#include <string.h>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_unet.h"
#include "model/blocks_vae.h"

static const char *const default_ups[] = {"UpBlock2D", "CrossAttnUpBlock2D",
                                          "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"};
static const char depth_key[] = "transformer_layers_per_block";
static const char back_key[] = "reverse_transformer_layers_per_block";

/* ---- embeddings ---- */

static void time_embedding(struct nwi_module *m, struct nwi_config *c, int64_t first,
                           struct nwi_unet_embeds *e)
{
    bool fourier = nwi_config_is(c, "time_embedding_type", "positional", "fourier");
    int64_t time = nwi_config_int_or_null(c, "time_embedding_dim", NWI_NULL);
    int64_t cond = nwi_config_int_or_null(c, "time_cond_proj_dim", NWI_NULL);
    if (!fourier &&
        !nwi_config_is(c, "time_embedding_type", "positional", "positional"))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "there is no such time_embedding_type");
    if (time == NWI_NULL || time == 0)
        time = first * (fourier ? 2 : 4);
    if (fourier && time % 2 != 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "the time embedding has odd width");
    e->time = time;
    e->in = fourier ? time : first;
    if (fourier)
        nwi_parameter(m, "time_proj.weight", NWI_DIMS(time / 2));
    nwi_unet_time(m, e->in, time, cond);
}

static void box_layers(struct nwi_module *m, const char *name, int64_t in, int64_t out)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "0", in, 512, true);
        nwi_linear(m, "2", 512, 512, true);
        nwi_linear(m, "4", 512, out, true);
    }
}

/* GLIGEN: what stands where, as a box of 64 sinusoids. */
static void position_net(struct nwi_module *m, int64_t cross, bool image)
{
    if (cross < 0) {
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "boxes need one cross_attention_dim");
        return;
    }
    NWI_IN(m, "position_net")
    {
        nwi_parameter_filled(m, image ? "null_text_feature" : "null_positive_feature",
                             NWI_DIMS(cross), NW_FILL_ZERO);
        if (image)
            nwi_parameter_filled(m, "null_image_feature", NWI_DIMS(cross),
                                 NW_FILL_ZERO);
        nwi_parameter_filled(m, "null_position_feature", NWI_DIMS(64), NW_FILL_ZERO);
        box_layers(m, image ? "linears_text" : "linears", cross + 64, cross);
        if (image)
            box_layers(m, "linears_image", cross + 64, cross);
    }
}

/* ---- levels ---- */

static bool read_levels(struct nwi_config *c, struct nwi_unet_levels *levels,
                        struct nwi_config_texts *ups)
{
    if (!nwi_unet_read_levels(c, "CrossAttnDownBlock2D", "DownBlock2D", levels))
        return false;
    size_t n = levels->n;
    nwi_config_texts_or(c, "up_block_types", default_ups, 4, ups);
    if (ups->n != n)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config has %zu down_block_types and %zu up_block_types", n,
                        ups->n);
    if (nwi_config_has(c, "num_attention_heads"))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the class takes no num_attention_heads: they are in "
                        "attention_head_dim");
    nwi_unet_spread(c, "attention_head_dim", 8, n, false, &levels->heads);
    levels->head_dims = levels->heads;
    nwi_unet_spread(c, "cross_attention_dim", 1280, n, false, &levels->cross);
    nwi_unet_spread(c, "layers_per_block", 2, n, false, &levels->layers);
    nwi_unet_spread(c, "only_cross_attention", 0, n, false, &levels->only_cross);
    return c->code == NW_OK;
}

static bool is_list(struct nwi_config *c, const char *key)
{
    const struct nwi_json_value *value = nwi_config_raw(c, key);
    return value && value->kind == NWI_JSON_IS_ARRAY;
}

/* Lists for the layers of a level need another one for the way up. */
static bool check_depths(struct nwi_config *c)
{
    bool back = nwi_unet_check_depths(c, depth_key, back_key);
    if (back && !is_list(c, back_key))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is no list",
                        back_key);
    return back;
}

static void down_blocks(struct nwi_module *m, const struct nwi_unet *u,
                        const struct nwi_unet_levels *levels)
{
    for (size_t i = 0; i < levels->n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            struct nwi_unet_level level = nwi_unet_down_level(levels, i);
            level.depth = nwi_unet_item(m->config, depth_key, i, false);
            nwi_unet_down(m, u, &level);
        }
}

/* Heads that are told by their width are not turned round on the way up. */
static void up_blocks(struct nwi_module *m, const struct nwi_unet *u,
                      const struct nwi_unet_levels *levels,
                      const struct nwi_config_texts *types, bool back)
{
    for (size_t i = 0; i < levels->n; i++) {
        struct nwi_unet_level level = nwi_unet_up_level(levels, i);
        level.type = types->at[i];
        level.head_dim = levels->head_dims.at[i];
        level.depth = back ? nwi_unet_item(m->config, back_key, i, false)
                           : nwi_unet_item(m->config, depth_key, i, true);
        nwi_unet_up(m, u, "up_blocks", (int64_t)i, &level);
    }
}

static void mid_block(struct nwi_module *m, const struct nwi_unet *u,
                      const struct nwi_unet_levels *levels)
{
    struct nwi_config *c = m->config;
    struct nwi_unet_level level = nwi_unet_down_level(levels, levels->n - 1);
    bool all = level.only_cross && !is_list(c, "only_cross_attention");
    bool simple = false;
    level.type = nwi_config_text(c, "mid_block_type", "UNetMidBlock2DCrossAttn");
    level.depth = nwi_unet_item(c, depth_key, 0, true);
    level.layers = 1;
    simple = level.type && strcmp(level.type, "UNetMidBlock2DSimpleCrossAttn") == 0;
    level.only_cross = nwi_config_has(c, "mid_block_only_cross_attention")
                           ? nwi_config_bool(c, "mid_block_only_cross_attention", false)
                           : all;
    level.only_cross = level.only_cross && simple;
    NWI_IN(m, "mid_block")
    {
        nwi_unet_middle(m, u, &level);
    }
}

/* ---- the network ---- */

static void embeddings(struct nwi_module *m, struct nwi_config *c,
                       const struct nwi_unet_levels *levels, struct nwi_unet *u,
                       int64_t *cross)
{
    struct nwi_unet_embeds e = {.cross = levels->cross.at[0]};
    if (is_list(c, "cross_attention_dim"))
        e.cross = NWI_NULL;
    *cross = e.cross;
    time_embedding(m, c, levels->channels.at[0], &e);
    u->time =
        nwi_config_bool(c, "class_embeddings_concat", false) ? 2 * e.time : e.time;
    nwi_unet_text_projection(m, &e, true);
    nwi_unet_class_embedding(m, &e, true);
    nwi_unet_added_embedding(m, &e, true);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_unet_levels levels = {0};
    struct nwi_config_texts ups;
    struct nwi_unet u = {.whole = true};
    int64_t cross = NWI_NULL;
    int64_t in = nwi_config_int(c, "in_channels", 4);
    int64_t out = nwi_config_int(c, "out_channels", 4);
    int64_t in_kernel = nwi_config_int(c, "conv_in_kernel", 3);
    int64_t out_kernel = nwi_config_int(c, "conv_out_kernel", 3);
    bool image = nwi_config_is(c, "attention_type", "default", "gated-text-image");
    bool boxes = image || nwi_config_is(c, "attention_type", "default", "gated");
    if (!read_levels(c, &levels, &ups))
        return;
    nwi_unet_read(c, &u);
    u.dual = nwi_config_bool(c, "dual_cross_attention", false);
    u.cross_norm = nwi_config_text(c, "cross_attention_norm", NULL);
    u.fused = boxes;
    bool back = check_depths(c);

    nwi_conv2d(m, "conv_in", in, levels.channels.at[0], in_kernel, true);
    embeddings(m, c, &levels, &u, &cross);
    down_blocks(m, &u, &levels);
    up_blocks(m, &u, &levels, &ups, back);
    mid_block(m, &u, &levels);
    if (u.groups != NWI_NULL)
        nwi_vae_group_norm(m, "conv_norm_out", levels.channels.at[0], u.groups);
    nwi_conv2d(m, "conv_out", levels.channels.at[0], out, out_kernel, true);
    if (boxes)
        position_net(m, cross, image);
}

/* ---- deriving ---- */

/* Widths of the time embedding; the answer: what goes into it. */
static int64_t derive_time(struct nwi_config *c, const struct nwi_header *h,
                           int64_t first)
{
    bool fourier = nwi_header_has(h, "time_proj.weight");
    int64_t time = nwi_header_dim(h, "time_embedding.linear_1.weight", 0);
    int64_t cond = nwi_header_dim(h, "time_embedding.cond_proj.weight", 1);
    if (time < 0)
        return -1;
    nwi_config_derive_text(c, "time_embedding_type",
                           fourier ? "fourier" : "positional");
    if (first > 0)
        nwi_unet_derive_or_null(c, "time_embedding_dim", time,
                                first * (fourier ? 2 : 4));
    if (cond >= 0)
        nwi_config_derive(c, "time_cond_proj_dim", cond);
    else
        nwi_config_derive_null(c, "time_cond_proj_dim");
    return nwi_header_dim(h, "time_embedding.linear_1.weight", 1);
}

/* Blocks get the time alone or, twice as wide, with the class behind it. */
static void derive_concat(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t time = nwi_header_dim(h, "time_embedding.linear_1.weight", 0);
    int64_t block =
        nwi_header_dim(h, "down_blocks.0.resnets.0.time_emb_proj.weight", 1);
    if (block < 0)
        block = nwi_header_dim(h, "down_blocks.0.resnets.0.norm1.linear.weight", 1);
    if (time > 0 && block > 0)
        nwi_config_derive_bool(c, "class_embeddings_concat", block != time);
}

static void derive_middle(struct nwi_config *c, const struct nwi_header *h)
{
    if (nwi_header_has(h, "mid_block.attentions.0.proj_in.weight") ||
        nwi_header_any(h, "mid_block.attentions.0.transformers."))
        nwi_config_derive_text(c, "mid_block_type", "UNetMidBlock2DCrossAttn");
    else if (nwi_header_has(h, "mid_block.attentions.0.to_q.weight"))
        nwi_config_derive_text(c, "mid_block_type", "UNetMidBlock2DSimpleCrossAttn");
    else if (nwi_header_any(h, "mid_block.resnets."))
        nwi_config_derive_text(c, "mid_block_type", "UNetMidBlock2D");
    else
        nwi_config_derive_null(c, "mid_block_type");
}

static void derive_boxes(struct nwi_config *c, const struct nwi_header *h)
{
    bool image = nwi_header_has(h, "position_net.null_text_feature");
    bool text = nwi_header_has(h, "position_net.null_positive_feature");
    bool said = nwi_config_is(c, "attention_type", "default", "gated") ||
                nwi_config_is(c, "attention_type", "default", "gated-text-image");
    if (image || text)
        nwi_config_derive_text(c, "attention_type",
                               image ? "gated-text-image" : "gated");
    else if (said)
        nwi_config_derive_text(c, "attention_type", "default");
}

/* Of the text alone, or of what has its width; which of the two is told by the first
 * level whose widths differ. */
static void derive_cross_norm(struct nwi_config *c, const struct nwi_header *h,
                              size_t n)
{
    bool any = false;
    for (size_t i = 0; i <= 2 * n; i++) {
        char name[48] = "mid_block.attentions.0";
        if (i < 2 * n)
            (void)snprintf(name, sizeof name, "%s_blocks.%zu.attentions.0",
                           i < n ? "down" : "up", i < n ? i : i - n);
        int64_t norm = nwi_vae_dim(h, 0, "%s.norm_cross.weight", name);
        int64_t text = nwi_vae_dim(h, 1, "%s.add_k_proj.weight", name);
        int64_t dim = nwi_vae_dim(h, 1, "%s.to_q.weight", name);
        any = any || norm > 0;
        if (norm <= 0 || text == dim)
            continue;
        nwi_config_derive_text(c, "cross_attention_norm",
                               norm == text ? "group_norm" : "layer_norm");
        return;
    }
    if (!any)
        nwi_config_derive_null(c, "cross_attention_norm");
    else if (!nwi_config_has(c, "cross_attention_norm"))
        nwi_config_derive_text(c, "cross_attention_norm", "group_norm");
}

static void derive_ends(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "conv_in.weight", 1));
    nwi_config_derive(c, "conv_in_kernel", nwi_header_dim(h, "conv_in.weight", 2));
    nwi_config_derive(c, "out_channels", nwi_header_dim(h, "conv_out.weight", 0));
    nwi_config_derive(c, "conv_out_kernel", nwi_header_dim(h, "conv_out.weight", 2));
    if (!nwi_header_has(h, "conv_norm_out.weight"))
        nwi_config_derive_null(c, "norm_num_groups");
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    static const struct nwi_unet_depths depths = {
        .list = "attentions", .key = depth_key, .back = back_key};
    struct nwi_unet_told told = {
        .up = true, .layer_list = true, .cross_list = true, .middle_only = true};
    derive_ends(c, h);
    nwi_unet_derive_levels(c, h, &told);
    nwi_unet_derive_depths(c, h, &told, &depths);
    derive_middle(c, h);
    int64_t in = derive_time(c, h, told.first);
    nwi_unet_derive_embeddings(c, h, in, true);
    derive_concat(c, h);
    derive_boxes(c, h);
    if (told.n > 0) {
        derive_cross_norm(c, h, told.n);
        nwi_config_derive_bool(c, "dual_cross_attention", told.dual);
    }
}

static const char *const plain_keys[] = {"sample_size",
                                         "center_input_sample",
                                         "flip_sin_to_cos",
                                         "freq_shift",
                                         "downsample_padding",
                                         "mid_block_scale_factor",
                                         "dropout",
                                         "norm_eps",
                                         "addition_time_embed_dim",
                                         "upcast_attention",
                                         "resnet_skip_time_act",
                                         "resnet_out_scale_factor",
                                         "time_embedding_act_fn",
                                         "timestep_post_act",
                                         "addition_embed_type_num_heads",
                                         "num_attention_heads",
                                         "mid_block_only_cross_attention",
                                         NULL};

const struct nwi_architecture nwi_arch_unet_2d_condition = {
    .klass = "UNet2DConditionModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
