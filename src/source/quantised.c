/* SPDX-License-Identifier: Apache-2.0
 * Three passes over the packed tensors: companions find their weights, weights find
 * their scheme (tensor types count before the JSON beside them, that before a marker),
 * companions take it over. A component without companions costs a look at the ends of
 * its names. */
#include "source/quantised.h"

#include <string.h>

#include "base/json.h"
#include "source/schemes.h"

#define COMFY_LIMIT  4096 /* bytes of one comfy_quant tensor */
#define FORMAT_LIMIT 64   /* bytes of a format's name */

/* A weight with companions. */
struct layer {
    uint32_t weight;    /* row of tensors */
    uint32_t scale;     /* row of its weight_scale, or NW_NONE */
    uint32_t with;      /* enum nwi_companion */
    const char *format; /* that the file names for it, or NULL */
    const char *scheme; /* NULL: not quantised */
    bool convrot;       /* rotated by a Hadamard matrix, says the file */
};

struct pair {
    uint32_t companion; /* row of tensors */
    uint32_t layer;     /* row of layers */
    uint32_t kind;
};

struct recogniser {
    struct nwi_builder *b;
    struct nw_checkpoint *ckpt;
    const struct nwi_component *component; /* being looked at */
    struct nwi_vector layers;              /* struct layer */
    struct nwi_vector pairs;               /* struct pair */
    struct nwi_vector schemes;             /* struct nw_quantisation */
    struct nwi_map scheme_rows;            /* name -> row of schemes */
    struct nwi_map layer_rows;             /* weight's name -> row of layers */
};

static struct layer *layer_of(const struct recogniser *r, size_t row)
{
    return (struct layer *)r->layers.items + row;
}

static struct nwi_place place_of(const struct recogniser *r,
                                 const struct nwi_stored *tensor)
{
    return (struct nwi_place){.file = r->ckpt->files[tensor->file].info.path,
                              .tensor = tensor->name,
                              .tensor_size = tensor->name_size,
                              .offset = tensor->offset};
}

/* ---- names ---- */

/* True if the name ends in the suffix; a name at the top has no dot before it. */
static bool has_suffix(const struct nwi_stored *tensor, const char *suffix, size_t size,
                       size_t *stem)
{
    if (tensor->name_size + 1 < size)
        return false;
    if (tensor->name_size + 1 == size) {
        *stem = 0;
        return memcmp(tensor->name, suffix + 1, size - 1) == 0;
    }
    *stem = tensor->name_size - size;
    return memcmp(tensor->name + *stem, suffix, size) == 0;
}

/* The tensor stem + ending, NW_NONE if there is none. */
static int find(struct recogniser *r, const char *stem, size_t size, const char *ending,
                uint32_t *row)
{
    ending += size == 0; /* no dot at the top */
    size_t ending_size = strlen(ending);
    char *name = nwi_arena_alloc(&r->b->scratch, size + ending_size);
    if (!name)
        return nwi_builder_nomem(r->b, size + ending_size);
    memcpy(name, stem, size);
    memcpy(name + size, ending, ending_size);
    *row = nwi_map_find(&r->component->names, name, size + ending_size);
    return NW_OK;
}

static int layer_for(struct recogniser *r, uint32_t weight, uint32_t *row)
{
    const struct nwi_stored *tensor = &r->ckpt->tensors[weight];
    if (nwi_map_add(&r->layer_rows, tensor->name, tensor->name_size,
                    (uint32_t)r->layers.n, row) != NW_OK)
        return nwi_builder_nomem(r->b, tensor->name_size);
    if (*row != NWI_MAP_NONE)
        return NW_OK;
    struct layer *layer = nwi_vector_add(&r->layers, r->b->memory);
    if (!layer)
        return nwi_builder_nomem(r->b, sizeof *layer);
    *layer = (struct layer){.weight = weight, .scale = NW_NONE};
    *row = (uint32_t)(r->layers.n - 1);
    return NW_OK;
}

