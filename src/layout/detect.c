/* SPDX-License-Identifier: Apache-2.0
 * The parts of a file: regions by prefix, recognised one by one, then named as a pipeline
 * folder names them. */
#include "layout/detect.h"

#include <string.h>

#include "base/error.h"
#include "model/architecture.h"

struct detecting {
    const struct nw_checkpoint *ckpt;
    const struct nwi_component *component;
    const struct nwi_hints *hints;
    struct nwi_arena *arena;
    struct nw_error *err;
};

/* ---- recognising one region ---- */

static int match_region(struct detecting *d, const struct nwi_region *region,
                        struct nwi_recognition *match)
{
    struct nwi_header header;
    int code =
        nwi_header_init(&header, region->rows, region->n, d->arena->memory, d->err);
    if (code == NW_OK)
        code = nwi_detect_region(d->ckpt, &header, d->hints, d->arena, match, d->err);
    nwi_header_release(&header);
    return code;
}

/* As it is, then without the segments that all names share: files are saved out of all
 * kinds of wrappers. The region changes only if that helps. */
static int recognise(struct detecting *d, struct nwi_region *region,
                     struct nwi_recognition *match)
{
    NWI_TRY(match_region(d, region, match));
    if (match->family)
        return NW_OK;
    struct nwi_region shorter = *region;
    shorter.rows = nwi_arena_array(d->arena, region->n, sizeof *shorter.rows);
    if (!shorter.rows)
        return nwi_fail_nomem(d->err, region->n * sizeof *shorter.rows);
    memcpy(shorter.rows, region->rows, region->n * sizeof *shorter.rows);
    for (int i = 0; i < NWI_OUTER_MOST && nwi_region_shorten(&shorter, d->arena); i++) {
        struct nwi_recognition again;
        NWI_TRY(match_region(d, &shorter, &again));
        if (!again.family)
            continue;
        *region = shorter;
        *match = again;
        return NW_OK;
    }
    return NW_OK;
}

/* What a region is called and is, where only its prefix tells. */
static const struct {
    const char *name;
    uint8_t kind;
} roles[] = {
    [NWI_ROLE_ROOT] = {"", NWI_KIND_OTHER},
    [NWI_ROLE_DENOISER] = {"transformer", NWI_KIND_DENOISER},
    [NWI_ROLE_VAE] = {"vae", NWI_KIND_VAE},
    [NWI_ROLE_AUDIO_VAE] = {"audio_vae", NWI_KIND_VAE},
    [NWI_ROLE_VOCODER] = {"vocoder", NWI_KIND_OTHER},
    [NWI_ROLE_TEXT_ENCODER] = {"text_encoder", NWI_KIND_TEXT_ENCODER},
    [NWI_ROLE_IMAGE_ENCODER] = {"image_encoder", NWI_KIND_IMAGE_ENCODER},
    [NWI_ROLE_CONTROLNET] = {"controlnet", NWI_KIND_CONTROLNET},
    [NWI_ROLE_EMA] = {"ema", NWI_KIND_OTHER},
    [NWI_ROLE_DEPTH] = {"depth_estimator", NWI_KIND_OTHER},
};

static void set_match(struct nwi_found *part, const struct nwi_recognition *match)
{
    part->family = match->family;
    part->variant = match->variant;
    part->layout = match->layout;
    part->probed = match->probed;
    part->why_not = match->why_not;
    if (!match->family)
        return;
    part->name = match->family->component;
    part->klass = match->family->klass;
    part->kind = match->family->kind;
    part->family_name = match->family->name;
    part->prediction_type = match->family->prediction_type;
}

/* Which half of an autoencoder is there. */
static void find_halves(struct nwi_found *part)
{
    static const char *const halves[] = {"encoder", "decoder"};
    bool has[2] = {false, false};
    if (part->kind != NWI_KIND_VAE)
        return;
    for (size_t i = 0; i < part->region.n; i++) {
        for (size_t k = 0; k < 2; k++)
            has[k] |= strncmp(part->region.rows[i].name, halves[k], 7) == 0 &&
                      part->region.rows[i].name[7] == '.';
    }
    if (has[0] == has[1])
        return;
    part->absent[part->n_absent++] = halves[has[0]];
    part->state = NW_STATE_PARTIAL;
}

static int add_region(struct detecting *d, struct nwi_region *region,
                      struct nwi_detection *out)
{
    struct nwi_recognition match = {0};
    struct nwi_found *part = &out->parts[out->n];
    *part = (struct nwi_found){.name = roles[region->role].name,
                               .kind = roles[region->role].kind};
    if (region->role != NWI_ROLE_EMA)
        NWI_TRY(recognise(d, region, &match));
    set_match(part, &match);
    part->region = *region;
    for (size_t i = 0; i < region->n; i++)
        part->nbytes += d->ckpt->tensors[region->rows[i].source].nbytes;
    find_halves(part);
    if (region->role == NWI_ROLE_EMA)
        out->ema = part;
    out->n++;
    return NW_OK;
}

