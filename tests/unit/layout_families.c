/* SPDX-License-Identifier: Apache-2.0
 * What holds for the table of every family: patterns compile, predicates can be read, no
 * rule stands in another's shadow, what goes there comes back, classes are known. */
#include "layout_scene.h"

#include "base/json.h"
#include "layout/family.h"
#include "model/model.h"

#define NAME_MOST 1024

static const struct nwi_family *family; /* being looked at */
static int n_problems;

static void problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void problem(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "%s/%s (%s): ", family->name, family->component,
                  family->klass ? family->klass : "no class");
    (void)vfprintf(stderr, format, args);
    (void)fprintf(stderr, "\n");
    va_end(args);
    n_problems++;
}

static void for_each_family(void (*check)(struct nwi_arena *arena))
{
    n_problems = 0;
    for (size_t i = 0; nwi_families[i]; i++) {
        struct nwi_memory *memory = nwi_memory_new(NULL);
        struct nwi_arena arena;
        nwi_arena_init(&arena, memory);
        family = nwi_families[i];
        check(&arena);
        nwi_arena_release(&arena);
        nwi_memory_release(memory);
    }
    assert_int_equal(n_problems, 0);
}

/* ---- texts ---- */

static void check_facts(const struct nwi_signature *signature)
{
    for (size_t i = 0; signature->facts && signature->facts[i]; i++) {
        if (!nwi_predicate_valid(signature->facts[i]))
            problem("no predicate: \"%s\"", signature->facts[i]);
    }
}

static void check_preset(const char *preset, struct nwi_arena *arena)
{
    struct nwi_json_value *root = NULL;
    struct nw_error err;
    nwi_error_clear(&err);
    if (!preset)
        return;
    if (nwi_json_parse(preset, strlen(preset), 0, NW_E_BAD_CONFIG, arena, &root,
                       &err) != NW_OK)
        problem("preset: %s: %s", err.message, preset);
    else if (root->kind != NWI_JSON_IS_OBJECT)
        problem("a preset is no object: %s", preset);
}

static void check_texts(struct nwi_arena *arena)
{
    const struct nwi_signature *signature = family->original;
    for (; signature && signature->facts; signature++)
        check_facts(signature);
    for (signature = family->diffusers; signature && signature->facts; signature++)
        check_facts(signature);
    check_preset(family->preset, arena);
    const struct nwi_variant *variant = family->variants;
    for (; variant && variant->name; variant++) {
        check_facts(&variant->original);
        check_facts(&variant->diffusers);
        check_preset(variant->preset, arena);
    }
    if (family->same_names && family->rules)
        problem("names are the same, and there are rules");
    if (!family->name || !family->title || !family->component ||
        family->kind > NWI_KIND_OTHER)
        problem("a row is not complete");
}

static void texts_can_be_read(void **state)
{
    (void)state;
    for_each_family(check_texts);
}

/* ---- signatures ---- */

static bool has_fact(const struct nwi_signature *signature, const char *fact)
{
    for (size_t i = 0; signature->facts[i]; i++) {
        if (strcmp(signature->facts[i], fact) == 0)
            return true;
    }
    return false;
}

static bool is_within(const struct nwi_signature *a, const struct nwi_signature *b)
{
    for (size_t i = 0; a->facts[i]; i++) {
        if (!has_fact(b, a->facts[i]))
            return false;
    }
    return true;
}

static void compare_signatures(const struct nwi_family *other,
                               const struct nwi_signature *a,
                               const struct nwi_signature *others)
{
    for (; a && a->facts; a++) {
        for (const struct nwi_signature *b = others; b && b->facts; b++) {
            if (is_within(a, b) && is_within(b, a))
                problem("has the signature of %s/%s: %s ...", other->name,
                        other->component, a->facts[0]);
        }
    }
}

static void check_signatures(struct nwi_arena *arena)
{
    (void)arena;
    for (size_t i = 0; nwi_families[i] != family; i++) {
        compare_signatures(nwi_families[i], family->original,
                           nwi_families[i]->original);
        compare_signatures(nwi_families[i], family->diffusers,
                           nwi_families[i]->diffusers);
    }
}

static void signatures_are_told_apart(void **state)
{
    (void)state;
    for_each_family(check_signatures);
}

/* ---- classes ---- */

/* Recognised only, and so named for those who know it. */
static bool has_rules(const struct nwi_family *f)
{
    return f->rules || f->same_names;
}