/* ---- what the file says in JSON ---- */

static int set_format(struct recogniser *r, struct layer *layer,
                      const struct nwi_json_value *description)
{
    const struct nwi_json_value *format = nwi_json_get(description, "format");
    const struct nwi_json_value *convrot = nwi_json_get(description, "convrot");
    const struct nwi_stored *weight = &r->ckpt->tensors[layer->weight];
    if (!nwi_json_string(format) || format->text_size == 0 ||
        format->text_size > FORMAT_LIMIT || strlen(format->text) != format->text_size)
        return NW_OK;
    if (layer->format && strcmp(layer->format, format->text) != 0) {
        struct nwi_place place = place_of(r, weight);
        return nwi_builder_note(
            r->b, &place, NW_E_MISMATCH,
            "the format is %s in comfy_quant and %s in the metadata", layer->format,
            format->text);
    }
    layer->convrot |= convrot && convrot->kind == NWI_JSON_IS_BOOL && convrot->boolean;
    if (!layer->format)
        layer->format = nwi_arena_copy(r->b->arena, format->text, format->text_size);
    return layer->format ? NW_OK : nwi_builder_nomem(r->b, format->text_size);
}

/* Hard failures pass; a text that is no JSON is a note. */
static int parse(struct recogniser *r, const char *text, size_t size,
                 const struct nwi_place *place, struct nwi_json_value **out)
{
    struct nw_error failure;
    nwi_error_clear(&failure);
    int code =
        nwi_json_parse(text, size, 0, NW_E_BAD_CONFIG, &r->b->scratch, out, &failure);
    if (code == NW_OK || code == NW_E_NOMEM)
        return code == NW_OK ? NW_OK : nwi_builder_absorb(r->b, &failure);
    return nwi_builder_note(r->b, place, code,
                            "the description of quantised layers: %s", failure.message);
}

static int read_comfy(struct recogniser *r, const struct nwi_stored *tensor,
                      struct layer *layer)
{
    char text[COMFY_LIMIT];
    struct nw_error failure;
    struct nwi_json_value *description = NULL;
    struct nwi_place place = place_of(r, tensor);
    const struct nwi_file *file = r->ckpt->files[tensor->file].file;
    if (tensor->dtype != NW_U8 || tensor->nbytes > sizeof text || !file ||
        tensor->offset + tensor->nbytes > file->identity.size)
        return NW_OK;
    nwi_error_clear(&failure);
    if (nwi_file_read(file, tensor->offset, text, (size_t)tensor->nbytes, &failure) !=
        NW_OK)
        return nwi_builder_absorb(r->b, &failure);
    size_t size = (size_t)tensor->nbytes;
    while (size > 0 && text[size - 1] == '\0') /* padding */
        size--;
    NWI_TRY(parse(r, text, size, &place, &description));
    return set_format(r, layer, description);
}

static int take_metadata_layer(struct recogniser *r, const struct nwi_json_value *value,
                               const struct nwi_place *place)
{
    uint32_t row = NW_NONE;
    uint32_t weight = NW_NONE;
    NWI_TRY(find(r, value->key, value->key_size, ".weight", &weight));
    if (weight == NW_NONE) {
        char shown[128];
        nwi_quote(shown, sizeof shown, value->key, value->key_size, 80);
        return nwi_builder_note(
            r->b, place, NW_E_MISSING,
            "the metadata describes the quantised layer %s, which has no "
            "weight",
            shown);
    }
    NWI_TRY(layer_for(r, weight, &row));
    layer_of(r, row)->with |= NWI_WITH_COMFY;
    return set_format(r, layer_of(r, row), value);
}

