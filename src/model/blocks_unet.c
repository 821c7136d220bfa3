/* SPDX-License-Identifier: Apache-2.0
 * The blocks of a U-Net's levels (diffusers 0.42.1, models/unets/unet_2d_blocks.py,
 * models/resnet.py, models/transformers/transformer_2d.py, dual_transformer_2d.py,
 * models/unets/unet_motion_model.py). */
#include "model/blocks_unet.h"

#include <stdio.h>
#include <string.h>

#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_vae.h"

#define K_GROUP 32 /* channels of a group in the K blocks' norms: no weights */

enum attention {
    NO_ATTENTION,
    CROSS, /* transformers */
    ADDED, /* one attention to pixels and text */
    SELF,  /* one attention to pixels */
};

struct kind {
    const char *type;
    enum attention attention;
    bool resnet_sampler; /* a residual block changes the size */
    bool k;
    bool motion;
    bool whole; /* a device map must not split it */
};

static const struct kind downs[] = {
    {"DownBlock2D", NO_ATTENTION, false, false, false, false},
    {"CrossAttnDownBlock2D", CROSS, false, false, false, false},
    {"AttnDownBlock2D", SELF, false, false, false, false},
    {"ResnetDownsampleBlock2D", NO_ATTENTION, true, false, false, false},
    {"SimpleCrossAttnDownBlock2D", ADDED, true, false, false, false},
    {"KDownBlock2D", NO_ATTENTION, false, true, false, false},
    {"KCrossAttnDownBlock2D", CROSS, false, true, false, false},
    {"DownBlockMotion", NO_ATTENTION, false, false, true, false},
    {"CrossAttnDownBlockMotion", CROSS, false, false, true, false},
    {NULL, NO_ATTENTION, false, false, false, false},
};
static const struct kind ups[] = {
    {"UpBlock2D", NO_ATTENTION, false, false, false, true},
    {"CrossAttnUpBlock2D", CROSS, false, false, false, true},
    {"AttnUpBlock2D", SELF, false, false, false, false},
    {"ResnetUpsampleBlock2D", NO_ATTENTION, true, false, false, false},
    {"SimpleCrossAttnUpBlock2D", ADDED, true, false, false, false},
    {"KUpBlock2D", NO_ATTENTION, false, true, false, false},
    {"KCrossAttnUpBlock2D", CROSS, false, true, false, false},
    {"UpBlockMotion", NO_ATTENTION, false, false, true, false},
    {"CrossAttnUpBlockMotion", CROSS, false, false, true, false},
    {NULL, NO_ATTENTION, false, false, false, false},
};
/* Of the same file, and no model of these classes is known to use them. */
static const char *const not_built[] = {
    "SkipDownBlock2D",      "AttnSkipDownBlock2D",   "DownEncoderBlock2D",
    "SkipUpBlock2D",        "AttnSkipUpBlock2D",     "UpDecoderBlock2D",
    "AttnUpDecoderBlock2D", "AttnDownEncoderBlock2D"};

/* The row of that type, BAD_CONFIG (and the last row) if there is none. */
static const struct kind *find_kind(struct nwi_module *m, const struct kind *rows,
                                    bool motion, const char *type)
{
    const char *name = type ? type : "null";
    if (strncmp(name, "UNetRes", 7) == 0)
        name += 7;
    for (; rows->type; rows++) {
        if (rows->motion == motion && strcmp(name, rows->type) == 0)
            return rows;
    }
    for (size_t i = 0; i < sizeof not_built / sizeof *not_built; i++) {
        if (strcmp(name, not_built[i]) == 0)
            nwi_config_fail(m->config, NW_E_UNSUPPORTED, "blocks of type %s", name);
    }
    nwi_config_fail(m->config, NW_E_BAD_CONFIG, "there are no blocks of type %.60s",
                    name);
    return rows;
}

static bool good(const struct nwi_module *m)
{
    return m->config->code == NW_OK;
}

static size_t enter_kept(struct nwi_module *m, bool whole, const char *list, int64_t i)
{
    return whole ? nwi_enter_block(m, "%s.%lld", list, (long long)i)
                 : nwi_enter(m, "%s.%lld", list, (long long)i);
}

/* a / b; BAD_CONFIG (and 0) unless b is above 0. */
static int64_t per(struct nwi_module *m, int64_t a, int64_t b)
{
    if (b > 0)
        return a / b;
    nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                    "%lld channels of the config are divided into heads of none",
                    (long long)a);
    return 0;
}

