/* SPDX-License-Identifier: Apache-2.0
 * Bytes that make a header (scene.h), opened over a hole: what it is, and plans of it in every
 * layout, with and without a component or class. A plan, or a code with a message; every byte
 * that a plan reads is one of its file, and every part lies within its tensor. */
#include "plan/plan.h"
#include "scene.h"

#define TEXT_MOST (1u << 20)

struct hole {
    char text[8 + TEXT_MOST];
    size_t size; /* of the text; zeros follow */
};

static int read_hole(void *ctx, uint64_t offset, void *dst, size_t size)
{
    const struct hole *hole = ctx;
    memset(dst, 0, size);
    if (offset < hole->size) {
        size_t n = hole->size - (size_t)offset;
        memcpy(dst, hole->text + offset, n < size ? n : size);
    }
    return 0;
}

/* The size of the file. */
static uint64_t write_header(const struct scene *scene, struct hole *hole)
{
    char *text = hole->text + 8;
    size_t used = (size_t)snprintf(text, TEXT_MOST, "{");
    uint64_t at = 0;
    for (size_t i = 0; i < scene->n && used + 500 < TEXT_MOST; i++) {
        const struct scene_row *row = &scene->rows[i];
        uint64_t nbytes = scene_elems(row) * nw_dtype_bits(row->dtype) / 8;
        used += (size_t)snprintf(text + used, TEXT_MOST - used,
                                 "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "",
                                 row->name, nw_dtype_name(row->dtype));
        for (uint32_t k = 0; k < row->rank; k++)
            used +=
                (size_t)snprintf(text + used, TEXT_MOST - used, k ? ",%llu" : "%llu",
                                 (unsigned long long)row->shape[k]);
        used += (size_t)snprintf(
            text + used, TEXT_MOST - used, "],\"data_offsets\":[%llu,%llu]}",
            (unsigned long long)at, (unsigned long long)(at + nbytes));
        at += nbytes;
    }
    text[used++] = '}';
    for (size_t i = 0; i < 8; i++)
        hole->text[i] = (char)(used >> (8 * i));
    hole->size = 8 + used;
    return hole->size + at;
}

/* ---- what holds for a plan ---- */

static uint64_t check_part(const struct nw_checkpoint *ckpt, const struct nw_part *part)
{
    require(part->source < ckpt->n_tensors);
    const struct nwi_stored *row = &ckpt->tensors[part->source];
    uint64_t stored = 1;
    uint64_t n = 1;
    uint64_t last = part->start;
    for (uint32_t i = 0; i < row->rank; i++)
        stored *= row->shape[i];
    for (uint32_t i = 0; i < part->rank; i++)
        n *= part->shape[i];
    for (uint32_t i = 0; n > 0 && i < part->rank; i++)
        last += (part->shape[i] - 1) * part->strides[i];
    require(n == 0 || last < stored);
    return n;
}

static void check_target(const struct nw_plan *plan, size_t i)
{
    struct nw_target target;
    struct nw_part part;
    uint64_t n = 1;
    uint64_t parts = 0;
    require(nw_plan_target(plan, i, &target) == NW_OK);
    require(target.name[target.name_size] == '\0');
    for (uint32_t k = 0; k < target.rank; k++)
        require(!__builtin_mul_overflow(n, target.shape[k], &n));
    require(target.nbytes == n * nw_dtype_bits(target.dtype) / 8);
    for (uint32_t k = 0; k < target.n_parts; k++) {
        require(nw_plan_part(plan, i, k, &part) == NW_OK);
        parts += check_part(plan->ckpt, &part);
    }
    require(target.n_parts == 0 || parts == n);
}

static void check_plan(const struct nw_plan *plan)
{
    for (size_t i = 0; i < nw_plan_target_count(plan); i++)
        check_target(plan, i);
    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct nwi_step *step = &plan->steps[i];
        require(step->file < plan->ckpt->n_files && step->target < plan->n_targets);
        uint64_t size = plan->ckpt->files[step->file].info.nbytes;
        require(step->offset <= size && step->nbytes <= size - step->offset);
    }
}

static int swallow(void *ctx, const char *text, size_t size)
{
    (void)ctx;
    (void)text;
    (void)size;
    return 0;
}

static void plan_as(struct nw_checkpoint *ckpt, const struct nw_load_options *options)
{
    struct nw_plan *plan = NULL;
    struct nw_error err;
    int code = nw_plan_create(ckpt, options, &plan, &err);
    require(code == err.code);
    require(code == NW_OK || err.message[0] != '\0');
    require(code != NW_E_NOMEM && code != NW_E_IO && code != NW_E_CHANGED);
    require(code != NW_OK || plan != NULL);
    if (plan) {
        const struct nw_plan *const plans[] = {plan};
        check_plan(plan);
        require(nw_plan_json(plans, 1, NW_PLAN_JSON_TARGETS, NULL, &err, swallow, NULL,
                             NULL) == NW_OK);
    }
    nw_plan_free(plan);
}

/* ---- what is asked ---- */

static void check_layouts(struct nw_checkpoint *ckpt, const char *component,
                          const char *klass, bool lenient)
{
    for (uint32_t layout = NW_LAYOUT_AUTO; layout <= NW_LAYOUT_ORIGINAL; layout++) {
        struct nw_load_options options = NW_OPTIONS_INIT(options);
        options.layout = layout;
        options.component = component;
        options.klass = klass;
        if (lenient) {
            options.missing = NW_MISSING_ALLOW;
            options.flags = NW_LOAD_IGNORE_MISMATCHED | NW_LOAD_TO_FILE;
        }
        plan_as(ckpt, &options);
    }
}

/* Bits of `which`: missing tensors allowed, by component, by class, and which part it is. */
static void check_detection(struct nw_checkpoint *ckpt, uint8_t which)
{
    struct nw_detection *detection = NULL;
    struct nw_detected part;
    struct nw_error err;
    require(nw_detect(ckpt, NULL, 0, &detection, &err) == NW_OK);
    size_t n = nw_detection_count(detection);
    uint64_t tensors = 0;
    for (size_t i = 0; i < n; i++) {
        require(nw_detection_get(detection, i, &part) == NW_OK);
        require(part.name != NULL && part.prefix != NULL && part.component == 0);
        for (size_t k = 0; nw_detection_absent(detection, i, k); k++)
            require(part.state == NW_STATE_PARTIAL);
        tensors += part.n_tensors;
    }
    require(tensors <= ckpt->n_tensors);
    if (n == 0 || nw_detection_get(detection, which / 8 % n, &part) != NW_OK)
        which &= 1; /* without either */
    check_layouts(ckpt, which & 2 ? part.name : NULL, which & 4 ? part.klass : NULL,
                  which & 1);
    nw_detection_free(detection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scene scene;
    static struct hole hole;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_error err;
    size_t n = 0;
    if (size < 2)
        return 0;
    scene_read(&scene, data + 2, size - 2);
    struct nw_input input = {write_header(&scene, &hole), read_hole, &hole};
    require(nw_open_input(&input, "input.safetensors", NULL, &ckpt, &err) == NW_OK);
    check_checkpoint(ckpt);
    check_detection(ckpt, data[0]);
    while (nw_class(n))
        n++;
    if (data[1] < n)
        check_layouts(ckpt, NULL, nw_class(data[1]), data[0] & 1);
    nw_checkpoint_free(ckpt);
    return 0;
}
