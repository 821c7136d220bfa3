/* SPDX-License-Identifier: Apache-2.0
 * SiglipVisionModel and Siglip2VisionModel (transformers 5.24, models/siglip,
 * models/siglip2): the image encoders of FLUX.1 Redux, HunyuanVideo and Z-Image Omni. */
#include "model/architecture.h"
#include "model/blocks_clip.h"
#include "model/transformers_keys.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    (void)nwi_siglip_vision(m, c);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_siglip_vision_derive(c, h, "");
}

const struct nwi_architecture nwi_arch_siglip_vision_model = {
    .klass = "SiglipVisionModel",
    .library = "transformers",
    .build = build,
    .derive = derive,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "siglip_vision_model",
};

const struct nwi_architecture nwi_arch_siglip2_vision_model = {
    .klass = "Siglip2VisionModel",
    .library = "transformers",
    .build = nwi_siglip2_vision,
    .derive = derive,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "siglip2_vision_model",
};
