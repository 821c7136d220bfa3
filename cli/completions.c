/* SPDX-License-Identifier: Apache-2.0
 * `netweight --completions SHELL`: scripts made from the tables when netweight is
 * built. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "text.h"
#include "values.h"

static bool takes_argument(const struct cli_option_row *row)
{
    return row->value != NULL;
}

/* Arguments that are paths, so that the shell's own completion serves them. */
static bool takes_path(const struct cli_option_row *row)
{
    return row->value != NULL && strstr(row->value, "DIR") != NULL;
}

static bool hidden(const struct cli_option_row *row)
{
    return row->group == CLI_GROUP_HIDDEN;
}

/* The words of a list split by '|', with `between` between them. */
static void add_words(struct cli_text *out, const char *words, const char *between)
{
    const char *word;
    size_t size;
    for (size_t i = 0; (size = cli_word(words, i, &word)) > 0; i++) {
        cli_text_puts(out, i == 0 ? "" : between);
        cli_text_add(out, word, size);
    }
}

static void add_commands(struct cli_text *out, const char *between)
{
    for (size_t i = 0; i < CLI_COMMAND_COUNT; i++)
        cli_text_printf(out, "%s%s", i == 0 ? "" : between, cli_commands[i].name);
}

/* ---- bash ------------------------------------------------------------------------ */

static void bash_values(struct cli_text *out)
{
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        const char *words = cli_option_words(row);
        if (hidden(row) || !takes_argument(row))
            continue;
        cli_text_printf(out, "    --%s)\n", row->name);
        if (row->kind == CLI_SET)
            cli_text_puts(out, "        [[ $cur == *,* ]] && head=${cur%,*},\n");
        if (words != NULL) {
            cli_text_puts(out, "        COMPREPLY=($(compgen -P \"$head\" -W '");
            add_words(out, words, " ");
            cli_text_puts(out, "' -- \"${cur##*,}\"))\n");
        }
        cli_text_puts(out, "        return\n        ;;\n");
    }
}

static void bash_options(struct cli_text *out, enum cli_command command)
{
    cli_text_puts(out, "COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        if (hidden(row) || !cli_option_fits(row, command))
            continue;
        cli_text_printf(out, "--%s ", row->name);
        if (row->letter != 0)
            cli_text_printf(out, "-%c ", row->letter);
    }
    cli_text_puts(out, "' -- \"$cur\")) ;;\n");
}

static void bash(struct cli_text *out)
{
    cli_text_puts(
        out,
        "# bash completion for netweight\n"
        "_netweight()\n"
        "{\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local command= head= i\n"
        "    COMPREPLY=()\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case ${COMP_WORDS[i]} in\n"
        "        ");
    add_commands(out, " | ");
    cli_text_puts(out, ")\n"
                       "            command=${COMP_WORDS[i]}\n"
                       "            break\n"
                       "            ;;\n"
                       "        esac\n"
                       "    done\n"
                       "    if [[ $cur == '=' ]]; then\n"
                       "        cur=\n"
                       "    elif [[ $prev == '=' ]]; then\n"
                       "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                       "    fi\n"
                       "    case $prev in\n");
    bash_values(out);
    cli_text_puts(out, "    esac\n"
                       "    if [[ $cur == -* ]]; then\n"
                       "        case $command in\n");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        cli_text_printf(out, "        %s) ", cli_commands[i].name);
        bash_options(out, (enum cli_command)i);
    }
    cli_text_puts(out, "        *) ");
    bash_options(out, CLI_NO_COMMAND);
    cli_text_puts(out, "        esac\n"
                       "    elif [[ -z $command ]]; then\n"
                       "        COMPREPLY=($(compgen -W '");
    add_commands(out, " ");
    cli_text_puts(out, "' -- \"$cur\"))\n"
                       "    fi\n"
                       "}\n"
                       "complete -o default -F _netweight netweight\n");
}

/* ---- zsh ------------------------------------------------------------------------- */

/* Text inside a specification of _arguments. */
static void zsh_text(struct cli_text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("[]:\\", *text) != NULL)
            cli_text_add(out, "\\", 1);
        cli_text_add(out, text, 1);
    }
}

static void zsh_argument(struct cli_text *out, const struct cli_option_row *row)
{
    const char *words = cli_option_words(row);
    cli_text_add(out, ":", 1);
    zsh_text(out, row->value);
    cli_text_add(out, ":", 1);
    if (words != NULL && row->kind == CLI_SET) {
        cli_text_printf(out, "_values -s , %s ", row->name);
        add_words(out, words, " ");
    } else if (words != NULL) {
        cli_text_add(out, "(", 1);
        add_words(out, words, " ");
        cli_text_add(out, ")", 1);
    } else {
        cli_text_puts(out, takes_path(row) ? "_files" : " ");
    }
}

