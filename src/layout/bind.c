/* SPDX-License-Identifier: Apache-2.0
 * From what a file is to what is wanted: picks the part, lets the rules name its tensors
 * as the class does, matches them with the skeleton, and, if the original names are wanted
 * on the way out, lets the rules name them back. */
#include <string.h>

#include "base/error.h"
#include "layout/averages.h"
#include "layout/company.h"
#include "layout/match.h"
#include "layout/rest.h"
#include "layout/rules_text.h"
#include "layout/told.h"
#include "layout/wanted.h"
#include "source/kind.h"

struct binder {
    const struct nw_checkpoint *ckpt;
    uint32_t component;
    const struct nw_load_options *options;
    struct nwi_arena *arena;  /* of the result */
    struct nwi_arena scratch; /* of everything on the way there */
    struct nwi_hints hints;
    struct nwi_detection detection;
    const struct nwi_found *part;
    struct nwi_header given; /* names of the part, as stored less the prefix */
    bool given_made;
    bool *averaged; /* tensors of the component taken as averages, by row; NULL: none
                             was asked for */
    struct nwi_rest rest; /* of the file, beside `given` */
    struct nwi_bindings *out;
    struct nw_error *err;
};

/* ---- what is asked for ---- */

/* A component of a folder is picked, not converted: its names are its class's own. A part of
 * an all-in-one file is asked for. */
static bool asks_for_part(const struct binder *b)
{
    const char *name = b->options->component;
    return name && strcmp(b->ckpt->components[b->component].info.name, name) != 0;
}

static bool asks_for_model(const struct binder *b)
{
    const struct nw_load_options *options = b->options;
    return asks_for_part(b) || options->klass || options->config || options->model ||
           options->rules || options->flags & NW_LOAD_EMA;
}

static uint32_t wanted_layout(const struct binder *b)
{
    const struct nw_load_options *options = b->options;
    if (options->flags & NW_LOAD_FLAT)
        return NW_LAYOUT_STORED;
    if (options->layout != NW_LAYOUT_AUTO)
        return options->layout;
    return asks_for_model(b) ? NW_LAYOUT_DIFFUSERS : NW_LAYOUT_STORED;
}

/* ---- which part ---- */

static void list_parts(const struct nwi_detection *detection, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < detection->n; i++) {
        const struct nwi_found *part = &detection->parts[i];
        size_t need = strlen(part->name) + 2;
        if (part->state == NW_STATE_ABSENT || !*part->name || at + need + 1 > size)
            continue;
        if (at)
            memcpy(out + at, ", ", 3);
        at += at ? 2 : 0;
        memcpy(out + at, part->name, strlen(part->name) + 1);
        at += strlen(part->name);
    }
}

static int find_by_name(struct binder *b, const char *name)
{
    char list[240];
    for (size_t i = 0; i < b->detection.n; i++) {
        const struct nwi_found *part = &b->detection.parts[i];
        if (strcmp(part->name, name) != 0)
            continue;
        b->part = part;
        if (part->state != NW_STATE_ABSENT)
            return NW_OK;
        return nwi_fail(b->err, NW_E_NOT_FOUND,
                        "the file has no %.60s: it is absent from this checkpoint",
                        name);
    }
    list_parts(&b->detection, list, sizeof list);
    return nwi_fail(b->err, NW_E_NOT_FOUND, "the file has no component \"%.60s\"%s%s",
                    name, list[0] ? "; there are: " : "", list);
}

static int find_by_class(struct binder *b, const char *klass)
{
    const struct nwi_found *found = NULL;
    size_t n_present = 0;
    for (size_t i = 0; i < b->detection.n; i++) {
        const struct nwi_found *part = &b->detection.parts[i];
        if (part->state == NW_STATE_ABSENT)
            continue;
        n_present++;
        b->part = part;
        if (!part->klass || strcmp(part->klass, klass) != 0)
            continue;
        if (found)
            return nwi_fail(b->err, NW_E_ARG,
                            "the file holds both %.60s and %.60s of class %.80s: name "
                            "one (component)",
                            found->name, part->name, klass);
        found = part;
    }
    if (found)
        b->part = found;
    if (found || n_present == 1)
        return NW_OK;
    return nwi_fail(b->err, NW_E_NOT_FOUND, "the file holds nothing of class %.100s",
                    klass);
}

