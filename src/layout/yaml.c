/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/yaml.h"

#include "base/error.h"
#include "base/text.h"

bool nwi_yaml_is_name(const char *path)
{
    return nwi_ends_with(path, ".yaml") || nwi_ends_with(path, ".yml");
}

int nwi_yaml_config(const char *text, size_t size, const char *klass,
                    struct nwi_arena *arena, struct nwi_json_value **out,
                    struct nw_error *err)
{
    (void)text;
    (void)size;
    (void)klass;
    (void)arena;
    *out = NULL;
    return nwi_fail(err, NW_E_UNSUPPORTED, "this build reads no yaml (libyaml)");
}
