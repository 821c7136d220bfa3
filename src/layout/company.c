/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/company.h"

#include <string.h>

#include "base/error.h"
#include "source/catalog.h"

/* A component that may hold a denoiser: the whole of a file, or one so called. */
static bool may_denoise(const struct nwi_component *component)
{
    const char *name = component->info.name;
    return !*name || strcmp(name, "unet") == 0 || strcmp(name, "transformer") == 0;
}

static int find_denoiser(const struct nwi_company_input *in, struct nwi_arena *arena,
                         const struct nwi_found **denoiser, struct nw_error *err)
{
    *denoiser = nwi_find_denoiser(in->own);
    for (uint32_t i = 0; i < in->ckpt->n_components && !*denoiser; i++) {
        struct nwi_detection detection;
        if (i == in->component || !may_denoise(&in->ckpt->components[i]))
            continue;
        NWI_TRY(nwi_detect(in->ckpt, i, in->hints, arena, &detection, err));
        *denoiser = nwi_find_denoiser(&detection);
    }
    return NW_OK;
}

static bool is_of(const struct nwi_original_part *row, const struct nwi_found *part,
                  const struct nwi_found *denoiser)
{
    if (strcmp(row->component, part->name) != 0)
        return false;
    return !row->variant ||
           (denoiser->variant && strcmp(row->variant, denoiser->variant->name) == 0);
}

static const struct nwi_original_part *find_row(const struct nwi_found *part,
                                                const struct nwi_found *denoiser)
{
    const struct nwi_original_part *row =
        denoiser && denoiser->family ? denoiser->family->parts : NULL;
    for (; row && row->component; row++) {
        if (is_of(row, part, denoiser))
            return row;
    }
    return NULL;
}

/* Its class tells enough where its few or odd names did not: the first family that converts
 * to that class. */
static const struct nwi_family *family_of(const struct nwi_company_input *in)
{
    const struct nwi_family *const *family = nwi_families;
    if (in->part->family || !in->klass)
        return in->part->family;
    for (; *family; family++) {
        if ((*family)->rules && (*family)->klass &&
            strcmp((*family)->klass, in->klass) == 0)
            break;
    }
    return *family;
}

int nwi_company_find(const struct nwi_company_input *in, struct nwi_arena *arena,
                     struct nwi_company *out, struct nw_error *err)
{
    const struct nwi_found *part = in->part;
    const struct nwi_found *denoiser = NULL;
    NWI_TRY(find_denoiser(in, arena, &denoiser, err));
    const struct nwi_original_part *row = find_row(part, denoiser);
    const struct nwi_family *family = row && row->family ? row->family : family_of(in);
    const char *prefix = family ? family->prefix : NULL;
    if (row && row->prefix)
        prefix = row->prefix;
    if (part->layout == NWI_LAYOUT_ORIGINAL && part->region.prefix_size > 0)
        prefix = part->region.prefix; /* as the file that it is from has it */
    *out = (struct nwi_company){family ? family->rules : NULL, prefix ? prefix : ""};
    return NW_OK;
}