static void check_class(struct nwi_arena *arena)
{
    (void)arena;
    if (has_rules(family) && !family->klass)
        problem("it has rules and no class");
    if (has_rules(family) && family->klass && !nwi_architecture_find(family->klass))
        problem("no class %s", family->klass);
}

static void classes_are_known(void **state)
{
    (void)state;
    for_each_family(check_class);
}

/* ---- rules ---- */

static void check_compile(struct nwi_arena *arena)
{
    const struct nwi_rule_variable *variable =
        family->rules ? family->rules->variables : NULL;
    for (int direction = 0; family->rules && direction < 2; direction++) {
        struct nwi_rule_set set;
        struct nw_error err;
        nwi_error_clear(&err);
        if (nwi_rule_set_init(&set, family->rules, (enum nwi_direction)direction, NULL,
                              NULL, arena, &err) != NW_OK)
            problem("%s", err.message);
    }
    for (; variable && variable->name; variable++) {
        if (nwi_quantity_check(variable->original, arena) != NW_OK ||
            nwi_quantity_check(variable->diffusers, arena) != NW_OK)
            problem("%c is no quantity: \"%s\", \"%s\"", variable->name,
                    variable->original, variable->diffusers);
    }
}

static void rules_compile(void **state)
{
    (void)state;
    for_each_family(check_compile);
}

/* Before {*} an alternative that begins like another one hides it. */
static void check_order(const struct nwi_pattern *pattern)
{
    for (uint32_t t = 0; t + 1 < pattern->n_tokens; t++) {
        const struct nwi_token *token = &pattern->tokens[t];
        if (token[1].kind != NWI_TOKEN_TAIL)
            continue;
        for (uint32_t a = 0; a < token->n_words; a++) {
            for (uint32_t b = a + 1; b < token->n_words; b++) {
                const struct nwi_word *first = &token->words[a];
                const struct nwi_word *later = &token->words[b];
                if (first->size < later->size &&
                    memcmp(first->text, later->text, first->size) == 0)
                    problem("\"%s\": %.*s hides %.*s", pattern->text, (int)first->size,
                            first->text, (int)later->size, later->text);
            }
        }
    }
}

/* The rules with values for all variables. */
struct table {
    struct nwi_ready_rule *rules;
    size_t n;
    struct nwi_arena *arena;
};

static bool make_table(struct table *table, const struct nwi_rule *rows,
                       struct nwi_arena *arena)
{
    const struct nwi_rule_variable *variable = family->rules->variables;
    struct nwi_values values = {0};
    struct nw_error err;
    *table = (struct table){.arena = arena};
    for (int64_t value = 7; variable && variable->name; variable++) {
        uint32_t bit = UINT32_C(1) << (variable->name - 'A');
        values.declared |= bit;
        values.known |= bit;
        values.value[variable->name - 'A'] = value;
        value += 2;
    }
    while (rows && rows[table->n].original)
        table->n++;
    table->rules = nwi_arena_array(arena, table->n, sizeof *table->rules);
    nwi_error_clear(&err);
    for (size_t i = 0; i < table->n; i++) {
        if (nwi_rule_compile(&rows[i], &values, arena, &table->rules[i], NULL, &err) !=
            NW_OK)
            return false; /* rules_compile says why */
    }
    return true;
}

static bool is_active(const struct nwi_rule *rule, uint32_t features)
{
    return (rule->need & ~features) == 0 && (rule->deny & features) == 0;
}

/* The first rule that takes the name under these features and makes another. In the way
 * back, whoever asks for other names only answers for itself. */
static const struct nwi_ready_rule *pass(const struct table *table,
                                         const struct nwi_ready_rule *own, bool forward,
                                         uint32_t features, const char *name,
                                         struct nwi_match *match, const char **made)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct nwi_ready_rule *rule = &table->rules[i];
        size_t size = 0;
        uint8_t op = rule->rule->op;
        if (!is_active(rule->rule, features) || op == NWI_RULE_CONSTANT ||
            (!forward &&
             (op == NWI_RULE_DROP || (rule->rule->back_if && rule != own))) ||
            !nwi_pattern_match(forward ? &rule->original : &rule->diffusers, name,
                               strlen(name), match))
            continue;
        *made = NULL;
        if (op == NWI_RULE_DROP ||
            nwi_pattern_render(forward ? &rule->diffusers : &rule->original, match, 0,
                               table->arena, made, &size) == NW_OK)
            return rule;
    }
    return NULL;
}

