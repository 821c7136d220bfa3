/* SPDX-License-Identifier: Apache-2.0 */
#include "source/config.h"

#include <string.h>

#include "base/json.h"

static const char *keep(struct nwi_builder *b, const struct nwi_json_value *value)
{
    return nwi_arena_copy(b->arena, value->text, value->text_size);
}

/* diffusers writes _class_name, transformers a list of architectures. */
static int take_class(struct nwi_builder *b, const struct nwi_json_value *config,
                      struct nwi_component *component)
{
    const struct nwi_json_value *klass = nwi_json_get(config, "_class_name");
    const char *library = "diffusers";
    if (!nwi_json_string(klass)) {
        const struct nwi_json_value *list = nwi_json_get(config, "architectures");
        klass = list && list->kind == NWI_JSON_IS_ARRAY ? list->first : NULL;
        library = "transformers";
    }
    if (!klass || !nwi_json_string(klass))
        return NW_OK;
    if (!component->info.klass) {
        component->info.klass = keep(b, klass);
        component->info.library = library;
    }
    return component->info.klass ? NW_OK : nwi_builder_nomem(b, klass->text_size);
}

static int take_quantisation(struct nwi_builder *b, const struct nwi_json_value *config,
                             struct nwi_component *component)
{
    const struct nwi_json_value *method =
        nwi_json_get(nwi_json_get(config, "quantization_config"), "quant_method");
    if (!nwi_json_string(method))
        return NW_OK;
    component->quant_method = keep(b, method);
    return component->quant_method ? NW_OK : nwi_builder_nomem(b, method->text_size);
}

static int complain(struct nwi_builder *b, const char *path, bool strict,
                    const struct nw_error *failure)
{
    struct nwi_place place = {.file = path, .offset = failure->offset};
    if (strict)
        return nwi_builder_problem(b, &place, failure->code, "%s", failure->message);
    return nwi_builder_note(b, &place, failure->code, "%s", failure->message);
}

static int parse(struct nwi_builder *b, const char *text, size_t size, bool strict,
                 struct nwi_component *component)
{
    struct nw_error failure;
    struct nwi_json_value *config = NULL;
    nwi_error_clear(&failure);
    int code =
        nwi_json_parse(text, size, 0, NW_E_BAD_CONFIG, &b->scratch, &config, &failure);
    if (code == NW_OK && config->kind != NWI_JSON_IS_OBJECT)
        code = nwi_fail_at(&failure, NW_E_BAD_CONFIG, 0,
                           "config.json is not a JSON object");
    if (code == NW_E_NOMEM)
        return nwi_builder_absorb(b, &failure);
    if (code != NW_OK)
        return complain(b, component->config_path, strict, &failure);
    NWI_TRY(take_class(b, config, component));
    return take_quantisation(b, config, component);
}

int nwi_config_read(struct nwi_builder *b, const struct nwi_scope *scope,
                    const char *folder, const char *name, bool strict,
                    struct nwi_component *component)
{
    char *text = NULL;
    size_t size = 0;
    uint32_t row = 0;
    char *path = nwi_path_join(b->arena, folder, "config.json");
    if (!path)
        return nwi_builder_nomem(b, strlen(folder));
    NWI_TRY(nwi_scope_slurp(b, scope, path, NWI_CONFIG_LIMIT, &text, &size));
    if (!text)
        return NW_OK;
    component->config_path = path;
    NWI_TRY(nwi_builder_add_file(b, name, path, NULL, &row));
    nwi_builder_file(b, row)->info.container = "config";
    nwi_builder_file(b, row)->info.nbytes = size;
    nwi_builder_file(b, row)->info.used = 1;
    return parse(b, text, size, strict, component);
}