/* How many transformer blocks layer i has. */
static int64_t depth_of(struct nwi_module *m, const struct nwi_json_value *depth,
                        int64_t layer)
{
    const struct nwi_json_value *item = depth;
    uint64_t n = 0;
    if (!depth)
        return 1;
    if (depth->kind == NWI_JSON_IS_ARRAY) {
        item = depth->first;
        for (int64_t i = 0; item && i < layer; i++)
            item = item->next;
    }
    if (item && item->kind == NWI_JSON_IS_NUMBER &&
        nwi_json_u64(item->text, item->text_size, &n) && n <= NWI_CONFIG_DEPTH)
        return (int64_t)n;
    nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                    "the config does not say how many transformer blocks a layer has");
    return 0;
}

/* ---- residual blocks ---- */

static void resnet(struct nwi_module *m, const struct nwi_unet *u, int64_t in,
                   int64_t out)
{
    const char *shift = u->time_shift ? u->time_shift : "null";
    bool scaled = strcmp(shift, "scale_shift") == 0;
    if (!scaled && strcmp(shift, "default") != 0)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "residual blocks do not take \"%.40s\" for their time", shift);
    nwi_vae_group_norm(m, "norm1", in, u->groups);
    nwi_conv2d(m, "conv1", in, out, 3, true);
    nwi_linear(m, "time_emb_proj", u->time, scaled ? 2 * out : out, true);
    nwi_vae_group_norm(m, "norm2", out, u->groups);
    nwi_conv2d(m, "conv2", out, out, 3, true);
    if (in != out)
        nwi_conv2d(m, "conv_shortcut", in, out, 1, true);
}

static void resnet_at(struct nwi_module *m, const struct nwi_unet *u, const char *list,
                      int64_t i, int64_t in, int64_t out)
{
    NWI_IN_(m, enter_kept, u->whole, list, i)
    {
        resnet(m, u, in, out);
    }
}

/* The K blocks': norms are made of the time, and `last` channels come out. */
static void k_resnet(struct nwi_module *m, int64_t time, int64_t in, int64_t out,
                     int64_t last)
{
    nwi_linear(m, "norm1.linear", time, 2 * in, true);
    nwi_conv2d(m, "conv1", in, out, 3, true);
    nwi_linear(m, "norm2.linear", time, 2 * out, true);
    nwi_conv2d(m, "conv2", out, last, 3, true);
    if (in != last)
        nwi_conv2d(m, "conv_shortcut", in, last, 1, false);
}

/* ---- attentions ---- */

struct transformer {
    int64_t dim;
    int64_t heads;
    int64_t cross; /* NWI_NULL: none */
    int64_t depth;
    int64_t frames; /* of the table of positions; 0: none */
    bool linear;
    bool only_cross;
    bool twice; /* the second attention is to itself, too */
    bool fused;
    bool whole;
};

/* GLIGEN's: boxes are attended to, and gates begin closed. */
static void fuser(struct nwi_module *m, int64_t dim, int64_t cross,
                  struct nwi_attention self)
{
    if (cross == NWI_NULL)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "gated attention needs a cross_attention_dim");
    nwi_parameter_filled(m, "alpha_attn", NWI_SCALAR, NW_FILL_ZERO);
    nwi_parameter_filled(m, "alpha_dense", NWI_SCALAR, NW_FILL_ZERO);
    nwi_linear(m, "linear", cross, dim, true);
    nwi_attention(m, "attn", self);
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim, .gated = true});
    nwi_norm(m, "norm1", dim);
    nwi_norm(m, "norm2", dim);
}

static void transformer_block(struct nwi_module *m, const struct transformer *t,
                              int64_t head_dim)
{
    int64_t dim = t->heads * head_dim;
    struct nwi_attention self = {.dim = dim, .heads = t->heads, .head_dim = head_dim};
    struct nwi_attention cross = self;
    cross.from = t->cross == NWI_NULL ? 0 : t->cross;
    if (t->frames)
        nwi_buffer(m, "pos_embed.pe", NWI_DIMS(1, t->frames, dim));
    nwi_norm(m, "norm1", dim);
    nwi_attention(m, "attn1", t->only_cross ? cross : self);
    if (t->cross != NWI_NULL || t->twice) {
        nwi_norm(m, "norm2", dim);
        nwi_attention(m, "attn2", t->twice ? self : cross);
    }
    nwi_norm(m, "norm3", dim);
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim, .gated = true});
    if (t->fused)
        NWI_IN(m, "fuser")
        {
            fuser(m, dim, t->cross, self);
        }
}

