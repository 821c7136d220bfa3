/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "values.h"

#define LABEL_WIDTH   11 /* columns of the longest label of cli_field */
#define DEFAULT_WIDTH 80

const char *cli_env(const char *name)
{
    /* Read before any thread is started, never written. */
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */
    return value == NULL || value[0] == '\0' ? NULL : value;
}

static size_t terminal_width(int fd)
{
    uint32_t columns;
    struct winsize size = {0};
    const char *wanted = cli_env("COLUMNS");
    if (!isatty(fd))
        return 0;
    if (wanted != NULL && cli_value_number(wanted, &columns) && columns > 0)
        return columns;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return DEFAULT_WIDTH;
}

void cli_output_init(struct cli *cli)
{
    const char *term = cli_env("TERM");
    bool dumb = term == NULL || strcmp(term, "dumb") == 0;
    bool always = cli->options.color == 1;
    bool maybe = cli->options.color == 0 && !dumb && cli_env("NO_COLOR") == NULL;
    cli->width = terminal_width(STDOUT_FILENO);
    cli->err_width = terminal_width(STDERR_FILENO);
    cli->color = always || (maybe && cli->width > 0);
    cli->err_color = always || (maybe && cli->err_width > 0);
    cli->progress =
        cli->err_width > 0 && !dumb && !cli->options.quiet && !cli->options.no_progress;
}

const char *cli_style(const struct cli *cli, enum cli_style style)
{
    static const char sequences[][6] = {"\033[0m", "\033[1m", "\033[32m", "\033[31m",
                                        "\033[33m"};
    return cli->color ? sequences[style] : "";
}

/* ---- standard error -------------------------------------------------------------- */

static void complain_text(const struct cli *cli, const struct cli_text *text)
{
    struct cli_text line = {0};
    (void)fflush(stdout); /* so that a terminal shows both in the order they came */
    cli_text_puts(&line, cli->err_color ? "\033[31mnetweight:\033[0m " : "netweight: ");
    if (text->used > 0)
        cli_text_add(&line, text->data, text->used);
    cli_text_add(&line, "\n", 1);
    if (line.failed)
        (void)fputs("netweight: out of memory (NOMEM)\n", stderr);
    else
        (void)fwrite(line.data, 1, line.used, stderr);
    cli_text_release(&line);
}

void cli_complain(const struct cli *cli, const struct nw_error *err)
{
    struct cli_text text = {0};
    if (err->file[0] != '\0') {
        cli_text_safe(&text, err->file, strlen(err->file));
        cli_text_puts(&text, ": ");
    }
    if (err->tensor[0] != '\0') {
        cli_text_safe(&text, err->tensor, strlen(err->tensor));
        cli_text_puts(&text, ": ");
    }
    cli_text_safe(&text, err->message, strlen(err->message));
    cli_text_printf(&text, " (%s)", nw_code_name(err->code));
    complain_text(cli, &text);
    cli_text_release(&text);
}

void cli_problem_error(const char *path, const struct nw_problem *problem,
                       struct nw_error *err)
{
    *err = (struct nw_error){.code = problem->code, .offset = problem->offset};
    (void)snprintf(err->file, sizeof err->file, "%s",
                   problem->file == NULL ? path : problem->file);
    (void)snprintf(err->tensor, sizeof err->tensor, "%s",
                   problem->tensor == NULL ? "" : problem->tensor);
    (void)snprintf(err->message, sizeof err->message, "%s", problem->message);
}

/* Tells the problems that are no notes, but the first `skip`; with `silent` only counts
 * them. */
static size_t complain_from(const struct cli *cli, const char *path,
                            const struct nw_checkpoint *ckpt, size_t skip, bool silent)
{
    size_t n = nw_checkpoint_problem_count(ckpt);
    size_t met = 0;
    for (size_t i = 0; i < n; i++) {
        struct nw_problem problem;
        struct nw_error err;
        if (nw_checkpoint_problem(ckpt, i, &problem) != NW_OK || problem.note)
            continue;
        cli_problem_error(path, &problem, &err);
        if (met++ >= skip && !silent)
            cli_complain(cli, &err);
    }
    return met;
}

void cli_complain_problems(const struct cli *cli, const char *path,
                           const struct nw_checkpoint *ckpt)
{
    (void)complain_from(cli, path, ckpt, 0, false);
}

