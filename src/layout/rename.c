/* SPDX-License-Identifier: Apache-2.0
 * Parsing rename rules and applying them. */
#include "layout/rename.h"

#include <string.h>

#include "base/text.h"

#define QUOTE_CHARS 120 /* of a caller's text in a message */

/* What a rule's left side matched. */
struct found {
    struct nwi_captures captures;
    struct nwi_match match;
};

static size_t count_stars(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '*';
    return n;
}

/* Every capture of the right side is one of the left. */
static bool captures_enough(const struct nwi_rename_rule *rule)
{
    const struct nwi_pattern *from = &rule->from;
    const struct nwi_pattern *to = &rule->to;
    bool same = true;
    for (size_t i = 0; i < NWI_PATTERN_LETTERS; i++)
        same =
            same && (!(to->choices >> i & 1) || from->n_choices[i] == to->n_choices[i]);
    return same && !(to->numbers & ~from->numbers) && !(to->choices & ~from->choices) &&
           from->has_leaf >= to->has_leaf && from->has_tail >= to->has_tail &&
           from->has_head >= to->has_head && !from->n_parts && !to->n_parts;
}

static int parse_patterns(struct nwi_rename_rule *rule, const char *quoted,
                          struct nwi_arena *arena, struct nw_error *err)
{
    const char *from = nwi_arena_copy(arena, rule->glob, rule->glob_size);
    if (!from)
        return nwi_fail_nomem(err, rule->glob_size);
    NWI_TRY(nwi_pattern_compile(from, NULL, arena, &rule->from, err));
    NWI_TRY(nwi_pattern_compile(rule->replacement, NULL, arena, &rule->to, err));
    if (captures_enough(rule))
        return NW_OK;
    return nwi_fail(
        err, NW_E_ARG,
        "rename rule \"%s\": the right side takes what the left one does not "
        "capture, or one of them has parts",
        quoted);
}

static int parse_rule(const char *text, struct nwi_rename_rule *rule,
                      struct nwi_arena *arena, struct nw_error *err)
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
    if (memchr(rule->glob, '{', rule->glob_size))
        return parse_patterns(rule, quoted, arena, err);
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
        NWI_TRY(parse_rule(options->rename[i], &rules[i], arena, err));
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

static bool matches(const struct nwi_rename_rule *rule, const char *name, size_t size,
                    struct found *found)
{
    if (rule->from.n_tokens)
        return nwi_pattern_match(&rule->from, name, size, &found->match);
    return nwi_glob(rule->glob, rule->glob_size, name, size, &found->captures);
}

static const struct nwi_rename_rule *find_rule(const struct nwi_renamer *renamer,
                                               const char *name, size_t size,
                                               struct found *found)
{
    for (size_t i = 0; i < renamer->n_rules; i++) {
        if (matches(&renamer->rules[i], name, size, found))
            return &renamer->rules[i];
    }
    return NULL;
}

static int render(const struct nwi_renamer *renamer, const struct nwi_rename_rule *rule,
                  const struct found *found, const char **name, size_t *size,
                  struct nw_error *err)
{
    const char *old = *name;
    int code = nwi_pattern_render(&rule->to, &found->match, NW_NONE, renamer->arena,
                                  name, size);
    if (code == NW_E_NOMEM)
        return nwi_fail_nomem(err, rule->replacement_size);
    if (code == NW_OK)
        return NW_OK;
    code = nwi_fail(err, code == NW_E_LIMIT ? NW_E_LIMIT : NW_E_ARG,
                    "a rename rule makes no name of it: a number would be negative or "
                    "too large");
    return nwi_error_in_tensor(err, code, old);
}

/* The body of the new name behind `at`, or with `at` NULL only its size. */
static size_t put_body(const struct nwi_rename_rule *rule, const struct found *found,
                       const char *name, size_t size, char *at)
{
    if (rule && !rule->from.n_tokens)
        return expand(rule, &found->captures, at);
    if (at)
        memcpy(at, name, size);
    return size;
}

int nwi_renamer_apply(const struct nwi_renamer *renamer, const char *name, size_t size,
                      const char **out, size_t *out_size, struct nw_error *err)
{
    struct found found = {0};
    const struct nwi_rename_rule *rule = find_rule(renamer, name, size, &found);
    *out = name;
    *out_size = size;
    if (rule && rule->from.n_tokens) {
        NWI_TRY(render(renamer, rule, &found, out, out_size, err));
        name = *out;
        size = *out_size;
    }
    if ((!rule || rule->from.n_tokens) && renamer->prefix_size == 0)
        return NW_OK;
    /* Each capture is used once at most: no longer than name, rule and prefix together. */
    size_t total = renamer->prefix_size + put_body(rule, &found, name, size, NULL);
    if (total == 0)
        return nwi_fail(err, NW_E_ARG,
                        "a rename rule leaves nothing of \"%.200s\": drop it instead",
                        name);
    char *text = nwi_arena_alloc(renamer->arena, total + 1);
    if (!text)
        return nwi_fail_nomem(err, total + 1);
    memcpy(text, renamer->prefix, renamer->prefix_size);
    (void)put_body(rule, &found, name, size, text + renamer->prefix_size);
    text[total] = '\0';
    *out = text;
    *out_size = total;
    return NW_OK;
}
