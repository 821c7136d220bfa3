/* SPDX-License-Identifier: Apache-2.0
 * StableCascadeUNet (diffusers 0.42.1, models/unets/unet_stable_cascade.py): stages B
 * ("decoder") and C ("prior") of Stable Cascade, of either size. */
#include <stdio.h>
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"
#include "model/blocks_vae.h"

static const char *const usual_conditions[] = {"sca", "crp"};

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
    nwi_config_texts_or(c, "timestep_conditioning_type", usual_conditions, 2,
                        &net->conditions);
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

/* ---- deriving ---- */

#define GROUP_MOST 8 /* blocks of a group that are looked for */

static const char *block_type(const struct nwi_header *h, const char *list, size_t i,
                              int64_t at)
{
    static const char *const types[][2] = {{"SDCascadeResBlock", "depthwise"},
                                           {"SDCascadeTimestepBlock", "mapper"},
                                           {"SDCascadeAttnBlock", "kv_mapper.1"}};
    for (size_t k = 0; k < 3; k++) {
        if (nwi_vae_has(h, "%s.%zu.%lld.%s.weight", list, i, (long long)at,
                        types[k][1]))
            return types[k][0];
    }
    return NULL;
}

/* The blocks of one level. */
struct run {
    const struct nwi_header *h;
    const char *list;
    size_t i;
    int64_t n;
};

static struct run look(const struct nwi_header *h, const char *list, size_t i)
{
    struct run run = {h, list, i, 0};
    while (run.n < (int64_t)NWI_CONFIG_DEPTH * GROUP_MOST &&
           block_type(h, list, i, run.n))
        run.n++;
    return run;
}

static bool repeats(const struct run *run, const struct run *group, int64_t size)
{
    if (run->n % size != 0)
        return false;
    for (int64_t at = 0; at < run->n; at++) {
        const char *type = block_type(run->h, run->list, run->i, at);
        const char *same = block_type(group->h, group->list, group->i, at % size);
        if (!type || !same || strcmp(type, same) != 0)
            return false;
    }
    return true;
}

/* How many blocks the smallest group has that both ways repeat; 0: there is none. */
static int64_t group_size(const struct run *down, const struct run *up)
{
    const struct run *group = down->n ? down : up;
    for (int64_t size = 1; size <= GROUP_MOST && size <= group->n; size++) {
        if (repeats(down, group, size) && repeats(up, group, size))
            return size;
    }
    return 0;
}

/* Appends ["...","..."], or ,["...","..."] behind another; false if there is no room. */
static bool append_group(char *text, size_t room, const struct run *group, int64_t size)
{
    size_t at = strlen(text);
    at += (size_t)snprintf(text + at, room - at, at > 1 ? ",[" : "[");
    for (int64_t k = 0; k < size; k++) {
        if (room - at < 40)
            return false;
        at += (size_t)snprintf(text + at, room - at, "%s\"%s\"", k ? "," : "",
                               block_type(group->h, group->list, group->i, k));
    }
    (void)snprintf(text + at, room - at, "]");
    return room - at >= 40;
}

static void derive_blocks(struct nwi_config *c, const struct nwi_header *h, size_t n)
{
    int64_t downs[NWI_CONFIG_LIST];
    int64_t ups[NWI_CONFIG_LIST];
    char text[8192] = "[";
    for (size_t i = 0; i < n; i++) {
        struct run down = look(h, "down_blocks", i);
        struct run up = look(h, "up_blocks", n - 1 - i);
        int64_t size = group_size(&down, &up);
        if ((size == 0 && down.n + up.n > 0) ||
            !append_group(text, sizeof text, down.n ? &down : &up, size))
            return;
        downs[i] =
            nwi_layers_told(c, "down_num_layers_per_block", size ? down.n / size : 0);
        ups[n - 1 - i] =
            nwi_layers_told(c, "up_num_layers_per_block", size ? up.n / size : 0);
    }
    const char *types = nwi_arena_printf(c->arena, "%s]", text);
    if (!types)
        return;
    nwi_vae_derive_json(c, "block_types_per_layer", types);
    nwi_config_derive_ints(c, "down_num_layers_per_block", downs, n);
    nwi_config_derive_ints(c, "up_num_layers_per_block", ups, n);
}

