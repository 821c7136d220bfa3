/* SPDX-License-Identifier: Apache-2.0
 * Looking things up among names and shapes. */
#include "source/header.h"

#include <string.h>

#include "base/error.h"

int nwi_header_init(struct nwi_header *header, const struct nwi_header_row *rows,
                    size_t n, struct nwi_memory *memory, struct nw_error *err)
{
    *header = (struct nwi_header){.rows = rows, .n = n};
    if (nwi_map_init(&header->names, memory, n) != NW_OK)
        return nwi_fail_nomem(err, n * sizeof(void *));
    for (size_t i = 0; i < n; i++) {
        uint32_t existing = NWI_MAP_NONE;
        if (nwi_map_add(&header->names, rows[i].name, rows[i].name_size, (uint32_t)i,
                        &existing) != NW_OK)
            return nwi_fail_nomem(err, n * sizeof(void *));
        if (existing != NWI_MAP_NONE) {
            int code = nwi_fail(err, NW_E_DUPLICATE, "two tensors have this name");
            return nwi_error_in_tensor(err, code, rows[i].name);
        }
    }
    return NW_OK;
}

void nwi_header_release(struct nwi_header *header)
{
    nwi_map_release(&header->names);
}

const struct nwi_header_row *nwi_header_find(const struct nwi_header *header,
                                             const char *name)
{
    uint32_t row = nwi_map_find(&header->names, name, strlen(name));
    return row == NWI_MAP_NONE ? NULL : &header->rows[row];
}

bool nwi_header_has(const struct nwi_header *header, const char *name)
{
    return nwi_header_find(header, name) != NULL;
}

int64_t nwi_header_dim(const struct nwi_header *header, const char *name, int dim)
{
    const struct nwi_header_row *row = nwi_header_find(header, name);
    if (!row)
        return -1;
    int64_t at = dim < 0 ? (int64_t)row->rank + dim : dim;
    if (at < 0 || at >= (int64_t)row->rank || row->shape[at] > INT64_MAX)
        return -1;
    return (int64_t)row->shape[at];
}

int nwi_header_rank(const struct nwi_header *header, const char *name)
{
    const struct nwi_header_row *row = nwi_header_find(header, name);
    return row ? (int)row->rank : -1;
}

/* The decimal number without leading zeros that text begins with, up to "." or the end;
 * -1 if there is none, or it has more than nine digits. */
static int64_t list_index(const char *text)
{
    int64_t value = 0;
    size_t n = 0;
    for (; text[n] >= '0' && text[n] <= '9'; n++) {
        if (n == 9 || (n == 1 && text[0] == '0'))
            return -1;
        value = value * 10 + (text[n] - '0');
    }
    return n > 0 && (text[n] == '.' || text[n] == '\0') ? value : -1;
}

static bool begins(const struct nwi_header_row *row, const char *prefix, size_t size)
{
    return row->name_size >= size && memcmp(row->name, prefix, size) == 0;
}

int64_t nwi_header_count(const struct nwi_header *header, const char *prefix)
{
    size_t size = strlen(prefix);
    int64_t count = 0;
    for (size_t i = 0; i < header->n; i++) {
        if (!begins(&header->rows[i], prefix, size))
            continue;
        int64_t index = list_index(header->rows[i].name + size);
        if (index >= count)
            count = index + 1;
    }
    return count;
}

bool nwi_header_any(const struct nwi_header *header, const char *prefix)
{
    size_t size = strlen(prefix);
    for (size_t i = 0; i < header->n; i++) {
        if (begins(&header->rows[i], prefix, size))
            return true;
    }
    return false;
}