static void transformer(struct nwi_module *m, const struct nwi_unet *u,
                        const struct transformer *t)
{
    int64_t head_dim = per(m, t->dim, t->heads);
    int64_t inner = good(m) ? t->heads * head_dim : 0;
    nwi_vae_group_norm(m, "norm", t->dim, u->groups);
    if (t->linear)
        nwi_linear(m, "proj_in", t->dim, inner, true);
    else
        nwi_conv2d(m, "proj_in", t->dim, inner, 1, true);
    for (int64_t i = 0; i < t->depth && good(m); i++)
        NWI_IN_(m, enter_kept, t->whole, "transformer_blocks", i)
        {
            transformer_block(m, t, head_dim);
        }
    if (t->linear)
        nwi_linear(m, "proj_out", inner, t->dim, true);
    else
        nwi_conv2d(m, "proj_out", inner, t->dim, 1, true);
}

/* One transformer over the text, or two over half of it each. */
static void cross_attention(struct nwi_module *m, const struct nwi_unet *u,
                            const struct nwi_unet_level *level, int64_t i)
{
    struct transformer t = {.dim = level->out,
                            .heads = level->heads,
                            .cross = level->cross,
                            .depth = 1,
                            .whole = u->whole};
    if (u->dual) {
        for (int j = 0; j < 2; j++)
            NWI_IN(m, "transformers.%d", j)
            {
                transformer(m, u, &t);
            }
        return;
    }
    t.depth = depth_of(m, level->depth, i);
    t.linear = u->linear;
    t.only_cross = level->only_cross;
    t.fused = u->fused;
    transformer(m, u, &t);
}

/* An attention of heads that are told by their width, which the group norms beside it
 * belong to. */
static struct nwi_attention headed(struct nwi_module *m, int64_t dim, int64_t head_dim)
{
    int64_t width = head_dim == NWI_NULL ? dim : head_dim;
    return (struct nwi_attention){
        .dim = dim, .heads = per(m, dim, width), .head_dim = width, .bias = true};
}

static void self_attention(struct nwi_module *m, const struct nwi_unet *u,
                           const struct nwi_unet_level *level, int64_t i)
{
    char name[40];
    struct nwi_attention shape = headed(m, level->out, level->head_dim);
    (void)snprintf(name, sizeof name, "attentions.%lld", (long long)i);
    NWI_IN(m, "%s", name)
    {
        nwi_vae_group_norm(m, "group_norm", level->out, u->groups);
    }
    if (good(m))
        nwi_attention(m, name, shape);
}

static void cross_norm(struct nwi_module *m, const char *kind, int64_t dim,
                       int64_t added)
{
    if (!kind)
        return;
    if (strcmp(kind, "layer_norm") == 0)
        nwi_norm(m, "norm_cross", dim);
    else if (strcmp(kind, "group_norm") == 0)
        nwi_vae_group_norm(m, "norm_cross", added == NWI_NULL ? dim : added, 32);
    else
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "\"cross_attention_norm\" of the config is \"%.40s\"", kind);
}

/* Keys and values of the pixels (or not: only_cross) and of the text. */
static void added_attention(struct nwi_module *m, const struct nwi_unet *u,
                            const struct nwi_unet_level *level, int64_t head_dim)
{
    int64_t dim = level->out;
    int64_t inner = per(m, dim, head_dim) * (good(m) ? head_dim : 0);
    bool text = level->cross != NWI_NULL;
    nwi_vae_group_norm(m, "group_norm", dim, u->groups);
    cross_norm(m, u->cross_norm, dim, level->cross);
    nwi_linear(m, "to_q", dim, inner, true);
    if (level->only_cross && !text)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "only cross attention needs a cross_attention_dim");
    if (!level->only_cross) {
        nwi_linear(m, "to_k", dim, inner, true);
        nwi_linear(m, "to_v", dim, inner, true);
    }
    if (text) {
        nwi_linear(m, "add_k_proj", level->cross, inner, true);
        nwi_linear(m, "add_v_proj", level->cross, inner, true);
    }
    nwi_linear(m, "to_out.0", inner, dim, true);
}

static void need_text(struct nwi_module *m, const struct nwi_unet_level *level)
{
    if (level->cross == NWI_NULL)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "blocks of type %.60s need a cross_attention_dim", level->type);
}

static void attention_at(struct nwi_module *m, const struct nwi_unet *u,
                         const struct nwi_unet_level *level, enum attention kind,
                         int64_t i)
{
    int64_t head_dim = level->head_dim == NWI_NULL ? level->out : level->head_dim;
    if (kind == SELF) {
        self_attention(m, u, level, i);
        return;
    }
    need_text(m, level);
    NWI_IN(m, "attentions.%lld", (long long)i)
    {
        if (kind == CROSS)
            cross_attention(m, u, level, i);
        else
            added_attention(m, u, level, head_dim);
    }
}

