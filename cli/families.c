/* SPDX-License-Identifier: Apache-2.0
 * netweight families */
#include <string.h>

#include "command.h"
#include "output.h"

static void add_quoted(struct cli_text *out, const char *text)
{
    if (text == NULL)
        cli_text_puts(out, "null");
    else
        cli_text_printf(out, "\"%s\"", text); /* names of ours: nothing to escape */
}

static void add_document(struct cli_text *out)
{
    struct nw_family family;
    cli_text_puts(out, "{\"families\":[");
    for (size_t i = 0; nw_family(i, &family); i++) {
        const char *variant = NULL;
        cli_text_puts(out, i == 0 ? "{\"name\":" : ",{\"name\":");
        add_quoted(out, family.name);
        cli_text_puts(out, ",\"title\":");
        add_quoted(out, family.title);
        cli_text_puts(out, ",\"component\":");
        add_quoted(out, family.component);
        cli_text_puts(out, ",\"class\":");
        add_quoted(out, family.klass);
        cli_text_printf(out, ",\"converts\":%s,\"variants\":[",
                        family.converts ? "true" : "false");
        for (size_t k = 0; (variant = nw_family_variant(i, k)) != NULL; k++) {
            cli_text_puts(out, k == 0 ? "" : ",");
            add_quoted(out, variant);
        }
        cli_text_puts(out, "]}");
    }
    cli_text_puts(out, "],\"classes\":[");
    for (size_t i = 0; nw_class(i) != NULL; i++) {
        cli_text_puts(out, i == 0 ? "" : ",");
        add_quoted(out, nw_class(i));
    }
    cli_text_puts(out, "]}\n");
}

static void add_variants(struct cli_table *table, size_t i)
{
    const char *variant = NULL;
    struct cli_text list = {0};
    for (size_t k = 0; (variant = nw_family_variant(i, k)) != NULL; k++)
        cli_text_printf(&list, "%s%s", k == 0 ? "" : ", ", variant);
    cli_table_text(table, list.used ? list.data : "-", list.used ? list.used : 1);
    cli_text_release(&list);
}

static void add_table(const struct cli *cli, struct cli_text *out)
{
    static const char *const words[] = {"family", "part", "class", "converts",
                                        "variants"};
    struct nw_family family;
    struct cli_table table;
    cli_table_init(&table, "lllll");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cli_table_puts(&table, words[i]);
    for (size_t i = 0; nw_family(i, &family); i++) {
        cli_table_puts(&table, family.name);
        cli_table_puts(&table, family.component);
        cli_table_puts(&table, family.klass ? family.klass : "-");
        cli_table_puts(&table, family.converts ? "yes" : "-");
        add_variants(&table, i);
    }
    cli_add_table(cli, out, &table);
}

int cli_families(struct cli *cli)
{
    struct cli_text text = {0};
    if (cli->options.json)
        add_document(&text);
    else if (!cli->options.quiet)
        add_table(cli, &text);
    return cli_print(cli, &text);
}
