/* SPDX-License-Identifier: Apache-2.0
 * Applying rules: finding the rule of a name, collecting outputs. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "layout/applying.h"

#define QUOTE_CHARS 60 /* of a name in a message that holds three */

int nwi_applying_nomem(struct nwi_applying *a, uint64_t nbytes)
{
    return nwi_fail_nomem(a->err, nbytes);
}

int nwi_applying_fail(struct nwi_applying *a, uint32_t input, int code,
                      const char *format, ...)
{
    char text[320];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    code = nwi_fail(a->err, code, "%s", text);
    return nwi_error_in_tensor(a->err, code, a->input->rows[input].name);
}

/* ---- rules ---- */

/* A name that a pattern makes, or why there is none. */
static int render(struct nwi_applying *a, const struct nwi_pattern *pattern,
                  uint32_t part, struct nwi_arena *arena, const char **name,
                  size_t *size)
{
    int code = nwi_pattern_render(pattern, &a->match, part, arena, name, size);
    if (code == NW_E_NOMEM)
        return nwi_applying_nomem(a, strlen(pattern->text));
    if (code == NW_E_LIMIT)
        return nwi_fail(a->err, NW_E_LIMIT, "\"%.200s\" makes a number over 2^31",
                        pattern->text);
    return code;
}

static int back_if_holds(struct nwi_applying *a, const struct nwi_ready_rule *rule,
                         bool *holds)
{
    const char *name = NULL;
    size_t size = 0;
    *holds = true;
    if (!rule->rule->back_if)
        return NW_OK;
    int code = render(a, &rule->back_if, 0, a->scratch, &name, &size);
    if (code != NW_OK && code != NW_E_NOT_FOUND)
        return code;
    bool is_there =
        code == NW_OK && nwi_map_find(&a->input->names, name, size) != NWI_MAP_NONE;
    *holds = is_there != rule->back_if_not;
    return NW_OK;
}

/* Tries one rule; out->rule stays NULL if it does not take the name. */
static int try_rule(struct nwi_applying *a, const struct nwi_ready_rule *rule,
                    const char *name, size_t size, struct nwi_found *out)
{
    bool forward = a->direction == NWI_TO_DIFFUSERS;
    bool holds = true;
    const struct nwi_pattern *from = forward ? &rule->original : &rule->diffusers;
    const struct nwi_pattern *to = forward ? &rule->diffusers : &rule->original;
    if (!nwi_pattern_match(from, name, size, &a->match))
        return NW_OK;
    if (rule->rule->op == NWI_RULE_DROP || rule->rule->op == NWI_RULE_CONSTANT) {
        out->rule = rule;
        return NW_OK;
    }
    if (!forward)
        NWI_TRY(back_if_holds(a, rule, &holds));
    if (!holds)
        return NW_OK;
    struct nwi_arena *arena = a->set.n_post > 0 && forward ? a->scratch : a->arena;
    int code = render(a, to, 0, arena, &out->name, &out->name_size);
    if (code == NW_OK)
        out->rule = rule;
    return code == NW_E_NOT_FOUND ? NW_OK : code;
}

int nwi_applying_find(struct nwi_applying *a, const char *name, size_t size,
                      struct nwi_found *out)
{
    size_t n = 0;
    const uint32_t *rows = nwi_rule_index_find(&a->set.index, name, size, &n);
    *out = (struct nwi_found){0};
    for (size_t i = 0; i < n && !out->rule; i++)
        NWI_TRY(try_rule(a, &a->set.rules[rows[i]], name, size, out));
    return NW_OK;
}

int nwi_applying_post_rule(struct nwi_applying *a, const struct nwi_ready_rule *rule,
                           bool forward, struct nwi_found *io)
{
    const struct nwi_pattern *from = forward ? &rule->original : &rule->diffusers;
    const struct nwi_pattern *to = forward ? &rule->diffusers : &rule->original;
    struct nwi_arena *arena = forward ? a->arena : a->scratch;
    struct nwi_match match = a->match;
    const char *name = NULL;
    size_t size = 0;
    bool matches = nwi_pattern_match(from, io->name, io->name_size, &a->match);
    int code = matches ? render(a, to, 0, arena, &name, &size) : NW_E_NOT_FOUND;
    match.steps = a->match.steps;
    a->match = match;
    if (code == NW_OK)
        *io = (struct nwi_found){rule, name, size};
    return code == NW_E_NOT_FOUND ? NW_OK : code;
}

int nwi_applying_post(struct nwi_applying *a, const char **name, size_t *size)
{
    struct nwi_found found = {NULL, *name, *size};
    size_t n = 0;
    const uint32_t *rows = nwi_rule_index_find(&a->set.post_index, *name, *size, &n);
    for (size_t i = 0; i < n && !found.rule; i++)
        NWI_TRY(nwi_applying_post_rule(a, &a->set.post[rows[i]],
                                       a->direction == NWI_TO_DIFFUSERS, &found));
    *name = found.name;
    *size = found.name_size;
    return NW_OK;
}

/* ---- outputs ---- */

