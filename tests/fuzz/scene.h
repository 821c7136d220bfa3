/* SPDX-License-Identifier: Apache-2.0
 * A header made of bytes: tensors whose names are put together from words that real ones are
 * made of, families' own models (in their original names too), and changes to those. */
#ifndef NWT_FUZZ_SCENE_H
#define NWT_FUZZ_SCENE_H

#include <stdbool.h>
#include <stdio.h>

#include "check.h"
#include "layout/detect.h"
#include "model/model.h"
#include "source/header.h"

#define ROWS_MOST 3000u
#define RANK_MOST 5u
#define ELEMS     (UINT64_C(1) << 34) /* of one tensor, at most */

struct scene_row {
    char name[200];
    uint64_t shape[RANK_MOST];
    uint32_t rank;
    uint32_t hash; /* of the name */
    uint8_t dtype; /* enum nw_dtype */
};

struct scene {
    const uint8_t *at;
    const uint8_t *end;
    struct scene_row rows[ROWS_MOST];
    size_t n;
};

static const char *const scene_words[] = {"model.diffusion_model",
                                          "module",
                                          "_orig_mod",
                                          "model",
                                          "model_ema",
                                          "first_stage_model",
                                          "cond_stage_model",
                                          "conditioner.embedders",
                                          "transformer",
                                          "text_model",
                                          "vae",
                                          "net",
                                          "control_model",
                                          "text_encoders",
                                          "diffusion_model",
                                          "unet",
                                          "lora_unet",
                                          "text_encoder",
                                          "clip_l",
                                          "clip_g",
                                          "t5xxl",
                                          "language_model",
                                          "vision_model",
                                          "visual",
                                          "base_model",
                                          "blocks",
                                          "joint_blocks",
                                          "double_blocks",
                                          "single_blocks",
                                          "transformer_blocks",
                                          "single_transformer_blocks",
                                          "layers",
                                          "input_blocks",
                                          "middle_block",
                                          "output_blocks",
                                          "down_blocks",
                                          "mid_block",
                                          "up_blocks",
                                          "encoder",
                                          "decoder",
                                          "down",
                                          "mid",
                                          "up",
                                          "resnets",
                                          "attentions",
                                          "block",
                                          "attn",
                                          "attn1",
                                          "attn2",
                                          "self_attn",
                                          "cross_attn",
                                          "img_attn",
                                          "txt_attn",
                                          "x_block",
                                          "context_block",
                                          "context_embedder",
                                          "x_embedder",
                                          "img_in",
                                          "txt_in",
                                          "time_in",
                                          "vector_in",
                                          "guidance_in",
                                          "final_layer",
                                          "proj_out",
                                          "conv_in",
                                          "conv_out",
                                          "norm",
                                          "norm1",
                                          "norm2",
                                          "norm_q",
                                          "q_norm",
                                          "qkv",
                                          "proj",
                                          "to_q",
                                          "to_k",
                                          "to_v",
                                          "to_out",
                                          "q",
                                          "k",
                                          "v",
                                          "o",
                                          "to_qkv",
                                          "in_layers",
                                          "out_layers",
                                          "emb_layers",
                                          "time_embed",
                                          "label_emb",
                                          "time_embedding",
                                          "patch_embedding",
                                          "text_embedding",
                                          "embeddings",
                                          "position_embedding",
                                          "token_embedding",
                                          "positional_embedding",
                                          "position_ids",
                                          "head",
                                          "modulation",
                                          "mlp",
                                          "ff.net",
                                          "fc1",
                                          "fc2",
                                          "gate_proj",
                                          "quant_conv",
                                          "post_quant_conv",
                                          "nin_shortcut",
                                          "op",
                                          "conv",
                                          "conv1",
                                          "motion_modules",
                                          "temporal_transformer",
                                          "zero_convs",
                                          "input_hint_block",
                                          "adaln",
                                          "lin",
                                          "w1",
                                          "w2",
                                          "gamma",
                                          "residual",
                                          "shared",
                                          "embed_tokens",
                                          "lm_head",
                                          "lora_A",
                                          "lora_B",
                                          "lora_up",
                                          "lora_down",
                                          "alpha",
                                          "weight",
                                          "bias",
                                          "scale",
                                          "weight_scale",
                                          "scale_weight",
                                          "scaled_fp8",
                                          "comfy_quant",
                                          "weight_scale_2",
                                          "input_scale",
                                          "qweight",
                                          "scales",
                                          "qzeros",
                                          "absmax",
                                          "quant_map",
                                          "running_mean",
                                          "num_batches_tracked",
                                          "pos_embed",
                                          "y_embedder",
                                          "cap_embedder",
                                          "0",
                                          "1",
                                          "2",
                                          "3"};
#define SCENE_WORDS (sizeof scene_words / sizeof *scene_words)