/* The only part that is a model, or the one that is named. */
static int find_single(struct binder *b)
{
    const struct nwi_found *single = NULL;
    char list[240];
    for (size_t i = 0; i < b->detection.n; i++) {
        const struct nwi_found *part = &b->detection.parts[i];
        bool model = part->family || b->detection.n == 1;
        if (part->state == NW_STATE_ABSENT || !model)
            continue;
        if (single) {
            list_parts(&b->detection, list, sizeof list);
            return nwi_fail(b->err, NW_E_ARG,
                            "the file holds several models, name one (component): %s",
                            list);
        }
        single = part;
    }
    b->part = single ? single : b->detection.n ? &b->detection.parts[0] : NULL;
    return NW_OK;
}

static int pick_part(struct binder *b)
{
    const char *name = b->options->component;
    bool own = name && strcmp(b->ckpt->components[b->component].info.name, name) == 0;
    if (name && !own)
        return find_by_name(b, name);
    if (b->options->klass)
        return find_by_class(b, b->options->klass);
    if (own && *name && b->detection.n > 1)
        return find_by_name(b, name);
    return find_single(b);
}

/* ---- what the file gives, in the class's names ---- */

static int refuse_adapter(struct binder *b)
{
    uint64_t rank = 0;
    const char *kind = nwi_checkpoint_kind(b->ckpt);
    if (strcmp(kind, "lora") == 0) {
        rank = nwi_adapter_rank(b->ckpt);
        return nwi_fail(b->err, NW_E_WRONG_FORMAT,
                        "this is a LoRA (rank %llu), an adapter for a model, not a "
                        "model: load it flat",
                        (unsigned long long)rank);
    }
    if (strcmp(kind, "embedding") == 0)
        return nwi_fail(
            b->err, NW_E_WRONG_FORMAT,
            "this is an embedding (textual inversion), not a model: load it "
            "flat");
    return NW_OK;
}

/* Recognised (no adapter is), or named by the caller or a config: then its names are taken as the class's
 * own. */
static int check_known(struct binder *b)
{
    const struct nw_load_options *o = b->options;
    if (b->part->family)
        return NW_OK;
    NWI_TRY(refuse_adapter(b));
    if (o->model || o->rules || b->ckpt->components[b->component].info.klass ||
        (o->klass && nwi_architecture_find(o->klass)))
        return NW_OK;
    return nwi_fail(b->err, NW_E_UNKNOWN_LAYOUT, "no family fits: %s",
                    b->part->why_not ? b->part->why_not : "nothing is near");
}

static bool is_original(const struct binder *b)
{
    return b->part->family && b->part->layout == NWI_LAYOUT_ORIGINAL;
}

static const struct nwi_rules *rules_of(const struct binder *b)
{
    if (b->options->rules)
        return &b->options->rules->rules;
    return b->part->family ? b->part->family->rules : NULL;
}

/* Names of the part in the class's layout. */
static int to_class_names(struct binder *b, struct nwi_mapping_of *mapping)
{
    const struct nwi_rules *rules = rules_of(b);
    if (is_original(b) && !rules && !b->part->family->same_names)
        return nwi_fail(b->err, NW_E_UNSUPPORTED,
                        "%s is recognised, but no rules convert its names: load it in "
                        "layout stored",
                        b->part->family->title);
    if (!b->options->rules && !is_original(b))
        rules = b->part->family ? b->part->family->deprecated : NULL;
    return nwi_rules_apply(rules, NWI_TO_DIFFUSERS, &b->given, b->ckpt, &b->hints,
                           b->arena, mapping, b->err);
}

