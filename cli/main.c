/* SPDX-License-Identifier: Apache-2.0
 * netweight: a client of netweight.h and of nothing else. */
#include <stdio.h>

#include "command.h"
#include "output.h"
#include "signals.h"
#include "text.h"

typedef int command_fn(struct cli *cli);

static command_fn *const commands[CLI_COMMAND_COUNT] = {
    [CLI_INSPECT] = cli_inspect,   [CLI_PLAN] = cli_plan, [CLI_LOAD] = cli_load,
    [CLI_CONVERT] = cli_convert,   [CLI_DIFF] = cli_diff, [CLI_VERIFY] = cli_verify,
    [CLI_FAMILIES] = cli_families,
};

static int print_version(const struct cli *cli)
{
    struct nw_feature feature;
    struct cli_text text = {0};
    if (cli->options.json) {
        cli_text_printf(&text, "{\"version\":\"%s\",\"features\":{", nw_version());
        for (size_t i = 0; nw_feature(i, &feature); i++)
            cli_text_printf(&text, "%s\"%s\":\"%s\"", i == 0 ? "" : ",", feature.name,
                            feature.value);
        cli_text_puts(&text, "}}\n");
    } else {
        cli_text_printf(&text, "netweight %s\n", nw_version());
        for (size_t i = 0; nw_feature(i, &feature); i++)
            cli_text_printf(&text, "%s: %s\n", feature.name, feature.value);
    }
    return cli_print(cli, &text);
}

static int print_help(const struct cli *cli)
{
    struct cli_text text = {0};
    cli_help_text(cli->options.command, &text);
    return cli_print(cli, &text);
}

static int print_completions(const struct cli *cli)
{
    struct cli_text text = {0};
    struct nw_error err = {.offset = NW_OFFSET_NONE};
    if (cli_completions_text(cli->options.completions, &text))
        return cli_print(cli, &text);
    (void)cli_error(&err, NW_E_ARG, "--completions: '%.80s' is none of bash, zsh, fish",
                    cli->options.completions);
    return cli_fail(cli, &err, NULL);
}

/* Wrong usage: what is wrong, and where to read on. */
static int misused(const struct cli *cli, const struct nw_error *err)
{
    int status = cli_fail(cli, err, NULL);
    enum cli_command command = cli->options.command;
    if (err->code == NW_E_ARG)
        cli_remark(cli, "see: netweight %s%s--help",
                   command == CLI_NO_COMMAND ? "" : cli_commands[command].name,
                   command == CLI_NO_COMMAND ? "" : " ");
    return status;
}

static int run(struct cli *cli)
{
    struct nw_error err = {.offset = NW_OFFSET_NONE};
    if (cli->options.help)
        return print_help(cli);
    if (cli->options.version)
        return print_version(cli);
    if (cli->options.completions != NULL)
        return print_completions(cli);
    if (cli_options_check(&cli->options, &err) != NW_OK)
        return cli_fail(cli, &err, NULL);
    return commands[cli->options.command](cli);
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    struct nw_error err;
    int code = cli_options_parse(&cli.options, argc, argv, &err);
    cli_output_init(&cli);
    cli_signals_install();
    int status = code == NW_OK ? run(&cli) : misused(&cli, &err);
    status = cli_output_finish(&cli, status);
    cli_options_release(&cli.options);
    return status;
}
