/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/averages.h"

#include <string.h>

#include "base/error.h"

/* LitEma stores "model.a.b.weight" as "model_ema.abweight": without its first segment and
 * without dots. Row of the averages' header, or NULL. */
static const struct nwi_header_row *find_average(const struct nwi_averages_input *in,
                                                 const struct nwi_header *averages,
                                                 const struct nwi_header_row *row)
{
    char name[1024];
    size_t n = 0;
    const struct nwi_stored *stored = &in->ckpt->tensors[row->source];
    const char *start = strstr(stored->name, "diffusion_model.");
    bool prefixed =
        start && (size_t)(start - stored->name) < in->part->region.prefix_size;
    for (const char *text = prefixed ? start : row->name; *text; text++) {
        if (*text == '.')
            continue;
        if (n + 1 == sizeof name)
            return NULL;
        name[n++] = *text;
    }
    name[n] = '\0';
    return nwi_header_find(averages, name);
}

static int point_at(const struct nwi_averages_input *in,
                    const struct nwi_header *averages, bool *averaged,
                    struct nwi_rest *rest, struct nw_error *err)
{
    const struct nwi_region *region = &in->part->region;
    uint32_t first = in->ckpt->components[in->component].first_tensor;
    for (size_t i = 0; i < region->n; i++) {
        struct nwi_header_row *row = &region->rows[i];
        const char *own = in->ckpt->tensors[row->source].name;
        const struct nwi_header_row *found = find_average(in, averages, row);
        if (!found)
            continue;
        if (!nwi_rest_add(rest, own, "its average is taken (ema)", in->arena))
            return nwi_fail_nomem(err, sizeof *rest->items);
        averaged[found->source - first] = true;
        row->source = found->source;
        row->shape = found->shape;
        row->rank = found->rank;
    }
    return NW_OK;
}

int nwi_averages_take(const struct nwi_averages_input *in, bool **averaged,
                      struct nwi_rest *rest, struct nw_error *err)
{
    struct nwi_header averages = {0};
    size_t n_before = rest->n;
    size_t n_tensors = in->ckpt->components[in->component].n_tensors;
    if (!in->detection->ema)
        return nwi_fail(err, NW_E_NOT_FOUND,
                        "the file holds no averaged weights (ema)");
    const struct nwi_region *ema = &in->detection->ema->region;
    *averaged = nwi_arena_zalloc(in->arena, n_tensors);
    if (!*averaged)
        return nwi_fail_nomem(err, n_tensors);
    int code = nwi_header_init(&averages, ema->rows, ema->n, in->arena->memory, err);
    if (code == NW_OK)
        code = point_at(in, &averages, *averaged, rest, err);
    nwi_header_release(&averages);
    if (code != NW_OK)
        return code;
    if (rest->n == n_before)
        return nwi_fail(err, NW_E_NOT_FOUND,
                        "the file holds no averaged weights of %.60s (ema)",
                        in->part->name);
    return NW_OK;
}

int nwi_averages_check(const struct nwi_averages_input *in, const bool *averaged,
                       const struct nwi_header *given, const bool *used,
                       struct nw_error *err)
{
    uint32_t first = in->ckpt->components[in->component].first_tensor;
    for (uint32_t i = 0; i < given->n; i++) {
        uint32_t source = given->rows[i].source;
        if (!used[i] || averaged[source - first])
            continue;
        int code = nwi_fail(err, NW_E_MISSING,
                            "it has no average, which others have (ema): missing=allow "
                            "takes it as it is");
        return nwi_error_in_tensor(err, code, in->ckpt->tensors[source].name);
    }
    return NW_OK;
}
