/* SPDX-License-Identifier: Apache-2.0
 * The flat layout: wanted is what is stored. Every tensor becomes one binding of one
 * part, the whole tensor; names pass through the renamer and the globs of `only` and
 * `drop`. */
#include "layout/bindings.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "layout/rename.h"

#define QUOTE_CHARS 60  /* of a name in a message that holds three */
#define GLOB_CHARS  120 /* of a pattern in a message */

/* What one call of nwi_bind_flat works with. */
struct flat {
    const struct nw_checkpoint *ckpt;
    const struct nwi_component *component;
    const struct nw_load_options *options;
    struct nwi_arena *arena;
    struct nwi_renamer renamer;
    bool *only_hit;        /* [options->n_only]: that glob has matched a name */
    struct nw_part *parts; /* [component->n_tensors]: of the bindings, one each */
};

static bool matches(const char *glob, const struct nwi_binding *binding)
{
    return nwi_glob(glob, strlen(glob), binding->name, binding->name_size, NULL);
}

/* Notes which globs of `only` ever match, and applies `drop` after them. */
static bool is_selected(struct flat *flat, const struct nwi_binding *binding)
{
    const struct nw_load_options *options = flat->options;
    bool kept = options->n_only == 0;
    for (size_t i = 0; i < options->n_only; i++) {
        if (kept && flat->only_hit[i])
            continue;
        if (matches(options->only[i], binding))
            kept = flat->only_hit[i] = true;
    }
    for (size_t i = 0; kept && i < options->n_drop; i++)
        kept = !matches(options->drop[i], binding);
    return kept;
}

/* ---- names ---- */

static bool is_unknown(const struct nwi_stored *stored)
{
    return stored->dtype == NW_DTYPE_UNKNOWN;
}

static int leave_out(struct flat *flat, const struct nwi_stored *stored,
                     struct nwi_bindings *out, struct nw_error *err)
{
    char dtype[64];
    nwi_quote(dtype, sizeof dtype, stored->dtype_text, strlen(stored->dtype_text), 40);
    char *reason = nwi_arena_printf(flat->arena, "unknown dtype \"%s\"", dtype);
    if (!reason)
        return nwi_fail_nomem(err, sizeof dtype);
    out->harmless[out->n_harmless++] = (struct nwi_left_out){stored->name, reason};
    return NW_OK;
}

/* Adds one stored tensor under its new name, if the globs let it through. */
static int add_tensor(struct flat *flat, uint32_t row, struct nwi_bindings *out,
                      struct nw_error *err)
{
    const struct nwi_stored *stored = &flat->ckpt->tensors[row];
    struct nwi_binding *binding = &out->items[out->n];
    NWI_TRY(nwi_renamer_apply(&flat->renamer, stored->name, stored->name_size,
                              &binding->name, &binding->name_size, err));
    if (!is_selected(flat, binding))
        return NW_OK;
    if (is_unknown(stored))
        return leave_out(flat, stored, out, err);
    struct nw_part *part = &flat->parts[out->n++];
    part->source = row;
    part->rank = stored->rank;
    part->start = 0;
    part->shape = stored->shape;
    binding->shape = stored->shape;
    binding->rank = stored->rank;
    binding->n_parts = 1;
    binding->parts = part;
    return NW_OK;
}

static int add_all(struct flat *flat, struct nwi_bindings *out, struct nw_error *err)
{
    uint32_t first = flat->component->first_tensor;
    uint32_t n = flat->component->n_tensors;
    size_t n_unknown = 0;
    for (uint32_t i = 0; i < n; i++)
        n_unknown += is_unknown(&flat->ckpt->tensors[first + i]);
    out->items = nwi_arena_array(flat->arena, n, sizeof *out->items);
    flat->parts = nwi_arena_array(flat->arena, n, sizeof *flat->parts);
    out->harmless = nwi_arena_array(flat->arena, n_unknown, sizeof *out->harmless);
    if (!out->items || !flat->parts || !out->harmless)
        return nwi_fail_nomem(err, (uint64_t)n * sizeof *out->items);
    for (uint32_t i = 0; i < n; i++)
        NWI_TRY(add_tensor(flat, first + i, out, err));
    return NW_OK;
}

/* ---- views ---- */

