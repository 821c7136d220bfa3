/* SPDX-License-Identifier: Apache-2.0
 * Rules applied to headers written as text, results as text: "a.w[2,3] b[]" in,
 * "x[3,2] a.w:0,3,1,4,2,5" out, elements being the source's, in the order of the output. */
#ifndef NWT_LAYOUT_SCENE_H
#define NWT_LAYOUT_SCENE_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "layout/ruleset.h"
#include "support/support.h"

#define SCENE_TEXT 8192

struct scene {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nwi_header header;
    struct nwi_header_row *rows;
    size_t n;
    struct nwi_mapping_of out;
    struct nw_error err;
    char text[SCENE_TEXT];
};

static inline void scene_say(struct scene *scene, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void scene_say(struct scene *scene, const char *format, ...)
{
    size_t used = strlen(scene->text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(scene->text + used, sizeof scene->text - used, format, args);
    va_end(args);
}

/* One "name[2,3]", up to a blank. */
static inline const char *scene_row(struct scene *scene, const char *at)
{
    const char *open = strchr(at, '[');
    uint64_t *shape = nwi_arena_array(&scene->arena, 8, sizeof *shape);
    struct nwi_header_row *row = &scene->rows[scene->n];
    assert_non_null(open);
    assert_non_null(shape);
    row->name = nwi_arena_copy(&scene->arena, at, (size_t)(open - at));
    row->name_size = (size_t)(open - at);
    row->shape = shape;
    row->source = (uint32_t)scene->n++;
    for (at = open + 1; *at != ']'; at += *at == ',') {
        char *end = NULL;
        shape[row->rank++] = strtoull(at, &end, 10);
        at = end;
    }
    return at + 1 + (at[1] == ' ');
}

static inline void scene_begin(struct scene *scene, const char *tensors)
{
    memset(scene, 0, sizeof *scene);
    scene->memory = nwi_memory_new(NULL);
    nwi_arena_init(&scene->arena, scene->memory);
    scene->rows = nwi_arena_zalloc(&scene->arena, 64 * sizeof *scene->rows);
    nwi_error_clear(&scene->err);
    while (*tensors)
        tensors = scene_row(scene, tensors);
    assert_ok(nwi_header_init(&scene->header, scene->rows, scene->n, scene->memory,
                              &scene->err),
              &scene->err);
}

static inline void scene_end(struct scene *scene)
{
    nwi_header_release(&scene->header);
    nwi_arena_release(&scene->arena);
    nwi_memory_release(scene->memory);
}

/* The elements of one part, row major. */
static inline void scene_part(struct scene *scene, const struct nw_part *part)
{
    uint64_t total = 1;
    scene_say(scene, " %s:", scene->rows[part->source].name);
    for (uint32_t d = 0; d < part->rank; d++)
        total *= part->shape[d];
    for (uint64_t i = 0; i < total; i++) {
        uint64_t at = part->start;
        uint64_t left = i;
        for (uint32_t d = part->rank; d-- > 0; left /= part->shape[d])
            at += left % part->shape[d] * part->strides[d];
        scene_say(scene, i ? ",%llu" : "%llu", (unsigned long long)at);
    }
}

static inline void scene_print(struct scene *scene)
{
    for (size_t i = 0; i < scene->out.n_outputs; i++) {
        const struct nwi_mapped *output = &scene->out.outputs[i];
        assert_int_equal(output->name[output->name_size], 0);
        scene_say(scene, i ? "; %s[" : "%s[", output->name);
        for (uint32_t d = 0; d < output->rank; d++)
            scene_say(scene, d ? ",%llu" : "%llu",
                      (unsigned long long)output->shape[d]);
        scene_say(scene, "]");
        for (uint32_t k = 0; k < output->n_parts; k++)
            scene_part(scene, &output->parts[k]);
        if (output->n_parts == 0)
            scene_say(scene, " fill %u", (unsigned)output->fill);
    }
    for (size_t i = 0; i < scene->n; i++) {
        if (scene->out.fates[i] == NWI_DROPPED)
            scene_say(scene, "%s-%s (%s)", scene->text[0] ? "; " : "",
                      scene->rows[i].name, scene->out.reasons[i]);
        if (scene->out.fates[i] == NWI_UNMATCHED)
            scene_say(scene, "%s?%s", scene->text[0] ? "; " : "", scene->rows[i].name);
    }
}

/* Applies, and says outputs or "CODE: message (tensor)". */
static inline const char *scene_apply(struct scene *scene,
                                      const struct nwi_rules *rules,
                                      enum nwi_direction direction,
                                      const struct nw_checkpoint *ckpt,
                                      const struct nwi_hints *hints)
{
    int code = nwi_rules_apply(rules, direction, &scene->header, ckpt, hints,
                               &scene->arena, &scene->out, &scene->err);
    assert_int_equal(code, scene->err.code);
    if (code == NW_OK)
        scene_print(scene);
    else
        scene_say(scene, "%s: %s (%s)", nw_code_name(code), scene->err.message,
                  scene->err.tensor);
    return scene->text;
}

static inline void check_apply(const struct nwi_rules *rules,
                               enum nwi_direction direction, const char *tensors,
                               const char *expected)
{
    struct scene *scene = malloc(sizeof *scene);
    scene_begin(scene, tensors);
    assert_string_equal(scene_apply(scene, rules, direction, NULL, NULL), expected);
    scene_end(scene);
    free(scene);
}

static inline void check_there(const struct nwi_rules *rules, const char *tensors,
                               const char *expected)
{
    check_apply(rules, NWI_TO_DIFFUSERS, tensors, expected);
}

static inline void check_back(const struct nwi_rules *rules, const char *tensors,
                              const char *expected)
{
    check_apply(rules, NWI_TO_ORIGINAL, tensors, expected);
}

#endif
