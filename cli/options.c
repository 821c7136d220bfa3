/* SPDX-License-Identifier: Apache-2.0
 * Parsing. Nothing here prints or knows a command's work, so that it can be fuzzed
 * alone. */
#include "options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "values.h"

int cli_error(struct nw_error *err, int code, const char *format, ...)
{
    if (err->code != NW_OK)
        return err->code;
    *err = (struct nw_error){.code = code, .offset = NW_OFFSET_NONE};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

static int list_add(struct cli_list *list, const char *item, struct nw_error *err)
{
    return cli_list_add(list, item) ? NW_OK
                                    : cli_error(err, NW_E_NOMEM, "out of memory");
}

/* ---- one argument ---------------------------------------------------------------- */

/* "one of a, b, c" of the words of a choice or set. */
static const char *name_words(const char *words, char *buffer, size_t size)
{
    size_t used = 0;
    const char *word;
    size_t word_size;
    buffer[0] = '\0';
    for (size_t i = 0; (word_size = cli_word(words, i, &word)) > 0; i++) {
        int n = snprintf(buffer + used, size - used, "%s%.*s", i == 0 ? "" : ", ",
                         (int)word_size, word);
        if (n < 0 || (size_t)n >= size - used)
            break;
        used += (size_t)n;
    }
    return buffer;
}

static int bad_word(const struct cli_option_row *row, const char *text, size_t size,
                    struct nw_error *err)
{
    char words[128];
    return cli_error(err, NW_E_ARG, "--%s: '%.*s' is none of %s", row->name,
                     (int)(size < 80 ? size : 80), text,
                     name_words(row->value, words, sizeof words));
}

static int set_bits(const struct cli_option_row *row, const char *text, uint32_t *bits,
                    struct nw_error *err)
{
    for (;;) {
        size_t size = strcspn(text, ",");
        uint32_t word;
        if (!cli_value_choice(row->value, text, size, &word))
            return bad_word(row, text, size, err);
        *bits |= UINT32_C(1) << word;
        if (text[size] == '\0')
            return NW_OK;
        text += size + 1;
    }
}

static int add_split(struct cli_options *o, const struct cli_option_row *row,
                     const char *text, struct cli_list *list, struct nw_error *err)
{
    for (;;) {
        size_t size = strcspn(text, ",");
        if (size == 0)
            return cli_error(err, NW_E_ARG, "--%s: an empty name", row->name);
        const char *item = cli_copy_add(&o->copies, text, size);
        if (item == NULL || !cli_list_add(list, item))
            return cli_error(err, NW_E_NOMEM, "out of memory");
        if (text[size] == '\0')
            return NW_OK;
        text += size + 1;
    }
}

static int add_pair(const struct cli_option_row *row, const char *text,
                    struct cli_list *list, struct nw_error *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return cli_error(err, NW_E_ARG, "--%s: '%.80s' is not %s", row->name, text,
                         row->value);
    return list_add(list, text, err);
}

static int set_device_map(const struct cli_option_row *row, const char *text,
                          const char **out, struct nw_error *err)
{
    const char *words = cli_option_words(row);
    uint32_t word;
    char buffer[96];
    if (text[0] != '{' && !cli_value_choice(words, text, strlen(text), &word))
        return cli_error(err, NW_E_ARG,
                         "--%s: '%.80s' is none of %s, and no JSON object", row->name,
                         text, name_words(words, buffer, sizeof buffer));
    *out = text;
    return NW_OK;
}

static int bad_value(const struct cli_option_row *row, const char *text,
                     const char *wanted, struct nw_error *err)
{
    return cli_error(err, NW_E_ARG, "--%s: '%.80s' is not %s", row->name, text, wanted);
}

/* The kinds that are one number. */
static int set_number(const struct cli_option_row *row, const char *text, void *field,
                      struct nw_error *err)
{
    static const char size_wanted[] =
        "a size of at least one byte, such as 4096, 64MiB or "
        "5GB";
    switch ((enum cli_kind)row->kind) {
    case CLI_BUDGET:
        if (strcmp(text, "auto") == 0) {
            *(uint64_t *)field = NW_BUDGET_AUTO;
            return NW_OK;
        }
        return cli_value_size(text, field)
                   ? NW_OK
                   : bad_value(row, text, "auto, or a size such as 12GB", err);
    case CLI_SIZE:
        return cli_value_size(text, field) ? NW_OK
                                           : bad_value(row, text, size_wanted, err);
    case CLI_THREADS:
        if (!cli_value_number(text, field))
            return bad_value(row, text, "a number of threads", err);
        if (*(uint32_t *)field == 0)
            *(uint32_t *)field = NW_THREADS_NONE;
        return NW_OK;
    case CLI_TOLERANCE:
        return cli_value_tolerance(text, field)
                   ? NW_OK
                   : bad_value(row, text, "ABS or ABS,REL, such as 1e-3", err);
    case CLI_FLAG:
    case CLI_COUNT:
    case CLI_TEXT:
    case CLI_LIST:
    case CLI_PAIRS:
    case CLI_COMMAS:
    case CLI_CHOICE:
    case CLI_SET:
    case CLI_DTYPE:
    case CLI_DEVICES:
        break;
    }
    return NW_OK;
}

static int set_dtype(const struct cli_option_row *row, const char *text, int32_t *out,
                     struct nw_error *err)
{
    int dtype = nw_dtype_from_name(text, strlen(text));
    if (dtype < 0)
        return bad_value(row, text, "a type, such as auto, fp32, bf16 or fp8_e4m3",
                         err);
    *out = dtype;
    return NW_OK;
}

/* Stores one occurrence; `text` is empty for the kinds without an argument. */
static int set_option(struct cli_options *o, const struct cli_option_row *row,
                      const char *text, struct nw_error *err)
{
    void *field = (char *)o + row->field;
    if (row->later && o->later == NULL)
        o->later = row;
    switch ((enum cli_kind)row->kind) {
    case CLI_FLAG:
        if (!row->later) /* those have no field of their own */
            *(bool *)field = true;
        return NW_OK;
    case CLI_COUNT:
        ++*(uint32_t *)field;
        return NW_OK;
    case CLI_TEXT:
        *(const char **)field = text;
        return NW_OK;
    case CLI_LIST:
        return list_add(field, text, err);
    case CLI_PAIRS:
        return add_pair(row, text, field, err);
    case CLI_COMMAS:
        return add_split(o, row, text, field, err);
    case CLI_CHOICE:
        return cli_value_choice(row->value, text, strlen(text), field)
                   ? NW_OK
                   : bad_word(row, text, strlen(text), err);
    case CLI_SET:
        return set_bits(row, text, field, err);
    case CLI_DTYPE:
        return set_dtype(row, text, field, err);
    case CLI_DEVICES:
        return set_device_map(row, text, field, err);
    case CLI_SIZE:
    case CLI_BUDGET:
    case CLI_THREADS:
    case CLI_TOLERANCE:
        return set_number(row, text, field, err);
    }
    return NW_OK;
}

/* ---- the words ------------------------------------------------------------------- */

const struct cli_option_row *cli_option_find(const char *name, size_t size)
{
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        if (strlen(row->name) == size && memcmp(row->name, name, size) == 0)
            return row;
    }
    return NULL;
}

