/* SPDX-License-Identifier: Apache-2.0
 * Making rules ready: what a header answers, and what is wrong with a row. */
#include "layout/ruleset.h"

#include <string.h>

#define QUOTE_CHARS 120 /* of a pattern in a message */
#define SIZES_MOST  256u

static int fail_rule(const struct nwi_rule *rule, const char **side, const char *text,
                     const char *problem, struct nw_error *err)
{
    char quoted[2 * QUOTE_CHARS];
    const char *shown = text ? text : rule->original;
    if (side)
        *side = shown;
    nwi_quote(quoted, sizeof quoted, shown, strlen(shown), QUOTE_CHARS);
    return nwi_fail(err, NW_E_ARG, "rule \"%s\": %s", quoted, problem);
}

/* ---- sizes ---- */

static const char *parse_size_list(const char *text, const struct nwi_values *values,
                                   struct nwi_ready_rule *out)
{
    const char *end = text + strlen(text);
    for (;;) {
        struct nwi_size *size = &out->sizes[out->n_sizes++];
        *size = (struct nwi_size){.is_star = *text == '*'};
        const char *problem = NULL;
        if (size->is_star)
            text++;
        else
            problem = nwi_form_parse(&text, end, values, &size->form);
        if (problem || text == end)
            return problem;
        if (*text != ',')
            return "not a comma";
        text++;
    }
}

static int compile_sizes(const struct nwi_rule *rule, const struct nwi_values *values,
                         struct nwi_arena *arena, struct nwi_ready_rule *out,
                         const char **side, struct nw_error *err)
{
    size_t n = 1;
    if (!rule->sizes)
        return NW_OK;
    for (const char *at = rule->sizes; *at; at++)
        n += *at == ',';
    if (n > SIZES_MOST)
        return fail_rule(rule, side, rule->sizes, "too many sizes", err);
    out->sizes = nwi_arena_array(arena, n, sizeof *out->sizes);
    if (!out->sizes)
        return nwi_fail_nomem(err, n * sizeof *out->sizes);
    const char *problem = parse_size_list(rule->sizes, values, out);
    return problem ? fail_rule(rule, side, rule->sizes, problem, err) : NW_OK;
}

static uint32_t count_stars(const struct nwi_ready_rule *ready)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ready->n_sizes; i++)
        n += ready->sizes[i].is_star;
    return n;
}

/* ---- checks of one row ---- */

static bool has_captures(const struct nwi_pattern *pattern)
{
    return pattern->numbers || pattern->choices || pattern->n_parts ||
           pattern->has_leaf || pattern->has_tail || pattern->has_head;
}

/* What one side captures the other gives back, or the rule cannot be read backwards. */
static const char *check_captures(const struct nwi_pattern *a,
                                  const struct nwi_pattern *b)
{
    if (a->numbers != b->numbers)
        return "a number is captured on one side only";
    if (a->choices != b->choices)
        return "an alternative is captured on one side only";
    for (int i = 0; i < NWI_PATTERN_LETTERS; i++) {
        if (a->n_choices[i] != b->n_choices[i])
            return "the sides have different numbers of alternatives";
    }
    if (a->has_leaf != b->has_leaf || a->has_tail != b->has_tail ||
        a->has_head != b->has_head)
        return "{p}, {*} or {^} stands on one side only";
    return NULL;
}

static const char *check_sizes(const struct nwi_ready_rule *ready)
{
    uint32_t n_stars = count_stars(ready);
    switch (ready->rule->op) {
    case NWI_RULE_SPLIT:
        return ready->n_sizes > 0 && ready->n_sizes != ready->diffusers.n_parts
                   ? "not as many sizes as parts"
                   : NULL;
    case NWI_RULE_RESHAPE:
        if (ready->n_sizes == 0)
            return "a reshape needs sizes";
        return n_stars > 1 ? "more than one * in a shape" : NULL;
    case NWI_RULE_HEADS:
        return ready->n_sizes != 1 || n_stars > 0 ? "heads need one size" : NULL;
    default:
        return ready->n_sizes > 0 ? "sizes without use" : NULL;
    }
}

static const char *check_shape_fields(const struct nwi_rule *rule)
{
    bool keeps_order = rule->op == NWI_RULE_RENAME || rule->op == NWI_RULE_SPLIT;
    if (rule->squeeze > 2)
        return "squeeze is 1 or 2";
    if (rule->squeeze && !keeps_order)
        return "squeeze without use";
    if (rule->rank && !rule->squeeze)
        return "rank without squeeze";
    if (rule->rank == NWI_RANK_1C11)
        return rule->op == NWI_RULE_RENAME && rule->squeeze == 2
                   ? NULL
                   : "rank 1C11 needs squeeze 2 of a rename";
    return rule->rank > 8 ? "rank is over 8" : NULL;
}

static const char *check_row(const struct nwi_ready_rule *ready)
{
    const struct nwi_rule *rule = ready->rule;
    bool is_cut = rule->op == NWI_RULE_SPLIT || rule->op == NWI_RULE_HEADS;
    if (rule->op > NWI_RULE_CONSTANT)
        return "no such operation";
    if (ready->original.n_parts > 0)
        return "parts stand on the original side";
    if (is_cut != (ready->diffusers.n_parts > 0))
        return is_cut ? "a split without parts" : "parts without a split";
    if (rule->op == NWI_RULE_DROP)
        return rule->diffusers[0] ? "a dropped tensor has no other name" : NULL;
    if (rule->op == NWI_RULE_CONSTANT)
        return has_captures(&ready->original) || has_captures(&ready->diffusers)
                   ? "a constant has no captures"
                   : NULL;
    const char *problem = check_captures(&ready->original, &ready->diffusers);
    problem = problem ? problem : check_shape_fields(rule);
    return problem ? problem : check_sizes(ready);
}

