/* SPDX-License-Identifier: Apache-2.0
 * What the shapes of a U-Net tell about its levels. */
#include <stdio.h>
#include <string.h>

#include "model/blocks_unet.h"
#include "model/blocks_vae.h"

#define CHANNELS_MOST ((int64_t)1 << 20) /* more than a config may say */

enum shape {
    PLAIN,
    CROSS,
    DUAL,
    ADDED,
    SELF,
    K,
    K_CROSS,
};

static const char *const downs[] = {
    "DownBlock2D",          "CrossAttnDownBlock2D",
    "CrossAttnDownBlock2D", "SimpleCrossAttnDownBlock2D",
    "AttnDownBlock2D",      "KDownBlock2D",
    "KCrossAttnDownBlock2D"};
static const char *const ups[] = {"UpBlock2D",          "CrossAttnUpBlock2D",
                                  "CrossAttnUpBlock2D", "SimpleCrossAttnUpBlock2D",
                                  "AttnUpBlock2D",      "KUpBlock2D",
                                  "KCrossAttnUpBlock2D"};

/* ---- one level ---- */

/* Its name ("down_blocks.0", "mid_block") and what can be told from it; -1: unknown. */
struct level {
    char name[40];
    enum shape shape;
    int64_t out;
    int64_t layers;
    int64_t cross;
    int64_t only;
};

static enum shape shape_of(const struct nwi_header *h, const char *name)
{
    if (nwi_vae_has(h, "%s.attentions.0.proj_in.weight", name))
        return CROSS;
    if (nwi_vae_has(h, "%s.attentions.0.transformers.0.proj_in.weight", name))
        return DUAL;
    if (nwi_vae_has(h, "%s.attentions.0.norm2.linear.weight", name))
        return K_CROSS;
    if (nwi_vae_has(h, "%s.attentions.0.to_q.weight", name))
        return nwi_vae_has(h, "%s.attentions.0.add_k_proj.weight", name) ? ADDED : SELF;
    return nwi_vae_has(h, "%s.resnets.0.norm1.linear.weight", name) ? K : PLAIN;
}

static int64_t cross_of(const struct nwi_header *h, const char *name, enum shape shape)
{
    static const char *const places[] = {
        [CROSS] = "transformer_blocks.0.attn2.to_k",
        [DUAL] = "transformers.0.transformer_blocks.0.attn2.to_k",
        [ADDED] = "add_k_proj",
        [K_CROSS] = "attn2.to_k"};
    if (shape != CROSS && shape != DUAL && shape != ADDED && shape != K_CROSS)
        return -1;
    return nwi_vae_dim(h, 1, "%s.attentions.0.%s.weight", name, places[shape]);
}

/* Whether the first attention is to the text, too: not told where that is as wide. */
static int64_t only_of(const struct nwi_header *h, const struct level *level)
{
    if (level->shape == ADDED)
        return nwi_vae_has(h, "%s.attentions.0.to_k.weight", level->name) ? 0 : 1;
    if (level->shape != CROSS)
        return -1;
    int64_t from = nwi_vae_dim(
        h, 1, "%s.attentions.0.transformer_blocks.0.attn1.to_k.weight", level->name);
    int64_t dim = nwi_vae_dim(
        h, 1, "%s.attentions.0.transformer_blocks.0.attn1.to_q.weight", level->name);
    if (from < 0 || level->cross == dim)
        return -1;
    return from != dim;
}

static struct level look_at(const struct nwi_header *h, const char *list, size_t i)
{
    struct level level = {.name = "mid_block"};
    if (list)
        (void)snprintf(level.name, sizeof level.name, "%s.%zu", list, i);
    level.shape = shape_of(h, level.name);
    level.out = nwi_vae_dim(h, 0, "%s.resnets.0.conv1.weight", level.name);
    level.layers = nwi_vae_run(h, "conv1.weight", "%s.resnets", level.name);
    if (level.out < 0) {
        level.out = nwi_vae_dim(h, 0, "%s.motion_modules.0.norm.weight", level.name);
        level.layers = nwi_vae_run(h, "norm.weight", "%s.motion_modules", level.name);
    }
    level.cross = cross_of(h, level.name, level.shape);
    level.only = only_of(h, &level);
    return level;
}

static struct level look_down(const struct nwi_header *h, size_t i)
{
    return look_at(h, "down_blocks", i);
}

static struct level look_middle(const struct nwi_header *h)
{
    return look_at(h, NULL, 0);
}

/* ---- the config's own values ---- */