const char *cli_option_words(const struct cli_option_row *row)
{
    switch ((enum cli_kind)row->kind) {
    case CLI_CHOICE:
    case CLI_SET:
        return row->value;
    case CLI_BUDGET:
        return "auto";
    case CLI_DTYPE:
        return "auto|fp64|fp32|fp16|bf16|fp8_e4m3|fp8_e5m2";
    case CLI_DEVICES:
        return "auto|balanced|balanced_low_0|sequential|cpu|disk";
    case CLI_FLAG:
    case CLI_COUNT:
    case CLI_TEXT:
    case CLI_LIST:
    case CLI_PAIRS:
    case CLI_COMMAS:
    case CLI_SIZE:
    case CLI_THREADS:
    case CLI_TOLERANCE:
        break;
    }
    return NULL;
}

bool cli_option_fits(const struct cli_option_row *row, enum cli_command command)
{
    return ((unsigned)row->commands >> command & 1U) != 0;
}

static int unknown_option(enum cli_command command, const char *name, size_t size,
                          struct nw_error *err)
{
    const struct cli_option_row *near = NULL;
    size_t least = size / 3 + 2; /* edits: a third of the word, at least one */
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *row = &cli_option_rows[i];
        size_t distance = cli_distance(name, size, row->name, strlen(row->name));
        if (row->group == CLI_GROUP_HIDDEN || !cli_option_fits(row, command) ||
            distance >= least)
            continue;
        least = distance;
        near = row;
    }
    int shown = (int)(size < 80 ? size : 80);
    if (near == NULL)
        return cli_error(err, NW_E_ARG, "unknown option '--%.*s'", shown, name);
    return cli_error(err, NW_E_ARG, "unknown option '--%.*s'; the nearest is '--%s'",
                     shown, name, near->name);
}

