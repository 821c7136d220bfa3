/* SPDX-License-Identifier: Apache-2.0
 * What the U-Nets of diffusers and their control nets share (0.42.1,
 * models/unets/unet_2d_blocks.py, unet_2d_condition.py, unet_motion_model.py): the blocks of
 * a level, the embeddings, and what their shapes tell. */
#ifndef NWI_BLOCKS_UNET_H
#define NWI_BLOCKS_UNET_H

#include "model/config.h"
#include "model/module.h"
#include "source/header.h"

/* ---- blocks ---- */

/* What all blocks of a network have in common. */
struct nwi_unet {
    int64_t time;           /* width of the time embedding that comes to the blocks */
    int64_t groups;         /* norm_num_groups; NWI_NULL: none */
    const char *time_shift; /* resnet_time_scale_shift, NULL for null */
    const char *cross_norm; /* cross_attention_norm, NULL for null */
    int64_t frames;         /* positions that a motion module knows */
    bool dual;              /* dual_cross_attention */
    bool linear;            /* use_linear_projection */
    bool fused;             /* attention_type "gated", "gated-text-image" */
    bool motion;            /* its blocks have motion modules */
    bool motion_twice;      /* motion modules attend to themselves twice */
    bool whole;             /* some of its modules must not be split */
};

/* One level: the block of that type. */
struct nwi_unet_level {
    const char *type;
    int64_t in; /* on the way up: of the level above, which comes from the left */
    int64_t out;
    int64_t before; /* on the way up: of what comes from below */
    int64_t layers;
    int64_t cross; /* cross_attention_dim; NWI_NULL: none */
    int64_t heads;
    int64_t head_dim;     /* NWI_NULL: out */
    int64_t motion_heads; /* of its motion modules */
    const struct nwi_json_value
        *depth; /* transformer blocks: a number for all layers or
                                            a list; NULL: 1 */
    const struct nwi_json_value *motion_depth; /* the same of motion modules */
    bool resample;                             /* not the last one */
    bool only_cross;
};

/* All go into the module one is in. */
void nwi_unet_down(struct nwi_module *m, const struct nwi_unet *u,
                   const struct nwi_unet_level *level);
/* A module "NAME.i". */
void nwi_unet_up(struct nwi_module *m, const struct nwi_unet *u, const char *name,
                 int64_t i, const struct nwi_unet_level *level);
/* Its layers are attentions, one residual block before each and one behind; a type of NULL
 * is none. */
void nwi_unet_middle(struct nwi_module *m, const struct nwi_unet *shared,
                     const struct nwi_unet_level *level);
/* Motion modules 0 to level->layers in "motion_modules". */
void nwi_unet_motion(struct nwi_module *m, const struct nwi_unet *u,
                     const struct nwi_unet_level *level);

/* ---- levels from a config ---- */

struct nwi_unet_levels {
    size_t n;
    struct nwi_config_texts types; /* of the down blocks */
    struct nwi_config_ints channels;
    struct nwi_config_ints layers;
    struct nwi_config_ints cross;
    struct nwi_config_ints heads;
    struct nwi_config_ints head_dims;
    struct nwi_config_ints only_cross;
    struct nwi_config_ints motion_heads;
};

/* block_out_channels, down_block_types, only_cross_attention and attention_head_dim;
 * the default types are `last` behind three times `types`. False (BAD_CONFIG) if the
 * lists do not fit each other. The other lists are the caller's. */
bool nwi_unet_read_levels(struct nwi_config *c, const char *type, const char *last,
                          struct nwi_unet_levels *levels);
/* The list under `key`, of n: a number counts for all. BAD_CONFIG unless a list has n
 * items, or if `more` at least n. */
void nwi_unet_spread(struct nwi_config *c, const char *key, int64_t fallback, size_t n,
                     bool more, struct nwi_config_ints *out);
/* Reads what blocks share: norm_num_groups, resnet_time_scale_shift,
 * use_linear_projection. */
void nwi_unet_read(struct nwi_config *c, struct nwi_unet *u);
/* The i-th of the numbers or lists under `key`, from the end if `back`. NULL if there is
 * no such key; BAD_CONFIG (and NULL) if there is no such item. A number counts for all. */
const struct nwi_json_value *nwi_unet_item(struct nwi_config *c, const char *key,
                                           size_t i, bool back);
