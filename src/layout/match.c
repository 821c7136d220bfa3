/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/match.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "layout/matching.h"
#include "tensor/dtype.h"

static int nomem(struct matching *m)
{
    return nwi_fail_nomem(m->err, 4096);
}

bool nwi_names_add(struct nwi_names *names, const char *name, struct nwi_arena *arena)
{
    void *items = names->items;
    if (!nwi_arena_grow(arena, &items, names->n, &names->room, sizeof *names->items))
        return false;
    names->items = items;
    names->items[names->n++] = name;
    return true;
}

static int list(struct matching *m, struct nwi_names *names, const char *name)
{
    return nwi_names_add(names, name, m->in->arena) ? NW_OK : nomem(m);
}

static int add_harmless(struct matching *m, const char *name, const char *reason)
{
    void *items = m->out->harmless;
    if (!nwi_arena_grow(m->in->arena, &items, m->out->n_harmless, &m->harmless_room,
                        sizeof *m->out->harmless))
        return nomem(m);
    m->out->harmless = items;
    m->out->harmless[m->out->n_harmless++] = (struct nwi_left_out){name, reason};
    return NW_OK;
}

static bool any_glob(const char *const *globs, const char *name, size_t size)
{
    for (; globs && *globs; globs++) {
        if (nwi_glob(*globs, strlen(*globs), name, size, NULL))
            return true;
    }
    return false;
}

/* The stored tensor of an input; NULL: the header is not of a file. */
static const struct nwi_stored *stored_of(const struct matching *m, uint32_t input)
{
    uint32_t source = m->in->given->rows[input].source;
    return source == NW_NONE ? NULL : &m->in->ckpt->tensors[source];
}

/* The stored tensor that an input stands for: what a person finds in the file. */
static const char *stored_name(const struct matching *m, uint32_t input)
{
    const struct nwi_stored *stored = stored_of(m, input);
    return stored ? stored->name : m->in->given->rows[input].name;
}

/* ---- bindings ---- */

/* The name on the way out; *takes tells whether the caller's globs let it through. */
static int final_name(struct matching *m, struct nwi_binding *binding, bool *takes)
{
    *takes = true;
    if (!m->in->selector)
        return NW_OK;
    NWI_TRY(nwi_renamer_apply(&m->in->selector->renamer, binding->name,
                              binding->name_size, &binding->name, &binding->name_size,
                              m->err));
    *takes = nwi_selector_takes(m->in->selector, binding->name, binding->name_size);
    return NW_OK;
}

static void mark_used(struct matching *m, const struct nwi_mapped *mapped)
{
    if (m->in->used)
        m->in->used[mapped->input] = true;
}

static void add_item(struct matching *m, const struct nwi_mapped *mapped,
                     const struct nwi_binding *named)
{
    struct nwi_binding *item = &m->out->items[m->out->n++];
    *item = *named;
    item->shape = mapped->shape;
    item->rank = mapped->rank;
    item->n_parts = mapped->n_parts;
    item->parts = mapped->parts;
    item->fill = mapped->fill;
    item->fill_dtype = NW_F32;
    m->out->loaded++;
}

static bool same_shape(const struct nwi_mapped *mapped, const struct nwi_wanted *wanted)
{
    return mapped->rank == wanted->rank &&
           (mapped->rank == 0 || memcmp(mapped->shape, wanted->shape,
                                        mapped->rank * sizeof *mapped->shape) == 0);
}

static int add_mismatch(struct matching *m, const struct nwi_mapped *mapped,
                        const struct nwi_wanted *wanted, const char *name)
{
    void *items = m->out->mismatched;
    if (!nwi_arena_grow(m->in->arena, &items, m->out->n_mismatched, &m->mismatched_room,
                        sizeof *m->out->mismatched))
        return nomem(m);
    uint64_t *shape =
        nwi_arena_array(m->in->arena, wanted->rank, sizeof *wanted->shape);
    if (!shape)
        return nomem(m);
    if (wanted->rank)
        memcpy(shape, wanted->shape, wanted->rank * sizeof *shape);
    m->out->mismatched = items;
    m->out->mismatched[m->out->n_mismatched++] =
        (struct nwi_mismatch){name, mapped->shape, shape, mapped->rank, wanted->rank};
    return NW_OK;
}

static bool is_ignored(const struct matching *m, const char *name, size_t size)
{
    const struct nw_load_options *options = m->in->options;
    for (size_t i = 0; i < options->n_ignore; i++) {
        if (nwi_glob(options->ignore[i], strlen(options->ignore[i]), name, size, NULL))
            return true;
    }
    return false;
}

/* The caller's globs name what is asked for: nothing else can be unexpected. */
static bool is_narrowed(const struct matching *m)
{
    return m->in->options->n_only || m->in->options->n_drop;
}

