/* SPDX-License-Identifier: Apache-2.0
 * The library reads no environment; this is where the command does it for the library.
 */
#include "hub.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* The variable at "$NAME" or "${NAME}"; returns how many bytes that was, 0 if it is
 * none or not set (then it stays as it is written). */
static size_t add_variable(struct cli_text *out, const char *at)
{
    char name[128];
    bool braces = at[1] == '{';
    const char *start = at + 1 + braces;
    size_t size = 0;
    while (is_name_char(start[size]))
        size++;
    if (size == 0 || size >= sizeof name || (braces && start[size] != '}'))
        return 0;
    memcpy(name, start, size);
    name[size] = '\0';
    const char *value = cli_env(name);
    if (value == NULL)
        return 0;
    cli_text_puts(out, value);
    return 1 + size + (braces ? 2 : 0);
}

static void add_expanded(struct cli_text *out, const char *path)
{
    const char *home = cli_env("HOME");
    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0') && home != NULL) {
        cli_text_puts(out, home);
        path++;
    }
    while (*path != '\0') {
        size_t used = *path == '$' ? add_variable(out, path) : 0;
        if (used == 0)
            cli_text_add(out, path, 1);
        path += used == 0 ? 1 : used;
    }
}

void cli_hub_cache(struct cli_text *out)
{
    static const struct {
        const char *variable;
        const char *below;
    } places[] = {
        {"HF_HUB_CACHE", ""},
        {"HUGGINGFACE_HUB_CACHE", ""},
        {"HF_HOME", "/hub"},
        {"XDG_CACHE_HOME", "/huggingface/hub"},
        {"HOME", "/.cache/huggingface/hub"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = cli_env(places[i].variable);
        if (value == NULL)
            continue;
        add_expanded(out, value);
        cli_text_puts(out, places[i].below);
        return;
    }
}
