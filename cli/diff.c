/* SPDX-License-Identifier: Apache-2.0
 * netweight diff A B. One component against one: the document of nw_diff. Pipelines:
 * their components are paired by name, and the names in the document begin with
 * "component/". */
#include <string.h>

#include "command.h"
#include "input.h"
#include "json_view.h"
#include "output.h"
#include "problems.h"
#include "progress.h"

#define VALUE_WIDTH 40 /* columns of a value for people, without -v */

/* The document being put together: elements of its arrays, without the brackets. */
struct comparison {
    const struct cli *cli;
    struct cli_text only_a;
    struct cli_text only_b;
    struct cli_text differ;
    bool equal;
};

static void comma(struct cli_text *list)
{
    if (list->used > 0)
        cli_text_add(list, ",", 1);
}

/* Adds a JSON string with "component/" put before it. */
static void add_string(struct cli_text *out, const char *component,
                       struct cli_json string)
{
    struct cli_text name = {0};
    cli_text_puts(&name, component);
    cli_text_puts(&name, component[0] == '\0' ? "" : "/");
    cli_text_json(out, name.data, name.used);
    out->failed |= name.failed;
    cli_text_release(&name);
    if (!out->failed)
        out->used--; /* its closing quote: that of `string` follows */
    cli_text_add(out, string.at + 1, string.size - 1);
}

static void add_names(struct cli_text *out, const char *component, struct cli_json list)
{
    struct cli_json name = {0};
    while (cli_json_next(list, &name)) {
        comma(out);
        add_string(out, component, name);
    }
}

static void add_difference(struct cli_text *out, const char *component,
                           struct cli_json difference)
{
    struct cli_json key = {0};
    struct cli_json value = {0};
    bool first = true;
    comma(out);
    cli_text_add(out, "{", 1);
    while (cli_json_member(difference, &key, &value)) {
        cli_text_puts(out, first ? "" : ",");
        cli_text_add(out, key.at, key.size);
        cli_text_add(out, ":", 1);
        if (cli_json_is(key, "name"))
            add_string(out, component, value);
        else
            cli_text_add(out, value.at, value.size);
        first = false;
    }
    cli_text_add(out, "}", 1);
}

/* A component that the other side does not have: all its names. */
static void add_alone(struct cli_text *out, const char *component,
                      const struct nw_plan *plan)
{
    size_t n = nw_plan_target_count(plan);
    for (size_t i = 0; i < n; i++) {
        struct nw_target target;
        struct cli_text name = {0};
        if (nw_plan_target(plan, i, &target) != NW_OK)
            continue;
        cli_text_json(&name, target.name, target.name_size);
        comma(out);
        if (!name.failed)
            add_string(out, component, (struct cli_json){name.data, name.used});
        out->failed |= name.failed;
        cli_text_release(&name);
    }
}

static int compare(const struct cli *cli, struct nw_plan *a, struct nw_plan *b,
                   int *equal, struct cli_text *document, struct nw_error *err)
{
    struct nw_diff_options options = NW_OPTIONS_INIT(options);
    struct cli_progress progress;
    options.values = cli->options.values;
    options.tolerance_abs = cli->options.tolerance.absolute;
    options.tolerance_rel = cli->options.tolerance.relative;
    options.progress = cli_progress_update;
    options.progress_ctx = &progress;
    cli_progress_begin(&progress, cli, "diff");
    int code = nw_diff(a, b, &options, equal, cli_text_write, document, err);
    cli_progress_end(&progress);
    return cli_received(document, code, err);
}

/* Row of the component in `input`; n_plans if it has none of that name. */
static size_t find_component(const struct cli_input *input, const char *name)
{
    size_t i = 0;
    while (i < input->n_plans && strcmp(input->names[i], name) != 0)
        i++;
    return i;
}

static int compare_component(struct comparison *c, const struct cli_input *a, size_t i,
                             const struct cli_input *b, struct nw_error *err)
{
    const char *name = a->names[i];
    size_t j = find_component(b, name);
    struct cli_text text = {0};
    int equal = 0;
    if (j == b->n_plans) {
        c->equal = false;
        add_alone(&c->only_a, name, a->plans[i]);
        return NW_OK;
    }
    int code = compare(c->cli, a->plans[i], b->plans[j], &equal, &text, err);
    if (code == NW_OK) {
        struct cli_json document = {text.data, text.used};
        struct cli_json list = cli_json_get(document, "differ");
        struct cli_json difference = {0};
        add_names(&c->only_a, name, cli_json_get(document, "only_a"));
        add_names(&c->only_b, name, cli_json_get(document, "only_b"));
        while (cli_json_next(list, &difference))
            add_difference(&c->differ, name, difference);
        c->equal = c->equal && equal;
    }
    cli_text_release(&text);
    return code;
}

static void join(const struct comparison *c, struct cli_text *out)
{
    const struct {
        const char *key;
        const struct cli_text *list;
    } parts[] = {
        {",\"only_a\":[", &c->only_a},
        {"],\"only_b\":[", &c->only_b},
        {"],\"differ\":[", &c->differ},
    };
    cli_text_printf(out, "{\"equal\":%s", c->equal ? "true" : "false");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        cli_text_puts(out, parts[i].key);
        if (parts[i].list->used > 0)
            cli_text_add(out, parts[i].list->data, parts[i].list->used);
        out->failed |= parts[i].list->failed;
    }
    cli_text_puts(out, "]}\n");
}

