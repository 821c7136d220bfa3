/* SPDX-License-Identifier: Apache-2.0
 * Levels and embeddings of a U-Net as a config says them (diffusers 0.42.1,
 * models/unets/unet_2d_condition.py, models/embeddings.py). */
#include <string.h>

#include "model/blocks.h"
#include "model/blocks_unet.h"
#include "model/blocks_vae.h"

/* ---- levels ---- */

void nwi_unet_spread(struct nwi_config *c, const char *key, int64_t fallback, size_t n,
                     bool more, struct nwi_config_ints *out)
{
    nwi_config_ints_or(c, key, &fallback, 1, out);
    if (!nwi_config_raw(c, key))
        out->scalar = true;
    if (out->scalar || !more || out->n < n)
        nwi_config_spread(c, key, out, n);
}

bool nwi_unet_read_levels(struct nwi_config *c, const char *type, const char *last,
                          struct nwi_unet_levels *levels)
{
    static const int64_t channels[] = {320, 640, 1280, 1280};
    const char *const types[] = {type, type, type, last};
    nwi_vae_ints(c, "block_out_channels", channels, 4, &levels->channels);
    nwi_config_texts_or(c, "down_block_types", types, 4, &levels->types);
    levels->n = levels->types.n;
    if (levels->n == 0 || levels->channels.n != levels->n)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config has %zu down_block_types and %zu "
                        "block_out_channels",
                        levels->n, levels->channels.n);
    return c->code == NW_OK;
}

void nwi_unet_read(struct nwi_config *c, struct nwi_unet *u)
{
    u->groups = nwi_config_int_or_null(c, "norm_num_groups", 32);
    u->time_shift = nwi_config_text(c, "resnet_time_scale_shift", "default");
    u->linear = nwi_config_bool(c, "use_linear_projection", false);
    nwi_vae_activation(c, "act_fn", "silu");
}

const struct nwi_json_value *nwi_unet_item(struct nwi_config *c, const char *key,
                                           size_t i, bool back)
{
    const struct nwi_json_value *value = nwi_config_raw(c, key);
    if (!value || value->kind == NWI_JSON_IS_NUMBER)
        return value;
    const struct nwi_json_value *item = value->first;
    if (back)
        i = value->n_children - 1 - i; /* past the end if there are not enough */
    for (size_t at = 0; item && at < i; at++)
        item = item->next;
    if (!item || value->kind != NWI_JSON_IS_ARRAY)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"%s\" of the config does not say how many for each level",
                        key);
    return item;
}

struct nwi_unet_level nwi_unet_down_level(const struct nwi_unet_levels *levels,
                                          size_t i)
{
    return (struct nwi_unet_level){
        .type = levels->types.at[i],
        .in = levels->channels.at[i ? i - 1 : 0],
        .out = levels->channels.at[i],
        .layers = levels->layers.at[i],
        .cross = levels->cross.at[i],
        .heads = levels->heads.at[i],
        .head_dim = levels->head_dims.at[i],
        .motion_heads = levels->motion_heads.at[i],
        .only_cross = levels->only_cross.at[i] == 1,
        .resample = i + 1 < levels->n,
    };
}

struct nwi_unet_level nwi_unet_up_level(const struct nwi_unet_levels *levels, size_t i)
{
    size_t at = levels->n - 1 - i;
    struct nwi_unet_level level = nwi_unet_down_level(levels, at);
    level.type = NULL;
    level.before = levels->channels.at[i ? at + 1 : at];
    level.layers++;
    level.resample = at > 0;
    return level;
}

const struct nwi_json_value *nwi_unet_middle_depth(struct nwi_config *c,
                                                   const char *key, const char *depths)
{
    static const struct nwi_json_value one = {
        .kind = NWI_JSON_IS_NUMBER, .text = "1", .text_size = 1};
    const struct nwi_json_value *last = nwi_unet_item(c, depths, 0, true);
    if (nwi_config_has(c, key))
        return nwi_config_raw(c, key);
    return last && last->kind == NWI_JSON_IS_NUMBER ? last : &one;
}

bool nwi_unet_check_depths(struct nwi_config *c, const char *key, const char *back)
{
    const struct nwi_json_value *depths = nwi_config_raw(c, key);
    bool has_back = nwi_config_has(c, back);
    for (const struct nwi_json_value *v = depths ? depths->first : NULL; v; v = v->next)
        if (v->kind == NWI_JSON_IS_ARRAY && !has_back)
            nwi_config_fail(c, NW_E_BAD_CONFIG, "the config needs \"%s\"", back);
    return has_back;
}

/* ---- embeddings ---- */

void nwi_unet_time(struct nwi_module *m, int64_t in, int64_t time, int64_t cond)
{
    NWI_IN(m, "time_embedding")
    {
        nwi_linear(m, "linear_1", in, time, true);
        if (cond != NWI_NULL)
            nwi_linear(m, "cond_proj", cond, in, false);
        nwi_linear(m, "linear_2", time, time, true);
    }
}

/* A number that the part of the network asked for cannot do without. */
static int64_t need(struct nwi_module *m, const char *key, int64_t value)
{
    if (value >= 0)
        return value;
    nwi_config_fail(m->config, NW_E_BAD_CONFIG, "the config needs a number in \"%s\"",
                    key);
    return 0;
}

static int64_t need_key(struct nwi_module *m, const char *key)
{
    return need(m, key, nwi_config_int_or_null(m->config, key, NWI_NULL));
}