/* A known option at a command that does not take it. */
static int misplaced_option(const struct cli_option_row *row, enum cli_command command,
                            struct nw_error *err)
{
    if (command == CLI_NO_COMMAND)
        return cli_error(err, NW_E_ARG, "--%s stands before the command", row->name);
    char takers[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < CLI_COMMAND_COUNT; i++) {
        if (!cli_option_fits(row, (enum cli_command)i))
            continue;
        int n = snprintf(takers + used, sizeof takers - used, "%s%s",
                         used == 0 ? "" : ", ", cli_commands[i].name);
        if (n > 0 && (size_t)n < sizeof takers - used)
            used += (size_t)n;
    }
    if (used == 0)
        return cli_error(err, NW_E_ARG, "--%s goes with no command", row->name);
    return cli_error(err, NW_E_ARG, "--%s is no option of %s (it is of: %s)", row->name,
                     cli_commands[command].name, takers);
}

static bool takes_argument(const struct cli_option_row *row)
{
    return row->kind != CLI_FLAG && row->kind != CLI_COUNT;
}

/* "--name", "--name=value", or "--name" with the value in `next` (NULL: argv ends).
 * Says whether `next` was used. */
static int long_option(struct cli_options *o, const char *word, const char *next,
                       bool *used_next, struct nw_error *err)
{
    const char *name = word + 2;
    size_t size = strcspn(name, "=");
    const struct cli_option_row *row = cli_option_find(name, size);
    if (row == NULL)
        return unknown_option(o->command, name, size, err);
    const char *text = "";
    if (name[size] == '=') {
        text = name + size + 1;
        if (!takes_argument(row))
            return cli_error(err, NW_E_ARG, "--%s takes no argument", row->name);
    } else if (takes_argument(row)) {
        if (next == NULL)
            return cli_error(err, NW_E_ARG, "--%s needs an argument: %s", row->name,
                             row->value);
        text = next;
        *used_next = true;
    }
    if (!cli_option_fits(row, o->command))
        return misplaced_option(row, o->command, err);
    return set_option(o, row, text, err);
}

/* "-q", or several of them in one word. */
static int short_options(struct cli_options *o, const char *word, struct nw_error *err)
{
    for (const char *at = word + 1; *at != '\0'; at++) {
        const struct cli_option_row *row = NULL;
        for (size_t i = 0; i < cli_option_count && row == NULL; i++)
            if (cli_option_rows[i].letter == *at)
                row = &cli_option_rows[i];
        if (row == NULL)
            return cli_error(err, NW_E_ARG, "unknown option '%.80s'", word);
        if (set_option(o, row, "", err) != NW_OK)
            return err->code;
    }
    return NW_OK;
}

