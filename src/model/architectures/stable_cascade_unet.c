/* SPDX-License-Identifier: Apache-2.0
 * StableCascadeUNet (diffusers 0.42.1, models/unets/unet_stable_cascade.py): stages B
 * ("decoder") and C ("prior") of Stable Cascade, of either size. */
#include <stdio.h>
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_attention.h"
#include "model/blocks_cascade.h"
#include "model/blocks_dit.h"
#include "model/blocks_vae.h"

struct cascade {
    size_t n; /* levels, the first one at the image's size */
    struct nwi_config_ints channels;
    struct nwi_config_ints heads;
    struct nwi_config_ints downs; /* groups of blocks on the way down */
    struct nwi_config_ints ups;   /* on the way up, which begins at the last level */
    struct nwi_config_ints down_mappers;
    struct nwi_config_ints up_mappers;
    struct nwi_config_ints switches; /* switch_level, if given */
    struct nwi_config_texts conditions;
    const struct nwi_json_value *types; /* block_types_per_layer; NULL: the default */
    int64_t width;                      /* conditioning_dim */
    int64_t time;
    int64_t kernel;
};

/* ---- blocks ---- */

static void residual_block(struct nwi_module *m, int64_t dim, int64_t skip,
                           int64_t kernel)
{
    nwi_conv2d(m, "depthwise", 1, dim, kernel, true);
    nwi_linear(m, "channelwise.0", dim + skip, 4 * dim, true);
    NWI_IN(m, "channelwise.2")
    {
        nwi_parameter_filled(m, "gamma", NWI_DIMS(1, 1, 1, 4 * dim), NW_FILL_ZERO);
        nwi_parameter_filled(m, "beta", NWI_DIMS(1, 1, 1, 4 * dim), NW_FILL_ZERO);
    }
    nwi_linear(m, "channelwise.4", 4 * dim, dim, true);
}

static void time_block(struct nwi_module *m, const struct cascade *net, int64_t dim)
{
    nwi_linear(m, "mapper", net->time, 2 * dim, true);
    for (size_t i = 0; i < net->conditions.n; i++) {
        char name[80];
        const char *condition = net->conditions.at[i] ? net->conditions.at[i] : "None";
        (void)snprintf(name, sizeof name, "mapper_%.60s", condition);
        nwi_linear(m, name, net->time, 2 * dim, true);
    }
}

static void attention_block(struct nwi_module *m, const struct cascade *net,
                            int64_t dim, int64_t heads)
{
    struct nwi_attention shape = {.dim = dim, .heads = heads, .bias = true};
    shape.head_dim = nwi_per_head(m->config, dim, heads);
    nwi_attention(m, "attention", shape);
    nwi_linear(m, "kv_mapper.1", net->width, dim, true);
}

static void block(struct nwi_module *m, const struct cascade *net, size_t level,
                  const char *type, int64_t skip)
{
    int64_t dim = net->channels.at[level];
    if (strcmp(type, "SDCascadeResBlock") == 0)
        residual_block(m, dim, skip, net->kernel);
    else if (strcmp(type, "SDCascadeTimestepBlock") == 0)
        time_block(m, net, dim);
    else if (strcmp(type, "SDCascadeAttnBlock") == 0)
        attention_block(m, net, dim, net->heads.at[level]);
    else
        nwi_config_fail(m->config, NW_E_BAD_CONFIG, "there are no blocks of type %.60s",
                        type);
}

/* The k-th type of a level, NULL past the last one. */
static const char *type_at(const struct cascade *net, size_t level, size_t k)
{
    static const char *const usual[] = {"SDCascadeResBlock", "SDCascadeTimestepBlock",
                                        "SDCascadeAttnBlock"};
    const struct nwi_json_value *list = net->types ? net->types->first : NULL;
    const struct nwi_json_value *item = NULL;
    if (!net->types)
        return k < 3 ? usual[k] : NULL;
    while (list && level-- > 0)
        list = list->next;
    for (item = list ? list->first : NULL; item && k > 0; k--)
        item = item->next;
    if (!item)
        return NULL;
    return nwi_json_string(item) ? nwi_json_string(item) : "null";
}

/* `skip`: channels that the first block gets from the way down. */
static void blocks(struct nwi_module *m, const struct cascade *net, size_t level,
                   int64_t groups, int64_t skip)
{
    int64_t at = 0;
    for (int64_t i = 0; i < groups; i++) {
        const char *type = NULL;
        for (size_t k = 0; (type = type_at(net, level, k)) && m->config->code == NW_OK;
             k++, at++)
            NWI_IN(m, "%lld", (long long)at)
            {
                block(m, net, level, type, at == 0 ? skip : 0);
            }
    }
}