static bool is(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

static void unknown(struct nwi_module *m, const char *key, const char *type)
{
    nwi_config_fail(m->config, NW_E_BAD_CONFIG, "\"%s\" of the config is \"%.40s\"",
                    key, type);
}

void nwi_unet_text_projection(struct nwi_module *m, struct nwi_unet_embeds *e,
                              bool image)
{
    const char *type = nwi_config_text(m->config, "encoder_hid_dim_type", NULL);
    e->hid = nwi_config_int_or_null(m->config, "encoder_hid_dim", NWI_NULL);
    if (!type && e->hid == NWI_NULL)
        return;
    type = type ? type : "text_proj";
    int64_t hid = need(m, "encoder_hid_dim", e->hid);
    int64_t cross = need(m, "cross_attention_dim", e->cross);
    if (is(type, "text_proj")) {
        nwi_linear(m, "encoder_hid_proj", hid, cross, true);
    } else if (is(type, "text_image_proj")) {
        nwi_linear(m, "encoder_hid_proj.image_embeds", cross, 10 * cross, true);
        nwi_linear(m, "encoder_hid_proj.text_proj", hid, cross, true);
    } else if (image && is(type, "image_proj")) {
        nwi_linear(m, "encoder_hid_proj.image_embeds", hid, 32 * cross, true);
        nwi_norm(m, "encoder_hid_proj.norm", cross);
    } else {
        unknown(m, "encoder_hid_dim_type", type);
    }
}

void nwi_unet_class_embedding(struct nwi_module *m, const struct nwi_unet_embeds *e,
                              bool simple)
{
    static const char *const inputs = "projection_class_embeddings_input_dim";
    const char *type = nwi_config_text(m->config, "class_embed_type", NULL);
    int64_t n = nwi_config_int_or_null(m->config, "num_class_embeds", NWI_NULL);
    (void)nwi_config_int_or_null(m->config, inputs, NWI_NULL);
    if (!type) {
        if (n != NWI_NULL)
            nwi_embedding(m, "class_embedding", n, e->time);
    } else if (is(type, "timestep")) {
        nwi_two_linears(m, "class_embedding", e->in, e->time, e->time);
    } else if (is(type, "projection")) {
        nwi_two_linears(m, "class_embedding", need_key(m, inputs), e->time, e->time);
    } else if (simple && is(type, "simple_projection")) {
        nwi_linear(m, "class_embedding", need_key(m, inputs), e->time, true);
    }
}

/* Pooled by an attention whose heads shape nothing. */
static void pooled_text(struct nwi_module *m, int64_t dim, int64_t time)
{
    if (nwi_config_int(m->config, "addition_embed_type_num_heads", 64) == 0)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "\"addition_embed_type_num_heads\" of the config is 0");
    nwi_norm(m, "norm1", dim);
    NWI_IN(m, "pool")
    {
        nwi_parameter(m, "positional_embedding", NWI_DIMS(1, dim));
        nwi_linear(m, "k_proj", dim, dim, true);
        nwi_linear(m, "q_proj", dim, dim, true);
        nwi_linear(m, "v_proj", dim, dim, true);
    }
    nwi_linear(m, "proj", dim, time, true);
    nwi_norm(m, "norm2", time);
}

static void image_hint(struct nwi_module *m)
{
    static const int64_t channels[] = {3, 16, 16, 32, 32, 96, 96, 256, 4};
    for (int i = 0; i < 8; i++)
        NWI_IN(m, "input_hint_block.%d", 2 * i)
        {
            nwi_parameter(m, "weight", NWI_DIMS(channels[i + 1], channels[i], 3, 3));
            nwi_parameter(m, "bias", NWI_DIMS(channels[i + 1]));
        }
}

static void image_embedding(struct nwi_module *m, const struct nwi_unet_embeds *e)
{
    nwi_linear(m, "image_proj", need(m, "encoder_hid_dim", e->hid), e->time, true);
    nwi_norm(m, "image_norm", e->time);
}

static void added(struct nwi_module *m, const struct nwi_unet_embeds *e,
                  const char *type, bool image)
{
    if (is(type, "text")) {
        int64_t dim = e->hid == NWI_NULL ? e->cross : e->hid;
        pooled_text(m, need(m, "cross_attention_dim", dim), e->time);
    } else if (is(type, "text_image")) {
        int64_t cross = need(m, "cross_attention_dim", e->cross);
        nwi_linear(m, "text_proj", cross, e->time, true);
        nwi_norm(m, "text_norm", e->time);
        nwi_linear(m, "image_proj", cross, e->time, true);
    } else if (image && is(type, "image")) {
        image_embedding(m, e);
    } else if (image && is(type, "image_hint")) {
        image_embedding(m, e);
        image_hint(m);
    } else {
        unknown(m, "addition_embed_type", type);
    }
}

void nwi_unet_added_embedding(struct nwi_module *m, const struct nwi_unet_embeds *e,
                              bool image)
{
    const char *type = nwi_config_text(m->config, "addition_embed_type", NULL);
    if (!type)
        return;
    if (is(type, "text_time"))
        nwi_two_linears(m, "add_embedding",
                        need_key(m, "projection_class_embeddings_input_dim"), e->time,
                        e->time);
    else
        NWI_IN(m, "add_embedding")
        {
            added(m, e, type, image);
        }
}

void nwi_unet_zero_conv(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                        int64_t kernel)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter_filled(m, "weight", NWI_DIMS(out, in, kernel, kernel),
                             NW_FILL_ZERO);
        nwi_parameter_filled(m, "bias", NWI_DIMS(out), NW_FILL_ZERO);
    }
}
