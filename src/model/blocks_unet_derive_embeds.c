/* SPDX-License-Identifier: Apache-2.0
 * What the shapes of a U-Net tell about its embeddings. */
#include <string.h>

#include "model/blocks_unet.h"

static void derive_text_projection(struct nwi_config *c, const struct nwi_header *h)
{
    static const struct {
        const char *tells;
        const char *width;
        const char *type;
    } types[] = {
        {"encoder_hid_proj.weight", "encoder_hid_proj.weight", "text_proj"},
        {"encoder_hid_proj.text_proj.weight", "encoder_hid_proj.text_proj.weight",
         "text_image_proj"},
        {"encoder_hid_proj.norm.weight", "encoder_hid_proj.image_embeds.weight",
         "image_proj"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!nwi_header_has(h, types[i].tells))
            continue;
        nwi_config_derive(c, "encoder_hid_dim", nwi_header_dim(h, types[i].width, 1));
        if (i > 0 || nwi_config_has(c, "encoder_hid_dim_type"))
            nwi_config_derive_text(c, "encoder_hid_dim_type", types[i].type);
        return;
    }
    nwi_config_derive_null(c, "encoder_hid_dim");
    nwi_config_derive_null(c, "encoder_hid_dim_type");
}

/* Two linear layers tell nothing of what goes in but its width. */
static const char *class_type(struct nwi_config *c, const struct nwi_header *h,
                              int64_t in, bool simple)
{
    int64_t width = nwi_header_dim(h, "class_embedding.linear_1.weight", 1);
    if (width < 0)
        return simple && nwi_header_has(h, "class_embedding.bias") ? "simple_projection"
                                                                   : NULL;
    if (width != in || nwi_config_is(c, "class_embed_type", NULL, "projection"))
        return "projection";
    return "timestep";
}

static void derive_class(struct nwi_config *c, const struct nwi_header *h, int64_t in,
                         bool simple)
{
    const char *type = class_type(c, h, in, simple);
    int64_t width = nwi_header_dim(h, "class_embedding.linear_1.weight", 1);
    if (type) {
        nwi_config_derive_text(c, "class_embed_type", type);
        if (width < 0)
            width = nwi_header_dim(h, "class_embedding.weight", 1);
        if (strcmp(type, "timestep") != 0)
            nwi_config_derive(c, "projection_class_embeddings_input_dim", width);
    } else if (nwi_header_has(h, "class_embedding.weight")) {
        nwi_config_derive_null(c, "class_embed_type");
        nwi_config_derive(c, "num_class_embeds",
                          nwi_header_dim(h, "class_embedding.weight", 0));
    } else if (!nwi_config_has(c, "class_embed_type")) {
        nwi_config_derive_null(c, "num_class_embeds");
    }
}

static const char *added_type(const struct nwi_header *h)
{
    static const struct {
        const char *tells;
        const char *type;
    } types[] = {
        {"add_embedding.linear_1.weight", "text_time"},
        {"add_embedding.norm1.weight", "text"},
        {"add_embedding.text_norm.weight", "text_image"},
        {"add_embedding.input_hint_block.0.weight", "image_hint"},
        {"add_embedding.image_norm.weight", "image"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (nwi_header_has(h, types[i].tells))
            return types[i].type;
    }
    return NULL;
}

void nwi_unet_derive_embeddings(struct nwi_config *c, const struct nwi_header *h,
                                int64_t in, bool simple)
{
    const char *added = added_type(h);
    derive_text_projection(c, h);
    derive_class(c, h, in, simple);
    if (added)
        nwi_config_derive_text(c, "addition_embed_type", added);
    else
        nwi_config_derive_null(c, "addition_embed_type");
    nwi_config_derive(c, "projection_class_embeddings_input_dim",
                      nwi_header_dim(h, "add_embedding.linear_1.weight", 1));
}