/* True if the caller takes it that nobody wants a tensor of that name. */
static bool is_let_be(const struct matching *m, const char *name, size_t size)
{
    return m->in->options->unexpected == NW_UNEXPECTED_IGNORE ||
           is_ignored(m, name, size);
}

/* ---- given tensors, in file order ---- */

static bool is_unknown_type(const struct matching *m, uint32_t input)
{
    const struct nwi_stored *stored = stored_of(m, input);
    return stored && stored->dtype == NW_DTYPE_UNKNOWN;
}

/* A scale and its like: no class names it, and without it the weight is wrong. */
static bool is_companion(const struct nwi_stored *stored)
{
    return stored && stored->companion_of != NW_NONE && stored->quantised;
}

/* "scaled_fp8": says of the whole file what every layer says of itself. */
static bool is_marker(const struct nwi_stored *stored)
{
    return stored && stored->scheme && stored->companion_of == NW_NONE &&
           nwi_ends_with(stored->name, "scaled_fp8");
}

static const char *why_harmless(const struct matching *m,
                                const struct nwi_mapped *mapped)
{
    const struct nwi_stored *stored = stored_of(m, mapped->input);
    if (any_glob(m->in->model->harmless, mapped->name, mapped->name_size))
        return "the class ignores it";
    if (stored && stored->companion_of != NW_NONE)
        return "it belongs to a weight that is not quantised";
    if (is_marker(stored))
        return "it marks the file as quantised";
    if (is_let_be(m, mapped->name, mapped->name_size))
        return "nobody wants it, and that is ignored";
    return NULL;
}

/* Where no config says what the model is, it may belong to it all the same. */
static int add_stranger(struct matching *m, const struct nwi_mapped *mapped)
{
    void *items = m->out->strangers;
    char *name = nwi_arena_copy(m->in->arena, mapped->name, mapped->name_size);
    if (!name || !nwi_arena_grow(m->in->arena, &items, m->out->n_strangers,
                                 &m->strangers_room, sizeof *m->out->strangers))
        return nomem(m);
    m->out->strangers = items;
    m->out->strangers[m->out->n_strangers++] =
        (struct nwi_stranger){name, mapped->input};
    return NW_OK;
}

static int not_wanted(struct matching *m, const struct nwi_mapped *mapped)
{
    const char *name = stored_name(m, mapped->input);
    bool takes = true;
    struct nwi_binding named = {.name = mapped->name, .name_size = mapped->name_size};
    bool companion = is_companion(stored_of(m, mapped->input));
    if (companion || is_narrowed(m))
        NWI_TRY(final_name(m, &named, &takes));
    if (!takes)
        return NW_OK;
    if (companion) {
        mark_used(m, mapped);
        add_item(m, mapped, &named);
        m->out->loaded--;
        return list(m, &m->out->companions, named.name);
    }
    const char *reason = why_harmless(m, mapped);
    if (reason)
        return add_harmless(m, name, reason);
    if (m->out->told)
        NWI_TRY(add_stranger(m, mapped));
    return list(m, &m->out->unexpected, name);
}

/* One tensor that the rules made, and the model wants. */
static int take(struct matching *m, const struct nwi_mapped *mapped, uint32_t row)
{
    const struct nwi_wanted *wanted = &m->in->model->wanted[row];
    struct nwi_binding named = {.name = m->names[row],
                                .name_size = strlen(m->names[row])};
    if (m->states[row] == WANTED_NOT_ASKED)
        return NW_OK;
    if (wanted->kind == NW_NON_PERSISTENT)
        return add_harmless(m, stored_name(m, mapped->input),
                            "the model computes it itself");
    if (!same_shape(mapped, wanted)) {
        m->states[row] = WANTED_MISMATCHED;
        return add_mismatch(m, mapped, wanted, named.name);
    }
    m->states[row] = WANTED_LOADED;
    mark_used(m, mapped);
    add_item(m, mapped, &named);
    if (mapped->n_parts > 0)
        return NW_OK;
    m->out->loaded--;
    return list(m, &m->out->by_rule, named.name);
}

/* A tensor whose memory is another's: taken for it if the file lacks the other. */
static int take_tied(struct matching *m, const struct nwi_mapped *mapped, uint32_t row)
{
    uint32_t first = m->in->model->wanted[row].tied_to;
    if (m->states[row] == WANTED_NOT_ASKED)
        return NW_OK;
    if (m->outputs[first] != NW_NONE || m->states[first] == WANTED_LOADED)
        return add_harmless(m, stored_name(m, mapped->input),
                            "it shares the memory of another tensor");
    return take(m, mapped, first);
}