/* Between two levels: a convolution, or with a switch an interpolation and a mapping. */
static void resize(struct nwi_module *m, const struct cascade *net, const char *list,
                   size_t at, size_t from, size_t to)
{
    bool up = to < from;
    int64_t in = net->channels.at[from];
    int64_t out = net->channels.at[to];
    NWI_IN(m, "%s.%zu.1", list, at)
    {
        if (net->switches.given) {
            nwi_conv2d(m, up ? "blocks.1" : "blocks.0", in, out, 1, true);
        } else {
            nwi_parameter(m, "weight",
                          up ? NWI_DIMS(in, out, 2, 2) : NWI_DIMS(out, in, 2, 2));
            nwi_parameter(m, "bias", NWI_DIMS(out));
        }
    }
}

static void mappers(struct nwi_module *m, int64_t repeats, int64_t dim)
{
    for (int64_t i = 0; i + 1 < repeats && m->config->code == NW_OK; i++)
        NWI_IN(m, "%lld", (long long)i)
        {
            nwi_parameter(m, "weight", NWI_DIMS(dim, dim, 1, 1));
            nwi_parameter(m, "bias", NWI_DIMS(dim));
        }
}

/* ---- the two ways ---- */

static void way_down(struct nwi_module *m, const struct cascade *net)
{
    for (size_t i = 0; i < net->n; i++)
        NWI_IN(m, "down_blocks.%zu", i)
        {
            blocks(m, net, i, net->downs.at[i], 0);
        }
    for (size_t i = 1; i < net->n; i++)
        resize(m, net, "down_downscalers", i, i - 1, i);
    for (size_t i = 0; i < net->n; i++)
        NWI_IN(m, "down_repeat_mappers.%zu", i)
        {
            mappers(m, net->down_mappers.at[i], net->channels.at[i]);
        }
}

static void way_up(struct nwi_module *m, const struct cascade *net)
{
    for (size_t i = 0; i < net->n; i++)
        NWI_IN(m, "up_blocks.%zu", i)
        {
            size_t level = net->n - 1 - i;
            blocks(m, net, level, net->ups.at[i], i ? net->channels.at[level] : 0);
        }
    for (size_t i = 0; i + 1 < net->n; i++)
        resize(m, net, "up_upscalers", i, net->n - 1 - i, net->n - 2 - i);
    for (size_t i = 0; i < net->n; i++)
        NWI_IN(m, "up_repeat_mappers.%zu", i)
        {
            mappers(m, net->up_mappers.at[i], net->channels.at[net->n - 1 - i]);
        }
}

/* ---- conditions ---- */

static void image_mapper(struct nwi_module *m, const char *name, const char *key,
                         int64_t dim)
{
    int64_t in = nwi_config_int_or_null(m->config, key, NWI_NULL);
    if (in == NWI_NULL)
        return;
    NWI_IN(m, "%s", name)
    {
        nwi_conv2d(m, "0", in, 4 * dim, 1, true);
        nwi_conv2d(m, "2", 4 * dim, dim, 1, true);
    }
}

static void clip_mapper(struct nwi_module *m, const char *name, const char *key,
                        int64_t out)
{
    int64_t in = nwi_config_int_or_null(m->config, key, NWI_NULL);
    if (in != NWI_NULL)
        nwi_linear(m, name, in, out, true);
}

static void conditions(struct nwi_module *m, struct nwi_config *c,
                       const struct cascade *net)
{
    int64_t seq = nwi_config_int(c, "clip_seq", 4);
    int64_t pooled = nwi_config_int(c, "clip_text_pooled_in_channels", 1280);
    image_mapper(m, "effnet_mapper", "effnet_in_channels", net->channels.at[0]);
    image_mapper(m, "pixels_mapper", "pixel_mapper_in_channels", net->channels.at[0]);
    nwi_linear(m, "clip_txt_pooled_mapper", pooled, net->width * seq, true);
    clip_mapper(m, "clip_txt_mapper", "clip_text_in_channels", net->width);
    clip_mapper(m, "clip_img_mapper", "clip_image_in_channels", net->width * seq);
}

/* ---- the network ---- */