/* Those names as a header, for what is derived from shapes. */
static int as_header(struct binder *b, const struct nwi_mapping_of *mapping,
                     struct nwi_header *header)
{
    struct nwi_header_row *rows =
        nwi_arena_array(&b->scratch, mapping->n_outputs, sizeof *rows);
    if (!rows)
        return nwi_fail_nomem(b->err, mapping->n_outputs * sizeof *rows);
    for (size_t i = 0; i < mapping->n_outputs; i++) {
        const struct nwi_mapped *mapped = &mapping->outputs[i];
        rows[i] = (struct nwi_header_row){mapped->name, mapped->shape,
                                          mapped->name_size, mapped->rank, NW_NONE};
    }
    return nwi_header_init(header, rows, mapping->n_outputs, b->scratch.memory, b->err);
}

static int make_model(struct binder *b, const struct nwi_mapping_of *mapping,
                      struct nw_model **model)
{
    struct nwi_header header = {0};
    int code = as_header(b, mapping, &header);
    const struct nwi_wanted_input input = {
        .ckpt = b->ckpt,
        .component = b->component,
        .part = b->part,
        .options = b->options,
        .given = &header,
        .arena = b->arena,
    };
    if (code == NW_OK)
        code = nwi_wanted_model(&input, b->out, model, b->err);
    nwi_header_release(&header);
    return code;
}

/* ---- the original names on the way out ---- */

/* What was used of the part, under its class's names where the file had those. */
static int used_header(struct binder *b, const bool *used, struct nwi_header *header)
{
    size_t n = 0;
    struct nwi_header_row *rows =
        nwi_arena_array(&b->scratch, b->given.n, sizeof *rows);
    if (!rows)
        return nwi_fail_nomem(b->err, b->given.n * sizeof *rows);
    for (size_t i = 0; i < b->given.n; i++) {
        if (used[i])
            rows[n++] = b->given.rows[i];
    }
    return nwi_header_init(header, rows, n, b->scratch.memory, b->err);
}

/* The caller's rules, or those of the pipeline that the part belongs to. */
static int find_original_rules(struct binder *b, const struct nwi_rules **rules)
{
    struct nwi_company company;
    const struct nwi_company_input input = {
        .ckpt = b->ckpt,
        .component = b->component,
        .own = &b->detection,
        .part = b->part,
        .hints = &b->hints,
        .klass = b->options->klass ? b->options->klass : b->part->klass,
    };
    NWI_TRY(nwi_company_find(&input, &b->scratch, &company, b->err));
    if (!is_original(b))
        *rules = b->options->rules ? &b->options->rules->rules : company.rules;
    if (b->options->prefix)
        return NW_OK;
    b->out->file_prefix =
        nwi_arena_copy(b->arena, company.prefix, strlen(company.prefix));
    return b->out->file_prefix ? NW_OK : nwi_fail_nomem(b->err, strlen(company.prefix));
}

/* What is filled stands for nothing that the rules could name back. */
static int check_filled(struct binder *b)
{
    if (b->out->initialised.n == 0)
        return NW_OK;
    const char *first = b->out->initialised.items[0];
    int code = nwi_fail(b->err, NW_E_UNSUPPORTED,
                        "it is missing, and what fills it has no original name: fill "
                        "it in layout diffusers first");
    return nwi_error_in_tensor(b->err, code, first);
}

static int to_original_names(struct binder *b, const bool *used,
                             struct nwi_selector *selector)
{
    struct nwi_header header = {0};
    struct nwi_mapping_of mapping;
    struct nwi_bindings back = {0};
    const struct nwi_rules *rules = NULL;
    NWI_TRY(check_filled(b));
    NWI_TRY(find_original_rules(b, &rules));
    if (!is_original(b) && !rules && !(b->part->family && b->part->family->same_names))
        return nwi_fail(b->err, NW_E_UNSUPPORTED,
                        "there are no original names for %.80s",
                        b->out->klass ? b->out->klass : "this model");
    int code = used_header(b, used, &header);
    if (code == NW_OK)
        code = nwi_rules_apply(rules, NWI_TO_ORIGINAL, &header, b->ckpt, &b->hints,
                               b->arena, &mapping, b->err);
    const struct nwi_match_input input = {
        .ckpt = b->ckpt,
        .given = &header,
        .mapping = &mapping,
        .options = b->options,
        .selector = selector,
        .arena = b->arena,
    };
    if (code == NW_OK)
        code = nwi_match(&input, &back, b->err);
    nwi_header_release(&header);
    if (code == NW_OK && back.unexpected.n)
        code = nwi_fail(b->err, NW_E_UNSUPPORTED,
                        "no rule knows the original name of \"%.120s\"",
                        back.unexpected.items[0]);
    b->out->items = back.items;
    b->out->n = back.n;
    return code;
}