/* ---- the whole ---- */

struct nwi_found *nwi_find_denoiser(const struct nwi_detection *out)
{
    for (size_t i = 0; i < out->n; i++) {
        if (out->parts[i].kind == NWI_KIND_DENOISER && out->parts[i].family)
            return &out->parts[i];
    }
    return NULL;
}

static bool is_named(const struct nwi_detection *out, const char *name,
                     const struct nwi_found *but)
{
    for (size_t i = 0; i < out->n; i++) {
        if (&out->parts[i] != but && out->parts[i].state != NW_STATE_ABSENT &&
            strcmp(out->parts[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Text encoders by place: CLIP-L is the first, OpenCLIP bigG the second, T5 the last that
 * the denoiser's pipeline names. Families say so of themselves for their usual pipeline;
 * here only what depends on the company is put right. */
static void name_last_encoder(struct nwi_detection *out,
                              const struct nwi_found *denoiser)
{
    const char *last = NULL;
    const char *const *names = denoiser->family->pipeline;
    for (size_t i = 0; names && names[i]; i++) {
        if (strncmp(names[i], "text_encoder", 12) == 0)
            last = names[i];
    }
    for (size_t i = 0; last && i < out->n; i++) {
        struct nwi_found *part = &out->parts[i];
        if (part->klass && strcmp(part->klass, "T5EncoderModel") == 0)
            part->name = last;
    }
}

static const struct nwi_family *find_family(const char *name, const char *component)
{
    for (size_t i = 0; nwi_families[i]; i++) {
        if (strcmp(nwi_families[i]->name, name) == 0 &&
            strcmp(nwi_families[i]->component, component) == 0)
            return nwi_families[i];
    }
    return NULL;
}

/* Tensors outside all parts that say how the denoiser was trained. */
static const struct {
    const char *family;
    const char *name;
    const char *variant;
    const char *prediction_type; /* NULL: as the family's */
} marks[] = {
    {"sdxl", "edm_mean", "playground-v2-5", NULL},
    {"sdxl", "v_pred", "v-prediction", "v_prediction"},
};

static bool has_name(const struct nwi_detection *out, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < out->n; i++) {
        const struct nwi_region *region = &out->parts[i].region;
        for (size_t k = 0; region->role == NWI_ROLE_ROOT && k < region->n; k++) {
            if (region->rows[k].name_size == size &&
                memcmp(region->rows[k].name, name, size) == 0)
                return true;
        }
    }
    return false;
}

static const struct nwi_variant *find_variant(const struct nwi_family *family,
                                              const char *name)
{
    for (const struct nwi_variant *v = family->variants; v && v->name; v++) {
        if (strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
}

static void apply_marks(const struct nwi_detection *out, struct nwi_found *denoiser)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (strcmp(marks[i].family, denoiser->family->name) != 0 ||
            !has_name(out, marks[i].name))
            continue;
        denoiser->variant = find_variant(denoiser->family, marks[i].variant);
        if (marks[i].prediction_type)
            denoiser->prediction_type = marks[i].prediction_type;
    }
}

/* CLIP-L is the first text encoder, with its projection too. */
static const char *company_component(const struct nwi_found *part)
{
    bool first =
        part->kind == NWI_KIND_TEXT_ENCODER && strstr(part->region.prefix, "clip_l.");
    return first ? "text_encoder" : part->family->component;
}

/* A denoiser's family may have rows of its own for a VAE or text encoder whose names are
 * those of another (the VAE of SDXL scales its latents otherwise, Stable Diffusion 3
 * projects what CLIP-L says): beside it they count. */
static void apply_company(struct nwi_detection *out, const struct nwi_found *denoiser)
{
    for (size_t i = 0; i < out->n; i++) {
        struct nwi_found *part = &out->parts[i];
        bool vae = part->kind == NWI_KIND_VAE;
        const struct nwi_family *own =
            part->family && (vae || part->kind == NWI_KIND_TEXT_ENCODER)
                ? find_family(denoiser->family->name, company_component(part))
                : NULL;
        if (part->family && part->kind == NWI_KIND_TEXT_ENCODER)
            part->name = company_component(part);
        if (!own || own->original || own->diffusers)
            continue; /* it has signatures: it would have been found */
        if (vae && own->rules != part->family->rules)
            continue;
        part->family = own;
        part->variant =
            denoiser->variant ? find_variant(own, denoiser->variant->name) : NULL;
        part->klass = own->klass;
        part->layout = vae ? part->layout : (uint8_t)NWI_LAYOUT_ORIGINAL;
    }
}

static void make_unique(struct detecting *d, struct nwi_detection *out)
{
    for (size_t i = 0; i < out->n; i++) {
        struct nwi_found *part = &out->parts[i];
        const char *base = part->name;
        for (unsigned n = 2; is_named(out, part->name, part) && n < 100; n++) {
            const char *name =
                nwi_arena_printf(d->arena, "%s_%u", *base ? base : "other", n);
            if (!name)
                return;
            part->name = name;
        }
    }
}

static void name_parts(struct detecting *d, struct nwi_detection *out)
{
    struct nwi_found *denoiser = nwi_find_denoiser(out);
    bool several = out->n > 1;
    for (size_t i = 0; i < out->n; i++) {
        struct nwi_found *part = &out->parts[i];
        if (several && part->region.role == NWI_ROLE_ROOT && !part->family)
            part->name = "other";
        if (denoiser && part->kind != NWI_KIND_OTHER && part->family)
            part->family_name = denoiser->family->name;
        if (denoiser && part == out->ema)
            part->name = strcmp(denoiser->name, "unet") == 0 ? "unet_ema" : "ema";
    }
    if (denoiser) {
        apply_marks(out, denoiser);
        apply_company(out, denoiser);
        name_last_encoder(out, denoiser);
    }
    make_unique(d, out);
}

/* Names of the denoiser's pipeline that the file lacks: only a file that is meant to hold
 * more than a denoiser lacks them. */
static void add_absent(struct nwi_detection *out, size_t room)
{
    const struct nwi_found *denoiser = nwi_find_denoiser(out);
    if (!denoiser || out->n < 2)
        return;
    const char *const *names = denoiser->family->pipeline;
    for (size_t i = 0; names && names[i] && out->n < room; i++) {
        if (is_named(out, names[i], NULL))
            continue;
        bool text = strncmp(names[i], "text_encoder", 12) == 0;
        out->parts[out->n++] = (struct nwi_found){
            .name = names[i],
            .family_name = denoiser->family_name,
            .kind = text ? NWI_KIND_TEXT_ENCODER : NWI_KIND_VAE,
            .state = NW_STATE_ABSENT,
            .region = {.prefix = ""},
        };
    }
}

#define PIPELINE_MOST 16u /* parts that can be absent */

/* The component of a folder whose config says what it is. */
static void apply_config(struct detecting *d, struct nwi_detection *out)
{
    const struct nw_component *info = &d->component->info;
    if (out->n != 1)
        return;
    struct nwi_found *part = &out->parts[0];
    if (info->klass && (!part->klass || strcmp(part->klass, info->klass) != 0)) {
        bool known = nwi_architecture_find(info->klass) != NULL;
        part->klass = info->klass;
        if (known && part->layout == NWI_LAYOUT_UNKNOWN)
            part->layout = NWI_LAYOUT_DIFFUSERS;
    }
    if (info->name[0])
        part->name = info->name;
}

static int detect(struct detecting *d, struct nwi_detection *out)
{
    struct nwi_regions regions;
    uint32_t component = (uint32_t)(d->component - d->ckpt->components);
    NWI_TRY(nwi_regions_find(d->ckpt, component, d->arena, &regions, d->err));
    size_t room = regions.n + PIPELINE_MOST;
    *out = (struct nwi_detection){0};
    out->parts = nwi_arena_array(d->arena, room, sizeof *out->parts);
    if (!out->parts)
        return nwi_fail_nomem(d->err, room * sizeof *out->parts);
    for (size_t i = 0; i < regions.n; i++) {
        if (regions.items[i].n > 0)
            NWI_TRY(add_region(d, &regions.items[i], out));
    }
    name_parts(d, out);
    add_absent(out, room);
    apply_config(d, out);
    return NW_OK;
}

int nwi_detect(const struct nw_checkpoint *ckpt, uint32_t component,
               const struct nwi_hints *hints, struct nwi_arena *arena,
               struct nwi_detection *out, struct nw_error *err)
{
    struct nw_error local = {0};
    struct detecting d = {.ckpt = ckpt,
                          .component = &ckpt->components[component],
                          .hints = hints,
                          .arena = arena,
                          .err = err ? err : &local};
    return detect(&d, out);
}

/* ---- presets ---- */

static int parse(const char *text, struct nwi_arena *arena, struct nwi_json_value **out,
                 struct nw_error *err)
{
    *out = NULL;
    if (!text)
        return NW_OK;
    return nwi_json_parse(text, strlen(text), 0, NW_E_BAD_CONFIG, arena, out, err);
}

int nwi_family_preset(const struct nwi_family *family,
                      const struct nwi_variant *variant, struct nwi_arena *arena,
                      const struct nwi_json_value **out, struct nw_error *err)
{
    struct nwi_json_value *over = NULL;
    struct nwi_json_value *under = NULL;
    NWI_TRY(parse(variant ? variant->preset : NULL, arena, &over, err));
    NWI_TRY(parse(family->preset, arena, &under, err));
    *out = over ? over : under;
    if (!over || !under)
        return NW_OK;
    /* Looking up a key finds its first value: the variant's stand before the family's. */
    struct nwi_json_value *last = over->first;
    while (last && last->next)
        last = last->next;
    if (last)
        last->next = under->first;
    else
        over->first = under->first;
    over->n_children += under->n_children;
    return NW_OK;
}