static void zsh_option(struct cli_text *out, const struct cli_option_row *row)
{
    bool repeatable =
        row->kind == CLI_LIST || row->kind == CLI_PAIRS || row->kind == CLI_COUNT;
    const char *star = repeatable ? "*" : "";
    if (row->letter != 0) {
        cli_text_printf(out, "      '%s-%c[", star, row->letter);
        zsh_text(out, row->help);
        cli_text_puts(out, "]' \\\n");
    }
    cli_text_printf(out, "      '%s--%s%s[", star, row->name,
                    takes_argument(row) ? "=" : "");
    zsh_text(out, row->help);
    cli_text_add(out, "]", 1);
    if (takes_argument(row))
        zsh_argument(out, row);
    cli_text_puts(out, "' \\\n");
}

static void zsh_options(struct cli_text *out, enum cli_command command)
{
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        if (!hidden(row) && cli_option_fits(row, command))
            zsh_option(out, row);
    }
}

static void zsh(struct cli_text *out)
{
    cli_text_puts(out, "#compdef netweight\n"
                       "_netweight() {\n"
                       "  local curcontext=$curcontext state line\n"
                       "  local -a commands\n"
                       "  typeset -A opt_args\n"
                       "  commands=(\n");
    for (size_t i = 0; i < CLI_COMMAND_COUNT; i++)
        cli_text_printf(out, "    '%s:%s'\n", cli_commands[i].name,
                        cli_commands[i].summary);
    cli_text_puts(out, "  )\n"
                       "  _arguments -C \\\n");
    zsh_options(out, CLI_NO_COMMAND);
    cli_text_puts(out, "      '1:command:->command' \\\n"
                       "      '*::path:->path'\n"
                       "  case $state in\n"
                       "  command)\n"
                       "    _describe -t commands command commands\n"
                       "    ;;\n"
                       "  path)\n"
                       "    case $words[1] in\n");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        cli_text_printf(out, "    %s)\n      _arguments \\\n", cli_commands[i].name);
        zsh_options(out, (enum cli_command)i);
        cli_text_puts(out, cli_commands[i].max_paths == 0
                               ? "      && return\n      ;;\n"
                               : "      '*:path:_files'\n      ;;\n");
    }
    cli_text_puts(out, "    esac\n"
                       "    ;;\n"
                       "  esac\n"
                       "}\n"
                       "if [[ $funcstack[1] == _netweight ]]; then\n"
                       "  _netweight \"$@\"\n"
                       "else\n"
                       "  compdef _netweight netweight\n"
                       "fi\n");
}

/* ---- fish ------------------------------------------------------------------------ */

static void fish_option(struct cli_text *out, const struct cli_option_row *row)
{
    const char *words = cli_option_words(row);
    cli_text_puts(out, "complete -c netweight");
    if (!cli_option_fits(row, CLI_NO_COMMAND)) {
        cli_text_puts(out, " -n '__fish_seen_subcommand_from");
        for (int i = 0; i < CLI_COMMAND_COUNT; i++)
            if (cli_option_fits(row, (enum cli_command)i))
                cli_text_printf(out, " %s", cli_commands[i].name);
        cli_text_puts(out, "'");
    }
    if (row->letter != 0)
        cli_text_printf(out, " -s %c", row->letter);
    cli_text_printf(out, " -l %s", row->name);
    if (takes_argument(row))
        cli_text_puts(out, takes_path(row) ? " -r" : " -x");
    if (words != NULL) {
        cli_text_puts(out, " -a '");
        add_words(out, words, " ");
        cli_text_puts(out, "'");
    }
    cli_text_printf(out, " -d '%s'\n", row->help);
}

static void fish(struct cli_text *out)
{
    cli_text_puts(out, "# fish completion for netweight\n"
                       "complete -c netweight -n __fish_use_subcommand -f\n");
    for (size_t i = 0; i < CLI_COMMAND_COUNT; i++)
        cli_text_printf(
            out, "complete -c netweight -n __fish_use_subcommand -a %s -d '%s'\n",
            cli_commands[i].name, cli_commands[i].summary);
    for (size_t i = 0; i < cli_option_count; i++)
        if (!hidden(&cli_option_rows[i]))
            fish_option(out, &cli_option_rows[i]);
}

bool cli_completions_text(const char *shell, struct cli_text *out)
{
    static const struct {
        const char *name;
        void (*write)(struct cli_text *out);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) != 0)
            continue;
        shells[i].write(out);
        return true;
    }
    return false;
}