/* ---- all of it ---- */

static int describe(struct binder *b, uint32_t layout)
{
    static const char *const words[] = {
        [NW_LAYOUT_STORED] = "stored",
        [NW_LAYOUT_DIFFUSERS] = "diffusers",
        [NW_LAYOUT_ORIGINAL] = "original",
    };
    const char *own = b->ckpt->components[b->component].info.name;
    const struct nwi_found *part = b->part;
    b->out->component = own;
    if (!*own)
        b->out->component = nwi_arena_copy(b->arena, part->name, strlen(part->name));
    b->out->klass = part->klass;
    b->out->family = part->family ? part->family->name : NULL;
    if (part->family_name)
        b->out->family = part->family_name;
    b->out->variant = part->variant ? part->variant->name : NULL;
    b->out->pipeline = part->family ? part->family->pipeline : NULL;
    b->out->layout = words[layout];
    b->out->prefix =
        nwi_arena_copy(b->arena, part->region.prefix, strlen(part->region.prefix));
    if (!b->out->component || !b->out->prefix)
        return nwi_fail_nomem(b->err, strlen(part->name));
    return NW_OK;
}

/* transformers keeps what its classes name where fp16 is asked for, whose range it
 * exceeds, and casts it to any other type. */
static const char *const *kept_fp32(const struct binder *b,
                                    const struct nw_model *model)
{
    bool half_only =
        model && model->library && strcmp(model->library, "transformers") == 0;
    return !model || (half_only && b->options->dtype != NW_F16) ? NULL
                                                                : model->keep_fp32;
}

static struct nwi_averages_input averages_of(struct binder *b)
{
    return (struct nwi_averages_input){
        .ckpt = b->ckpt,
        .component = b->component,
        .detection = &b->detection,
        .part = b->part,
        .arena = &b->scratch,
    };
}

/* What the lists do not say is missing. Where the caller takes what is there, so do we. */
static int check_match(struct binder *b, const struct nw_model *model, const bool *used)
{
    const struct nwi_averages_input averages = averages_of(b);
    const struct nwi_told_input told = {
        .given = &b->given,
        .model = model,
        .rules = is_original(b) || !b->part->family ? NULL : b->part->family->rules,
        .ckpt = b->ckpt,
        .hints = &b->hints,
        .arena = b->arena,
    };
    if (b->options->missing != NW_MISSING_ERROR)
        return NW_OK;
    if (b->averaged)
        NWI_TRY(nwi_averages_check(&averages, b->averaged, &b->given, used, b->err));
    return model ? nwi_told_check(&told, b->out, b->err) : NW_OK;
}

static int match_model(struct binder *b, uint32_t layout, struct nw_model *model,
                       const struct nwi_mapping_of *mapping)
{
    struct nwi_selector selector;
    bool back = layout == NW_LAYOUT_ORIGINAL;
    struct nw_load_options all = *b->options;
    NWI_TRY(nwi_selector_init(&selector, b->options, b->arena, b->err));
    bool *used = nwi_arena_zalloc(&b->scratch, b->given.n);
    if (!used)
        return nwi_fail_nomem(b->err, b->given.n);
    if (back)
        all.n_only = all.n_drop = 0;
    const struct nwi_match_input input = {
        .ckpt = b->ckpt,
        .given = &b->given,
        .mapping = mapping,
        .model = model,
        .options = back ? &all : b->options,
        .selector = back ? NULL : &selector,
        .rest = b->rest.items,
        .n_rest = b->rest.n,
        .used = used,
        .arena = b->arena,
    };
    NWI_TRY(nwi_match(&input, b->out, b->err));
    NWI_TRY(check_match(b, model, used));
    b->out->keep_fp32 = kept_fp32(b, model);
    if (back)
        NWI_TRY(to_original_names(b, used, &selector));
    NWI_TRY(nwi_selector_check(&selector, b->err));
    return nwi_selector_unique(&selector, b->ckpt, b->out, b->err);
}

