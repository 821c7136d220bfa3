/* SPDX-License-Identifier: Apache-2.0
 * A pipeline folder out of an all-in-one file: model_index.json, the scheduler, and what
 * the caller's own folder of configs has (tokenizers above all). What nobody has is told. */
#include <string.h>

#include "layout/pipelines.h"
#include "model/architecture.h"
#include "run/output_parts.h"

static bool has_other(const struct nwi_output *output, const char *name)
{
    for (size_t i = 0; i < output->n_others; i++) {
        if (strcmp(output->others[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool is_set(const struct nwi_output *output, const char *folder)
{
    for (size_t i = 0; i < output->n_sets; i++) {
        if (strcmp(output->sets[i].folder, folder) == 0)
            return true;
    }
    return false;
}

static bool is_weights(const char *name)
{
    return nwi_weight_name(nwi_path_base(name)).form != NWI_NAME_OTHER;
}

/* Each once. */
static int lack(struct nwi_output *output, const char *what, struct nw_error *err)
{
    size_t room = output->n_lacking;
    void *items = (void *)(uintptr_t)output->lacking;
    for (size_t i = 0; i < output->n_lacking; i++) {
        if (strcmp(output->lacking[i], what) == 0)
            return NW_OK;
    }
    if (!nwi_arena_grow(&output->arena, &items, output->n_lacking, &room,
                        sizeof *output->lacking))
        return nwi_fail_nomem(err, sizeof *output->lacking);
    output->lacking = items;
    output->lacking[output->n_lacking++] = what;
    return NW_OK;
}

/* ---- the caller's folder ---- */

static int copy_file(struct nwi_output *output, const char *root, const char *name,
                     struct nw_error *err)
{
    char *path = nwi_path_join(&output->arena, root, name);
    if (!path)
        return nwi_fail_nomem(err, strlen(root));
    if (nwi_path_kind(path) != NWI_PATH_FILE || has_other(output, name) ||
        is_weights(name))
        return NW_OK;
    return nwi_output_add_other(output, name, path, NULL, NULL, err);
}

/* What it has weights for, which do not go along, is lacking. */
static int copy_folder(struct nwi_output *output, const char *root, const char *folder,
                       struct nw_error *err)
{
    char **names = NULL;
    size_t n = 0;
    char *path = nwi_path_join(&output->arena, root, folder);
    if (!path)
        return nwi_fail_nomem(err, strlen(root));
    NWI_TRY(nwi_folder_list(path, &output->arena, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        char *name = nwi_path_join(&output->arena, folder, names[i]);
        if (!name)
            return nwi_fail_nomem(err, strlen(folder));
        if (is_weights(name))
            NWI_TRY(lack(output, folder, err));
        NWI_TRY(copy_file(output, root, name, err));
    }
    return NW_OK;
}

/* Its files, and those of folders that hold no component of ours. */
static int copy_root(struct nwi_output *output, const char *root, struct nw_error *err)
{
    char **names = NULL;
    size_t n = 0;
    NWI_TRY(nwi_folder_list(root, &output->arena, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        char *path = nwi_path_join(&output->arena, root, names[i]);
        if (!path)
            return nwi_fail_nomem(err, strlen(root));
        if (nwi_path_kind(path) != NWI_PATH_FOLDER)
            NWI_TRY(copy_file(output, root, names[i], err));
        else if (!is_set(output, names[i]))
            NWI_TRY(copy_folder(output, root, names[i], err));
    }
    return NW_OK;
}

/* ---- what the family knows ---- */

/* The denoiser's: it says what the pipeline is. */
static const struct nwi_pipeline *find_pipeline(const struct nwi_output *output)
{
    for (size_t i = 0; i < output->n_sets; i++) {
        const struct nwi_bindings *bindings = &output->sets[i].plan->bindings;
        const struct nwi_pipeline *found =
            nwi_pipeline_find(bindings->family, bindings->variant);
        bool denoiser = strcmp(bindings->component, "unet") == 0 ||
                        strcmp(bindings->component, "transformer") == 0;
        if (found && denoiser)
            return found;
    }
    return NULL;
}

static int add_index(struct nwi_output *output, const struct nwi_pipeline *pipeline,
                     struct nw_error *err)
{
    const char *text = NULL;
    struct nwi_pipeline_model *models =
        nwi_arena_array(&output->arena, output->n_sets, sizeof *models);
    if (!models)
        return nwi_fail_nomem(err, output->n_sets * sizeof *models);
    for (size_t i = 0; i < output->n_sets; i++) {
        const struct nwi_bindings *bindings = &output->sets[i].plan->bindings;
        const struct nwi_architecture *architecture =
            bindings->klass ? nwi_architecture_find(bindings->klass) : NULL;
        models[i] = (struct nwi_pipeline_model){
            .name = bindings->component,
            .library = architecture ? architecture->library : "diffusers",
            .klass = bindings->klass ? bindings->klass : "",
        };
    }
    NWI_TRY(nwi_pipeline_index(pipeline, models, output->n_sets, &output->arena, &text,
                               err));
    return nwi_output_add_other(output, "model_index.json", NULL, text, NULL, err);
}

static bool any_in_folder(const struct nwi_output *output, const char *folder)
{
    size_t size = strlen(folder);
    for (size_t i = 0; i < output->n_others; i++) {
        const char *name = output->others[i].name;
        if (strncmp(name, folder, size) == 0 && name[size] == '/')
            return true;
    }
    return false;
}

static int add_part(struct nwi_output *output, const struct nwi_pipeline_part *part,
                    struct nw_error *err)
{
    char name[NWI_OUTPUT_PATH];
    if (!part->text)
        return lack(output, part->name, err);
    nwi_output_join(part->name, part->file, name);
    return nwi_output_add_other(output, name, NULL, part->text, NULL, err);
}

/* Parts without weights that the caller's folder did not have. */
static int add_parts(struct nwi_output *output, const struct nwi_pipeline *pipeline,
                     struct nw_error *err)
{
    for (const struct nwi_pipeline_part *part = pipeline->parts; part->name; part++) {
        bool there = !part->library || any_in_folder(output, part->name) ||
                     is_set(output, part->name);
        if (!there)
            NWI_TRY(add_part(output, part, err));
    }
    return NW_OK;
}

/* A part that pipelines of that kind have, but this one has not. */
static bool is_left_out(const struct nwi_pipeline *pipeline, const char *name)
{
    for (const struct nwi_pipeline_part *part = pipeline->parts; part->name; part++) {
        if (!part->library && strcmp(part->name, name) == 0)
            return true;
    }
    return false;
}

/* Components of a set's pipeline that neither the file nor another has. */
static int lack_components(struct nwi_output *output, const char *const *names,
                           const struct nwi_pipeline *pipeline, struct nw_error *err)
{
    for (; names && *names; names++) {
        if (!is_set(output, *names) && !is_left_out(pipeline, *names))
            NWI_TRY(lack(output, *names, err));
    }
    return NW_OK;
}

int nwi_output_add_pipeline(struct nwi_output *output, struct nw_error *err)
{
    const char *root = output->sets[0].plan->bindings.config_root;
    const struct nwi_pipeline *pipeline = find_pipeline(output);
    if (root)
        NWI_TRY(copy_root(output, root, err));
    if (!pipeline)
        return has_other(output, "model_index.json")
                   ? NW_OK
                   : lack(output, "model_index.json", err);
    if (!has_other(output, "model_index.json"))
        NWI_TRY(add_index(output, pipeline, err));
    for (size_t i = 0; i < output->n_sets; i++)
        NWI_TRY(lack_components(output, output->sets[i].plan->bindings.pipeline,
                                pipeline, err));
    return add_parts(output, pipeline, err);
}
