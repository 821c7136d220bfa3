/* SPDX-License-Identifier: Apache-2.0
 * LTXLatentUpsamplerModel (diffusers 0.42.1, pipelines/ltx/modeling_latent_upsampler.py):
 * LTX-Video 0.9.7's spatial upscaler. */
#include "model/architecture.h"
#include "model/blocks_ltx_dit.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_ltx_upsampler up = {.mid = 512};
    nwi_ltx_upsampler_read(c, &up);
    nwi_ltx_upsampler_before(m, &up);
    nwi_ltx_upsampler_shuffle(m, &up);
    nwi_ltx_upsampler_after(m, &up);
}

const struct nwi_architecture nwi_arch_ltx_latent_upsampler = {
    .klass = "LTXLatentUpsamplerModel",
    .library = "diffusers",
    .build = build,
    .derive = nwi_ltx_upsampler_derive,
};