static void derive_mappers(struct nwi_config *c, const struct nwi_header *h, size_t n,
                           const char *key, const char *list)
{
    int64_t repeats[NWI_CONFIG_LIST];
    for (size_t i = 0; i < n; i++)
        repeats[i] = 1 + nwi_vae_run(h, "weight", "%s.%zu", list, i);
    nwi_config_derive_ints(c, key, repeats, n);
}

/* The switches themselves shape nothing. */
static void derive_switches(struct nwi_config *c, const struct nwi_header *h, size_t n)
{
    static const bool off[NWI_CONFIG_LIST] = {0};
    if (n < 2)
        return;
    if (!nwi_header_has(h, "down_downscalers.1.1.blocks.0.weight"))
        nwi_config_derive_null(c, "switch_level");
    else if (!nwi_config_has(c, "switch_level"))
        nwi_vae_derive_bools(c, "switch_level", off, n - 1);
}

/* What channels the levels have: by the mappings between them. */
static void derive_channels(struct nwi_config *c, const struct nwi_header *h, size_t n)
{
    int64_t channels[NWI_CONFIG_LIST];
    channels[0] = nwi_header_dim(h, "embedding.1.weight", 0);
    for (size_t i = 1; i < n; i++) {
        channels[i] = nwi_vae_dim(h, 0, "down_downscalers.%zu.1.weight", i);
        if (channels[i] < 0)
            channels[i] =
                nwi_vae_dim(h, 0, "down_downscalers.%zu.1.blocks.0.weight", i);
    }
    nwi_config_derive_ints(c, "block_out_channels", channels, n);
}

/* Stage B makes patches of 2 x 2, stage C none; only B looks at an image's latents. */
static void derive_patch(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "embedding.1.weight", 1);
    int64_t out = nwi_header_dim(h, "clf.1.weight", 0);
    int64_t usual = nwi_header_has(h, "effnet_mapper.0.weight") ? 2 : 1;
    int64_t patch = nwi_config_int(c, "patch_size", usual);
    if (patch < 1 || in % (patch * patch) != 0 || out % (patch * patch) != 0)
        patch = 1;
    if (in < 0 || out < 0)
        return;
    nwi_config_derive(c, "patch_size", patch);
    nwi_config_derive(c, "in_channels", in / (patch * patch));
    nwi_config_derive(c, "out_channels", out / (patch * patch));
}

/* The mappers that may be missing. */
static void derive_inputs(struct nwi_config *c, const struct nwi_header *h)
{
    static const char *const mappers[][2] = {
        {"clip_text_in_channels", "clip_txt_mapper.weight"},
        {"clip_image_in_channels", "clip_img_mapper.weight"},
        {"effnet_in_channels", "effnet_mapper.0.weight"},
        {"pixel_mapper_in_channels", "pixels_mapper.0.weight"},
    };
    for (size_t i = 0; i < sizeof mappers / sizeof *mappers; i++) {
        if (nwi_header_has(h, mappers[i][1]))
            nwi_config_derive(c, mappers[i][0], nwi_header_dim(h, mappers[i][1], 1));
        else
            nwi_config_derive_null(c, mappers[i][0]);
    }
    nwi_config_derive(c, "clip_text_pooled_in_channels",
                      nwi_header_dim(h, "clip_txt_pooled_mapper.weight", 1));
}

/* The first of the groups of level i that has the tensor, on the way down or up: its
 * dimension (-1: none has it), and the block's name with the dot behind it. */
struct found {
    int64_t dim;
    char prefix[48];
};

static struct found find(const struct nwi_header *h, size_t n, size_t i,
                         const char *name, int dim)
{
    struct found found = {.dim = -1};
    for (int64_t at = 0; at < (int64_t)2 * GROUP_MOST && found.dim < 0; at++) {
        bool up = at >= GROUP_MOST;
        (void)snprintf(found.prefix, sizeof found.prefix, "%s_blocks.%zu.%lld.",
                       up ? "up" : "down", up ? n - 1 - i : i,
                       (long long)(at % GROUP_MOST));
        found.dim = nwi_vae_dim(h, dim, "%s%s", found.prefix, name);
    }
    return found;
}

/* The same of all levels. */
static struct found find_any(const struct nwi_header *h, size_t n, const char *name,
                             int dim)
{
    struct found found = {.dim = -1};
    for (size_t i = 0; i < n && found.dim < 0; i++)
        found = find(h, n, i, name, dim);
    return found;
}