/* What goes there comes back, or as another spelling of the same. */
static void check_way_back(const struct table *table, const struct nwi_ready_rule *own,
                           const char *name, const char *there)
{
    struct nwi_match match = {0};
    const char *back = NULL;
    const char *again = NULL;
    uint32_t features = own->rule->need;
    if (!pass(table, own, false, features, there, &match, &back)) {
        problem("%s becomes %s, which no rule takes back", name, there);
        return;
    }
    if (strcmp(back, name) == 0)
        return;
    if (!pass(table, own, true, features, back, &match, &again) || !again ||
        strcmp(again, there) != 0)
        problem("%s becomes %s, which becomes %s", name, there, back);
}

/* One name that the rule should take. 1: it does, 0: an earlier rule does, or it has none. */
static int try_name(const struct table *table, const struct nwi_ready_rule *own,
                    const struct nwi_match *sample, const char **name)
{
    size_t size = 0;
    struct nwi_match match = {0};
    const char *made = NULL;
    *name = NULL;
    if (nwi_pattern_render(&own->original, sample, 0, table->arena, name, &size) !=
        NW_OK)
        return -1;
    if (pass(table, own, true, own->rule->need, *name, &match, &made) != own)
        return 0;
    if (made)
        check_way_back(table, own, *name, made);
    return 1;
}

static struct nwi_match sample_of(const struct nwi_ready_rule *rule, int64_t number,
                                  int letter, uint16_t choice)
{
    static const char leaf[] = "weight";
    static const char tail[] = "tail.weight";
    static const char head[] = "head.0";
    struct nwi_match match = {0};
    match.has_number = rule->original.numbers;
    match.has_choice = rule->original.choices;
    match.part = NW_NONE;
    for (int i = 0; i < NWI_PATTERN_LETTERS; i++)
        match.numbers[i] = number;
    if (letter >= 0)
        match.choices[letter] = choice;
    match.leaf = (struct nwi_word){leaf, sizeof leaf - 1};
    match.tail = (struct nwi_word){tail, sizeof tail - 1};
    match.head = (struct nwi_word){head, sizeof head - 1};
    return match;
}

/* Some number must lead to the rule: 0 and 1 may be another's. */
static void check_reached(const struct table *table, const struct nwi_ready_rule *rule,
                          int letter, uint16_t choice)
{
    bool has_sample = false;
    const char *name = NULL;
    for (int64_t number = 0; number < 6; number++) {
        struct nwi_match sample = sample_of(rule, number, letter, choice);
        int reached = try_name(table, rule, &sample, &name);
        has_sample = has_sample || reached >= 0;
        if (reached > 0)
            return;
    }
    if (!has_sample)
        problem("\"%s\" matches no name", rule->rule->original);
    else
        problem("\"%s\" is in the shadow of a rule before it, as for %s",
                rule->rule->original, name ? name : "(none)");
}

static void check_rule(const struct table *table, const struct nwi_ready_rule *rule)
{
    check_order(&rule->original);
    check_order(&rule->diffusers);
    if (rule->rule->op == NWI_RULE_CONSTANT)
        return;
    if (rule->rule->op == NWI_RULE_DROP && !rule->rule->note)
        problem("\"%s\" is dropped without a reason", rule->rule->original);
    if (rule->rule->squeeze && !rule->rule->rank)
        problem("\"%s\" has no rank for the way back", rule->rule->original);
    check_reached(table, rule, -1, 0);
    for (int letter = 0; letter < NWI_PATTERN_LETTERS; letter++) {
        for (uint16_t k = 1; k < rule->original.n_choices[letter]; k++)
            check_reached(table, rule, letter, k);
    }
}

static void check_shadows(struct nwi_arena *arena)
{
    struct table table;
    if (!family->rules)
        return;
    if (make_table(&table, family->rules->rules, arena)) {
        for (size_t i = 0; i < table.n; i++)
            check_rule(&table, &table.rules[i]);
    }
    if (make_table(&table, family->rules->post, arena)) {
        for (size_t i = 0; i < table.n; i++)
            check_rule(&table, &table.rules[i]);
    }
}

static void no_rule_is_in_anothers_shadow(void **state)
{
    (void)state;
    for_each_family(check_shadows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_can_be_read),
        cmocka_unit_test(signatures_are_told_apart),
        cmocka_unit_test(classes_are_known),
        cmocka_unit_test(rules_compile),
        cmocka_unit_test(no_rule_is_in_anothers_shadow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