static void read_list(struct nwi_config *c, const char *key, int64_t first,
                      int64_t second, struct cascade *net, struct nwi_config_ints *out)
{
    const int64_t usual[] = {first, second};
    nwi_vae_ints(c, key, usual, 2, out);
    if (out != &net->channels && out->n != net->n)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"%s\" of the config has %zu items, %zu are needed", key,
                        out->n, net->n);
    else
        net->n = out->n;
}

/* Counts of blocks: BAD_CONFIG below 0, LIMIT above what a skeleton may hold. */
static void check_counts(struct nwi_config *c, const struct nwi_config_ints *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i] < 0 || list->at[i] > NWI_CONFIG_DEPTH)
            nwi_config_fail(c, list->at[i] < 0 ? NW_E_BAD_CONFIG : NW_E_LIMIT,
                            "a level of the config has %lld blocks",
                            (long long)list->at[i]);
    }
}

static void read_types(struct nwi_config *c, struct cascade *net)
{
    net->types = nwi_config_raw(c, "block_types_per_layer");
    bool lists = !net->types || net->types->kind == NWI_JSON_IS_ARRAY;
    for (const struct nwi_json_value *v = net->types ? net->types->first : NULL; v;
         v = v->next)
        lists =
            lists && v->kind == NWI_JSON_IS_ARRAY && v->n_children <= NWI_CONFIG_LIST;
    if (!lists || (net->types ? net->types->n_children : 2) != net->n)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"block_types_per_layer\" of the config is not %zu lists",
                        net->n);
}

/* What has a value for each level, though it shapes nothing. */
static void check_levels(struct nwi_config *c, const struct cascade *net)
{
    static const char *const keys[] = {"dropout", "self_attn"};
    for (size_t i = 0; i < 2; i++) {
        const struct nwi_json_value *value = nwi_config_raw(c, keys[i]);
        bool list = value && value->kind == NWI_JSON_IS_ARRAY;
        size_t usual = i == 0 && !value ? 2 : net->n;
        if (value && value->kind == NWI_JSON_IS_NULL)
            usual = 0;
        (void)nwi_vae_need(c, keys[i], list ? value->n_children : usual, net->n);
    }
}

static bool read(struct nwi_config *c, struct cascade *net)
{
    read_list(c, "block_out_channels", 2048, 2048, net, &net->channels);
    read_list(c, "down_num_layers_per_block", 8, 24, net, &net->downs);
    read_list(c, "up_num_layers_per_block", 24, 8, net, &net->ups);
    read_list(c, "down_blocks_repeat_mappers", 1, 1, net, &net->down_mappers);
    read_list(c, "up_blocks_repeat_mappers", 1, 1, net, &net->up_mappers);
    read_types(c, net);
    check_levels(c, net);
    nwi_vae_ints(c, "num_attention_heads", (const int64_t[]){32, 32}, 2, &net->heads);
    (void)nwi_vae_need(c, "num_attention_heads", net->heads.n, net->n);
    nwi_config_ints(c, "switch_level", &net->switches);
    if (net->switches.given && net->n > 0)
        (void)nwi_vae_need(c, "switch_level", net->switches.n, net->n - 1);
    (void)nwi_vae_need(c, "block_out_channels", net->n, 1);
    nwi_cascade_read_conditions(c, &net->conditions);
    check_counts(c, &net->downs);
    check_counts(c, &net->ups);
    net->width = nwi_config_int(c, "conditioning_dim", 2048);
    net->time = nwi_config_int(c, "timestep_ratio_embedding_dim", 64);
    net->kernel = nwi_config_int(c, "kernel_size", 3);
    return c->code == NW_OK;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct cascade net = {0};
    int64_t patch = nwi_config_int(c, "patch_size", 1);
    int64_t in = nwi_config_int(c, "in_channels", 16) * patch * patch;
    int64_t out = nwi_config_int(c, "out_channels", 16) * patch * patch;
    if (!read(c, &net))
        return;
    conditions(m, c, &net);
    nwi_conv2d(m, "embedding.1", in, net.channels.at[0], 1, true);
    way_down(m, &net);
    way_up(m, &net);
    nwi_conv2d(m, "clf.1", net.channels.at[0], out, 1, true);
}

static const char *const plain_keys[] = {"dropout", "self_attn", NULL};

const struct nwi_architecture nwi_arch_stable_cascade_unet = {
    .klass = "StableCascadeUNet",
    .library = "diffusers",
    .build = build,
    .derive = nwi_cascade_derive,
    .plain_keys = plain_keys,
};