static int take_output(struct matching *m, uint32_t i)
{
    const struct nwi_mapped *mapped = &m->in->mapping->outputs[i];
    const struct nw_model *model = m->in->model;
    if (is_unknown_type(m, mapped->input))
        return add_harmless(m, stored_name(m, mapped->input), "unknown dtype");
    if (!model) {
        bool takes = true;
        struct nwi_binding named = {.name = mapped->name,
                                    .name_size = mapped->name_size};
        NWI_TRY(final_name(m, &named, &takes));
        if (!takes)
            return NW_OK;
        mark_used(m, mapped);
        add_item(m, mapped, &named);
        return NW_OK;
    }
    uint32_t row = nwi_map_find(&model->names, mapped->name, mapped->name_size);
    if (row == NWI_MAP_NONE)
        return not_wanted(m, mapped);
    if (model->wanted[row].tied_to != NW_NONE)
        return take_tied(m, mapped, row);
    return take(m, mapped, row);
}

static int list_unknown(struct matching *m, const char *name)
{
    if (is_let_be(m, name, strlen(name)))
        return add_harmless(m, name, "nobody wants it, and that is ignored");
    return list(m, &m->out->unexpected, name);
}

/* What no rule knows. */
static int list_unmatched(struct matching *m, uint32_t input)
{
    const struct nwi_stored *stored = stored_of(m, input);
    const char *name = stored_name(m, input);
    if (is_companion(stored)) {
        int code = nwi_fail(m->err, NW_E_UNSUPPORTED,
                            "no rule names this companion of a quantised weight");
        return nwi_error_in_tensor(m->err, code, name);
    }
    if (is_marker(stored))
        return add_harmless(m, name, "it marks the file as quantised");
    return list_unknown(m, name);
}

static int list_fates(struct matching *m)
{
    const struct nwi_mapping_of *mapping = m->in->mapping;
    bool narrowed = is_narrowed(m);
    for (uint32_t i = 0; i < m->in->given->n; i++) {
        if (mapping->fates[i] == NWI_DROPPED)
            NWI_TRY(add_harmless(m, stored_name(m, i), mapping->reasons[i]));
        else if (mapping->fates[i] == NWI_UNMATCHED && !narrowed)
            NWI_TRY(list_unmatched(m, i));
    }
    return NW_OK;
}

/* What the file holds beside the part. */
static int list_rest(struct matching *m)
{
    bool narrowed = is_narrowed(m);
    for (size_t i = 0; i < m->in->n_rest; i++) {
        const struct nwi_left_out *rest = &m->in->rest[i];
        if (rest->reason)
            NWI_TRY(add_harmless(m, rest->name, rest->reason));
        else if (!narrowed)
            NWI_TRY(list_unknown(m, rest->name));
    }
    return NW_OK;
}

/* ---- wanted tensors, in the order of the model ---- */

/* The type of most loaded floating tensors: what a filled one is stored as. */
static uint8_t common_dtype(const struct matching *m)
{
    size_t counts[NW_DTYPE_COUNT] = {0};
    int best = NW_F32;
    for (size_t i = 0; i < m->out->n; i++) {
        if (m->out->items[i].n_parts == 0)
            continue;
        uint32_t source = m->out->items[i].parts[0].source;
        uint8_t dtype = m->in->ckpt->tensors[source].dtype;
        if (nwi_dtype_is_float(dtype) && nw_dtype_bits(dtype) >= 8)
            counts[dtype]++;
    }
    for (int dtype = 0; dtype < NW_DTYPE_COUNT; dtype++) {
        if (counts[dtype] > counts[best])
            best = dtype;
    }
    return (uint8_t)best;
}

static int fill_wanted(struct matching *m, uint32_t row, uint8_t dtype, uint8_t fill)
{
    const struct nwi_wanted *wanted = &m->in->model->wanted[row];
    uint64_t *shape =
        nwi_arena_array(m->in->arena, wanted->rank, sizeof *wanted->shape);
    if (!shape)
        return nomem(m);
    if (wanted->rank)
        memcpy(shape, wanted->shape, wanted->rank * sizeof *shape);
    m->out->items[m->out->n++] = (struct nwi_binding){
        .name = m->names[row],
        .name_size = strlen(m->names[row]),
        .shape = shape,
        .rank = wanted->rank,
        .fill = fill,
        .fill_dtype = wanted->dtype ? (uint8_t)wanted->dtype : dtype,
    };
    return list(m, &m->out->initialised, m->names[row]);
}

/* Missing, or of another shape and that is ignored. */
static int settle_missing(struct matching *m, uint32_t row, uint8_t dtype)
{
    const struct nwi_wanted *wanted = &m->in->model->wanted[row];
    uint32_t policy = m->in->options->missing;
    if (policy == NW_MISSING_ZERO)
        return fill_wanted(m, row, dtype, NW_FILL_ZERO);
    if (policy != NW_MISSING_INIT)
        return NW_OK;
    if (wanted->fill != NW_FILL_NONE)
        return fill_wanted(m, row, dtype, wanted->fill);
    int code = nwi_fail(m->err, NW_E_ARG,
                        "it is missing, and only the module itself knows how to "
                        "initialise it (missing)");
    return nwi_error_in_tensor(m->err, code, wanted->name);
}

