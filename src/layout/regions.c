/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/regions.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"

#define REGIONS_MOST 256u

/* Say nothing about what they wrap: DistributedDataParallel, torch.compile, training
 * checkpoints. */
static const char *const wrappers[] = {"module.", "_orig_mod.", "state_dict.",
                                       "model_state_dict.", "_forward_module."};

/* One way to name a part of a file. `*` in the middle is one segment without dots. A
 * longer prefix stands before its beginning. */
static const struct prefix {
    const char *text;
    enum nwi_role role;
} prefixes[] = {
    {"model.diffusion_model.", NWI_ROLE_DENOISER},
    {"diffusion_model.", NWI_ROLE_DENOISER},
    {"model_ema.", NWI_ROLE_EMA},
    {"first_stage_model.", NWI_ROLE_VAE},
    {"vae.", NWI_ROLE_VAE},
    {"audio_vae.", NWI_ROLE_AUDIO_VAE},
    {"vocoder.", NWI_ROLE_VOCODER},
    {"cond_stage_model.transformer.", NWI_ROLE_TEXT_ENCODER},
    {"cond_stage_model.model.", NWI_ROLE_TEXT_ENCODER},
    {"cond_stage_model.", NWI_ROLE_TEXT_ENCODER},
    {"conditioner.embedders.*.transformer.", NWI_ROLE_TEXT_ENCODER},
    {"conditioner.embedders.*.model.", NWI_ROLE_TEXT_ENCODER},
    {"conditioner.embedders.*.", NWI_ROLE_TEXT_ENCODER},
    {"text_encoders.*.transformer.", NWI_ROLE_TEXT_ENCODER},
    {"text_encoders.*.", NWI_ROLE_TEXT_ENCODER},
    {"embedder.model.visual.", NWI_ROLE_IMAGE_ENCODER},
    {"control_model.", NWI_ROLE_CONTROLNET},
    {"depth_model.model.", NWI_ROLE_DEPTH},
};

/* What stands before a name. */
struct cut {
    size_t size;
    enum nwi_role role;
};

/* Bytes of `name` that the prefix covers, 0 if it does not begin so. */
static size_t prefix_size(const char *prefix, const char *name, size_t size)
{
    size_t at = 0;
    for (; *prefix; prefix++) {
        if (*prefix != '*') {
            if (at == size || name[at] != *prefix)
                return 0;
            at++;
            continue;
        }
        size_t start = at;
        while (at < size && name[at] != '.')
            at++;
        if (at == start)
            return 0;
    }
    return at < size ? at : 0;
}

static size_t wrapper_size(const char *name, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers;) {
        size_t n = prefix_size(wrappers[i], name + at, size - at);
        at += n;
        i = n ? 0 : i + 1;
    }
    return at;
}

static struct cut cut_name(const char *name, size_t size, size_t outer)
{
    size_t at = outer + wrapper_size(name + outer, size - outer);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = prefix_size(prefixes[i].text, name + at, size - at);
        if (n == 0)
            continue;
        at += n;
        at += wrapper_size(name + at, size - at);
        return (struct cut){at, prefixes[i].role};
    }
    return (struct cut){at, NWI_ROLE_ROOT};
}

/* ---- grouping ---- */

struct grouping {
    const struct nw_checkpoint *ckpt;
    const struct nwi_component *component;
    struct nwi_arena *arena;
    struct nwi_regions *out;
    struct nwi_map seen; /* prefix -> region */
    size_t outer;        /* bytes before the parts, which all names share */
    uint32_t *region_of; /* [component->n_tensors] */
};

static const struct nwi_stored *stored_of(const struct grouping *g, uint32_t i)
{
    return &g->ckpt->tensors[g->component->first_tensor + i];
}

/* Bytes that all names begin with alike. */
static size_t shared_size(const struct grouping *g)
{
    uint32_t n = g->component->n_tensors;
    const struct nwi_stored *first = n ? stored_of(g, 0) : NULL;
    size_t size = n ? first->name_size : 0;
    for (uint32_t i = 1; i < n && size > 0; i++) {
        const struct nwi_stored *other = stored_of(g, i);
        size_t at = 0;
        while (at < size && at < other->name_size && other->name[at] == first->name[at])
            at++;
        size = at;
    }
    return size;
}

static bool has_parts(const struct grouping *g, size_t outer)
{
    for (uint32_t i = 0; i < g->component->n_tensors; i++) {
        const struct nwi_stored *stored = stored_of(g, i);
        if (cut_name(stored->name, stored->name_size, outer).role != NWI_ROLE_ROOT)
            return true;
    }
    return false;
}

/* Bytes of the segments, shared by all names, behind which parts begin; 0: there are none,
 * or parts begin at once. */
