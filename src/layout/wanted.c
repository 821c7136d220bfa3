/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/wanted.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "layout/config_text.h"
#include "layout/yaml.h"

#define CONFIG_MOST (16u << 20) /* bytes; what is larger is no config */

struct wanting {
    const struct nwi_wanted_input *in;
    struct nwi_bindings *bindings;
    struct nwi_arena scratch; /* of the config's tree */
    struct nwi_json_value *given;
    const char *path; /* of the config; NULL: built-in */
    const struct nwi_architecture *architecture;
    struct nw_error *err;
};

/* ---- where the config is ---- */

/* `path` itself, or the config.json that a folder holds for the component. */
static int find_in_folder(struct wanting *w, const char *path)
{
    const char *part = w->in->part->name;
    char *inner = nwi_arena_printf(&w->scratch, "%s/%s/config.json", path, part);
    char *own = nwi_arena_printf(&w->scratch, "%s/config.json", path);
    if (!inner || !own)
        return nwi_fail_nomem(w->err, strlen(path));
    if (*part && nwi_path_kind(inner) == NWI_PATH_FILE)
        w->path = inner;
    else if (nwi_path_kind(own) == NWI_PATH_FILE)
        w->path = own;
    else
        return nwi_fail(w->err, NW_E_NOT_FOUND,
                        "the folder holds no config.json, nor %.60s/config.json",
                        *part ? part : "a component's");
    return NW_OK;
}

static int find_config(struct wanting *w)
{
    const char *path = w->in->options->config;
    if (!path) {
        w->path = w->in->ckpt->components[w->in->component].config_path;
        return NW_OK;
    }
    if (nwi_path_kind(path) == NWI_PATH_FOLDER)
        return find_in_folder(w, path);
    w->path = path;
    return NW_OK;
}

/* Of the caller's class, else of the one that was found. A document without values for it
 * is none: the family's own count. */
static int read_yaml(struct wanting *w, const char *text, size_t size)
{
    const char *klass = w->in->options->klass;
    if (!klass)
        klass = w->in->part->klass;
    NWI_TRY(nwi_yaml_config(text, size, klass, &w->scratch, &w->given, w->err));
    if (w->given->n_children == 0)
        w->given = NULL;
    return NW_OK;
}

static int read_config(struct wanting *w)
{
    char *text = NULL;
    size_t size = 0;
    NWI_TRY(find_config(w));
    if (!w->path)
        return NW_OK;
    int code = nwi_file_slurp(w->path, CONFIG_MOST, &w->scratch, &text, &size, w->err);
    if (code == NW_OK && nwi_yaml_is_name(w->path))
        code = read_yaml(w, text, size);
    else if (code == NW_OK)
        code = nwi_json_parse(text, size, 0, NW_E_BAD_CONFIG, &w->scratch, &w->given,
                              w->err);
    if (code == NW_OK && w->given && w->given->kind != NWI_JSON_IS_OBJECT)
        code = nwi_fail(w->err, NW_E_BAD_CONFIG, "the config is no JSON object");
    return nwi_error_in_file(w->err, code, w->path);
}

/* ---- which class ---- */

static int pick_class(struct wanting *w)
{
    const char *klass = w->in->options->klass;
    const char *found = w->in->part->klass;
    if (klass) {
        w->architecture = nwi_architecture_find(klass);
        if (!w->architecture)
            return nwi_fail(w->err, NW_E_UNSUPPORTED,
                            "this version does not know the class %.100s", klass);
        return NW_OK;
    }
    if (w->given) {
        struct nwi_config config;
        struct nw_error ignored = {0};
        nwi_config_init(&config, w->given, NULL, &w->scratch, &ignored);
        w->architecture = nwi_architecture_of(&config);
        if (w->architecture || w->in->options->config)
            return w->architecture
                       ? NW_OK
                       : nwi_fail(w->err, config.code, "%s", ignored.message);
    }
    if (found)
        w->architecture = nwi_architecture_find(found);
    return NW_OK;
}

/* ---- what it says ---- */