static bool may_miss(const struct matching *m, const struct nwi_wanted *wanted)
{
    return is_ignored(m, wanted->name, wanted->name_size) ||
           any_glob(m->in->model->optional, wanted->name, wanted->name_size);
}

static int settle_wanted(struct matching *m, uint32_t row, uint8_t dtype)
{
    const struct nwi_wanted *wanted = &m->in->model->wanted[row];
    bool ignore = m->in->options->flags & NW_LOAD_IGNORE_MISMATCHED;
    if (m->states[row] == WANTED_NOT_ASKED)
        return NW_OK;
    m->out->wanted++;
    if (m->states[row] == WANTED_LOADED)
        return NW_OK;
    if (m->states[row] == WANTED_MISMATCHED)
        return ignore ? settle_missing(m, row, dtype) : NW_OK;
    if (wanted->tied_to != NW_NONE)
        return list(m, &m->out->tied, m->names[row]);
    if (wanted->kind == NW_NON_PERSISTENT || may_miss(m, wanted))
        return list(m, &m->out->by_rule, m->names[row]);
    if (!m->first_missing)
        m->first_missing = wanted;
    NWI_TRY(list(m, &m->out->missing, m->names[row]));
    return settle_missing(m, row, dtype);
}

/* ---- the whole ---- */

static int name_wanted(struct matching *m)
{
    const struct nw_model *model = m->in->model;
    for (size_t i = 0; i < model->n_wanted; i++) {
        bool takes = true;
        char *copy = nwi_arena_copy(m->in->arena, model->wanted[i].name,
                                    model->wanted[i].name_size);
        if (!copy)
            return nomem(m);
        struct nwi_binding named = {.name = copy,
                                    .name_size = model->wanted[i].name_size};
        NWI_TRY(final_name(m, &named, &takes));
        m->names[i] = named.name;
        if (!takes)
            m->states[i] = WANTED_NOT_ASKED;
    }
    return NW_OK;
}

static int find_outputs(struct matching *m, uint32_t *outputs)
{
    const struct nwi_mapping_of *mapping = m->in->mapping;
    for (size_t i = 0; i < m->in->model->n_wanted; i++)
        outputs[i] = NW_NONE;
    for (size_t i = 0; i < mapping->n_outputs; i++) {
        uint32_t row = nwi_map_find(&m->in->model->names, mapping->outputs[i].name,
                                    mapping->outputs[i].name_size);
        if (row != NWI_MAP_NONE)
            outputs[row] = (uint32_t)i;
    }
    m->outputs = outputs;
    return NW_OK;
}

static int prepare(struct matching *m)
{
    size_t n = m->in->model ? m->in->model->n_wanted : 0;
    size_t most = m->in->mapping->n_outputs + n;
    uint32_t *outputs = nwi_arena_array(m->in->arena, n, sizeof *outputs);
    m->states = nwi_arena_zalloc(m->in->arena, n);
    m->names = nwi_arena_array(m->in->arena, n, sizeof *m->names);
    m->out->items = nwi_arena_array(m->in->arena, most, sizeof *m->out->items);
    if (!outputs || !m->states || !m->names || !m->out->items)
        return nomem(m);
    if (!m->in->model)
        return NW_OK;
    NWI_TRY(name_wanted(m));
    return find_outputs(m, outputs);
}

/* Constants that rules made have the type of what was loaded. */
static void type_constants(struct matching *m, uint8_t dtype)
{
    for (size_t i = 0; i < m->out->n; i++) {
        if (m->out->items[i].n_parts == 0)
            m->out->items[i].fill_dtype = dtype;
    }
}

/* Every wanted tensor gets its state; constants and fills the type of what was loaded. */
static int settle(struct matching *m)
{
    uint8_t dtype = common_dtype(m);
    type_constants(m, dtype);
    for (uint32_t i = 0; m->in->model && i < m->in->model->n_wanted; i++)
        NWI_TRY(settle_wanted(m, i, dtype));
    if (!m->in->model)
        m->out->wanted = m->out->loaded;
    return NW_OK;
}

int nwi_match(const struct nwi_match_input *input, struct nwi_bindings *out,
              struct nw_error *err)
{
    struct matching m = {.in = input, .out = out, .err = err};
    NWI_TRY(prepare(&m));
    for (uint32_t i = 0; i < input->mapping->n_outputs; i++)
        NWI_TRY(take_output(&m, i));
    NWI_TRY(list_fates(&m));
    NWI_TRY(list_rest(&m));
    NWI_TRY(settle(&m));
    return nwi_match_verdict(&m);
}