static int compile_back_if(const struct nwi_rule *rule, const struct nwi_values *values,
                           struct nwi_arena *arena, struct nwi_ready_rule *out,
                           struct nw_error *err)
{
    if (!rule->back_if)
        return NW_OK;
    out->back_if_not = rule->back_if[0] == '!';
    return nwi_pattern_compile(rule->back_if + out->back_if_not, values, arena,
                               &out->back_if, err);
}

int nwi_rule_compile(const struct nwi_rule *rule, const struct nwi_values *values,
                     struct nwi_arena *arena, struct nwi_ready_rule *out,
                     const char **side, struct nw_error *err)
{
    const char *ignored = NULL;
    side = side ? side : &ignored;
    *out = (struct nwi_ready_rule){.rule = rule, .is_active = true};
    *side = rule->original;
    NWI_TRY(nwi_pattern_compile(rule->original, values, arena, &out->original, err));
    *side = rule->diffusers;
    NWI_TRY(nwi_pattern_compile(rule->diffusers, values, arena, &out->diffusers, err));
    *side = rule->back_if;
    NWI_TRY(compile_back_if(rule, values, arena, out, err));
    NWI_TRY(compile_sizes(rule, values, arena, out, side, err));
    const char *problem = check_row(out);
    return problem ? fail_rule(rule, side, NULL, problem, err) : NW_OK;
}

/* ---- the whole table ---- */

static int answer_variables(struct nwi_rule_set *set, const struct nwi_rules *rules,
                            enum nwi_direction direction,
                            const struct nwi_header *header, struct nw_error *err)
{
    const struct nwi_rule_variable *row = rules->variables;
    for (; row && row->name; row++) {
        int64_t value = 0;
        const char *text =
            direction == NWI_TO_DIFFUSERS ? row->original : row->diffusers;
        if (row->name < 'A' || row->name > 'Z')
            return nwi_fail(err, NW_E_ARG, "a variable's name is one of A to Z");
        uint32_t bit = UINT32_C(1) << (row->name - 'A');
        set->values.declared |= bit;
        int code =
            header && text ? nwi_quantity_get(text, header, &value) : NW_E_NOT_FOUND;
        if (code == NW_E_NOMEM)
            return nwi_fail_nomem(err, strlen(text));
        if (code != NW_OK)
            continue;
        if (value > NWI_PATTERN_NUMBER)
            return nwi_fail(err, NW_E_LIMIT, "%c (%.100s) is %lld, over 2^31",
                            row->name, text, (long long)value);
        set->values.value[row->name - 'A'] = value;
        set->values.known |= bit;
    }
    return NW_OK;
}

static int answer_features(struct nwi_rule_set *set, const struct nwi_rules *rules,
                           const struct nwi_header *header,
                           const struct nwi_hints *hints, struct nw_error *err)
{
    const struct nwi_rule_feature *row = rules->features;
    for (; row && row->when; row++) {
        if (row->bit > 31 || !nwi_predicate_valid(row->when))
            return nwi_fail(err, NW_E_ARG, "feature %u is none: \"%.100s\"",
                            (unsigned)row->bit, row->when);
        if (header && nwi_predicate_holds(row->when, header, hints))
            set->features |= UINT32_C(1) << row->bit;
    }
    return NW_OK;
}

static int compile_rows(const struct nwi_rule_set *set, const struct nwi_rule *rows,
                        bool ask_features, struct nwi_arena *arena,
                        struct nwi_ready_rule **out, size_t *n, struct nw_error *err)
{
    size_t count = 0;
    while (rows && rows[count].original)
        count++;
    struct nwi_ready_rule *ready = nwi_arena_array(arena, count, sizeof *ready);
    if (!ready)
        return nwi_fail_nomem(err, count * sizeof *ready);
    for (size_t i = 0; i < count; i++) {
        const struct nwi_rule *rule = &rows[i];
        NWI_TRY(nwi_rule_compile(rule, &set->values, arena, &ready[i], NULL, err));
        ready[i].is_active = !ask_features || ((rule->need & ~set->features) == 0 &&
                                               (rule->deny & set->features) == 0);
    }
    *out = ready;
    *n = count;
    return NW_OK;
}

int nwi_rule_set_init(struct nwi_rule_set *set, const struct nwi_rules *rules,
                      enum nwi_direction direction, const struct nwi_header *header,
                      const struct nwi_hints *hints, struct nwi_arena *arena,
                      struct nw_error *err)
{
    *set = (struct nwi_rule_set){0};
    NWI_TRY(answer_variables(set, rules, direction, header, err));
    NWI_TRY(answer_features(set, rules, header, hints, err));
    NWI_TRY(compile_rows(set, rules->rules, header != NULL, arena, &set->rules, &set->n,
                         err));
    NWI_TRY(compile_rows(set, rules->post, header != NULL, arena, &set->post,
                         &set->n_post, err));
    for (size_t i = 0; i < set->n_post; i++) {
        if (set->post[i].rule->op != NWI_RULE_RENAME)
            return fail_rule(set->post[i].rule, NULL, NULL,
                             "the second pass only renames", err);
    }
    NWI_TRY(
        nwi_rule_index_init(&set->index, set->rules, set->n, direction, arena, err));
    return nwi_rule_index_init(&set->post_index, set->post, set->n_post, direction,
                               arena, err);
}
