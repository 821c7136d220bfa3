/* SPDX-License-Identifier: Apache-2.0
 * Help, from the tables. */
#include <string.h>

#include "command.h"
#include "text.h"
#include "values.h"

#define HELP_COLUMN 30 /* where the explanations start */

static const char *const group_titles[CLI_GROUP_COUNT] = {
    [CLI_GROUP_COMMAND] = "Options",         [CLI_GROUP_SELECT] = "What to read",
    [CLI_GROUP_NUMBERS] = "Numbers",         [CLI_GROUP_NAMES] = "Names",
    [CLI_GROUP_ENGINE] = "Memory and speed", [CLI_GROUP_WRITE] = "Writing",
    [CLI_GROUP_COMMON] = "Everywhere",       [CLI_GROUP_HIDDEN] = NULL,
};

/* "a|b|c" as it is, or with commas for a set. */
static void add_words(struct cli_text *out, const struct cli_option_row *row)
{
    const char *word;
    size_t size;
    for (size_t i = 0; (size = cli_word(row->value, i, &word)) > 0; i++) {
        cli_text_puts(out, i == 0 ? "" : row->kind == CLI_SET ? "," : "|");
        cli_text_add(out, word, size);
    }
}

static void add_option(struct cli_text *out, const struct cli_option_row *row)
{
    size_t before = out->used;
    if (row->letter != 0)
        cli_text_printf(out, "  -%c, --%s", row->letter, row->name);
    else
        cli_text_printf(out, "      --%s", row->name);
    if (row->value != NULL) {
        cli_text_add(out, " ", 1);
        add_words(out, row);
    }
    size_t used = out->used - before;
    if (used + 2 > HELP_COLUMN) {
        cli_text_add(out, "\n", 1);
        used = 0;
    }
    cli_text_printf(out, "%*s%s%s\n", (int)(HELP_COLUMN - used), "", row->help,
                    row->later ? " (not yet)" : "");
}

static void add_group(struct cli_text *out, enum cli_command command,
                      enum cli_group group)
{
    bool any = false;
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        if (row->group != group || !cli_option_fits(row, command))
            continue;
        if (!any)
            cli_text_printf(out, "\n%s\n", group_titles[group]);
        any = true;
        add_option(out, row);
    }
}

void cli_usage_text(struct cli_text *out)
{
    cli_text_puts(out, "usage: netweight COMMAND PATH... [options]\n"
                       "       netweight COMMAND --help\n");
}

void cli_help_text(enum cli_command command, struct cli_text *out)
{
    if (command == CLI_NO_COMMAND) {
        cli_usage_text(out);
        cli_text_puts(out, "\nCommands\n");
        for (size_t i = 0; i < CLI_COMMAND_COUNT; i++)
            cli_text_printf(out, "  %-9s %-10s %s\n", cli_commands[i].name,
                            cli_commands[i].arguments, cli_commands[i].summary);
    } else {
        const struct cli_command_row *row = &cli_commands[command];
        cli_text_printf(out, "usage: netweight %s%s%s [options]\n\n%s\n", row->name,
                        row->arguments[0] == '\0' ? "" : " ", row->arguments,
                        row->summary);
    }
    for (int group = 0; group < CLI_GROUP_HIDDEN; group++)
        add_group(out, command, (enum cli_group)group);
    if (command != CLI_NO_COMMAND && command != CLI_FAMILIES)
        cli_text_puts(out, "\nSizes: 4096, 64MiB, 5GB. More: man netweight\n");
}
