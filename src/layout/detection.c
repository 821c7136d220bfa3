/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/detection.h"

#include <string.h>

#include "base/error.h"
#include "source/kind.h"

static const char *layout_word(uint8_t layout)
{
    if (layout == NWI_LAYOUT_ORIGINAL)
        return "original";
    return layout == NWI_LAYOUT_DIFFUSERS ? "diffusers" : NULL;
}

static struct nw_detected describe(const struct nwi_found *found, uint32_t component)
{
    return (struct nw_detected){
        .name = found->name,
        .klass = found->klass,
        .family = found->family ? found->family_name : NULL,
        .variant = found->variant ? found->variant->name : NULL,
        .layout = layout_word(found->layout),
        .prefix = found->region.prefix,
        .prediction_type = found->prediction_type,
        .why_not = found->why_not,
        .probed = found->probed,
        .state = found->state,
        .component = component,
        .n_tensors = found->region.n,
        .nbytes = found->nbytes,
    };
}

static int add(struct nw_detection *detection, uint32_t component,
               const struct nwi_detection *found, size_t *room, struct nw_error *err)
{
    for (size_t i = 0; i < found->n; i++) {
        void *items = detection->parts;
        if (!nwi_arena_grow(&detection->arena, &items, detection->n, room,
                            sizeof *detection->parts))
            return nwi_fail_nomem(err, sizeof *detection->parts);
        detection->parts = items;
        detection->parts[detection->n++] = (struct nwi_detected){
            describe(&found->parts[i], component), &found->parts[i]};
    }
    return NW_OK;
}

static int detect_all(struct nw_detection *detection, const struct nw_checkpoint *ckpt,
                      const struct nwi_hints *hints, struct nw_error *err)
{
    size_t room = 0;
    for (uint32_t i = 0; i < ckpt->n_components; i++) {
        struct nwi_detection found;
        NWI_TRY(nwi_detect(ckpt, i, hints, &detection->arena, &found, err));
        NWI_TRY(add(detection, i, &found, &room, err));
    }
    return NW_OK;
}

int nwi_detection_new(const struct nw_checkpoint *ckpt, const struct nwi_hints *hints,
                      struct nw_detection **out, struct nw_error *err)
{
    struct nw_detection *detection = nwi_zalloc(ckpt->memory, sizeof *detection);
    if (!detection)
        return nwi_fail_nomem(err, sizeof *detection);
    detection->memory = nwi_memory_retain(ckpt->memory);
    nwi_arena_init(&detection->arena, detection->memory);
    int code = detect_all(detection, ckpt, hints, err);
    if (code != NW_OK) {
        nw_detection_free(detection);
        return code;
    }
    *out = detection;
    return NW_OK;
}

void nw_detection_free(struct nw_detection *detection)
{
    if (!detection)
        return;
    struct nwi_memory *memory = detection->memory;
    nwi_arena_release(&detection->arena);
    nwi_free(memory, detection, sizeof *detection);
    nwi_memory_release(memory);
}

size_t nw_detection_count(const struct nw_detection *detection)
{
    return detection ? detection->n : 0;
}

int nw_detection_get(const struct nw_detection *detection, size_t i,
                     struct nw_detected *out)
{
    if (!detection || !out || i >= detection->n)
        return NW_E_ARG;
    *out = detection->parts[i].info;
    return NW_OK;
}

const char *nw_detection_absent(const struct nw_detection *detection, size_t i,
                                size_t k)
{
    if (!detection || i >= detection->n || k >= detection->parts[i].found->n_absent)
        return NULL;
    return detection->parts[i].found->absent[k];
}

/* ---- the kind of the whole ---- */

const char *nwi_detection_kind(const struct nw_checkpoint *ckpt,
                               const struct nw_detection *detection)
{
    static const char *const kinds[] = {
        [NWI_KIND_DENOISER] = "denoiser",
        [NWI_KIND_VAE] = "vae",
        [NWI_KIND_TEXT_ENCODER] = "text_encoder",
        [NWI_KIND_IMAGE_ENCODER] = "image_encoder",
        [NWI_KIND_CONTROLNET] = "controlnet",
        [NWI_KIND_ADAPTER] = "adapter",
        [NWI_KIND_UPSCALER] = "upscaler",
        [NWI_KIND_OTHER] = "unknown",
    };
    const char *guess = nwi_checkpoint_kind(ckpt);
    const struct nwi_found *only = NULL;
    size_t n_known = 0;
    if (strcmp(guess, "unknown") != 0)
        return guess;
    for (size_t i = 0; i < detection->n; i++) {
        const struct nwi_found *found = detection->parts[i].found;
        if (found->state == NW_STATE_ABSENT || !found->family)
            continue;
        n_known++;
        only = found;
    }
    if (n_known > 1)
        return "checkpoint";
    return only ? kinds[only->kind] : "unknown";
}

/* ---- the table of families ---- */

int nw_family(size_t i, struct nw_family *out)
{
    for (size_t k = 0; nwi_families[k]; k++) {
        const struct nwi_family *family = nwi_families[k];
        if (k != i)
            continue;
        *out = (struct nw_family){
            .name = family->name,
            .title = family->title,
            .component = family->component,
            .klass = family->klass,
            .converts = family->klass && (family->rules || family->same_names),
        };
        return 1;
    }
    return 0;
}

const char *nw_family_variant(size_t i, size_t k)
{
    for (size_t at = 0; nwi_families[at]; at++) {
        const struct nwi_variant *v = nwi_families[at]->variants;
        if (at != i)
            continue;
        for (size_t n = 0; v && v[n].name; n++) {
            if (n == k)
                return v[n].name;
        }
    }
    return NULL;
}