static const char *const scene_prefixes[] = {"",
                                             "model.diffusion_model.",
                                             "module.",
                                             "_orig_mod.",
                                             "first_stage_model.",
                                             "model.",
                                             "transformer.",
                                             "net.",
                                             "text_encoders.t5xxl.transformer.",
                                             "vae.",
                                             "cond_stage_model.transformer.",
                                             "conditioner.embedders.1.model.",
                                             "model_ema."};
#define SCENE_PREFIXES (sizeof scene_prefixes / sizeof *scene_prefixes)

static const uint32_t scene_dims[] = {
    0,    1,    2,    3,    4,    5,    8,    9,    16,    32,    36,
    48,   64,   77,   96,   128,  256,  320,  384,  512,   640,   768,
    1024, 1152, 1280, 1536, 2048, 2432, 3072, 4096, 49408, 262144};
#define SCENE_DIMS (sizeof scene_dims / sizeof *scene_dims)

static inline uint8_t scene_next(struct scene *scene)
{
    return scene->at < scene->end ? *scene->at++ : 0;
}

/* UINT64_MAX: more than ELEMS, if only on the way. */
static inline uint64_t scene_elems(const struct scene_row *row)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < row->rank; i++) {
        if (row->shape[i] > 0 && n > ELEMS / row->shape[i])
            return UINT64_MAX;
        n *= row->shape[i];
    }
    return n;
}

/* A name stands once; one that is there already is left as it is. */
static inline void scene_add(struct scene *scene, struct scene_row row)
{
    row.hash = 2166136261u;
    for (const char *at = row.name; *at; at++)
        row.hash = (row.hash ^ (uint8_t)*at) * 16777619u;
    for (size_t i = 0; i < scene->n; i++) {
        if (scene->rows[i].hash == row.hash)
            return;
    }
    if (scene->n < ROWS_MOST && scene_elems(&row) <= ELEMS)
        scene->rows[scene->n++] = row;
}

/* ---- the models of families ---- */

/* Few layers of the real sizes, so that what asks for shapes is content. */
#define SCENE_SMALL                                                                    \
    "\"num_layers\":1,\"num_single_layers\":1,\"num_hidden_layers\":1,"                \
    "\"n_layers\":1,\"num_refiner_layers\":1,\"n_refiner_layers\":1,"                  \
    "\"num_dit_layers\":1,\"num_mmdit_layers\":1,\"num_single_dit_layers\":1,"         \
    "\"text_config\":{\"num_hidden_layers\":1},"                                       \
    "\"vision_config\":{\"num_hidden_layers\":1,\"depth\":1}"

static inline struct nw_model *scene_model(size_t which)
{
    static struct nw_model *models[512];
    static bool tried[512];
    const struct nwi_family *family = nwi_families[which];
    char text[4096];
    if (which >= 512 || tried[which] || !family->klass)
        return which < 512 ? models[which] : NULL;
    tried[which] = true;
    const char *preset = family->preset ? strchr(family->preset, '{') : NULL;
    (void)snprintf(text, sizeof text, "{%s,%s", SCENE_SMALL,
                   preset ? preset + 1 : "\"\":0}");
    if (nw_model_from_config(text, strlen(text), family->klass, NULL, &models[which],
                             NULL) != NW_OK &&
        nw_model_from_config(NULL, 0, family->klass, NULL, &models[which], NULL) !=
            NW_OK)
        models[which] = NULL;
    return models[which];
}

static inline void scene_add_named(struct scene *scene, const char *prefix,
                                   const char *name, const uint64_t *shape,
                                   uint32_t rank, uint8_t dtype)
{
    struct scene_row row = {.rank = rank, .dtype = dtype};
    if (rank > RANK_MOST || snprintf(row.name, sizeof row.name, "%s%s", prefix, name) >=
                                (int)sizeof row.name)
        return;
    memcpy(row.shape, shape, rank * sizeof *shape);
    scene_add(scene, row);
}

/* In the family's own original names, or (`rules` NULL) in the class's. */
static inline void scene_add_model(struct scene *scene, const struct nw_model *model,
                                   const struct nwi_rules *rules, const char *prefix)
{
    struct nwi_mapping_of out = {0};
    struct nwi_header header = {0};
    struct nwi_arena arena;
    size_t n = 0;
    nwi_arena_init(&arena, model->memory);
    struct nwi_header_row *rows =
        nwi_arena_array(&arena, model->n_wanted, sizeof *rows);
    require(rows != NULL);
    for (size_t i = 0; i < model->n_wanted; i++) {
        const struct nwi_wanted *wanted = &model->wanted[i];
        if (wanted->kind != NW_NON_PERSISTENT)
            rows[n++] = (struct nwi_header_row){
                wanted->name, wanted->shape, wanted->name_size, wanted->rank, NW_NONE};
    }
    require(nwi_header_init(&header, rows, n, model->memory, NULL) == NW_OK);
    if (rules && nwi_rules_apply(rules, NWI_TO_ORIGINAL, &header, NULL, NULL, &arena,
                                 &out, NULL) == NW_OK) {
        for (size_t i = 0; i < out.n_outputs; i++)
            scene_add_named(scene, prefix, out.outputs[i].name, out.outputs[i].shape,
                            out.outputs[i].rank, NW_F16);
    } else {
        for (size_t i = 0; i < n; i++)
            scene_add_named(scene, prefix, rows[i].name, rows[i].shape, rows[i].rank,
                            NW_F16);
    }
    nwi_header_release(&header);
    nwi_arena_release(&arena);
}

