/* SPDX-License-Identifier: Apache-2.0
 * netweight inspect PATH... */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "find.h"
#include "hashes.h"
#include "input.h"
#include "inspect_view.h"
#include "output.h"

/* What is passed along from path to path. */
struct inspection {
    const struct cli *cli;
    size_t n;     /* checkpoints seen */
    size_t shown; /* of these, told about on standard output */
    bool several; /* more than one may come: one document a line */
    int status;
};

static void print(struct inspection *in, struct cli_text *text)
{
    if (cli_print(in->cli, text) != CLI_DONE)
        in->status = CLI_FAILED;
}

/* Several paths: the failure of one is a line among the others. */
static void broken_line(struct inspection *in, const char *path,
                        const struct nw_error *err)
{
    struct cli_text error = {0};
    struct cli_text line = {0};
    if (nw_error_json(err, NULL, cli_text_write, &error) != NW_OK || error.used == 0) {
        line.failed = true;
    } else {
        cli_text_puts(&line, "{\"path\":");
        cli_text_json(&line, path, strlen(path));
        cli_text_add(&line, ",", 1);
        cli_text_add(&line, error.data + 1, error.used - 1); /* behind its '{' */
    }
    cli_text_release(&error);
    print(in, &line);
}

static void fail(struct inspection *in, const char *path, const struct nw_error *err,
                 const struct nw_checkpoint *ckpt)
{
    const struct cli *cli = in->cli;
    if (!in->several) {
        in->status = cli_fail(cli, err, ckpt);
        return;
    }
    cli_complain(cli, err);
    in->status = CLI_FAILED;
    if (cli->options.json)
        broken_line(in, path, err);
}

/* The first problem that is no note, as an error; false if there is none. */
static bool first_problem(const char *path, const struct nw_checkpoint *ckpt,
                          struct nw_error *err)
{
    size_t n = nw_checkpoint_problem_count(ckpt);
    for (size_t i = 0; i < n; i++) {
        struct nw_problem problem;
        if (nw_checkpoint_problem(ckpt, i, &problem) != NW_OK || problem.note)
            continue;
        cli_problem_error(path, &problem, err);
        return true;
    }
    return false;
}

/* A checkpoint with problems: the document says so as every failure does. */
static void add_error(const struct nw_error *err, const struct nw_checkpoint *ckpt,
                      struct cli_text *document)
{
    struct cli_text text = {0};
    if (nw_error_json(err, ckpt, cli_text_write, &text) != NW_OK)
        document->failed = true;
    cli_json_splice(document, "error",
                    cli_json_get((struct cli_json){text.data, text.used}, "error"));
    cli_text_release(&text);
}

static void show(struct inspection *in, const char *path,
                 const struct nw_checkpoint *ckpt)
{
    const struct cli *cli = in->cli;
    const struct cli_options *o = &cli->options;
    struct nw_error err;
    struct cli_text document = {0};
    struct cli_text human = {0};
    uint32_t flags =
        cli_hash_flags(cli) | (o->tensors && o->json ? NW_INSPECT_TENSORS : 0);
    if (o->json || o->hash != 0) {
        int code = nw_checkpoint_json(ckpt, flags, cli_text_write, &document, &err);
        if (cli_received(&document, code, &err) != NW_OK) {
            cli_text_release(&document);
            fail(in, path, &err, ckpt);
            return;
        }
    }
    bool bad = first_problem(path, ckpt, &err);
    if (bad)
        in->status = CLI_FAILED;
    if (o->json) {
        if (bad) {
            cli_complain(cli, &err);
            add_error(&err, ckpt, &document);
        }
        print(in, &document);
        return;
    }
    if (o->quiet) {
        cli_complain_problems(cli, path, ckpt);
    } else {
        if (in->shown++ > 0)
            (void)fputc('\n', stdout);
        cli_inspect_view(cli, path, ckpt, &human);
        if (o->hash != 0)
            cli_add_hashes(cli, (struct cli_json){document.data, document.used},
                           &human);
        print(in, &human);
    }
    cli_text_release(&document);
}

/* A cli_found_fn. */
static int found(void *ctx, const char *path, struct nw_checkpoint *ckpt)
{
    struct inspection *in = ctx;
    struct nw_error err = {.code = NW_OK};
    in->n++;
    if (ckpt == NULL && cli_open(in->cli, path, &ckpt, &err) != NW_OK)
        fail(in, path, &err, NULL);
    else
        show(in, path, ckpt);
    nw_checkpoint_free(ckpt);
    return 0;
}

static void search(struct inspection *in, const char *path)
{
    struct nw_error err = {.code = NW_OK};
    size_t before = in->n;
    int code = cli_find(in->cli, path, found, in, &err);
    if (code == NW_OK && in->n == before) {
        code =
            cli_error(&err, NW_E_NOT_FOUND, "no checkpoint in this folder or below it");
        size_t size = strlen(path);
        size_t most = sizeof err.file - 1;
        memcpy(err.file, path, size < most ? size : most);
    }
    if (code != NW_OK)
        fail(in, path, &err, NULL);
}

int cli_inspect(struct cli *cli)
{
    const struct cli_list *paths = &cli->options.paths;
    struct inspection in = {.cli = cli, .status = CLI_DONE};
    in.several = paths->n > 1 || cli->options.recursive;
    for (size_t i = 0; i < paths->n; i++) {
        if (cli->options.recursive)
            search(&in, paths->items[i]);
        else
            (void)found(&in, paths->items[i], NULL);
    }
    return in.status;
}