/* "_quantization_metadata": {"layers": {"blocks.0.q": {"format": "float8_e4m3fn"}}} */
static int read_metadata(struct recogniser *r, const struct nw_metadata *row)
{
    struct nwi_json_value *root = NULL;
    struct nwi_place place = {.file = r->ckpt->files[row->file].info.path,
                              .offset = NW_OFFSET_NONE};
    NWI_TRY(parse(r, row->value, row->value_size, &place, &root));
    const struct nwi_json_value *layers = nwi_json_get(root, "layers");
    if (!layers || layers->kind != NWI_JSON_IS_OBJECT)
        return NW_OK;
    for (const struct nwi_json_value *v = layers->first; v; v = v->next)
        NWI_TRY(take_metadata_layer(r, v, &place));
    return NW_OK;
}

static int read_all_metadata(struct recogniser *r)
{
    static const char key[] = "_quantization_metadata";
    uint32_t component = (uint32_t)(r->component - r->ckpt->components);
    for (size_t i = 0; i < r->ckpt->n_metadata; i++) {
        const struct nw_metadata *row = &r->ckpt->metadata[i];
        if (row->component == component && row->key_size == sizeof key - 1 &&
            memcmp(row->key, key, sizeof key - 1) == 0)
            NWI_TRY(read_metadata(r, row));
    }
    return NW_OK;
}

/* ---- first pass: companions ---- */

static int add_pair(struct recogniser *r, uint32_t companion, uint32_t weight,
                    enum nwi_companion kind)
{
    uint32_t row = NW_NONE;
    NWI_TRY(layer_for(r, weight, &row));
    struct pair *pair = nwi_vector_add(&r->pairs, r->b->memory);
    if (!pair)
        return nwi_builder_nomem(r->b, sizeof *pair);
    *pair = (struct pair){companion, row, (uint32_t)kind};
    struct layer *layer = layer_of(r, row);
    layer->with |= (uint32_t)kind;
    if (kind == NWI_WITH_SCALE)
        layer->scale = companion;
    if (kind == NWI_WITH_COMFY)
        return read_comfy(r, &r->ckpt->tensors[companion], layer);
    return NW_OK;
}

static int match(struct recogniser *r, uint32_t tensor)
{
    const struct nwi_stored *row = &r->ckpt->tensors[tensor];
    bool strict = false;
    for (size_t i = 0; i < nwi_n_companions; i++) {
        const struct nwi_companion_row *known = &nwi_companions[i];
        uint32_t weight = NW_NONE;
        size_t stem = 0;
        if (!has_suffix(row, known->suffix, known->size, &stem))
            continue;
        NWI_TRY(find(r, row->name, stem, known->weight, &weight));
        if (weight != NW_NONE)
            return add_pair(r, tensor, weight, known->kind);
        strict |= known->strict;
    }
    struct nwi_place place = place_of(r, row);
    return strict
               ? nwi_builder_note(r->b, &place, NW_E_MISSING,
                                  "a companion of a quantised weight that is not there")
               : NW_OK;
}

/* ---- second pass: schemes ---- */

/* The format that the file names, put into our words; NULL if it adds nothing. */
static const char *named_scheme(struct recogniser *r, const struct layer *layer,
                                bool *refused)
{
    const struct nwi_stored *weight = &r->ckpt->tensors[layer->weight];
    if (!layer->format || !nwi_scheme_is_narrow(weight))
        return NULL;
    if (strncmp(layer->format, "float8_", 7) == 0)
        return nwi_scheme_has_scale(layer->with) ? layer->format : NULL;
    if (strcmp(layer->format, "nvfp4") == 0)
        return "comfy_nvfp4";
    if (!layer->convrot || strstr(layer->format, "convrot"))
        return layer->format;
    const char *name = nwi_arena_printf(r->b->arena, "%s+convrot", layer->format);
    *refused = name == NULL;
    return name;
}

/* Codes that only the file's own words explain, when those could not be understood. */
static const char *unnamed_scheme(const struct nwi_stored *weight,
                                  const struct layer *layer)
{
    bool opaque = layer->with & NWI_WITH_COMFY && !layer->format &&
                  weight->dtype != NW_F8_E4M3 && weight->dtype != NW_F8_E5M2 &&
                  nwi_scheme_is_narrow(weight);
    return opaque ? "comfy_unknown" : NULL;
}

