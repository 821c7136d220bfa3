/* SPDX-License-Identifier: Apache-2.0
 * What the shapes of a StableCascadeUNet tell of its config. */
#include <stdio.h>
#include <string.h>

#include "model/blocks_cascade.h"
#include "model/blocks_vae.h"

#define GROUP_MOST 8 /* blocks of a group that are looked for */

void nwi_cascade_read_conditions(struct nwi_config *c, struct nwi_config_texts *out)
{
    static const char *const usual[] = {"sca", "crp"};
    nwi_config_texts_or(c, "timestep_conditioning_type", usual, 2, out);
}

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
    nwi_cascade_read_conditions(c, &own);
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

void nwi_cascade_derive(struct nwi_config *c, const struct nwi_header *h)
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
