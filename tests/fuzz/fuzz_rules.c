/* SPDX-License-Identifier: Apache-2.0
 * Tensors, one a line ("NAME DIM,DIM"), up to a line "==", then rules as text. Whatever is in
 * it: a mistake is ARG or LIMIT with a message; rules that can be read are applied there, and
 * what comes out is applied back; every view keeps inside its tensor and fills its output. */
#include <stdio.h>

#include "check.h"
#include "layout/pattern.h"
#include "layout/rules_text.h"

#define ROWS_MOST 256u
#define RANK_MOST 6u
#define ELEMS     (UINT64_C(1) << 40) /* of one tensor, at most */

struct scene {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nwi_header_row rows[ROWS_MOST];
    size_t n;
};

static uint64_t count(const uint64_t *shape, uint32_t rank)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        require(!__builtin_mul_overflow(n, shape[i], &n));
    return n;
}

/* Dimensions behind the last blank of the line; sizes that no file could hold are cut. */
static void add_row(struct scene *scene, const char *line, size_t size)
{
    uint64_t *shape = nwi_arena_array(&scene->arena, RANK_MOST, sizeof *shape);
    struct nwi_header_row *row = &scene->rows[scene->n];
    size_t at = size;
    uint32_t rank = 0;
    uint64_t n = 1;
    require(shape != NULL);
    while (at > 0 && line[at - 1] != ' ')
        at--;
    size_t name_size = at > 0 ? at - 1 : size;
    for (at = name_size; at < size && rank < RANK_MOST; rank++) {
        uint64_t dim = 0;
        for (at++; at < size && line[at] >= '0' && line[at] <= '9'; at++)
            dim = dim * 10 + (uint64_t)(line[at] - '0') > 4096
                      ? 4096
                      : dim * 10 + (uint64_t)(line[at] - '0');
        n *= dim > 0 ? dim : 1;
        shape[rank] = n <= ELEMS ? dim : 1;
        n = n <= ELEMS ? n : n / dim;
    }
    *row = (struct nwi_header_row){
        .name = nwi_arena_copy(&scene->arena, line, name_size),
        .name_size = name_size,
        .shape = shape,
        .rank = rank,
        .source = (uint32_t)scene->n,
    };
    require(row->name != NULL);
    scene->n++;
}

static void check_part(const struct scene *scene, const struct nw_part *part)
{
    require(part->source < scene->n);
    const struct nwi_header_row *row = &scene->rows[part->source];
    uint64_t last = part->start;
    if (count(part->shape, part->rank) == 0)
        return;
    for (uint32_t i = 0; i < part->rank; i++)
        last += (part->shape[i] - 1) * part->strides[i];
    require(last < count(row->shape, row->rank));
}

static void check_mapping(const struct scene *scene, const struct nwi_mapping_of *out)
{
    for (size_t i = 0; i < out->n_outputs; i++) {
        const struct nwi_mapped *output = &out->outputs[i];
        uint64_t n = 0;
        require(output->name[output->name_size] == '\0');
        require(output->input < scene->n);
        for (uint32_t k = 0; k < output->n_parts; k++) {
            check_part(scene, &output->parts[k]);
            n += count(output->parts[k].shape, output->parts[k].rank);
        }
        require(output->n_parts == 0 || n == count(output->shape, output->rank));
    }
    for (size_t i = 0; i < scene->n; i++)
        require((out->fates[i] == NWI_DROPPED) == (out->reasons[i] != NULL));
}

/* True if outputs came; the codes of nwi_rules_apply otherwise. */
static bool apply(struct scene *scene, const struct nwi_rules *rules,
                  enum nwi_direction direction, struct nwi_mapping_of *out)
{
    struct nwi_header header;
    struct nw_error err;
    nwi_error_clear(&err);
    int code = nwi_header_init(&header, scene->rows, scene->n, scene->memory, &err);
    if (code == NW_OK)
        code = nwi_rules_apply(rules, direction, &header, NULL, NULL, &scene->arena,
                               out, &err);
    nwi_header_release(&header);
    require(code == err.code);
    if (code == NW_OK) {
        check_mapping(scene, out);
        return true;
    }
    require(code == NW_E_MISMATCH || code == NW_E_DUPLICATE || code == NW_E_NOT_FOUND ||
            code == NW_E_UNSUPPORTED || code == NW_E_LIMIT || code == NW_E_ARG);
    require(err.message[0] != '\0');
    return false;
}

static void there_and_back(struct scene *scene, const struct nwi_rules *rules)
{
    struct nwi_mapping_of out;
    if (!apply(scene, rules, NWI_TO_DIFFUSERS, &out))
        return;
    scene->n = 0;
    for (size_t i = 0; i < out.n_outputs && scene->n < ROWS_MOST; i++, scene->n++)
        scene->rows[i] = (struct nwi_header_row){
            .name = out.outputs[i].name,
            .name_size = out.outputs[i].name_size,
            .shape = out.outputs[i].shape,
            .rank = out.outputs[i].rank,
            .source = (uint32_t)i,
        };
    (void)apply(scene, rules, NWI_TO_ORIGINAL, &out);
}

/* The first name as a pattern, against all others. */
static void check_pattern(struct scene *scene)
{
    struct nwi_pattern pattern;
    struct nw_error err;
    nwi_error_clear(&err);
    if (scene->n == 0 || strlen(scene->rows[0].name) != scene->rows[0].name_size)
        return;
    int code =
        nwi_pattern_compile(scene->rows[0].name, NULL, &scene->arena, &pattern, &err);
    require(code == NW_OK || (code == NW_E_ARG && err.message[0] != '\0'));
    for (size_t i = 0; code == NW_OK && i < scene->n; i++) {
        const struct nwi_header_row *row = &scene->rows[i];
        struct nwi_match match = {0};
        const char *name = NULL;
        size_t size = 0;
        bool matches = nwi_pattern_match(&pattern, row->name, row->name_size, &match);
        require(match.steps <= (uint64_t)NWI_PATTERN_PATHS * 300 *
                                   (pattern.n_tokens + 1) * (row->name_size + 1));
        uint32_t part = match.part == NW_NONE ? 0 : match.part;
        if (!matches || nwi_pattern_render(&pattern, &match, part, &scene->arena, &name,
                                           &size) != NW_OK)
            continue;
        /* What a pattern captures, it gives back. */
        require(size == row->name_size && memcmp(name, row->name, size) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scene scene;
    struct nwi_rules rules;
    struct nw_error err;
    const char *at = (const char *)data;
    const char *end = at + size;
    scene.memory = nwi_memory_new(NULL);
    scene.n = 0;
    nwi_arena_init(&scene.arena, scene.memory);
    nwi_error_clear(&err);
    while (at < end && scene.n < ROWS_MOST) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((stop ? stop : end) - at);
        if (line == 2 && memcmp(at, "==", 2) == 0) {
            at = stop ? stop + 1 : end;
            break;
        }
        add_row(&scene, at, line);
        at = stop ? stop + 1 : end;
    }
    check_pattern(&scene);
    int code = nwi_rules_text(at, (size_t)(end - at), &scene.arena, &rules, &err);
    require(code == err.code);
    if (code == NW_OK)
        there_and_back(&scene, &rules);
    else
        require((code == NW_E_ARG || code == NW_E_LIMIT) && err.message[0] != '\0');
    nwi_arena_release(&scene.arena);
    nwi_memory_release(scene.memory);
    return 0;
}