static int note_stale(struct recogniser *r, const struct layer *layer)
{
    const struct nwi_stored *weight = &r->ckpt->tensors[layer->weight];
    struct nwi_place place = place_of(r, weight);
    bool says = nwi_scheme_has_scale(layer->with) || (layer->with & NWI_WITH_COMFY);
    if (!says || nwi_scheme_is_narrow(weight))
        return NW_OK;
    return nwi_builder_note(
        r->b, &place, NW_E_MISMATCH,
        "a scale stands beside a weight of type %s, which needs none: it is "
        "not applied",
        weight->dtype_text);
}

/* *scheme becomes the one text that all its layers share. */
static int count_scheme(struct recogniser *r, const char **scheme)
{
    uint32_t row = NW_NONE;
    if (nwi_map_add(&r->scheme_rows, *scheme, strlen(*scheme), (uint32_t)r->schemes.n,
                    &row) != NW_OK)
        return nwi_builder_nomem(r->b, strlen(*scheme));
    if (row == NWI_MAP_NONE) {
        struct nw_quantisation *added = nwi_vector_add(&r->schemes, r->b->memory);
        if (!added)
            return nwi_builder_nomem(r->b, sizeof *added);
        added->scheme = *scheme;
        row = (uint32_t)(r->schemes.n - 1);
    }
    struct nw_quantisation *counted = (struct nw_quantisation *)r->schemes.items + row;
    counted->n_layers++;
    *scheme = counted->scheme;
    return NW_OK;
}

static int decide(struct recogniser *r, struct layer *layer)
{
    bool refused = false;
    struct nwi_stored *weight = &r->ckpt->tensors[layer->weight];
    const struct nwi_stored *scale =
        layer->scale == NW_NONE ? NULL : &r->ckpt->tensors[layer->scale];
    layer->scheme = named_scheme(r, layer, &refused);
    if (refused)
        return nwi_builder_nomem(r->b, FORMAT_LIMIT);
    if (!layer->scheme)
        layer->scheme = nwi_scheme(weight, layer->with, scale);
    if (!layer->scheme)
        layer->scheme = unnamed_scheme(weight, layer);
    if (!layer->scheme)
        return note_stale(r, layer);
    NWI_TRY(count_scheme(r, &layer->scheme));
    weight->scheme = layer->scheme;
    weight->quantised = true;
    return NW_OK;
}

/* ---- third pass: what goes with a quantised weight ---- */

static void mark_companions(struct recogniser *r)
{
    const struct pair *pairs = r->pairs.items;
    for (size_t i = 0; i < r->pairs.n; i++) {
        const struct layer *layer = layer_of(r, pairs[i].layer);
        struct nwi_stored *companion = &r->ckpt->tensors[pairs[i].companion];
        companion->companion_of = layer->weight;
        companion->scheme = layer->scheme;
        companion->quantised = layer->scheme != NULL;
    }
}

/* "scaled_fp8": an empty or tiny tensor that only says what kind of file it is. */
static void mark_markers(struct recogniser *r)
{
    const char *scheme = NULL;
    size_t stem = 0;
    for (size_t i = 0; !scheme && i < r->layers.n; i++)
        scheme = layer_of(r, i)->scheme;
    for (uint32_t i = 0; scheme && i < r->component->n_tensors; i++) {
        struct nwi_stored *tensor = &r->ckpt->tensors[r->component->first_tensor + i];
        if (tensor->rank != 1 || tensor->shape[0] > 2 ||
            (strcmp(tensor->name, "scaled_fp8") != 0 &&
             !has_suffix(tensor, ".scaled_fp8", 11, &stem)))
            continue;
        tensor->scheme = "scaled_fp8";
        tensor->quantised = true;
    }
}

static bool is_float8(const struct nwi_stored *tensor)
{
    return tensor->dtype == NW_F8_E4M3 || tensor->dtype == NW_F8_E5M2;
}