static size_t outer_size(const struct grouping *g)
{
    size_t n_segments = 0;
    size_t shared = shared_size(g);
    const char *name = shared ? stored_of(g, 0)->name : "";
    for (size_t at = 0; at <= shared && n_segments <= NWI_OUTER_MOST; at++) {
        bool begins = at == 0 || name[at - 1] == '.';
        n_segments += begins;
        if (begins && has_parts(g, at))
            return at;
    }
    return 0;
}

static int region_for(struct grouping *g, const struct nwi_stored *stored,
                      uint32_t *region, struct nw_error *err)
{
    struct cut cut = cut_name(stored->name, stored->name_size, g->outer);
    struct nwi_regions *out = g->out;
    *region = (uint32_t)out->n;
    uint32_t existing = nwi_map_find(&g->seen, stored->name, cut.size);
    if (existing != NWI_MAP_NONE) {
        *region = existing;
        return NW_OK;
    }
    if (out->n == REGIONS_MOST) { /* no model: all the rest lies at the root */
        *region = 0;
        return NW_OK;
    }
    char *prefix = nwi_arena_copy(g->arena, stored->name, cut.size);
    if (!prefix || nwi_map_add(&g->seen, prefix, cut.size, *region, &existing) != NW_OK)
        return nwi_fail_nomem(err, cut.size + 1);
    out->items[out->n++] = (struct nwi_region){
        .prefix = prefix, .prefix_size = cut.size, .role = (uint8_t)cut.role};
    return NW_OK;
}

static int assign(struct grouping *g, struct nw_error *err)
{
    for (uint32_t i = 0; i < g->component->n_tensors; i++) {
        const struct nwi_stored *stored = stored_of(g, i);
        NWI_TRY(region_for(g, stored, &g->region_of[i], err));
        g->out->items[g->region_of[i]].n++;
    }
    return NW_OK;
}

static int fill(struct grouping *g, struct nw_error *err)
{
    for (size_t i = 0; i < g->out->n; i++) {
        struct nwi_region *region = &g->out->items[i];
        region->rows = nwi_arena_array(g->arena, region->n, sizeof *region->rows);
        if (!region->rows)
            return nwi_fail_nomem(err, region->n * sizeof *region->rows);
        region->n = 0;
    }
    for (uint32_t i = 0; i < g->component->n_tensors; i++) {
        const struct nwi_stored *stored = stored_of(g, i);
        struct nwi_region *region = &g->out->items[g->region_of[i]];
        region->rows[region->n++] = (struct nwi_header_row){
            .name = stored->name + region->prefix_size,
            .name_size = stored->name_size - region->prefix_size,
            .shape = stored->shape,
            .rank = stored->rank,
            .source = g->component->first_tensor + i,
        };
    }
    return NW_OK;
}

int nwi_regions_find(const struct nw_checkpoint *ckpt, uint32_t component,
                     struct nwi_arena *arena, struct nwi_regions *out,
                     struct nw_error *err)
{
    struct grouping g = {.ckpt = ckpt,
                         .component = &ckpt->components[component],
                         .arena = arena,
                         .out = out};
    *out = (struct nwi_regions){0};
    out->items = nwi_arena_array(arena, REGIONS_MOST, sizeof *out->items);
    g.region_of = nwi_arena_array(arena, g.component->n_tensors, sizeof *g.region_of);
    if (!out->items || !g.region_of ||
        nwi_map_init(&g.seen, arena->memory, 16) != NW_OK)
        return nwi_fail_nomem(err, REGIONS_MOST * sizeof *out->items);
    uint32_t existing = NWI_MAP_NONE;
    g.outer = outer_size(&g);
    out->items[out->n++] = (struct nwi_region){.prefix = ""};
    int code = nwi_map_add(&g.seen, "", 0, 0, &existing) == NW_OK
                   ? assign(&g, err)
                   : nwi_fail_nomem(err, sizeof g);
    nwi_map_release(&g.seen);
    return code == NW_OK ? fill(&g, err) : code;
}

/* ---- a prefix that all share ---- */

static bool is_number(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return true;
}

bool nwi_region_shorten(struct nwi_region *region, struct nwi_arena *arena)
{
    const char *first = region->n ? region->rows[0].name : "";
    const char *dot = memchr(first, '.', region->n ? region->rows[0].name_size : 0);
    if (!dot || is_number(first, (size_t)(dot - first)))
        return false;
    size_t size = (size_t)(dot - first) + 1;
    for (size_t i = 0; i < region->n; i++) {
        if (region->rows[i].name_size <= size ||
            memcmp(region->rows[i].name, first, size) != 0)
            return false;
    }
    char *prefix = nwi_arena_printf(arena, "%s%.*s", region->prefix, (int)size, first);
    if (!prefix)
        return false;
    for (size_t i = 0; i < region->n; i++) {
        region->rows[i].name += size;
        region->rows[i].name_size -= size;
    }
    region->prefix = prefix;
    region->prefix_size += size;
    return true;
}