void nwi_unet_motion(struct nwi_module *m, const struct nwi_unet *u,
                     const struct nwi_unet_level *level)
{
    for (int64_t i = 0; i < level->layers && good(m); i++)
        NWI_IN(m, "motion_modules.%lld", (long long)i)
        {
            struct transformer t = {.dim = level->out,
                                    .heads = level->motion_heads,
                                    .cross = NWI_NULL,
                                    .depth = depth_of(m, level->motion_depth, i),
                                    .frames = u->frames,
                                    .linear = true,
                                    .twice = u->motion_twice,
                                    .whole = u->whole};
            transformer(m, u, &t);
        }
}

/* ---- K blocks: norms without weights of their own ---- */

/* To itself (the first on either end), then to the text. */
static void k_attention(struct nwi_module *m, const struct nwi_unet *u,
                        const struct nwi_unet_level *level, int64_t dim, bool self)
{
    int64_t cross = level->cross == NWI_NULL ? dim : level->cross;
    struct nwi_attention shape =
        headed(m, dim, level->head_dim == NWI_NULL ? level->out : level->head_dim);
    if (!good(m))
        return;
    if (self) {
        nwi_linear(m, "norm1.linear", u->time, 2 * dim, true);
        nwi_attention(m, "attn1", shape);
    }
    nwi_linear(m, "norm2.linear", u->time, 2 * dim, true);
    nwi_norm(m, "attn2.norm_cross", cross);
    shape.from = cross;
    nwi_attention(m, "attn2", shape);
}

/* n of them, the last one over as many channels. */
static void k_attentions(struct nwi_module *m, const struct nwi_unet *u,
                         const struct nwi_unet_level *level, int64_t n, int64_t last,
                         bool self)
{
    for (int64_t i = 0; i < n && good(m); i++)
        NWI_IN(m, "attentions.%lld", (long long)i)
        {
            k_attention(m, u, level, i == n - 1 ? last : level->out, self);
        }
}

static void k_down(struct nwi_module *m, const struct nwi_unet *u,
                   const struct nwi_unet_level *level, const struct kind *kind)
{
    int64_t out = level->out;
    for (int64_t i = 0; i < level->layers && good(m); i++)
        NWI_IN(m, "resnets.%lld", (long long)i)
        {
            k_resnet(m, u->time, i ? out : level->in, out, out);
        }
    if (kind->attention)
        k_attentions(m, u, level, level->layers, out, !level->resample);
    if (level->resample)
        nwi_scratch_buffer(m, "downsamplers.0.kernel", NWI_DIMS(4, 4));
}

/* One layer less than said; the last one narrows to the level above. */
static void k_up(struct nwi_module *m, const struct nwi_unet *u,
                 const struct nwi_unet_level *level, const struct kind *kind)
{
    int64_t out = level->out;
    int64_t n = level->layers - 1;
    bool first = level->in == out && out == u->time && kind->attention;
    for (int64_t i = 0; i < n && good(m); i++)
        NWI_IN(m, "resnets.%lld", (long long)i)
        {
            int64_t in = i || first ? out : 2 * out;
            int64_t last = i == n - 1 ? level->in : out;
            k_resnet(m, u->time, in, kind->attention ? out : last, last);
        }
    if (kind->attention)
        k_attentions(m, u, level, n, level->in, first);
    if (level->resample)
        nwi_scratch_buffer(m, "upsamplers.0.kernel", NWI_DIMS(4, 4));
}

/* ---- levels ---- */

static void check_layers(struct nwi_module *m, int64_t layers)
{
    if (layers < 0 || layers > NWI_CONFIG_DEPTH + 1)
        nwi_config_fail(m->config, layers < 0 ? NW_E_BAD_CONFIG : NW_E_LIMIT,
                        "a level of the config has %lld layers", (long long)layers);
}

static void attentions(struct nwi_module *m, const struct nwi_unet *u,
                       const struct nwi_unet_level *level, const struct kind *kind)
{
    if (kind->attention == CROSS || kind->attention == ADDED)
        need_text(m, level);
    for (int64_t i = 0; kind->attention && i < level->layers && good(m); i++)
        attention_at(m, u, level, kind->attention, i);
}

/* Blocks with motion modules take no lists of another length. */
static void check_depth(struct nwi_module *m, const struct nwi_json_value *depth,
                        int64_t layers)
{
    if (depth && depth->kind == NWI_JSON_IS_ARRAY &&
        depth->n_children != (uint64_t)layers)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "%lld layers of the config have %zu numbers of transformers",
                        (long long)layers, depth->n_children);
}