/* The document of the two sides. */
static int compare_all(const struct cli *cli, const struct cli_input *a,
                       const struct cli_input *b, int *equal, struct cli_text *document,
                       struct nw_error *err)
{
    if (a->n_plans == 1 && b->n_plans == 1)
        return compare(cli, a->plans[0], b->plans[0], equal, document, err);
    struct comparison c = {.cli = cli, .equal = true};
    int code = NW_OK;
    for (size_t i = 0; i < a->n_plans && code == NW_OK; i++)
        code = compare_component(&c, a, i, b, err);
    for (size_t j = 0; j < b->n_plans && code == NW_OK; j++) {
        if (find_component(a, b->names[j]) < a->n_plans)
            continue;
        c.equal = false;
        add_alone(&c.only_b, b->names[j], b->plans[j]);
    }
    if (code == NW_OK)
        join(&c, document);
    *equal = c.equal;
    cli_text_release(&c.only_a);
    cli_text_release(&c.only_b);
    cli_text_release(&c.differ);
    return code;
}

/* ---- for people ------------------------------------------------------------------ */

/* `width`: columns at most, for values that may be whole texts. */
static void add_cell(struct cli_table *table, struct cli_json value, size_t width)
{
    struct cli_text raw = {0};
    struct cli_text cut = {0};
    if (!cli_json_is_null(value))
        cli_json_decode(value, &raw);
    cli_text_cut(&cut, raw.data, raw.used, width);
    table->cells.failed |= raw.failed || cut.failed;
    cli_table_text(table, cut.data, cut.used);
    cli_text_release(&raw);
    cli_text_release(&cut);
}

/* One row: a name alone, or an entry of "differ". */
static void add_row(struct cli_table *table, const char *what, struct cli_json entry,
                    size_t width)
{
    static const char *const members[] = {"a", "b", "max_abs", "first"};
    if (what != NULL)
        cli_table_puts(table, what);
    else
        add_cell(table, cli_json_get(entry, "what"), SIZE_MAX);
    add_cell(table, what != NULL ? entry : cli_json_get(entry, "name"), SIZE_MAX);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        add_cell(table, cli_json_get(entry, members[i]), width);
}

static void view(const struct cli *cli, struct cli_json document, struct cli_text *out)
{
    static const char *const words[] = {"what", "name", "a", "b", "max abs", "first"};
    static const char *const lists[][2] = {
        {"only_a", "only a"}, {"only_b", "only b"}, {"differ", NULL}};
    size_t width = cli->options.verbose > 0 ? SIZE_MAX : VALUE_WIDTH;
    struct cli_table table;
    size_t total = 0;
    size_t hidden = 0;
    cli_table_init(&table, "lLLLlL");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cli_table_puts(&table, words[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct cli_json list = cli_json_get(document, lists[i][0]);
        struct cli_json entry = {0};
        size_t n = cli_json_count(list);
        size_t most =
            cli->options.verbose > 0 || n < CLI_PROBLEMS_SHOWN ? n : CLI_PROBLEMS_SHOWN;
        for (size_t k = 0; k < most && cli_json_next(list, &entry); k++)
            add_row(&table, lists[i][1], entry, width);
        total += n;
        hidden += n - most;
    }
    if (total > 0)
        cli_add_table(cli, out, &table);
    cli_add_more(out, hidden);
    cli_table_release(&table);
    cli_text_printf(out, "  %s%s%s%s\n",
                    cli_style(cli, total == 0 ? CLI_GOOD : CLI_BAD),
                    total == 0 ? "equal" : "they differ", cli_style(cli, CLI_PLAIN),
                    cli->options.values ? "" : " (values not compared; --values does)");
}

static int finish(const struct cli *cli, struct cli_text *document, int equal)
{
    struct cli_text human = {0};
    int status = equal ? CLI_DONE : CLI_FAILED;
    if (cli->options.json)
        return cli_print(cli, document) == CLI_DONE ? status : CLI_FAILED;
    if (!cli->options.quiet)
        view(cli, (struct cli_json){document->data, document->used}, &human);
    human.failed |= document->failed;
    cli_text_release(document);
    return cli_print(cli, &human) == CLI_DONE ? status : CLI_FAILED;
}

/* Plans one side; on failure or refusal it is told, and *status says so. */
static bool plan_side(const struct cli *cli, const char *path, struct cli_input *out,
                      int *status)
{
    struct nw_error err;
    if (cli_input_plan(cli, path, out, &err) != NW_OK) {
        *status = cli_input_fail(cli, out, &err);
        return false;
    }
    if (out->refused) {
        (void)cli_input_fail(cli, out, &out->failure);
        *status = CLI_REFUSED;
        return false;
    }
    return true;
}

int cli_diff(struct cli *cli)
{
    struct cli_input a = {0};
    struct cli_input b = {0};
    struct cli_text document = {0};
    struct nw_error err;
    int status = CLI_FAILED;
    int equal = 0;
    if (plan_side(cli, cli->options.paths.items[0], &a, &status) &&
        plan_side(cli, cli->options.paths.items[1], &b, &status)) {
        if (compare_all(cli, &a, &b, &equal, &document, &err) == NW_OK)
            status = finish(cli, &document, equal);
        else
            status = cli_fail(cli, &err, NULL);
    }
    cli_text_release(&document);
    cli_input_release(&a);
    cli_input_release(&b);
    return status;
}
