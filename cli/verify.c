/* SPDX-License-Identifier: Apache-2.0
 * netweight verify PATH: for people, the document of nw_verify is read back. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "input.h"
#include "json_view.h"
#include "output.h"
#include "problems.h"
#include "progress.h"

/* The member as a text that ends in a NUL, in `buffer`; NULL if it is null. */
static const char *member(struct cli_json object, const char *key,
                          struct cli_text *buffer)
{
    struct cli_json value = cli_json_get(object, key);
    if (cli_json_is_null(value))
        return NULL;
    cli_json_decode(value, buffer);
    cli_text_add(buffer, "", 1);
    return buffer->failed ? "" : buffer->data;
}

static void add_problem(const struct cli *cli, struct cli_json entry,
                        struct cli_text *out)
{
    struct cli_text buffers[4] = {{0}};
    const char *message = member(entry, "message", &buffers[3]);
    struct cli_problem problem = {
        .code = member(entry, "code", &buffers[0]),
        .file = member(entry, "file", &buffers[1]),
        .tensor = member(entry, "tensor", &buffers[2]),
        .message = message == NULL ? "" : message,
    };
    if (problem.code == NULL)
        problem.code = "?";
    cli_add_problem(cli, out, &problem);
    for (size_t i = 0; i < 4; i++) {
        out->failed |= buffers[i].failed;
        cli_text_release(&buffers[i]);
    }
}

static void add_problems(const struct cli *cli, struct cli_json list,
                         struct cli_text *out)
{
    struct cli_json entry = {0};
    size_t n = cli_json_count(list);
    size_t most =
        cli->options.verbose > 0 || n < CLI_PROBLEMS_SHOWN ? n : CLI_PROBLEMS_SHOWN;
    for (size_t i = 0; i < most && cli_json_next(list, &entry); i++)
        add_problem(cli, entry, out);
    cli_add_more(out, n - most);
}

/* A note counts NaN and Inf of a tensor, or says something in words. */
static void add_note(struct cli_json note, struct cli_text *out)
{
    struct cli_text raw = {0};
    struct cli_json message = cli_json_get(note, "message");
    static const char *const where[] = {"file", "tensor"};
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        struct cli_json place = cli_json_get(note, where[i]);
        if (cli_json_is_null(place))
            continue;
        cli_json_decode(place, &raw);
        cli_text_puts(&raw, ": ");
    }
    if (message.size > 0)
        cli_json_decode(message, &raw);
    else
        cli_text_printf(&raw, "%llu NaN, %llu Inf",
                        (unsigned long long)cli_json_uint(cli_json_get(note, "nan")),
                        (unsigned long long)cli_json_uint(cli_json_get(note, "inf")));
    cli_text_puts(out, "  note          ");
    cli_text_safe(out, raw.data, raw.used);
    cli_text_add(out, "\n", 1);
    out->failed |= raw.failed;
    cli_text_release(&raw);
}

static void add_notes(const struct cli *cli, struct cli_json list, struct cli_text *out)
{
    struct cli_json note = {0};
    size_t n = cli_json_count(list);
    size_t most =
        cli->options.verbose > 0 || n < CLI_PROBLEMS_SHOWN ? n : CLI_PROBLEMS_SHOWN;
    for (size_t i = 0; i < most && cli_json_next(list, &note); i++)
        add_note(note, out);
    cli_add_more(out, n - most);
}

static void view(const struct cli *cli, struct cli_json document, struct cli_text *out)
{
    struct cli_json problems = cli_json_get(document, "problems");
    struct cli_json files = cli_json_get(document, "files");
    size_t n_problems = cli_json_count(problems);
    size_t n_files = files.size > 0 && files.at[0] == '[' ? cli_json_count(files)
                                                          : cli_json_uint(files);
    bool ok = cli_json_uint(cli_json_get(document, "ok")) == 1;
    cli_title(cli, out, cli->options.paths.items[0]);
    add_problems(cli, problems, out);
    add_notes(cli, cli_json_get(document, "notes"), out);
    cli_text_printf(out, "  %s%s%s: %zu file%s, %zu problem%s%s\n",
                    cli_style(cli, ok ? CLI_GOOD : CLI_BAD), ok ? "good" : "bad",
                    cli_style(cli, CLI_PLAIN), n_files, n_files == 1 ? "" : "s",
                    n_problems, n_problems == 1 ? "" : "s",
                    cli->options.quick ? " (headers only)" : "");
}

static void copy_member(struct cli_json object, const char *key, char *out, size_t size)
{
    struct cli_text buffer = {0};
    const char *text = member(object, key, &buffer);
    (void)snprintf(out, size, "%s", text == NULL ? "" : text);
    cli_text_release(&buffer);
}

/* -q: only what is wrong, where errors go. */
static void complain_all(const struct cli *cli, struct cli_json document)
{
    struct cli_json entry = {0};
    struct cli_json list = cli_json_get(document, "problems");
    while (cli_json_next(list, &entry)) {
        struct nw_error err = {.offset = NW_OFFSET_NONE};
        char code[32];
        copy_member(entry, "code", code, sizeof code);
        copy_member(entry, "file", err.file, sizeof err.file);
        copy_member(entry, "tensor", err.tensor, sizeof err.tensor);
        copy_member(entry, "message", err.message, sizeof err.message);
        for (int i = 0; i < NW_CODE_COUNT; i++)
            if (strcmp(nw_code_name(i), code) == 0)
                err.code = i;
        cli_complain(cli, &err);
    }
}

int cli_verify(struct cli *cli)
{
    const char *path = cli->options.paths.items[0];
    struct nw_verify_options options = NW_OPTIONS_INIT(options);
    struct nw_error err;
    struct cli_text cache = {0};
    struct cli_text document = {0};
    struct cli_text human = {0};
    struct cli_progress progress;
    int ok = 0;
    options.open = cli_open_options(cli, &cache);
    options.quick = cli->options.quick;
    options.progress = cli_progress_update;
    options.progress_ctx = &progress;
    cli_progress_begin(&progress, cli, "verify");
    int code = nw_verify(path, &options, &ok, cli_text_write, &document, &err);
    cli_progress_end(&progress);
    cli_text_release(&cache);
    if (cli_received(&document, code, &err) != NW_OK) {
        cli_text_release(&document);
        return cli_fail(cli, &err, NULL);
    }
    struct cli_json json = {document.data, document.used};
    int status = ok ? CLI_DONE : CLI_FAILED;
    if (cli->options.json)
        return cli_print(cli, &document) == CLI_DONE ? status : CLI_FAILED;
    if (cli->options.quiet)
        complain_all(cli, json);
    else
        view(cli, json, &human);
    human.failed |= document.failed;
    cli_text_release(&document);
    return cli_print(cli, &human) == CLI_DONE ? status : CLI_FAILED;
}