static int add_note(struct wanting *w, size_t *room, const char *key, const char *given,
                    const char *derived)
{
    void *items = w->bindings->notes;
    struct nwi_arena *arena = w->in->arena;
    struct nwi_config_note note = {0};
    note.key = nwi_arena_copy(arena, key, strlen(key));
    note.given = given ? nwi_arena_copy(arena, given, strlen(given)) : NULL;
    note.derived = derived ? nwi_arena_copy(arena, derived, strlen(derived)) : NULL;
    if (!note.key || (given && !note.given) || (derived && !note.derived) ||
        !nwi_arena_grow(arena, &items, w->bindings->n_notes, room, sizeof note))
        return nwi_fail_nomem(w->err, sizeof note);
    w->bindings->notes = items;
    w->bindings->notes[w->bindings->n_notes++] = note;
    return NW_OK;
}

static int keep_notes(struct wanting *w, const struct nwi_config *config)
{
    size_t room = 0;
    const char *key = NULL;
    struct nwi_config_conflict conflict;
    for (size_t i = 0; (key = nwi_config_unknown(config, i)); i++)
        NWI_TRY(add_note(w, &room, key, NULL, NULL));
    for (size_t i = 0; nwi_config_conflict(config, i, &conflict); i++)
        NWI_TRY(add_note(w, &room, conflict.key, conflict.given, conflict.derived));
    return NW_OK;
}

/* There is no config that could be bad: the file is. */
static int tell_shapes(struct wanting *w, int code)
{
    char why[200];
    if (code != NW_E_BAD_CONFIG || !w->bindings->told || !w->err)
        return code;
    memcpy(why, w->err->message, sizeof why - 1);
    why[sizeof why - 1] = '\0';
    nwi_error_clear(w->err);
    return nwi_fail(w->err, code, "the shapes of the file make no %.60s: %s",
                    w->architecture->klass, why);
}

static int build(struct wanting *w, struct nw_model **out)
{
    const struct nwi_json_value *preset = NULL;
    struct nwi_config config;
    const struct nwi_found *part = w->in->part;
    if (!w->given && part->family)
        NWI_TRY(nwi_family_preset(part->family, part->variant, &w->scratch, &preset,
                                  w->err));
    w->bindings->told = !w->given;
    nwi_config_init(&config, w->given, preset, &w->scratch, w->err);
    if (w->architecture->derive)
        w->architecture->derive(&config, w->in->given);
    NWI_TRY(tell_shapes(w, nwi_model_build(w->architecture, &config,
                                           w->in->ckpt->memory, out, w->err)));
    NWI_TRY(keep_notes(w, &config));
    if (w->given && !nwi_yaml_is_name(w->path))
        return NW_OK;
    return nwi_config_text_write(w->architecture, &config, w->in->arena,
                                 &w->bindings->config_text, w->err);
}

/* Where the caller's config was, for who writes the result. */
static int keep_path(struct wanting *w)
{
    const char *root = w->in->options->config;
    struct nwi_arena *arena = w->in->arena;
    if (!root || nwi_yaml_is_name(w->path))
        return NW_OK;
    w->bindings->config_path = nwi_arena_copy(arena, w->path, strlen(w->path));
    if (!w->bindings->config_path)
        return nwi_fail_nomem(w->err, strlen(w->path));
    if (nwi_path_kind(root) != NWI_PATH_FOLDER)
        return NW_OK;
    w->bindings->config_root = nwi_arena_copy(arena, root, strlen(root));
    return w->bindings->config_root ? NW_OK : nwi_fail_nomem(w->err, strlen(root));
}

static int want(struct wanting *w, struct nw_model **out)
{
    NWI_TRY(read_config(w));
    NWI_TRY(keep_path(w));
    NWI_TRY(pick_class(w));
    if (!w->architecture)
        return NW_OK;
    int code = build(w, out);
    return w->path ? nwi_error_in_file(w->err, code, w->path) : code;
}

int nwi_wanted_model(const struct nwi_wanted_input *input,
                     struct nwi_bindings *bindings, struct nw_model **out,
                     struct nw_error *err)
{
    struct nw_error local = {0};
    struct wanting w = {.in = input, .bindings = bindings, .err = err ? err : &local};
    *out = NULL;
    if (input->options->model) {
        *out = nwi_model_retain(input->options->model);
        bindings->klass = (*out)->klass;
        return NW_OK;
    }
    nwi_arena_init(&w.scratch, input->ckpt->memory);
    int code = want(&w, out);
    nwi_arena_release(&w.scratch);
    if (code != NW_OK) {
        nw_model_free(*out);
        *out = NULL;
    }
    if (*out)
        bindings->klass = (*out)->klass;
    return code;
}
