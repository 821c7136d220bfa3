/* SPDX-License-Identifier: Apache-2.0
 * ZImageControlNetModel (diffusers 0.42.1, models/controlnets/controlnet_z_image.py):
 * Z-Image's control nets 1.0, 2.0 and 2.1. The embedders it borrows from the transformer
 * are not its own. */
#include <stdio.h>

#include "model/architecture.h"
#include "model/blocks_dit.h"
#include "model/blocks_z_image.h"

#define TRANSFORMER_LAYERS 30 /* of Z-Image: control layers are spread over them */

/* A block whose result is projected; the one at place 0 also takes the state in. */
static void control_block(struct nwi_module *m, const struct nwi_z_image *z,
                          int64_t place)
{
    nwi_z_image_block(m, z, true);
    if (place == 0)
        nwi_zero_linear(m, "before_proj", z->dim, z->dim);
    nwi_zero_linear(m, "after_proj", z->dim, z->dim);
}

/* Always asked for: a list with a 0 in it. */
static void read_places(struct nwi_config *c, struct nwi_config_ints *places)
{
    bool found = false;
    nwi_config_ints(c, "control_layers_places", places);
    for (size_t i = 0; i < places->n; i++)
        found = found || places->at[i] == 0;
    if (!found || places->scalar)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "control_layers_places is no list with a 0 in it");
}

static void noise_refiner(struct nwi_module *m, struct nwi_config *c,
                          const struct nwi_z_image *z)
{
    int64_t n = nwi_config_count(c, "n_refiner_layers", 2);
    if (nwi_config_is(c, "add_control_noise_refiner", NULL, "control_layers"))
        return;
    bool control =
        nwi_config_is(c, "add_control_noise_refiner", NULL, "control_noise_refiner");
    for (int64_t i = 0; i < n; i++)
        NWI_IN(m, "control_noise_refiner.%lld", (long long)i)
        {
            if (control)
                control_block(m, z, i);
            else
                nwi_z_image_block(m, z, true);
        }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_z_image z = nwi_z_image_read(c);
    struct nwi_config_ints places;
    struct nwi_z_image_patches patches;

    read_places(c, &places);
    nwi_z_image_patches(c, false, &patches);
    if (patches.n > 0 && !nwi_config_has(c, "control_in_dim"))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "control_in_dim is missing");
    int64_t in = nwi_config_int_or_null(c, "control_in_dim", 0);
    for (size_t i = 0; i < places.n; i++)
        NWI_IN(m, "control_layers.%zu", i)
        {
            control_block(m, &z, places.at[i]);
        }
    nwi_z_image_embedders(m, "control_all_x_embedder", &patches, in, z.dim);
    noise_refiner(m, c, &z);
}

/* How many control layers there are is told, not beside which layers they stand: the
 * published ones are spread evenly. */
static void derive_places(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t places[NWI_CONFIG_LIST];
    int64_t n = nwi_header_count(h, "control_layers.");
    char name[64];
    if (n <= 0 || n > NWI_CONFIG_LIST)
        return;
    for (int64_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "control_layers.%lld.before_proj.weight",
                       (long long)i);
        places[i] = n <= TRANSFORMER_LAYERS ? TRANSFORMER_LAYERS / n * i : i;
        if (nwi_header_has(h, name))
            places[i] = 0;
        else if (i == 0)
            places[i] = 1;
    }
    nwi_config_derive_ints(c, "control_layers_places", places, (size_t)n);
}

static void derive_refiner(struct nwi_config *c, const struct nwi_header *h)
{
    static const char key[] = "add_control_noise_refiner";
    int64_t n = nwi_header_count(h, "control_noise_refiner.");
    if (n <= 0) {
        nwi_config_derive_text(c, key, "control_layers");
        return;
    }
    nwi_config_derive(c, "n_refiner_layers", n);
    if (nwi_header_any(h, "control_noise_refiner.0.after_proj."))
        nwi_config_derive_text(c, key, "control_noise_refiner");
    else
        nwi_config_derive_null(c, key);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_z_image_derive(
        c, h,
        (struct nwi_z_image_names){.block = "control_layers.0.",
                                   .embedders = "control_all_x_embedder.",
                                   .channels = "control_in_dim"});
    derive_places(c, h);
    derive_refiner(c, h);
}

static const char *const plain_keys[] = {"control_refiner_layers_places", "n_kv_heads",
                                         "norm_eps", NULL};

const struct nwi_architecture nwi_arch_z_image_controlnet = {
    .klass = "ZImageControlNetModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
