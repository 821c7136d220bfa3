/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/select.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/text.h"

#define QUOTE_CHARS 60  /* of a name in a message that holds three */
#define GLOB_CHARS  120 /* of a pattern in a message */

static int check_globs(const struct nw_load_options *options, struct nw_error *err)
{
    for (size_t i = 0; i < options->n_only; i++) {
        if (!options->only[i])
            return nwi_fail(err, NW_E_ARG, "a pattern of \"only\" is NULL");
    }
    for (size_t i = 0; i < options->n_drop; i++) {
        if (!options->drop[i])
            return nwi_fail(err, NW_E_ARG, "a pattern of \"drop\" is NULL");
    }
    return NW_OK;
}

int nwi_selector_init(struct nwi_selector *selector,
                      const struct nw_load_options *options, struct nwi_arena *arena,
                      struct nw_error *err)
{
    *selector = (struct nwi_selector){.options = options};
    NWI_TRY(check_globs(options, err));
    NWI_TRY(nwi_renamer_init(&selector->renamer, options, arena, err));
    selector->only_hit =
        nwi_arena_zalloc(arena, options->n_only * sizeof *selector->only_hit);
    if (!selector->only_hit)
        return nwi_fail_nomem(err, options->n_only);
    return NW_OK;
}

static bool matches(const char *glob, const char *name, size_t size)
{
    return nwi_glob(glob, strlen(glob), name, size, NULL);
}

bool nwi_selector_takes(struct nwi_selector *selector, const char *name, size_t size)
{
    const struct nw_load_options *options = selector->options;
    bool kept = options->n_only == 0;
    for (size_t i = 0; i < options->n_only; i++) {
        if (kept && selector->only_hit[i])
            continue;
        if (matches(options->only[i], name, size))
            kept = selector->only_hit[i] = true;
    }
    for (size_t i = 0; kept && i < options->n_drop; i++)
        kept = !matches(options->drop[i], name, size);
    return kept;
}

int nwi_selector_check(const struct nwi_selector *selector, struct nw_error *err)
{
    for (size_t i = 0; i < selector->options->n_only; i++) {
        char quoted[2 * GLOB_CHARS];
        const char *glob = selector->options->only[i];
        if (selector->only_hit[i])
            continue;
        nwi_quote(quoted, sizeof quoted, glob, strlen(glob), GLOB_CHARS);
        return nwi_fail(err, NW_E_NOT_FOUND, "no tensor's name matches \"%s\" (only)",
                        quoted);
    }
    return NW_OK;
}

/* What a binding comes from: the stored tensor's name, or its own if it is a fill's. */
static void quote_source(const struct nw_checkpoint *ckpt,
                         const struct nwi_binding *binding, char *out, size_t size)
{
    const char *name = binding->name;
    size_t name_size = binding->name_size;
    if (binding->n_parts > 0) {
        name = ckpt->tensors[binding->parts[0].source].name;
        name_size = ckpt->tensors[binding->parts[0].source].name_size;
    }
    nwi_quote(out, size, name, name_size, QUOTE_CHARS);
}

static int fail_duplicate(const struct nw_checkpoint *ckpt, const struct nwi_binding *a,
                          const struct nwi_binding *b, struct nw_error *err)
{
    char one[2 * QUOTE_CHARS];
    char two[2 * QUOTE_CHARS];
    char both[2 * QUOTE_CHARS];
    quote_source(ckpt, a, one, sizeof one);
    quote_source(ckpt, b, two, sizeof two);
    nwi_quote(both, sizeof both, b->name, b->name_size, QUOTE_CHARS);
    int code =
        nwi_fail(err, NW_E_DUPLICATE, "renaming makes both \"%s\" and \"%s\" to \"%s\"",
                 one, two, both);
    return nwi_error_in_tensor(err, code, b->name);
}

/* Names are unique before the caller renames them, and so are they behind a prefix. */
int nwi_selector_unique(const struct nwi_selector *selector,
                        const struct nw_checkpoint *ckpt,
                        const struct nwi_bindings *bindings, struct nw_error *err)
{
    struct nwi_map map;
    if (selector->renamer.n_rules == 0)
        return NW_OK;
    if (nwi_map_init(&map, selector->renamer.arena->memory, bindings->n) != NW_OK)
        return nwi_fail_nomem(err, bindings->n * sizeof(void *));
    int code = NW_OK;
    for (uint32_t i = 0; i < bindings->n && code == NW_OK; i++) {
        const struct nwi_binding *binding = &bindings->items[i];
        uint32_t existing = NWI_MAP_NONE;
        code = nwi_map_add(&map, binding->name, binding->name_size, i, &existing);
        if (code != NW_OK)
            code = nwi_fail_nomem(err, sizeof map);
        else if (existing != NWI_MAP_NONE)
            code = fail_duplicate(ckpt, &bindings->items[existing], binding, err);
    }
    nwi_map_release(&map);
    return code;
}