static inline void scene_family(struct scene *scene)
{
    size_t n = 0;
    while (nwi_families[n])
        n++;
    size_t which = scene_next(scene) % n;
    uint8_t style = scene_next(scene);
    const struct nwi_family *family = nwi_families[which];
    const struct nw_model *model = scene_model(which);
    const char *prefix = scene_prefixes[style / 2 % SCENE_PREFIXES];
    if (style / 2 == 127 && family->prefix)
        prefix = family->prefix;
    if (model)
        scene_add_model(scene, model, style % 2 ? family->rules : NULL, prefix);
}

/* ---- single tensors and changes ---- */

static inline void scene_name(struct scene *scene, char *out, size_t size)
{
    size_t n = 1u + scene_next(scene) % 7u;
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; i < n && used + 30 < size; i++) {
        const char *word = scene_words[scene_next(scene) % SCENE_WORDS];
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "." : "", word);
    }
}

static inline void scene_shape(struct scene *scene, struct scene_row *row)
{
    row->rank = scene_next(scene) % (RANK_MOST + 1);
    row->dtype = 1 + scene_next(scene) % (NW_F8_E5M2 - 1);
    for (uint32_t i = 0; i < row->rank; i++)
        row->shape[i] = scene_dims[scene_next(scene) % SCENE_DIMS];
}

static inline void scene_single(struct scene *scene)
{
    struct scene_row row = {0};
    scene_name(scene, row.name, 150);
    scene_shape(scene, &row);
    scene_add(scene, row);
}

/* The same tensor of many blocks. */
static inline void scene_list(struct scene *scene)
{
    char before[80];
    char after[80];
    struct scene_row row = {0};
    unsigned n = scene_next(scene) % 64u;
    scene_name(scene, before, sizeof before);
    scene_name(scene, after, sizeof after);
    scene_shape(scene, &row);
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(row.name, sizeof row.name, "%s.%u.%s", before, i, after);
        scene_add(scene, row);
    }
}

static inline size_t scene_pick(struct scene *scene)
{
    size_t high = scene_next(scene);
    size_t which = high << 8 | scene_next(scene);
    return scene->n > 0 ? which % scene->n : 0;
}

static inline void scene_remove(struct scene *scene)
{
    size_t first = scene_pick(scene);
    size_t n = 1u + scene_next(scene) % 32u;
    n = first + n > scene->n ? scene->n - first : n;
    memmove(&scene->rows[first], &scene->rows[first + n],
            (scene->n - first - n) * sizeof *scene->rows);
    scene->n -= n;
}

static inline void scene_resize(struct scene *scene)
{
    size_t which = scene_pick(scene);
    uint8_t dim = scene_next(scene);
    struct scene_row row = {0};
    uint32_t size = scene_dims[scene_next(scene) % SCENE_DIMS];
    if (which >= scene->n)
        return;
    row = scene->rows[which];
    if (dim % 8 == 7)
        row.dtype = 1 + dim / 8 % (NW_F8_E5M2 - 1);
    else if (dim % 8 == 6)
        row.rank = dim / 8 % (row.rank + 1);
    else if (row.rank > 0)
        row.shape[dim % row.rank] = size;
    if (scene_elems(&row) <= ELEMS)
        scene->rows[which] = row;
}

/* One word in some names becomes another; names stay apart. */
static inline void scene_rename(struct scene *scene)
{
    size_t first = scene_pick(scene);
    size_t n = 1u + scene_next(scene) % 128u;
    const char *from = scene_words[scene_next(scene) % SCENE_WORDS];
    const char *to = scene_words[scene_next(scene) % SCENE_WORDS];
    for (size_t i = first; i < scene->n && i < first + n; i++) {
        struct scene_row row = scene->rows[i];
        char *at = strstr(row.name, from);
        char rest[200];
        if (!at || strlen(row.name) > 150)
            continue;
        (void)snprintf(rest, sizeof rest, "%s", at + strlen(from));
        (void)snprintf(at, (size_t)(row.name + sizeof row.name - at), "%s%s", to, rest);
        size_t before = scene->n;
        scene_add(scene, row);
        if (scene->n > before)
            scene->rows[i] = scene->rows[--scene->n];
    }
}

static inline void scene_read(struct scene *scene, const uint8_t *data, size_t size)
{
    static void (*const steps[])(struct scene *) = {scene_family, scene_single,
                                                    scene_list,   scene_remove,
                                                    scene_resize, scene_rename};
    scene->at = data;
    scene->end = data + size;
    scene->n = 0;
    for (unsigned i = 0; i < 64 && scene->at < scene->end; i++)
        steps[scene_next(scene) % 6](scene);
}

#endif