static const struct nwi_json_value *own_item(struct nwi_config *c, const char *key,
                                             size_t i, bool back)
{
    const struct nwi_json_value *list = nwi_config_raw(c, key);
    if (!list || list->kind != NWI_JSON_IS_ARRAY || i >= list->n_children)
        return NULL;
    const struct nwi_json_value *item = list->first;
    for (size_t at = back ? list->n_children - 1 - i : i; item && at > 0; at--)
        item = item->next;
    return item;
}

static int64_t own_number(const struct nwi_json_value *value)
{
    uint64_t n = 0;
    if (value && value->kind == NWI_JSON_IS_BOOL)
        return value->boolean;
    if (!value || value->kind != NWI_JSON_IS_NUMBER ||
        !nwi_json_u64(value->text, value->text_size, &n) || n > INT64_MAX)
        return -1;
    return (int64_t)n;
}

/* Item i, or the number that stands for all; -1: there is none. */
static int64_t own_value(struct nwi_config *c, const char *key, size_t i)
{
    int64_t number = own_number(nwi_config_raw(c, key));
    return number >= 0 ? number : own_number(own_item(c, key, i, false));
}

static bool own_list(struct nwi_config *c, const char *key)
{
    const struct nwi_json_value *value = nwi_config_raw(c, key);
    return value && value->kind == NWI_JSON_IS_ARRAY;
}

/* The config's own word for it ("UNetResDownBlock2D" for "DownBlock2D"), or `name`. */
static const char *own_word(struct nwi_config *c, const char *key, size_t i,
                            const char *name)
{
    const struct nwi_json_value *item = own_item(c, key, i, false);
    const char *own = item ? nwi_json_string(item) : NULL;
    const char *bare = own && strncmp(own, "UNetRes", 7) == 0 ? own + 7 : own;
    return bare && strcmp(bare, name) == 0 ? own : name;
}

void nwi_unet_derive_or_null(struct nwi_config *c, const char *key, int64_t value,
                             int64_t usual)
{
    if (value < 0)
        return;
    if (value != usual || own_number(nwi_config_raw(c, key)) == value)
        nwi_config_derive(c, key, value);
    else
        nwi_config_derive_null(c, key);
}

/* Values of n levels, those that are not told being the config's own, else `rest`: as one
 * number if they are all the same and the config has no list. */
struct spread {
    const char *key;
    size_t n;
    int64_t rest;
    int64_t at[NWI_CONFIG_LIST];
};

static bool fill(struct nwi_config *c, struct spread *s)
{
    bool same = true;
    for (size_t i = 0; i < s->n; i++) {
        if (s->at[i] < 0)
            s->at[i] = own_value(c, s->key, i);
        if (s->at[i] < 0)
            s->at[i] = s->rest;
        same = same && s->at[i] == s->at[0];
    }
    return same && !own_list(c, s->key);
}

static void derive_spread(struct nwi_config *c, struct spread *s)
{
    if (fill(c, s))
        nwi_config_derive(c, s->key, s->at[0]);
    else
        nwi_config_derive_ints(c, s->key, s->at, s->n);
}

/* ---- types ---- */

/* Without a sampler a level does not tell what kind of sampler it would have. */
static const char *plain_type(struct nwi_config *c, const struct nwi_header *h,
                              const char *key, const struct level *level, size_t i,
                              bool up)
{
    const char *list = up ? "upsamplers" : "downsamplers";
    const char *plain = up ? ups[PLAIN] : downs[PLAIN];
    const char *other = up ? "ResnetUpsampleBlock2D" : "ResnetDownsampleBlock2D";
    if (nwi_vae_has(h, "%s.%s.0.conv1.weight", level->name, list))
        return own_word(c, key, i, other);
    if (nwi_vae_has(h, "%s.%s.0.conv.weight", level->name, list))
        return own_word(c, key, i, plain);
    const char *own = own_word(c, key, i, other);
    if (own != other || own_word(c, key, i, plain) != plain)
        return own != other ? own : own_word(c, key, i, plain);
    return nwi_header_has(h, "down_blocks.0.downsamplers.0.conv1.weight") ? other
                                                                          : plain;
}

static const char *motion_type(enum shape shape, bool up)
{
    if (up)
        return shape == CROSS ? "CrossAttnUpBlockMotion" : "UpBlockMotion";
    return shape == CROSS ? "CrossAttnDownBlockMotion" : "DownBlockMotion";
}

