/* SPDX-License-Identifier: Apache-2.0
 * Command lines: the input, split at line ends, is argv. Whatever is in it, parsing ends with
 * ARG or with options that hold together. Linked with cli/{options,option_table,values,list}.c
 * and the library. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/options.h"

#define WORDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void check_list(const struct cli_list *list)
{
    require(list->n <= list->cap);
    for (size_t i = 0; i < list->n; i++)
        require(strlen(list->items[i]) < SIZE_MAX);
}

/* What commands rely on. */
static void check_options(const struct cli_options *o)
{
    const struct cli_list *const lists[] = {
        &o->paths,       &o->only,     &o->drop,  &o->rename, &o->ignore,
        &o->dtype_rules, &o->metadata, &o->hints, &o->with,   &o->keep_fp32};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        check_list(lists[i]);
    for (size_t i = 0; i < o->keep_fp32.n; i++)
        require(o->keep_fp32.items[i][0] != '\0' &&
                !strchr(o->keep_fp32.items[i], ','));
    for (size_t i = 0; i < o->metadata.n; i++)
        require(strchr(o->metadata.items[i], '=') != NULL);
    require(o->dtype >= 0 && o->dtype < NW_DTYPE_COUNT);
    require(o->copy <= NW_COPY_NEVER && o->backend <= NW_BACKEND_URING);
    require(o->dequantise <= NW_CHOICE_NO && o->use_safetensors <= NW_CHOICE_NO);
    require(o->tolerate < 16 && o->hash < 8 && o->color < 3);
    require(o->tolerance.absolute >= 0.0 && o->tolerance.relative >= 0.0);
    if (o->help || o->version || o->completions != NULL)
        return;
    require(o->command < CLI_COMMAND_COUNT);
    require(o->paths.n >= cli_commands[o->command].min_paths);
    require(o->paths.n <= cli_commands[o->command].max_paths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[WORDS_MAX + 1] = {NULL};
    char name[] = "netweight";
    struct cli_options options;
    struct nw_error err;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    int argc = 0;
    argv[argc++] = name;
    for (char *at = text; at != NULL && argc < WORDS_MAX;) {
        char *end = strchr(at, '\n');
        argv[argc++] = at;
        if (end != NULL)
            *end++ = '\0';
        at = end;
    }
    int code = cli_options_parse(&options, argc, argv, &err);
    require(code == err.code);
    require(code == NW_OK || code == NW_E_ARG || code == NW_E_NOMEM);
    if (code == NW_OK)
        check_options(&options);
    else
        require(err.message[0] != '\0');
    cli_options_release(&options);
    free(text);
    return 0;
}