static void check_motion(struct nwi_module *m, const struct nwi_unet_level *level,
                         const struct kind *kind)
{
    if (!kind->motion)
        return;
    check_depth(m, level->motion_depth, level->layers);
    if (kind->attention)
        check_depth(m, level->depth, level->layers);
}

static void sampler(struct nwi_module *m, const struct nwi_unet *u,
                    const struct nwi_unet_level *level, const struct kind *kind,
                    const char *list)
{
    if (!level->resample)
        return;
    if (kind->resnet_sampler)
        resnet_at(m, u, list, 0, level->out, level->out);
    else
        NWI_IN(m, "%s.0", list)
        {
            nwi_conv2d(m, "conv", level->out, level->out, 3, true);
        }
}

void nwi_unet_down(struct nwi_module *m, const struct nwi_unet *u,
                   const struct nwi_unet_level *level)
{
    const struct kind *kind = find_kind(m, downs, u->motion, level->type);
    check_layers(m, level->layers);
    check_motion(m, level, kind);
    if (kind->k) {
        k_down(m, u, level, kind);
        return;
    }
    attentions(m, u, level, kind);
    for (int64_t i = 0; i < level->layers && good(m); i++)
        resnet_at(m, u, "resnets", i, i ? level->out : level->in, level->out);
    if (kind->motion)
        nwi_unet_motion(m, u, level);
    sampler(m, u, level, kind, "downsamplers");
}

/* What comes from below, and the one of the way down that belongs to it. */
static int64_t up_input(const struct nwi_unet_level *level, int64_t i)
{
    return (i ? level->out : level->before) +
           (i == level->layers - 1 ? level->in : level->out);
}

static void up(struct nwi_module *m, const struct nwi_unet *u,
               const struct nwi_unet_level *level, const struct kind *kind)
{
    if (kind->k) {
        k_up(m, u, level, kind);
        return;
    }
    attentions(m, u, level, kind);
    for (int64_t i = 0; i < level->layers && good(m); i++)
        resnet_at(m, u, "resnets", i, up_input(level, i), level->out);
    if (kind->motion)
        nwi_unet_motion(m, u, level);
    sampler(m, u, level, kind, "upsamplers");
}

void nwi_unet_up(struct nwi_module *m, const struct nwi_unet *u, const char *name,
                 int64_t i, const struct nwi_unet_level *level)
{
    const struct kind *kind = find_kind(m, ups, u->motion, level->type);
    check_layers(m, level->layers);
    check_motion(m, level, kind);
    NWI_IN_(m, enter_kept, u->whole && kind->whole, name, i)
    {
        up(m, u, level, kind);
    }
}

/* ---- the middle ---- */

static enum attention middle_kind(struct nwi_module *m, const char *type, bool *motion)
{
    *motion = strcmp(type, "UNetMidBlockCrossAttnMotion") == 0;
    if (*motion || strcmp(type, "UNetMidBlock2DCrossAttn") == 0)
        return CROSS;
    if (strcmp(type, "UNetMidBlock2DSimpleCrossAttn") == 0)
        return ADDED;
    if (strcmp(type, "UNetMidBlock2D") != 0)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG,
                        "there are no middle blocks of type %.60s", type);
    return NO_ATTENTION;
}

void nwi_unet_middle(struct nwi_module *m, const struct nwi_unet *shared,
                     const struct nwi_unet_level *level)
{
    bool motion = false;
    struct nwi_unet unet = *shared;
    enum attention kind = NO_ATTENTION;
    if (!level->type)
        return;
    kind = middle_kind(m, level->type, &motion);
    if (unet.groups == NWI_NULL)
        unet.groups = level->out / 4 < 32 ? level->out / 4 : 32;
    int64_t layers = kind == NO_ATTENTION ? 0 : level->layers;
    check_layers(m, layers);
    if (motion) {
        check_depth(m, level->depth, layers);
        check_depth(m, level->motion_depth, layers);
    }
    for (int64_t i = 0; i < layers && good(m); i++)
        NWI_IN(m, "attentions.%lld", (long long)i)
        {
            if (kind == CROSS)
                cross_attention(m, &unet, level, i);
            else
                added_attention(m, &unet, level, level->head_dim);
        }
    for (int64_t i = 0; i <= layers && good(m); i++)
        resnet_at(m, &unet, "resnets", i, level->out, level->out);
    if (motion)
        nwi_unet_motion(m, &unet, level);
}
