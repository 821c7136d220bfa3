/* SPDX-License-Identifier: Apache-2.0
 * Every model class this version knows, by library and name. */
#include <string.h>

#include "model/architecture.h"

#define ROW(name) &nwi_arch_##name,
const struct nwi_architecture *const nwi_architectures[] = {
#include "model/architecture_list.h"
    NULL,
};
#undef ROW

const struct nwi_architecture *nwi_architecture_find(const char *klass)
{
    for (size_t i = 0; nwi_architectures[i]; i++) {
        if (strcmp(nwi_architectures[i]->klass, klass) == 0)
            return nwi_architectures[i];
    }
    return NULL;
}

static const struct nwi_architecture *find_by_type(const char *model_type)
{
    for (size_t i = 0; nwi_architectures[i]; i++) {
        if (nwi_architectures[i]->model_type &&
            strcmp(nwi_architectures[i]->model_type, model_type) == 0)
            return nwi_architectures[i];
    }
    return NULL;
}

const struct nwi_architecture *nwi_architecture_of(struct nwi_config *config)
{
    const char *name = nwi_config_text(config, "_class_name", NULL);
    const char *type = nwi_config_text(config, "model_type", NULL);
    const struct nwi_architecture *found = NULL;
    struct nwi_config_texts listed;
    nwi_config_texts(config, "architectures", &listed);
    if (!name && listed.n > 0)
        name = listed.at[0];
    if (name)
        found = nwi_architecture_find(name);
    if (!found && type)
        found = find_by_type(type);
    if (found)
        return found;
    if (name || type)
        nwi_config_fail(config, NW_E_UNSUPPORTED,
                        "this version does not know the class %.100s",
                        name ? name : type);
    else
        nwi_config_fail(config, NW_E_BAD_CONFIG,
                        "the config names no class (_class_name, architectures)");
    return NULL;
}