/* What the middle's own `key` says; without a word on it, the last of `depths`, or 1 where
 * that is a list. */
const struct nwi_json_value *nwi_unet_middle_depth(struct nwi_config *c,
                                                   const char *key, const char *depths);
/* BAD_CONFIG if an item of the list under `key` is a list, and there is no `back` for the
 * way up; whether there is. */
bool nwi_unet_check_depths(struct nwi_config *c, const char *key, const char *back);
/* Level i on the way down, without depths. */
struct nwi_unet_level nwi_unet_down_level(const struct nwi_unet_levels *levels,
                                          size_t i);

/* Level i on the way up, without type and depths. */
struct nwi_unet_level nwi_unet_up_level(const struct nwi_unet_levels *levels, size_t i);

/* ---- embeddings ---- */

/* time_embedding; `cond`: width of a condition beside the time, NWI_NULL: none. */
void nwi_unet_time(struct nwi_module *m, int64_t in, int64_t time, int64_t cond);

struct nwi_unet_embeds {
    int64_t time;  /* time_embed_dim */
    int64_t in;    /* of the sinusoids */
    int64_t cross; /* cross_attention_dim; NWI_NULL if it is no number */
    int64_t hid;   /* encoder_hid_dim; NWI_NULL: none */
};

/* encoder_hid_proj; `image`: "image_proj" is one of the types. */
void nwi_unet_text_projection(struct nwi_module *m, struct nwi_unet_embeds *e,
                              bool image);
/* class_embedding; `simple`: "simple_projection" is one of the types. */
void nwi_unet_class_embedding(struct nwi_module *m, const struct nwi_unet_embeds *e,
                              bool simple);
/* add_embedding; `image`: "image" and "image_hint" are among the types. */
void nwi_unet_added_embedding(struct nwi_module *m, const struct nwi_unet_embeds *e,
                              bool image);

/* A convolution that begins as zeros. */
void nwi_unet_zero_conv(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                        int64_t kernel);

/* ---- deriving ----
 * Where several values give the same shapes the config's own one counts, else the usual
 * one. */

struct nwi_unet_told {
    size_t n;         /* levels; 0: nothing can be told */
    int64_t first;    /* block_out_channels[0] */
    bool dual;        /* two transformers stand side by side */
    bool up;          /* there are up blocks */
    bool motion;      /* block types are of the motion kind */
    bool layer_list;  /* layers_per_block may be a list */
    bool cross_list;  /* cross_attention_dim may be a list */
    bool plain;       /* no only_cross_attention, no resnet_time_scale_shift */
    bool middle_only; /* there is a mid_block_only_cross_attention */
};
/* Fills n, first and dual. Levels without residual blocks have the channels and layers of
 * their motion modules. */
void nwi_unet_look(const struct nwi_header *h, struct nwi_unet_told *told);
/* block_out_channels, and the layers of each level under `key`. */
void nwi_unet_derive_sizes(struct nwi_config *c, const struct nwi_header *h,
                           const struct nwi_unet_told *told, const char *key);
/* nwi_unet_look, and the lists of types, block_out_channels, layers_per_block, cross_attention_dim,
 * only_cross_attention, use_linear_projection, resnet_time_scale_shift. */
void nwi_unet_derive_levels(struct nwi_config *c, const struct nwi_header *h,
                            struct nwi_unet_told *told);

/* Which transformers' depths are told, and by which keys. */
struct nwi_unet_depths {
    const char *list; /* of a level: "attentions" */
    const char *key;
    const char *back;   /* of the way up; NULL: `key` turned round */
    const char *middle; /* of the middle alone, where that is not as deep as the last
                           level; NULL: it always is */
    bool no_middle;     /* the middle is the caller's */
};
void nwi_unet_derive_depths(struct nwi_config *c, const struct nwi_header *h,
                            const struct nwi_unet_told *told,
                            const struct nwi_unet_depths *depths);

/* encoder_hid_dim, class_embed_type, addition_embed_type and their numbers. `in`: of the
 * sinusoids of the time; `simple` as above. */
void nwi_unet_derive_embeddings(struct nwi_config *c, const struct nwi_header *h,
                                int64_t in, bool simple);

/* A value that is `usual` where the config says null: null then, unless the config says
 * the number. */
void nwi_unet_derive_or_null(struct nwi_config *c, const char *key, int64_t value,
                             int64_t usual);

#endif