static bool has_scaled_float8(const struct recogniser *r)
{
    for (size_t i = 0; i < r->layers.n; i++) {
        const struct layer *layer = layer_of(r, i);
        if (layer->scheme && nwi_scheme_has_scale(layer->with) &&
            is_float8(&r->ckpt->tensors[layer->weight]))
            return true;
    }
    return false;
}

/* Matrices without a scale where others of their type have one: it was lost, or the
 * values are as they stand. Nothing in the file tells which. */
static int check_scales(struct recogniser *r)
{
    size_t stem = 0;
    if (!has_scaled_float8(r))
        return NW_OK;
    for (uint32_t i = 0; i < r->component->n_tensors; i++) {
        const struct nwi_stored *tensor =
            &r->ckpt->tensors[r->component->first_tensor + i];
        if (tensor->quantised || tensor->rank != 2 || !is_float8(tensor) ||
            !has_suffix(tensor, ".weight", 7, &stem))
            continue;
        struct nwi_place place = place_of(r, tensor);
        NWI_TRY(
            nwi_builder_note(r->b, &place, NW_E_MISSING,
                             "no scale stands beside it, as beside other weights of "
                             "type %s",
                             tensor->dtype_text));
    }
    return NW_OK;
}

static int check_config(struct recogniser *r)
{
    struct nwi_place place = {.file = r->component->config_path,
                              .offset = NW_OFFSET_NONE};
    for (size_t i = 0; i < r->layers.n; i++) {
        if (layer_of(r, i)->scheme)
            return NW_OK;
    }
    if (!r->component->quant_method || r->component->n_tensors == 0)
        return NW_OK;
    return nwi_builder_note(
        r->b, &place, NW_E_UNSUPPORTED,
        "config.json says quant_method %.80s, but no quantised layer was "
        "recognised",
        r->component->quant_method);
}

static int recognise(struct recogniser *r)
{
    r->layers.n = 0;
    r->pairs.n = 0;
    nwi_map_release(&r->layer_rows);
    for (uint32_t i = 0; i < r->component->n_tensors; i++)
        NWI_TRY(match(r, r->component->first_tensor + i));
    NWI_TRY(read_all_metadata(r));
    for (size_t i = 0; i < r->layers.n; i++)
        NWI_TRY(decide(r, layer_of(r, i)));
    mark_companions(r);
    mark_markers(r);
    NWI_TRY(check_scales(r));
    return check_config(r);
}

static int publish(struct recogniser *r)
{
    size_t n = r->schemes.n;
    if (n == 0)
        return NW_OK;
    r->ckpt->quantisation =
        nwi_arena_array(r->b->arena, n, sizeof *r->ckpt->quantisation);
    if (!r->ckpt->quantisation)
        return nwi_builder_nomem(r->b, n * sizeof *r->ckpt->quantisation);
    memcpy(r->ckpt->quantisation, r->schemes.items, n * sizeof *r->ckpt->quantisation);
    r->ckpt->n_quantisation = n;
    return NW_OK;
}

int nwi_quantised_recognise(struct nwi_builder *b)
{
    struct recogniser r = {.b = b,
                           .ckpt = b->ckpt,
                           .layers.item_size = sizeof(struct layer),
                           .pairs.item_size = sizeof(struct pair),
                           .schemes.item_size = sizeof(struct nw_quantisation),
                           .scheme_rows.memory = b->memory,
                           .layer_rows.memory = b->memory};
    int code = NW_OK;
    for (size_t i = 0; code == NW_OK && i < b->ckpt->n_components; i++) {
        r.component = &b->ckpt->components[i];
        code = recognise(&r);
    }
    if (code == NW_OK)
        code = publish(&r);
    nwi_vector_release(&r.layers, b->memory);
    nwi_vector_release(&r.pairs, b->memory);
    nwi_vector_release(&r.schemes, b->memory);
    nwi_map_release(&r.scheme_rows);
    nwi_map_release(&r.layer_rows);
    return code;
}
