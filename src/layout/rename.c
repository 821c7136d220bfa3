/* SPDX-License-Identifier: Apache-2.0
 * Parsing rename rules and applying them. */
#include "layout/rename.h"

#include <string.h>

#include "base/text.h"

#define QUOTE_CHARS 120 /* of a caller's text in a message */

static size_t count_stars(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '*';
    return n;
}

static int parse_rule(const char *text, struct nwi_rename_rule *rule,
                      struct nw_error *err)
{
    char quoted[2 * QUOTE_CHARS];
    if (!text)
        return nwi_fail(err, NW_E_ARG, "a rename rule is NULL");
    size_t size = strlen(text);
    const char *equals = memchr(text, '=', size);
    nwi_quote(quoted, sizeof quoted, text, size, QUOTE_CHARS);
    if (!equals)
        return nwi_fail(err, NW_E_ARG,
                        "rename rule \"%s\" has no \"=\" (GLOB=REPLACEMENT)", quoted);
    *rule = (struct nwi_rename_rule){
        .glob = text,
        .glob_size = (size_t)(equals - text),
        .replacement = equals + 1,
        .replacement_size = size - (size_t)(equals - text) - 1,
    };
    size_t given = count_stars(rule->glob, rule->glob_size);
    size_t asked = count_stars(rule->replacement, rule->replacement_size);
    if (asked > given)
        return nwi_fail(
            err, NW_E_ARG,
            "rename rule \"%s\" has %zu stars in its replacement and %zu in its "
            "pattern",
            quoted, asked, given);
    if (asked > NWI_GLOB_CAPTURES)
        return nwi_fail(
            err, NW_E_ARG,
            "rename rule \"%s\" has %zu stars in its replacement, at most %d "
            "are possible",
            quoted, asked, NWI_GLOB_CAPTURES);
    return NW_OK;
}

int nwi_renamer_init(struct nwi_renamer *renamer, const struct nw_load_options *options,
                     struct nwi_arena *arena, struct nw_error *err)
{
    size_t n = options->n_rename;
    struct nwi_rename_rule *rules = nwi_arena_array(arena, n, sizeof *rules);
    if (!rules)
        return nwi_fail_nomem(err, n * sizeof *rules);
    for (size_t i = 0; i < n; i++)
        NWI_TRY(parse_rule(options->rename[i], &rules[i], err));
    const char *prefix = options->prefix ? options->prefix : "";
    *renamer = (struct nwi_renamer){
        .arena = arena,
        .rules = rules,
        .n_rules = n,
        .prefix = prefix,
        .prefix_size = strlen(prefix),
    };
    return NW_OK;
}

/* Writes the replacement with its captures behind `at` and returns its size; with `at`
 * NULL only the size. */
static size_t expand(const struct nwi_rename_rule *rule,
                     const struct nwi_captures *captures, char *at)
{
    size_t used = 0;
    size_t star = 0;
    for (size_t i = 0; i < rule->replacement_size; i++) {
        bool is_star = rule->replacement[i] == '*';
        const char *from = is_star ? captures->text[star] : &rule->replacement[i];
        size_t size = is_star ? captures->size[star] : 1;
        if (at)
            memcpy(at + used, from, size);
        used += size;
        star += is_star;
    }
    return used;
}

static const struct nwi_rename_rule *find_rule(const struct nwi_renamer *renamer,
                                               const char *name, size_t size,
                                               struct nwi_captures *captures)
{
    for (size_t i = 0; i < renamer->n_rules; i++) {
        const struct nwi_rename_rule *rule = &renamer->rules[i];
        if (nwi_glob(rule->glob, rule->glob_size, name, size, captures))
            return rule;
    }
    return NULL;
}

int nwi_renamer_apply(const struct nwi_renamer *renamer, const char *name, size_t size,
                      const char **out, size_t *out_size, struct nw_error *err)
{
    struct nwi_captures captures;
    const struct nwi_rename_rule *rule = find_rule(renamer, name, size, &captures);
    *out = name;
    *out_size = size;
    if (!rule && renamer->prefix_size == 0)
        return NW_OK;
    /* Each capture is used once at most: no longer than name, rule and prefix together.
     */
    size_t body = rule ? expand(rule, &captures, NULL) : size;
    size_t total = renamer->prefix_size + body;
    char *text = nwi_arena_alloc(renamer->arena, total + 1);
    if (!text)
        return nwi_fail_nomem(err, total + 1);
    memcpy(text, renamer->prefix, renamer->prefix_size);
    if (rule)
        (void)expand(rule, &captures, text + renamer->prefix_size);
    else
        memcpy(text + renamer->prefix_size, name, size);
    text[total] = '\0';
    *out = text;
    *out_size = total;
    return NW_OK;
}