static void derive_types(struct nwi_config *c, const struct nwi_header *h,
                         const struct nwi_unet_told *told, bool up)
{
    const char *key = up ? "up_block_types" : "down_block_types";
    struct nwi_config_texts types;
    for (size_t i = 0; i < told->n; i++) {
        struct level level = look_at(h, up ? "up_blocks" : "down_blocks", i);
        if (told->motion)
            types.at[i] = motion_type(level.shape, up);
        else if (level.shape == PLAIN)
            types.at[i] = plain_type(c, h, key, &level, i, up);
        else
            types.at[i] = own_word(c, key, i, (up ? ups : downs)[level.shape]);
    }
    nwi_config_derive_texts(c, key, types.at, told->n);
}

/* ---- levels ---- */

void nwi_unet_derive_sizes(struct nwi_config *c, const struct nwi_header *h,
                           const struct nwi_unet_told *told, const char *key)
{
    struct spread layers = {.key = key, .n = told->n};
    int64_t channels[NWI_CONFIG_LIST];
    for (size_t i = 0; i < told->n; i++) {
        struct level level = look_down(h, i);
        channels[i] = level.out;
        layers.at[i] = level.layers;
    }
    nwi_config_derive_ints(c, "block_out_channels", channels, told->n);
    if (told->layer_list)
        derive_spread(c, &layers);
    else
        nwi_config_derive(c, layers.key, layers.at[0]);
}

static void derive_cross(struct nwi_config *c, const struct nwi_header *h,
                         const struct nwi_unet_told *told)
{
    struct spread s = {.key = "cross_attention_dim", .n = told->n};
    int64_t middle = look_middle(h).cross;
    s.rest = middle;
    for (size_t i = told->n; i-- > 0;) {
        s.at[i] = look_down(h, i).cross;
        if (s.at[i] >= 0)
            s.rest = s.at[i];
    }
    if (s.at[told->n - 1] < 0)
        s.at[told->n - 1] = middle;
    if (s.rest < 0)
        return;
    if (told->cross_list)
        derive_spread(c, &s);
    else
        nwi_config_derive(c, s.key, s.rest);
}

/* The middle follows one truth value, but not a list. */
static void derive_middle_only(struct nwi_config *c, const struct nwi_header *h,
                               int64_t all)
{
    static const char *const key = "mid_block_only_cross_attention";
    struct level middle = look_middle(h);
    if (middle.shape == ADDED &&
        (nwi_config_has(c, key) || middle.only != (all == 1 ? 1 : 0)))
        nwi_config_derive_bool(c, key, middle.only == 1);
}

static void derive_only(struct nwi_config *c, const struct nwi_header *h,
                        const struct nwi_unet_told *told)
{
    struct spread s = {.key = "only_cross_attention", .n = told->n, .rest = -1};
    bool truths[NWI_CONFIG_LIST];
    int64_t all = own_number(nwi_config_raw(c, s.key));
    for (size_t i = told->n; i-- > 0;) {
        s.at[i] = look_down(h, i).only;
        s.rest = s.at[i] >= 0 ? s.at[i] : s.rest;
    }
    if (s.rest >= 0 && fill(c, &s)) {
        all = s.at[0];
        nwi_config_derive_bool(c, s.key, all == 1);
    } else if (s.rest >= 0) {
        all = 0;
        for (size_t i = 0; i < told->n; i++)
            truths[i] = s.at[i] == 1;
        nwi_vae_derive_bools(c, s.key, truths, told->n);
    }
    if (told->middle_only)
        derive_middle_only(c, h, all);
}

/* Once for the whole network: by the first level (or the middle) that tells. */
static void derive_kinds(struct nwi_config *c, const struct nwi_header *h,
                         const struct nwi_unet_told *told)
{
    bool linear = false;
    bool shift = false;
    for (size_t i = 0; i <= told->n; i++) {
        struct level level = i < told->n ? look_down(h, i) : look_middle(h);
        int64_t time =
            nwi_vae_dim(h, 0, "%s.resnets.0.time_emb_proj.weight", level.name);
        if (level.shape == CROSS && !linear) {
            linear = true;
            nwi_config_derive_bool(
                c, "use_linear_projection",
                nwi_vae_dim(h, 2, "%s.attentions.0.proj_in.weight", level.name) < 0);
        }
        if (time > 0 && !shift && !told->plain) {
            shift = true;
            nwi_config_derive_text(c, "resnet_time_scale_shift",
                                   time == level.out ? "default" : "scale_shift");
        }
    }
}