void cli_complain_rest(const struct cli *cli, const char *path,
                       const struct nw_checkpoint *ckpt)
{
    bool silent = cli->options.verbose == 0;
    size_t n = complain_from(cli, path, ckpt, 1, silent);
    if (silent && n > 1)
        cli_remark(cli, "%zu more problem%s (-v lists them)", n - 1, n == 2 ? "" : "s");
}

void cli_remark(const struct cli *cli, const char *format, ...)
{
    char buffer[512];
    struct cli_text text = {0};
    if (cli->options.quiet)
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    cli_text_safe(&text, buffer, strlen(buffer));
    complain_text(cli, &text);
    cli_text_release(&text);
}

int cli_received(const struct cli_text *text, int code, struct nw_error *err)
{
    if (!text->failed)
        return code;
    *err = (struct nw_error){.code = NW_OK};
    return cli_error(err, NW_E_NOMEM, "out of memory");
}

int cli_status_of(const struct nw_error *err)
{
    if (err->code == NW_E_ARG)
        return CLI_USAGE;
    return err->code == NW_E_CANCELLED ? CLI_INTERRUPTED : CLI_FAILED;
}

int cli_fail(const struct cli *cli, const struct nw_error *err,
             const struct nw_checkpoint *ckpt)
{
    cli_complain(cli, err);
    if (cli->options.json) {
        struct cli_text text = {0};
        if (nw_error_json(err, ckpt, cli_text_write, &text) != NW_OK)
            text.failed = true;
        if (cli_print(cli, &text) != CLI_DONE)
            return CLI_FAILED;
    }
    return cli_status_of(err);
}

/* ---- standard output ------------------------------------------------------------- */

static int write_failed(const struct cli *cli, int why)
{
    struct nw_error err = {.code = NW_E_IO, .sys = why, .offset = NW_OFFSET_NONE};
    char reason[128] = "";
    (void)strerror_r(why, reason, sizeof reason);
    (void)snprintf(err.message, sizeof err.message, "cannot write standard output: %s",
                   reason);
    if (why != EPIPE) /* whoever read it has seen enough */
        cli_complain(cli, &err);
    return CLI_FAILED;
}

int cli_print(const struct cli *cli, struct cli_text *text)
{
    int status = CLI_DONE;
    bool line = text->used > 0 && text->data[text->used - 1] == '\n';
    if (text->failed) {
        struct nw_error err = {.code = NW_E_NOMEM, .offset = NW_OFFSET_NONE};
        (void)snprintf(err.message, sizeof err.message, "out of memory");
        cli_complain(cli, &err);
        status = CLI_FAILED;
    } else if (text->used > 0) {
        (void)fwrite(text->data, 1, text->used, stdout);
        if (!line)
            (void)fputc('\n', stdout);
        if (ferror(stdout)) /* the reason is told once, at the end */
            status = CLI_FAILED;
    }
    cli_text_release(text);
    return status;
}

int cli_output_finish(const struct cli *cli, int status)
{
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout))
        status = write_failed(cli, errno == 0 ? EIO : errno);
    return status;
}

/* ---- pieces ---------------------------------------------------------------------- */

void cli_title(const struct cli *cli, struct cli_text *out, const char *title)
{
    struct cli_text safe = {0};
    if (out->used > 0)
        cli_text_add(out, "\n", 1);
    cli_text_safe(&safe, title, strlen(title));
    cli_text_puts(out, cli_style(cli, CLI_BOLD));
    cli_text_cut(out, safe.data, safe.used, cli->width == 0 ? SIZE_MAX : cli->width);
    cli_text_puts(out, cli_style(cli, CLI_PLAIN));
    cli_text_add(out, "\n", 1);
    out->failed |= safe.failed;
    cli_text_release(&safe);
}

void cli_field(const struct cli *cli, struct cli_text *out, const char *label,
               struct cli_text *value)
{
    size_t before = 2 + LABEL_WIDTH + 1;
    size_t width = cli->width == 0       ? SIZE_MAX
                   : cli->width > before ? cli->width - before
                                         : 1;
    cli_text_printf(out, "  %-*s ", LABEL_WIDTH, label);
    cli_text_cut(out, value->data, value->used, width);
    cli_text_add(out, "\n", 1);
    out->failed |= value->failed;
    cli_text_release(value);
}

void cli_add_table(const struct cli *cli, struct cli_text *out, struct cli_table *table)
{
    cli_table_print(table, cli->width, cli_style(cli, CLI_BOLD),
                    cli_style(cli, CLI_PLAIN), out);
    cli_table_release(table);
}