int nwi_applying_twice(struct nwi_applying *a, uint32_t first,
                       const struct nwi_mapped *output)
{
    const struct nwi_header_row *one = &a->input->rows[first];
    const struct nwi_header_row *two = &a->input->rows[output->input];
    char texts[3][2 * QUOTE_CHARS];
    nwi_quote(texts[0], sizeof texts[0], one->name, one->name_size, QUOTE_CHARS);
    nwi_quote(texts[1], sizeof texts[1], two->name, two->name_size, QUOTE_CHARS);
    nwi_quote(texts[2], sizeof texts[2], output->name, output->name_size, QUOTE_CHARS);
    int code = nwi_fail(a->err, NW_E_DUPLICATE, "\"%s\" and \"%s\" both become \"%s\"",
                        texts[0], texts[1], texts[2]);
    return nwi_error_in_tensor(a->err, code, output->name);
}

int nwi_applying_add(struct nwi_applying *a, const struct nwi_mapped *output)
{
    uint32_t existing = NWI_MAP_NONE;
    uint32_t row = (uint32_t)a->out->n_outputs;
    void *items = a->out->outputs;
    if (nwi_map_add(&a->names, output->name, output->name_size, row, &existing) !=
        NW_OK)
        return nwi_applying_nomem(a, sizeof a->names);
    if (existing != NWI_MAP_NONE)
        return nwi_applying_twice(a, a->out->outputs[existing].input, output);
    if (!nwi_arena_grow(a->scratch, &items, row, &a->capacity, sizeof *output))
        return nwi_applying_nomem(a, sizeof *output);
    a->out->outputs = items;
    a->out->outputs[a->out->n_outputs++] = *output;
    return NW_OK;
}

/* ---- forward, all inputs ---- */

static int forward_row(struct nwi_applying *a, uint32_t input)
{
    const struct nwi_header_row *row = &a->input->rows[input];
    struct nwi_found found;
    NWI_TRY(nwi_applying_find(a, row->name, row->name_size, &found));
    if (!found.rule)
        return NW_OK;
    if (found.rule->rule->op == NWI_RULE_DROP) {
        a->out->fates[input] = NWI_DROPPED;
        a->out->reasons[input] = found.rule->rule->note;
        return NW_OK;
    }
    a->out->fates[input] = NWI_CLAIMED;
    NWI_TRY(nwi_carry_check(a, input, found.rule));
    return nwi_forward(a, input, &found);
}

static int forward_all(struct nwi_applying *a)
{
    for (size_t i = 0; i < a->input->n; i++)
        NWI_TRY(forward_row(a, (uint32_t)i));
    return nwi_forward_constants(a);
}

/* ---- the call ---- */

static const struct nwi_rule every_name[] = {NWI_MAP("{*}", "{*}"), {0}};
static const struct nwi_rules same_names = {.rules = every_name};

/* The outputs were grown on the scratch arena. */
static int keep_outputs(struct nwi_applying *a)
{
    size_t n = a->out->n_outputs;
    struct nwi_mapped *kept = nwi_arena_array(a->arena, n, sizeof *kept);
    if (!kept)
        return nwi_applying_nomem(a, n * sizeof *kept);
    if (n > 0)
        memcpy(kept, a->out->outputs, n * sizeof *kept);
    a->out->outputs = kept;
    a->out->steps = a->match.steps;
    return NW_OK;
}

static int run(struct nwi_applying *a, const struct nwi_rules *rules,
               const struct nwi_hints *hints)
{
    size_t n = a->input->n;
    a->out->fates = nwi_arena_zalloc(a->arena, n);
    a->out->reasons = nwi_arena_zalloc(a->arena, n * sizeof *a->out->reasons);
    if (!a->out->fates || !a->out->reasons)
        return nwi_applying_nomem(a, n * sizeof *a->out->reasons);
    NWI_TRY(nwi_rule_set_init(&a->set, rules ? rules : &same_names, a->direction,
                              a->input, hints, a->scratch, a->err));
    NWI_TRY(nwi_carry_init(a));
    NWI_TRY(a->direction == NWI_TO_DIFFUSERS ? forward_all(a) : nwi_back(a));
    return keep_outputs(a);
}

/* All of it is told once, and nothing goes with anything else. */
/* NOLINTNEXTLINE(readability-function-size): eight parameters */
int nwi_rules_apply(const struct nwi_rules *rules, enum nwi_direction direction,
                    const struct nwi_header *input, const struct nw_checkpoint *ckpt,
                    const struct nwi_hints *hints, struct nwi_arena *arena,
                    struct nwi_mapping_of *out, struct nw_error *err)
{
    struct nwi_arena scratch;
    struct nwi_applying a = {
        .input = input,
        .ckpt = ckpt,
        .direction = direction,
        .arena = arena,
        .scratch = &scratch,
        .out = out,
        .err = err,
    };
    *out = (struct nwi_mapping_of){0};
    nwi_arena_init(&scratch, arena->memory);
    int code = nwi_map_init(&a.names, arena->memory, input->n);
    if (code != NW_OK)
        code = nwi_fail_nomem(err, input->n * sizeof(void *));
    else
        code = run(&a, rules, hints);
    nwi_map_release(&a.names);
    nwi_arena_release(&scratch);
    if (code != NW_OK)
        *out = (struct nwi_mapping_of){0};
    return code;
}