void nwi_unet_look(const struct nwi_header *h, struct nwi_unet_told *told)
{
    size_t n = nwi_vae_levels(h, "down_blocks.");
    told->dual = look_middle(h).shape == DUAL;
    /* A last level without layers leaves nothing on the way down. */
    told->n = told->up && nwi_vae_levels(h, "up_blocks.") != n ? 0 : n;
    for (size_t i = 0; i < n; i++) {
        struct level level = look_down(h, i);
        told->dual = told->dual || level.shape == DUAL ||
                     (told->up && look_at(h, "up_blocks", i).shape == DUAL);
        if (level.out <= 0 || level.out > CHANNELS_MOST || level.layers <= 0)
            told->n = 0;
    }
    told->first = told->n ? look_down(h, 0).out : -1;
}

void nwi_unet_derive_levels(struct nwi_config *c, const struct nwi_header *h,
                            struct nwi_unet_told *told)
{
    nwi_unet_look(h, told);
    if (told->n == 0)
        return;
    derive_types(c, h, told, false);
    if (told->up)
        derive_types(c, h, told, true);
    nwi_unet_derive_sizes(c, h, told, "layers_per_block");
    derive_cross(c, h, told);
    if (!told->plain)
        derive_only(c, h, told);
    derive_kinds(c, h, told);
}

/* ---- depths ---- */

/* How many transformer blocks layer j has; -1 if it has no transformer. */
static int64_t depth_of(const struct nwi_header *h, const char *list,
                        const struct level *level, int64_t j)
{
    if (!nwi_vae_has(h, "%s.%s.%lld.proj_in.weight", level->name, list, (long long)j))
        return -1;
    return nwi_vae_run(h, "norm1.weight", "%s.%s.%lld.transformer_blocks", level->name,
                       list, (long long)j);
}

/* The same of all layers; -1: none has any. False if they differ. */
static bool depth_of_all(const struct nwi_header *h, const char *list,
                         const struct level *level, int64_t *out)
{
    *out = depth_of(h, list, level, 0);
    for (int64_t j = 1; j < level->layers; j++) {
        int64_t next = depth_of(h, list, level, j);
        if (next != *out && next >= 0)
            return false;
    }
    return true;
}

/* Whether one number a level tells all, for the way up in the reverse order. */
static bool flat_depths(const struct nwi_header *h, const struct nwi_unet_told *told,
                        const char *list, int64_t *out)
{
    for (size_t i = 0; i < told->n; i++) {
        struct level level = look_down(h, i);
        if (!depth_of_all(h, list, &level, &out[i]))
            return false;
    }
    for (size_t i = 0; told->up && i < told->n; i++) {
        struct level level = look_at(h, "up_blocks", i);
        int64_t *down = &out[told->n - 1 - i];
        int64_t depth = -1;
        if (!depth_of_all(h, list, &level, &depth))
            return false;
        if (*down < 0)
            *down = depth;
        if (depth >= 0 && *down != depth)
            return false;
    }
    return true;
}

/* Whether the config says the same in its own way. */
static bool own_depths(struct nwi_config *c, const struct nwi_header *h,
                       const struct nwi_unet_told *told, const char *list,
                       const char *key, const char *blocks, bool back)
{
    const struct nwi_json_value *all = nwi_config_raw(c, key);
    bool number = own_number(all) >= 0;
    if (!all)
        return false;
    for (size_t i = 0; i < told->n; i++) {
        struct level level = look_at(h, blocks, i);
        const struct nwi_json_value *item = number ? all : own_item(c, key, i, back);
        const struct nwi_json_value *next = item ? item->first : NULL;
        for (int64_t j = 0; j < level.layers; j++) {
            int64_t depth = depth_of(h, list, &level, j);
            int64_t own = own_number(next ? next : item);
            if (depth >= 0 && depth != own)
                return false;
            next = next ? next->next : NULL;
        }
    }
    return true;
}

/* "[[1,2],1]" on the arena; NULL if there is no memory, or too much to say. */
static const char *nested(struct nwi_config *c, const struct nwi_header *h,
                          const struct nwi_unet_told *told, const char *list,
                          const char *blocks, int64_t last)
{
    char text[8192];
    size_t size = 0;
    for (size_t i = 0; i < told->n && size < sizeof text - 64; i++) {
        struct level level = look_at(h, blocks, i);
        int64_t rest = last >= 0 && i == told->n - 1 ? last : 1;
        int64_t depth = depth_of(h, list, &level, 0);
        text[size++] = i ? ',' : '[';
        size += (size_t)snprintf(text + size, 32, depth < 0 ? "%lld" : "[%lld",
                                 (long long)(depth < 0 ? rest : depth));
        for (int64_t j = 1; depth >= 0 && j < level.layers && size < sizeof text - 64;
             j++)
            size += (size_t)snprintf(text + size, 32, ",%lld",
                                     (long long)depth_of(h, list, &level, j));
        if (depth >= 0)
            text[size++] = ']';
    }
    if (size >= sizeof text - 64)
        return NULL;
    text[size++] = ']';
    text[size] = '\0';
    return nwi_arena_copy(c->arena, text, size + 1);
}