/* Dense, row major. Where a dimension is 0 products may wrap: no element uses them. */
static int fill_strides(struct flat *flat, const struct nwi_bindings *bindings,
                        struct nw_error *err)
{
    size_t n_dims = 0;
    for (size_t i = 0; i < bindings->n; i++)
        n_dims += flat->parts[i].rank;
    uint64_t *at = nwi_arena_array(flat->arena, n_dims, sizeof *at);
    if (!at)
        return nwi_fail_nomem(err, n_dims * sizeof *at);
    for (size_t i = 0; i < bindings->n; i++) {
        struct nw_part *part = &flat->parts[i];
        uint64_t stride = 1;
        part->strides = at;
        for (uint32_t dim = part->rank; dim-- > 0; stride *= part->shape[dim])
            at[dim] = stride;
        at += part->rank;
    }
    return NW_OK;
}

/* ---- checks ---- */

static int check_globs(const struct nw_load_options *options, struct nw_error *err)
{
    for (size_t i = 0; i < options->n_only; i++) {
        if (!options->only[i])
            return nwi_fail(err, NW_E_ARG, "a pattern of \"only\" is NULL");
    }
    for (size_t i = 0; i < options->n_drop; i++) {
        if (!options->drop[i])
            return nwi_fail(err, NW_E_ARG, "a pattern of \"drop\" is NULL");
    }
    return NW_OK;
}

static int check_all_hit(const struct flat *flat, struct nw_error *err)
{
    for (size_t i = 0; i < flat->options->n_only; i++) {
        char quoted[2 * GLOB_CHARS];
        const char *glob = flat->options->only[i];
        if (flat->only_hit[i])
            continue;
        nwi_quote(quoted, sizeof quoted, glob, strlen(glob), GLOB_CHARS);
        return nwi_fail(err, NW_E_NOT_FOUND, "no tensor's name matches \"%s\" (only)",
                        quoted);
    }
    return NW_OK;
}

static int fail_duplicate(const struct flat *flat, const struct nwi_binding *a,
                          const struct nwi_binding *b, struct nw_error *err)
{
    const struct nwi_stored *first = &flat->ckpt->tensors[a->parts[0].source];
    const struct nwi_stored *second = &flat->ckpt->tensors[b->parts[0].source];
    char one[2 * QUOTE_CHARS];
    char two[2 * QUOTE_CHARS];
    char both[2 * QUOTE_CHARS];
    nwi_quote(one, sizeof one, first->name, first->name_size, QUOTE_CHARS);
    nwi_quote(two, sizeof two, second->name, second->name_size, QUOTE_CHARS);
    nwi_quote(both, sizeof both, b->name, b->name_size, QUOTE_CHARS);
    int code =
        nwi_fail(err, NW_E_DUPLICATE, "renaming makes both \"%s\" and \"%s\" to \"%s\"",
                 one, two, both);
    return nwi_error_in_tensor(err, code, b->name);
}

/* Stored names are unique within a component, and so are they behind a prefix. */
static int check_unique(const struct flat *flat, const struct nwi_bindings *bindings,
                        struct nw_error *err)
{
    struct nwi_map map;
    if (flat->renamer.n_rules == 0)
        return NW_OK;
    if (nwi_map_init(&map, flat->arena->memory, bindings->n) != NW_OK)
        return nwi_fail_nomem(err, bindings->n * sizeof(void *));
    int code = NW_OK;
    for (uint32_t i = 0; i < bindings->n && code == NW_OK; i++) {
        const struct nwi_binding *binding = &bindings->items[i];
        uint32_t existing = NWI_MAP_NONE;
        code = nwi_map_add(&map, binding->name, binding->name_size, i, &existing);
        if (code != NW_OK)
            code = nwi_fail_nomem(err, sizeof map);
        else if (existing != NWI_MAP_NONE)
            code = fail_duplicate(flat, &bindings->items[existing], binding, err);
    }
    nwi_map_release(&map);
    return code;
}

int nwi_bind_flat(const struct nw_checkpoint *ckpt, uint32_t component,
                  const struct nw_load_options *options, struct nwi_arena *arena,
                  struct nwi_bindings *out, struct nw_error *err)
{
    struct flat flat = {
        .ckpt = ckpt,
        .component = &ckpt->components[component],
        .options = options,
        .arena = arena,
    };
    *out = (struct nwi_bindings){0};
    NWI_TRY(check_globs(options, err));
    NWI_TRY(nwi_renamer_init(&flat.renamer, options, arena, err));
    flat.only_hit = nwi_arena_zalloc(arena, options->n_only * sizeof *flat.only_hit);
    if (!flat.only_hit)
        return nwi_fail_nomem(err, options->n_only);
    NWI_TRY(add_all(&flat, out, err));
    NWI_TRY(check_all_hit(&flat, err));
    NWI_TRY(fill_strides(&flat, out, err));
    return check_unique(&flat, out, err);
}