static int set_command(struct cli_options *o, const char *word, struct nw_error *err)
{
    const char *near = NULL;
    size_t least = 3;
    for (size_t i = 0; i < CLI_COMMAND_COUNT; i++) {
        const char *name = cli_commands[i].name;
        size_t distance = cli_distance(word, strlen(word), name, strlen(name));
        if (distance == 0) {
            o->command = (enum cli_command)i;
            return NW_OK;
        }
        if (distance < least) {
            least = distance;
            near = name;
        }
    }
    if (near != NULL)
        return cli_error(err, NW_E_ARG, "unknown command '%.80s'; the nearest is '%s'",
                         word, near);
    return cli_error(err, NW_E_ARG, "unknown command '%.80s'", word);
}

static int check_paths(const struct cli_options *o, struct nw_error *err)
{
    if (o->help || o->version || o->completions != NULL)
        return NW_OK;
    if (o->command == CLI_NO_COMMAND)
        return cli_error(err, NW_E_ARG, "no command");
    const struct cli_command_row *row = &cli_commands[o->command];
    if (o->paths.n < row->min_paths)
        return cli_error(err, NW_E_ARG, "%s needs %s", row->name, row->arguments);
    if (o->paths.n > row->max_paths)
        return cli_error(err, NW_E_ARG, "%s takes %s: '%.80s' is one too many",
                         row->name, row->max_paths == 0 ? "no path" : row->arguments,
                         o->paths.items[row->max_paths]);
    for (size_t i = 0; i < o->paths.n; i++) {
        if (o->paths.items[i][0] == '\0')
            return cli_error(err, NW_E_ARG, "a path is empty");
        if (strcmp(o->paths.items[i], "-") == 0)
            return cli_error(
                err, NW_E_ARG, "%s",
                o->command == CLI_CONVERT && i == 1
                    ? "'-' cannot be OUT: a file is written beside its final "
                      "name and moved there when all of it is on the disk"
                    : "'-' cannot be read: tensors are read at their "
                      "offsets, which a stream does not have");
    }
    return NW_OK;
}

int cli_options_parse(struct cli_options *options, int argc, char *const *argv,
                      struct nw_error *err)
{
    bool words = false; /* behind "--" */
    bool named = false; /* the command was given, known or not */
    *options = (struct cli_options){.command = CLI_NO_COMMAND};
    *err = (struct nw_error){.offset = NW_OFFSET_NONE};
    for (int i = 1; i < argc && err->code != NW_E_NOMEM; i++) {
        const char *word = argv[i];
        bool used_next = false;
        if (words || word[0] != '-' || word[1] == '\0') {
            if (named)
                (void)list_add(&options->paths, word, err);
            else
                (void)set_command(options, word, err);
            named = true;
        } else if (strcmp(word, "--") == 0) {
            words = true;
        } else if (word[1] == '-') {
            (void)long_option(options, word, i + 1 < argc ? argv[i + 1] : NULL,
                              &used_next, err);
        } else {
            (void)short_options(options, word, err);
        }
        i += used_next;
    }
    if (err->code == NW_OK)
        (void)check_paths(options, err);
    return err->code;
}

void cli_options_release(struct cli_options *options)
{
    cli_list_release(&options->paths);
    cli_list_release(&options->only);
    cli_list_release(&options->drop);
    cli_list_release(&options->rename);
    cli_list_release(&options->ignore);
    cli_list_release(&options->dtype_rules);
    cli_list_release(&options->keep_fp32);
    cli_list_release(&options->metadata);
    cli_list_release(&options->hints);
    cli_list_release(&options->with);
    cli_copy_release(options->copies);
    *options = (struct cli_options){.command = CLI_NO_COMMAND};
}

int cli_options_check(const struct cli_options *options, struct nw_error *err)
{
    const char *name = options->later != NULL ? options->later->name : NULL;
    const char *value = "";
    if (name == NULL && options->format != 0) {
        name = "format";
        value = " gguf";
    } else if (name == NULL && options->device_map != NULL &&
               strcmp(options->device_map, "cpu") != 0) {
        name = "device-map";
        value = " other than cpu";
    }
    if (name == NULL)
        return NW_OK;
    return cli_error(err, NW_E_UNSUPPORTED, "--%s%s: this version does not know it yet",
                     name, value);
}
