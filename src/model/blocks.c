/* SPDX-License-Identifier: Apache-2.0
 * Shared modules, as diffusers 0.42.1 lays them out (models/embeddings.py, attention.py). */
#include "model/blocks.h"

void nwi_two_linears(struct nwi_module *m, const char *name, int64_t in, int64_t dim,
                     int64_t out)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear_1", in, dim, true);
        nwi_linear(m, "linear_2", dim, out, true);
    }
}

void nwi_feed_forward(struct nwi_module *m, const char *name,
                      struct nwi_feed_forward shape)
{
    int64_t inner = shape.inner ? shape.inner : 4 * shape.dim;
    int64_t out = shape.out ? shape.out : shape.dim;
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "net.0.proj", shape.dim, shape.gated ? 2 * inner : inner,
                   !shape.no_bias);
        nwi_linear(m, "net.2", inner, out, !shape.no_bias);
    }
}
