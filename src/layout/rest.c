/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/rest.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Outside all parts: what a training checkpoint of latent diffusion keeps there, and marks
 * of how the denoiser was trained. */
static const struct {
    const char *glob;
    const char *reason;
} known[] = {
    {"*alphas_cumprod*", "the scheduler computes it itself"},
    {"*betas", "the scheduler computes it itself"},
    {"posterior_*", "the scheduler computes it itself"},
    {"denoiser.sigmas", "the scheduler computes it itself"},
    {"logvar", "used in training only"},
    {"*global_step", "used in training only"},
    {"scale_factor", "the VAE's config says it"},
    {"edm_*", "a mark of how it was trained"},
    {"v_pred", "a mark of how it was trained"},
    {"ztsnr", "a mark of how it was trained"},
};

bool nwi_rest_add(struct nwi_rest *rest, const char *name, const char *reason,
                  struct nwi_arena *arena)
{
    void *items = rest->items;
    if (!nwi_arena_grow(arena, &items, rest->n, &rest->room, sizeof *rest->items))
        return false;
    rest->items = items;
    rest->items[rest->n++] = (struct nwi_left_out){name, reason};
    return true;
}

/* NULL: nobody knows it. */
static const char *reason_of(const struct nwi_rest_input *in,
                             const struct nwi_found *part,
                             const struct nwi_stored *stored)
{
    if (part == in->detection->ema)
        return "of the averaged weights (ema)";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (nwi_glob(known[i].glob, strlen(known[i].glob), stored->name,
                     stored->name_size, NULL))
            return known[i].reason;
    }
    return NULL;
}

static int list_part(const struct nwi_rest_input *in, const struct nwi_found *part,
                     struct nwi_rest *rest, struct nw_error *err)
{
    uint32_t first = in->ckpt->components[in->component].first_tensor;
    for (size_t i = 0; i < part->region.n; i++) {
        uint32_t source = part->region.rows[i].source;
        const struct nwi_stored *stored = &in->ckpt->tensors[source];
        if (in->averaged && in->averaged[source - first])
            continue;
        if (!nwi_rest_add(rest, stored->name, reason_of(in, part, stored), in->arena))
            return nwi_fail_nomem(err, sizeof *rest->items);
    }
    return NW_OK;
}

int nwi_rest_list(const struct nwi_rest_input *in, struct nwi_rest *rest,
                  struct nw_error *err)
{
    for (size_t i = 0; i < in->detection->n; i++) {
        const struct nwi_found *part = &in->detection->parts[i];
        if (part != in->part && !part->klass)
            NWI_TRY(list_part(in, part, rest, err));
    }
    return NW_OK;
}
