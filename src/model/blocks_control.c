/* SPDX-License-Identifier: Apache-2.0
 * The ends of control nets (diffusers 0.42.1, models/controlnets). */
#include "model/blocks_control.h"

void nwi_control_outputs(struct nwi_module *m, const char *name, int64_t n, int64_t dim)
{
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "%s.%lld", name, (long long)i)
        {
            nwi_parameter_filled(m, "weight", NWI_DIMS(dim, dim), NW_FILL_ZERO);
            nwi_parameter_filled(m, "bias", NWI_DIMS(dim), NW_FILL_ZERO);
        }
}
