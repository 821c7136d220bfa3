/* SPDX-License-Identifier: Apache-2.0
 * The dtype that a config.json states: changed in the text, so that every other byte
 * stays. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "run/output_parts.h"
#include "tensor/dtype.h"

#define CONFIG_MOST 16777216u /* bytes; what is larger is no config */

/* The dtype of all floating targets, or -1 if there are several, or none. */
static int one_dtype(const struct nw_plan *plan)
{
    int dtype = -1;
    for (size_t i = 0; i < plan->n_targets; i++) {
        int now = plan->targets[i].info.dtype;
        if (!nwi_dtype_is_float(now) || now == dtype)
            continue;
        if (dtype >= 0)
            return -1;
        dtype = now;
    }
    return dtype;
}

const char *nwi_output_new_dtype(const struct nw_plan *plan)
{
    bool changed = false;
    for (size_t i = 0; i < plan->n_targets && !changed; i++)
        changed = plan->targets[i].info.dtype != plan->targets[i].stored_dtype;
    if (!changed)
        return NULL;
    /* A dtype for all stays the model's, whatever exceptions the rules made. */
    int dtype =
        plan->options.dtype != NW_DTYPE_AUTO ? plan->options.dtype : one_dtype(plan);
    const struct nwi_dtype_info *info = dtype < 0 ? NULL : nwi_dtype_info(dtype);
    return info ? info->torch : NULL;
}

/* A config on its way out: the text up to `done` is written. */
struct edit {
    const char *text;
    size_t size;
    size_t done;
    const char *dtype;
    int fd;
    uint64_t at; /* in the output */
    struct nw_error *err;
};

static int emit(struct edit *edit, const char *bytes, size_t size)
{
    NWI_TRY(nwi_output_pwrite(edit->fd, edit->at, bytes, size, edit->err));
    edit->at += size;
    return NW_OK;
}

/* Bytes of the string that begins with the quote at text[at], quotes included. */
static size_t string_size(const struct edit *edit, size_t at)
{
    size_t end = at + 1;
    while (end < edit->size && edit->text[end] != '"')
        end += edit->text[end] == '\\' ? 2 : 1;
    return end + 1 - at;
}

static int replace(struct edit *edit, const struct nwi_json_value *value)
{
    size_t at = (size_t)value->offset;
    const char *prefix = nwi_starts_with(value->text, "torch.") ? "\"torch." : "\"";
    NWI_TRY(emit(edit, edit->text + edit->done, at - edit->done));
    NWI_TRY(emit(edit, prefix, strlen(prefix)));
    NWI_TRY(emit(edit, edit->dtype, strlen(edit->dtype)));
    NWI_TRY(emit(edit, "\"", 1));
    edit->done = at + string_size(edit, at);
    return NW_OK;
}

static bool states_dtype(const struct nwi_json_value *value)
{
    if (strcmp(value->key, "torch_dtype") != 0 && strcmp(value->key, "dtype") != 0)
        return false;
    return value->kind == NWI_JSON_IS_STRING &&
           nw_dtype_from_name(value->text, value->text_size) > NW_DTYPE_AUTO;
}

/* Configs of parts ("text_config") follow; how something is quantised is another
 * matter. */
static bool is_part(const struct nwi_json_value *value)
{
    return value->kind == NWI_JSON_IS_OBJECT && nwi_ends_with(value->key, "_config") &&
           strcmp(value->key, "quantization_config") != 0;
}

static int edit_object(struct edit *edit, const struct nwi_json_value *object, bool top)
{
    for (const struct nwi_json_value *value = object->first; value;
         value = value->next) {
        if (states_dtype(value))
            NWI_TRY(replace(edit, value));
        else if (top && is_part(value))
            NWI_TRY(edit_object(edit, value, false));
    }
    return NW_OK;
}

int nwi_output_config_write(const char *text, size_t size, const char *dtype, int fd,
                            struct nwi_arena *arena, struct nw_error *err)
{
    struct edit edit = {
        .text = text, .size = size, .dtype = dtype, .fd = fd, .err = err};
    struct nwi_json_value *root = NULL;
    NWI_TRY(nwi_json_parse(text, size, 0, NW_E_BAD_CONFIG, arena, &root, err));
    if (root->kind == NWI_JSON_IS_OBJECT)
        NWI_TRY(edit_object(&edit, root, true));
    return emit(&edit, text + edit.done, size - edit.done);
}

bool nwi_output_config_is_diffusers(const char *path, struct nwi_memory *memory)
{
    struct nwi_arena arena;
    struct nw_error ignored = {0};
    struct nwi_json_value *root = NULL;
    char *text = NULL;
    size_t size = 0;
    nwi_arena_init(&arena, memory);
    bool found =
        nwi_file_slurp(path, CONFIG_MOST, &arena, &text, &size, &ignored) == NW_OK &&
        nwi_json_parse(text, size, 0, NW_E_BAD_CONFIG, &arena, &root, &ignored) ==
            NW_OK &&
        nwi_json_get(root, "_class_name") != NULL;
    nwi_arena_release(&arena);
    return found;
}