/* A part of the file under its stored names, prefix and all. */
static void restore_names(const struct binder *b)
{
    const struct nwi_region *region = &b->part->region;
    for (size_t i = 0; i < region->n; i++) {
        region->rows[i].name -= region->prefix_size;
        region->rows[i].name_size += region->prefix_size;
    }
}

static int bind_stored_part(struct binder *b)
{
    struct nwi_mapping_of mapping;
    restore_names(b);
    b->given_made = true;
    NWI_TRY(nwi_header_init(&b->given, b->part->region.rows, b->part->region.n,
                            b->scratch.memory, b->err));
    NWI_TRY(nwi_rules_apply(NULL, NWI_TO_DIFFUSERS, &b->given, b->ckpt, &b->hints,
                            b->arena, &mapping, b->err));
    return match_model(b, NW_LAYOUT_STORED, NULL, &mapping);
}

/* What stands in the file beside the part: its averages, and names that no plan tells. */
static int take_beside(struct binder *b)
{
    const struct nwi_averages_input averages = averages_of(b);
    if (b->options->flags & NW_LOAD_EMA)
        NWI_TRY(nwi_averages_take(&averages, &b->averaged, &b->rest, b->err));
    const struct nwi_rest_input rest = {
        .ckpt = b->ckpt,
        .component = b->component,
        .detection = &b->detection,
        .part = b->part,
        .averaged = b->averaged,
        .arena = &b->scratch,
    };
    return b->options->flags & NW_LOAD_REST ? nwi_rest_list(&rest, &b->rest, b->err)
                                            : NW_OK;
}

static int choose_part(struct binder *b, uint32_t layout)
{
    NWI_TRY(nwi_detect(b->ckpt, b->component, &b->hints, &b->scratch, &b->detection,
                       b->err));
    NWI_TRY(pick_part(b));
    if (!b->part) {
        (void)nwi_fail(b->err, NW_E_UNKNOWN_LAYOUT, "there is no tensor");
        return NW_E_UNKNOWN_LAYOUT;
    }
    if (layout != NW_LAYOUT_STORED)
        NWI_TRY(check_known(b));
    return take_beside(b);
}

static int bind(struct binder *b, uint32_t layout)
{
    struct nwi_mapping_of mapping;
    struct nw_model *model = NULL;
    NWI_TRY(choose_part(b, layout));
    NWI_TRY(describe(b, layout));
    if (layout == NW_LAYOUT_STORED)
        return bind_stored_part(b);
    b->given_made = true;
    NWI_TRY(nwi_header_init(&b->given, b->part->region.rows, b->part->region.n,
                            b->scratch.memory, b->err));
    NWI_TRY(to_class_names(b, &mapping));
    NWI_TRY(make_model(b, &mapping, &model));
    int code = match_model(b, layout, model, &mapping);
    nw_model_free(model);
    return code;
}

int nwi_bind(const struct nw_checkpoint *ckpt, uint32_t component,
             const struct nw_load_options *options, struct nwi_arena *arena,
             struct nwi_bindings *out, struct nw_error *err)
{
    struct nw_error local = {0};
    struct binder b = {
        .ckpt = ckpt,
        .component = component,
        .options = options,
        .arena = arena,
        .hints = {options->hints, options->n_hints},
        .out = out,
        .err = err ? err : &local,
    };
    uint32_t layout = wanted_layout(&b);
    if (layout == NW_LAYOUT_STORED &&
        (options->flags & NW_LOAD_FLAT || !asks_for_part(&b)))
        return nwi_bind_flat(ckpt, component, options, arena, out, err);
    *out = (struct nwi_bindings){0};
    nwi_arena_init(&b.scratch, arena->memory);
    int code = bind(&b, layout);
    if (b.given_made)
        nwi_header_release(&b.given);
    nwi_arena_release(&b.scratch);
    return code;
}
