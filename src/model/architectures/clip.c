/* SPDX-License-Identifier: Apache-2.0
 * CLIPTextModel, CLIPVisionModel, both with projections, and CLIPModel (transformers 5.24,
 * models/clip/modeling_clip.py): the text encoders of Stable Diffusion, SDXL, SD3 and
 * FLUX.1, and what IP-Adapters see with. */
#include <string.h>

#include "model/architecture.h"
#include "model/blocks_clip.h"
#include "model/transformers_keys.h"

/* One linear layer without bias into the space that texts and images share. */
static void project(struct nwi_module *m, struct nwi_config *c, const char *name,
                    int64_t dim, int64_t projection)
{
    if (projection == NWI_NULL)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"projection_dim\" of the config is null");
    nwi_linear(m, name, dim, projection, false);
}

static void build_text(struct nwi_module *m, struct nwi_config *c)
{
    (void)nwi_clip_text(m, c);
}

static void build_vision(struct nwi_module *m, struct nwi_config *c)
{
    (void)nwi_clip_vision(m, c);
}

static void build_projected_text(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_clip clip = {0};
    NWI_IN(m, "text_model")
    {
        clip = nwi_clip_text(m, c);
    }
    project(m, c, "text_projection", clip.dim, clip.projection);
}

static void build_projected_vision(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_clip clip = {0};
    NWI_IN(m, "vision_model")
    {
        clip = nwi_clip_vision(m, c);
    }
    project(m, c, "visual_projection", clip.dim, clip.projection);
}

/* The tower `name` with the config under `key`, over which `key`_dict of old files goes. */
static struct nwi_clip tower(struct nwi_module *m, struct nwi_config *c,
                             const char *name, const char *key, const char *old)
{
    struct nwi_clip clip = {0};
    struct nwi_config inner;
    bool text = strcmp(name, "text_model") == 0;
    nwi_config_inner(c, nwi_config_has(c, old) ? old : key, &inner);
    NWI_IN(m, "%s", name)
    {
        clip = text ? nwi_clip_text(m, &inner) : nwi_clip_vision(m, &inner);
    }
    nwi_config_join(c, &inner);
    return clip;
}

static void build_both(struct nwi_module *m, struct nwi_config *c)
{
    int64_t projection = nwi_config_int_or_null(c, "projection_dim", 512);
    nwi_parameter(m, "logit_scale", NWI_SCALAR);
    struct nwi_clip text = tower(m, c, "text_model", "text_config", "text_config_dict");
    struct nwi_clip vision =
        tower(m, c, "vision_model", "vision_config", "vision_config_dict");
    project(m, c, "visual_projection", vision.dim, projection);
    project(m, c, "text_projection", text.dim, projection);
}

/* ---- deriving ---- */

static void derive_text(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_clip_text_derive(c, h, "");
}

static void derive_vision(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_clip_vision_derive(c, h, "");
}

static void derive_projected_text(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_clip_text_derive(c, h, "text_model.");
    nwi_config_derive(c, "projection_dim",
                      nwi_header_dim(h, "text_projection.weight", 0));
}

static void derive_projected_vision(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_clip_vision_derive(c, h, "vision_model.");
    nwi_config_derive(c, "projection_dim",
                      nwi_header_dim(h, "visual_projection.weight", 0));
}

static void derive_both(struct nwi_config *c, const struct nwi_header *h)
{
    struct nwi_config inner;
    nwi_config_init(&inner, NULL, NULL, c->arena, c->err);
    nwi_clip_text_derive(&inner, h, "text_model.");
    nwi_config_derive_inner(c, "text_config", &inner);
    nwi_config_init(&inner, NULL, NULL, c->arena, c->err);
    nwi_clip_vision_derive(&inner, h, "vision_model.");
    nwi_config_derive_inner(c, "vision_config", &inner);
    nwi_config_derive(c, "projection_dim",
                      nwi_header_dim(h, "text_projection.weight", 0));
}

const struct nwi_architecture nwi_arch_clip_text_model = {
    .klass = "CLIPTextModel",
    .library = "transformers",
    .build = build_text,
    .derive = derive_text,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "clip_text_model",
};

const struct nwi_architecture nwi_arch_clip_text_model_with_projection = {
    .klass = "CLIPTextModelWithProjection",
    .library = "transformers",
    .build = build_projected_text,
    .derive = derive_projected_text,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_clip_vision_model = {
    .klass = "CLIPVisionModel",
    .library = "transformers",
    .build = build_vision,
    .derive = derive_vision,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "clip_vision_model",
};

const struct nwi_architecture nwi_arch_clip_vision_model_with_projection = {
    .klass = "CLIPVisionModelWithProjection",
    .library = "transformers",
    .build = build_projected_vision,
    .derive = derive_projected_vision,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
};

const struct nwi_architecture nwi_arch_clip_model = {
    .klass = "CLIPModel",
    .library = "transformers",
    .build = build_both,
    .derive = derive_both,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "clip",
};