static void derive_nested(struct nwi_config *c, const struct nwi_header *h,
                          const struct nwi_unet_told *told,
                          const struct nwi_unet_depths *depths, int64_t middle)
{
    bool back = told->up && depths->back;
    if (told->up && !back)
        return; /* no class says it */
    const char *down = nested(c, h, told, depths->list, "down_blocks", middle);
    const char *up = back ? nested(c, h, told, depths->list, "up_blocks", -1) : NULL;
    if (down)
        nwi_vae_derive_json(c, depths->key, down);
    if (up)
        nwi_vae_derive_json(c, depths->back, up);
}

static void derive_flat(struct nwi_config *c, const struct nwi_unet_depths *depths,
                        struct spread *s)
{
    int64_t first = -1;
    bool same = true;
    for (size_t i = 0; i < s->n; i++) {
        if (first < 0)
            first = s->at[i];
        same = same && (s->at[i] < 0 || s->at[i] == first);
    }
    if (first < 0)
        return;
    s->rest = same ? first : 1;
    derive_spread(c, s);
    if (depths->back && nwi_config_has(c, depths->back))
        nwi_config_derive_null(c, depths->back);
}

/* What the middle follows: the last of the config's numbers, the first of a list there. */
static int64_t own_last(struct nwi_config *c, const char *key)
{
    const struct nwi_json_value *all = nwi_config_raw(c, key);
    const struct nwi_json_value *item = own_item(c, key, 0, true);
    if (!item)
        return own_number(all);
    return own_number(item->first ? item->first : item);
}

/* Whether the config says it all already, the middle aside. */
static bool own_all(struct nwi_config *c, const struct nwi_header *h,
                    const struct nwi_unet_told *told,
                    const struct nwi_unet_depths *depths)
{
    bool back = depths->back && nwi_config_has(c, depths->back);
    if (!own_depths(c, h, told, depths->list, depths->key, "down_blocks", false))
        return false;
    return !told->up ||
           own_depths(c, h, told, depths->list, back ? depths->back : depths->key,
                      "up_blocks", !back);
}

/* Where the middle has a key of its own: null is the last level's number, or 1. */
static void derive_middle(struct nwi_config *c, const char *key, int64_t middle,
                          int64_t usual)
{
    struct nwi_config_ints own;
    nwi_config_ints(c, key, &own);
    if (own.n > 0 ? own.at[0] != middle : usual != middle)
        nwi_config_derive(c, key, middle);
}

/* What the middle is as deep as where nothing else is said, by the list that comes out.
 * `follows`: the depth of a middle that the last of the list is for, else -1. */
static int64_t derive_list(struct nwi_config *c, const struct nwi_header *h,
                           const struct nwi_unet_told *told,
                           const struct nwi_unet_depths *depths, int64_t follows)
{
    struct spread s = {.key = depths->key, .n = told->n};
    struct level last = look_down(h, told->n - 1);
    bool open = follows >= 0 && depth_of(h, depths->list, &last, 0) < 0;
    const struct nwi_json_value *item = own_item(c, s.key, 0, true);
    int64_t own = own_last(c, s.key);
    if (own_all(c, h, told, depths) && (!open || own == follows))
        return own < 0 || (item && item->kind == NWI_JSON_IS_ARRAY) ? 1 : own;
    bool flat = flat_depths(h, told, depths->list, s.at);
    int64_t *end = &s.at[told->n - 1];
    if (!flat || (open && *end >= 0 && *end != follows)) {
        derive_nested(c, h, told, depths, follows);
        return 1;
    }
    if (open)
        *end = follows;
    derive_flat(c, depths, &s);
    return *end < 0 ? 1 : *end;
}

void nwi_unet_derive_depths(struct nwi_config *c, const struct nwi_header *h,
                            const struct nwi_unet_told *told,
                            const struct nwi_unet_depths *depths)
{
    if (told->n == 0)
        return;
    struct level mid = look_middle(h);
    int64_t middle = depths->no_middle ? -1 : depth_of(h, depths->list, &mid, 0);
    int64_t usual = derive_list(c, h, told, depths, depths->middle ? -1 : middle);
    if (middle >= 0 && depths->middle)
        derive_middle(c, depths->middle, middle, usual);
}
