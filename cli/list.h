/* SPDX-License-Identifier: Apache-2.0
 * A growing list of texts. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct cli_list {
    const char **items; /* [n] */
    size_t n;
    size_t cap;
};

/* Adds a text of someone else's; false if memory is out. */
bool cli_list_add(struct cli_list *list, const char *item);

void cli_list_release(struct cli_list *list);

/* Copies of texts, chained; NULL is none. */
struct cli_copy {
    struct cli_copy *next;
    char text[]; /* ends in a NUL */
};

/* Adds a copy of `size` bytes and returns it; NULL if memory is out. */
const char *cli_copy_add(struct cli_copy **copies, const char *text, size_t size);

void cli_copy_release(struct cli_copy *copies);

#endif
