/* SPDX-License-Identifier: Apache-2.0
 * The flat layout: wanted is what is stored. Every tensor becomes one binding of one
 * part, the whole tensor. */
#include <string.h>

#include "base/error.h"
#include "layout/select.h"
#include "layout/view.h"

/* What one call of nwi_bind_flat works with. */
struct flat {
    const struct nw_checkpoint *ckpt;
    const struct nwi_component *component;
    struct nwi_arena *arena;
    struct nwi_selector selector;
    struct nw_part *parts; /* [component->n_tensors]: of the bindings, one each */
};

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
    *binding = (struct nwi_binding){0};
    NWI_TRY(nwi_renamer_apply(&flat->selector.renamer, stored->name, stored->name_size,
                              &binding->name, &binding->name_size, err));
    if (!nwi_selector_takes(&flat->selector, binding->name, binding->name_size))
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
        nwi_fill_strides(part->shape, part->rank, at);
        part->strides = at;
        at += part->rank;
    }
    return NW_OK;
}

int nwi_bind_flat(const struct nw_checkpoint *ckpt, uint32_t component,
                  const struct nw_load_options *options, struct nwi_arena *arena,
                  struct nwi_bindings *out, struct nw_error *err)
{
    struct flat flat = {
        .ckpt = ckpt,
        .component = &ckpt->components[component],
        .arena = arena,
    };
    *out = (struct nwi_bindings){
        .layout = "stored",
        .component = flat.component->info.name,
        .klass = flat.component->info.klass,
    };
    NWI_TRY(nwi_selector_init(&flat.selector, options, arena, err));
    NWI_TRY(add_all(&flat, out, err));
    NWI_TRY(nwi_selector_check(&flat.selector, err));
    NWI_TRY(fill_strides(&flat, out, err));
    out->wanted = out->loaded = out->n;
    return nwi_selector_unique(&flat.selector, ckpt, out, err);
}