/* Width and count of the tokens that attentions see; without attentions only their
 * product is told. */
static void derive_tokens(struct nwi_config *c, const struct nwi_header *h, size_t n)
{
    int64_t all = nwi_header_dim(h, "clip_txt_pooled_mapper.weight", 0);
    int64_t width = nwi_header_dim(h, "clip_txt_mapper.weight", 0);
    int64_t seq = nwi_config_int(c, "clip_seq", 4);
    if (width < 0)
        width = find_any(h, n, "kv_mapper.1.weight", 1).dim;
    if (width < 0)
        width = seq > 0 && all % seq == 0 ? all / seq : all;
    if (width <= 0 || all < 0 || all % width != 0)
        return;
    nwi_config_derive(c, "conditioning_dim", width);
    nwi_config_derive(c, "clip_seq", all / width);
}

/* The names behind "mapper_" of one block, unless they are those that the config (or the
 * class) says in its own order. */
static void derive_conditions(struct nwi_config *c, const struct nwi_header *h,
                              const char *prefix)
{
    struct nwi_config_texts own;
    struct nwi_config_texts told = {0};
    size_t n_own = 0;
    nwi_config_texts_or(c, "timestep_conditioning_type", usual_conditions, 2, &own);
    for (size_t i = 0; i < h->n && told.n < NWI_CONFIG_LIST; i++) {
        const char *name = h->rows[i].name + strlen(prefix);
        if (strncmp(h->rows[i].name, prefix, strlen(prefix)) != 0 ||
            !strstr(name, ".weight"))
            continue;
        int size = (int)(strstr(name, ".weight") - name);
        const char *copy =
            nwi_arena_printf(c->arena, "%.*s", size < 60 ? size : 60, name);
        for (size_t k = 0; copy && k < own.n; k++)
            n_own += own.at[k] && strcmp(own.at[k], copy) == 0;
        told.at[told.n++] = copy ? copy : "";
    }
    if (n_own != told.n || told.n != own.n)
        nwi_config_derive_texts(c, "timestep_conditioning_type", told.at, told.n);
}

/* From the first block that is told the time. */
static void derive_time(struct nwi_config *c, const struct nwi_header *h, size_t n)
{
    char prefix[64];
    struct found found = find_any(h, n, "mapper.weight", 1);
    if (found.dim < 0)
        return;
    (void)snprintf(prefix, sizeof prefix, "%smapper_", found.prefix);
    nwi_config_derive(c, "timestep_ratio_embedding_dim", found.dim);
    derive_conditions(c, h, prefix);
}

/* Not told, but the class's defaults are for two levels: heads of 64 channels, as all
 * published models have them. */
static void derive_untold(struct nwi_config *c, const struct nwi_header *h, size_t n)
{
    int64_t heads[NWI_CONFIG_LIST];
    for (size_t i = 0; i < n; i++) {
        int64_t dim = find(h, n, i, "attention.to_q.weight", 0).dim;
        heads[i] = dim < 0 ? 0 : dim % 64 == 0 ? dim / 64 : 1;
    }
    if (!nwi_config_has(c, "num_attention_heads"))
        nwi_config_derive_ints(c, "num_attention_heads", heads, n);
    if (n != 2 && !nwi_config_has(c, "dropout"))
        nwi_vae_derive_json(c, "dropout", "0.1");
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    /* A level without blocks still has its place between the others. */
    size_t n = nwi_vae_levels(h, "down_downscalers.");
    n = n ? n : 1;
    derive_channels(c, h, n);
    derive_blocks(c, h, n);
    derive_mappers(c, h, n, "down_blocks_repeat_mappers", "down_repeat_mappers");
    derive_mappers(c, h, n, "up_blocks_repeat_mappers", "up_repeat_mappers");
    derive_switches(c, h, n);
    derive_patch(c, h);
    derive_tokens(c, h, n);
    derive_time(c, h, n);
    nwi_config_derive(c, "kernel_size", find_any(h, n, "depthwise.weight", 2).dim);
    derive_untold(c, h, n);
    derive_inputs(c, h);
}

static const char *const plain_keys[] = {"dropout", "self_attn", NULL};

const struct nwi_architecture nwi_arch_stable_cascade_unet = {
    .klass = "StableCascadeUNet",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
