/* SPDX-License-Identifier: Apache-2.0
 * One pass over the sorted extents: each must begin where those before it end. */
#include "source/extents.h"

#include <inttypes.h>
#include <string.h>

#include "source/sort.h"

static int compare(const void *a, const void *b)
{
    const struct nwi_extent *x = a;
    const struct nwi_extent *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return 0;
}

/* Rewrites rows [first, first + n) in the order of the extents. */
static void permute(struct nwi_builder *b, const struct nwi_vector *extents,
                    size_t first, struct nwi_stored *spare)
{
    struct nwi_extent *rows = extents->items;
    struct nwi_stored *tensors = b->tensors.items;
    size_t n = 0;
    for (size_t i = 0; i < extents->n; i++) {
        if (rows[i].row == NW_NONE)
            continue;
        b->names_dirty |= rows[i].row != first + n;
        spare[n] = tensors[rows[i].row];
        rows[i].row = (uint32_t)(first + n++);
    }
    if (n > 0)
        memcpy(tensors + first, spare, n * sizeof *spare);
}

int nwi_extents_sort(struct nwi_builder *b, struct nwi_vector *extents,
                     size_t first_row)
{
    size_t n = extents->n;
    size_t spare_size = n * sizeof(struct nwi_stored); /* the larger of the two items */
    if (n < 2)
        return NW_OK;
    void *spare = nwi_alloc(b->memory, spare_size);
    if (!spare)
        return nwi_builder_nomem(b, spare_size);
    nwi_sort(extents->items, spare, n, sizeof(struct nwi_extent), compare);
    permute(b, extents, first_row, spare);
    nwi_free(b->memory, spare, spare_size);
    return NW_OK;
}

/* ---- checks ---- */

struct check {
    struct nwi_builder *b;
    const char *path;
    uint64_t data_start;
    uint64_t data_size;
    const struct nwi_extent *last; /* the one that reaches furthest so far */
    uint64_t reached;              /* its end */
};

static struct nwi_place place_of(const struct check *check,
                                 const struct nwi_extent *extent, uint64_t offset)
{
    return (struct nwi_place){.file = check->path,
                              .tensor = extent->name,
                              .tensor_size = extent->name_size,
                              .offset = offset};
}

static int fail_hole(const struct check *check, const struct nwi_extent *extent)
{
    struct nwi_place place =
        place_of(check, extent, check->data_start + check->reached);
    return nwi_builder_problem(check->b, &place, NW_E_BAD_EXTENT,
                               "a hole: bytes %" PRIu64 " to %" PRIu64
                               " of the data belong to no tensor",
                               check->reached, extent->begin);
}

static int fail_overlap(const struct check *check, const struct nwi_extent *extent)
{
    char a[128];
    char z[128];
    const struct nwi_extent *last = check->last;
    struct nwi_place place = place_of(check, extent, check->data_start + extent->begin);
    nwi_quote(a, sizeof a, last->name, last->name_size, 80);
    nwi_quote(z, sizeof z, extent->name, extent->name_size, 80);
    if (last->begin == extent->begin && last->end == extent->end)
        return nwi_builder_problem(
            check->b, &place, NW_E_BAD_EXTENT,
            "\"%s\" is an alias of \"%s\": both lie at bytes %" PRIu64 " to %" PRIu64
            " of the data",
            z, a, extent->begin, extent->end);
    return nwi_builder_problem(
        check->b, &place, NW_E_BAD_EXTENT,
        "\"%s\" begins at byte %" PRIu64
        " of the data and overlaps \"%s\", which ends at %" PRIu64,
        z, extent->begin, a, last->end);
}

static int check_one(struct check *check, const struct nwi_extent *extent)
{
    int code = NW_OK;
    if (extent->begin != check->reached && nwi_builder_is_full(check->b))
        code =
            nwi_builder_problem(check->b, &(struct nwi_place){.offset = NW_OFFSET_NONE},
                                NW_E_BAD_EXTENT, "a further hole or overlap");
    else if (extent->begin > check->reached)
        code = fail_hole(check, extent);
    else if (check->last && extent->begin < check->reached)
        code = fail_overlap(check, extent);
    if (!check->last || extent->end > check->reached) {
        check->last = extent;
        check->reached = extent->end;
    }
    return code;
}

static int fail_truncated(const struct check *check, const struct nwi_extent *rows)
{
    char name[128];
    const struct nwi_extent *first = rows;
    while (first->end <= check->data_size)
        first++;
    uint64_t present = check->data_start + check->data_size;
    struct nwi_place place = place_of(check, first, present);
    nwi_quote(name, sizeof name, first->name, first->name_size, 80);
    return nwi_builder_problem(check->b, &place, NW_E_TRUNCATED,
                               "%" PRIu64 " bytes present, %" PRIu64
                               " needed, first incomplete tensor %s",
                               present, check->data_start + check->reached, name);
}

static int fail_trailing(const struct check *check)
{
    static const char format[] =
        "the tensors end at byte %" PRIu64 ", the file has %" PRIu64 " bytes";
    uint64_t end = check->data_start + check->reached;
    uint64_t total = check->data_start + check->data_size;
    struct nwi_place place = {.file = check->path, .offset = end};
    if (check->b->options->tolerate & NW_TOLERATE_TRAILING)
        return nwi_builder_note(check->b, &place, NW_E_TRAILING, format, end, total);
    return nwi_builder_problem(check->b, &place, NW_E_TRAILING, format, end, total);
}

int nwi_extents_check(struct nwi_builder *b, const struct nwi_vector *extents,
                      uint32_t file, uint64_t data_start)
{
    const struct nwi_source_file *source = nwi_builder_file(b, file);
    const struct nwi_extent *rows = extents->items;
    struct check check = {.b = b,
                          .path = source->info.path,
                          .data_start = data_start,
                          .data_size = source->info.nbytes - data_start};
    for (size_t i = 0; i < extents->n; i++)
        NWI_TRY(check_one(&check, &rows[i]));
    if (check.reached > check.data_size)
        return fail_truncated(&check, rows);
    return check.reached < check.data_size ? fail_trailing(&check) : NW_OK;
}
