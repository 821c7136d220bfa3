/* SPDX-License-Identifier: Apache-2.0
 * What FLUX.2 and FLUX.3 share, as diffusers 0.42.1 lays it out
 * (models/transformers/transformer_flux2.py). */
#include "model/blocks_flux2.h"

void nwi_flux2_embedder(struct nwi_module *m, const char *name, int64_t in, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear_1", in, dim, false);
        nwi_linear(m, "linear_2", dim, dim, false);
    }
}

void nwi_flux2_feed_forward(struct nwi_module *m, const char *name,
                            const struct nwi_flux2 *flux)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear_in", flux->dim, 2 * flux->inner, false);
        nwi_linear(m, "linear_out", flux->inner, flux->dim, false);
    }
}

void nwi_flux2_attention(struct nwi_module *m, const struct nwi_flux2 *flux)
{
    nwi_linear(m, "to_q", flux->dim, flux->dim, false);
    nwi_linear(m, "to_k", flux->dim, flux->dim, false);
    nwi_linear(m, "to_v", flux->dim, flux->dim, false);
    nwi_rms_norm(m, "norm_q", flux->head_dim);
    nwi_rms_norm(m, "norm_k", flux->head_dim);
    nwi_linear(m, "to_out.0", flux->dim, flux->dim, false);
}
