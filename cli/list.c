/* SPDX-License-Identifier: Apache-2.0 */
#include "list.h"

#include <stdlib.h>
#include <string.h>

bool cli_list_add(struct cli_list *list, const char *item)
{
    if (list->n == list->cap) {
        size_t cap = list->cap == 0 ? 8 : list->cap * 2;
        const char **items = realloc(list->items, cap * sizeof(const char *));
        if (items == NULL)
            return false;
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = item;
    return true;
}

void cli_list_release(struct cli_list *list)
{
    free(list->items);
    *list = (struct cli_list){0};
}

const char *cli_copy_add(struct cli_copy **copies, const char *text, size_t size)
{
    struct cli_copy *copy = malloc(sizeof *copy + size + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy->text, text, size);
    copy->text[size] = '\0';
    copy->next = *copies;
    *copies = copy;
    return copy->text;
}

void cli_copy_release(struct cli_copy *copies)
{
    while (copies != NULL) {
        struct cli_copy *next = copies->next;
        free(copies);
        copies = next;
    }
}
