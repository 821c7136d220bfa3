/* SPDX-License-Identifier: Apache-2.0
 * ZImageTransformer2DModel (diffusers 0.42.1, models/transformers/transformer_z_image.py):
 * Z-Image, Z-Image-Turbo, Z-Image-Omni. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_dit.h"
#include "model/blocks_z_image.h"

static void final_layers(struct nwi_module *m,
                         const struct nwi_z_image_patches *patches, int64_t channels,
                         const struct nwi_z_image *z)
{
    for (size_t i = 0; i < patches->n; i++) {
        int64_t width = nwi_z_image_patch_width(m->config, patches, i, channels);
        if (!nwi_z_image_patch_is_new(patches, i))
            continue;
        NWI_IN(m, "all_final_layer.%lld-%lld", (long long)patches->space.at[i],
               (long long)patches->time.at[i])
        {
            nwi_linear(m, "linear", z->dim, width, true);
            nwi_linear(m, "adaLN_modulation.1", z->condition, z->dim, true);
        }
    }
}

/* Features of an encoder, normalised and projected. */
static void embedder(struct nwi_module *m, const char *name, int64_t in, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_rms_norm(m, "0", in);
        nwi_linear(m, "1", in, dim, true);
    }
}

/* The axes must add up to a head. */
static void check_axes(struct nwi_config *c, int64_t head_dim)
{
    static const int64_t axes[] = {32, 48, 48};
    static const int64_t lengths[] = {1024, 512, 512};
    struct nwi_config_ints dims;
    struct nwi_config_ints lens;
    int64_t turned = nwi_rope_axes(
        c,
        (struct nwi_rope_axes){.key = "axes_dims", .fallback = axes, .n_fallback = 3});
    nwi_config_ints_or(c, "axes_dims", axes, 3, &dims);
    nwi_config_ints_or(c, "axes_lens", lengths, 3, &lens);
    if (turned != head_dim || dims.n != lens.n)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "axes_dims adds up to %lld (a head has %lld) in %zu axes, "
                        "axes_lens has %zu",
                        (long long)turned, (long long)head_dim, dims.n, lens.n);
}

static void pad_tokens(struct nwi_module *m, int64_t dim, bool siglip)
{
    if (siglip)
        nwi_parameter_filled(m, "siglip_pad_token", NWI_DIMS(1, dim), NW_FILL_ZERO);
    nwi_parameter_filled(m, "x_pad_token", NWI_DIMS(1, dim), NW_FILL_ZERO);
    nwi_parameter_filled(m, "cap_pad_token", NWI_DIMS(1, dim), NW_FILL_ZERO);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_z_image z = nwi_z_image_read(c);
    struct nwi_z_image_patches patches;
    int64_t in = nwi_config_int(c, "in_channels", 16);
    int64_t n = nwi_config_count(c, "n_layers", 30);
    int64_t n_refiner = nwi_config_count(c, "n_refiner_layers", 2);
    int64_t caption = nwi_config_int(c, "cap_feat_dim", 2560);
    int64_t siglip = nwi_config_int_or_null(c, "siglip_feat_dim", NWI_NULL);

    nwi_z_image_patches(c, true, &patches);
    check_axes(c, z.head_dim);
    pad_tokens(m, z.dim, siglip != NWI_NULL);
    nwi_z_image_embedders(m, "all_x_embedder", &patches, in, z.dim);
    final_layers(m, &patches, in, &z);
    nwi_z_image_blocks(m, "noise_refiner", n_refiner, &z, true);
    nwi_z_image_blocks(m, "context_refiner", n_refiner, &z, false);
    NWI_IN(m, "t_embedder.mlp")
    {
        nwi_linear(m, "0", 256, 1024, true);
        nwi_linear(m, "2", 1024, z.condition, true);
    }
    embedder(m, "cap_embedder", caption, z.dim);
    if (siglip != NWI_NULL) {
        embedder(m, "siglip_embedder", siglip, z.dim);
        nwi_z_image_blocks(m, "siglip_refiner", n_refiner, &z, false);
    }
    nwi_z_image_blocks(m, "layers", n, &z, true);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    bool whole = nwi_header_any(h, "layers.0.");
    int64_t siglip = nwi_header_dim(h, "siglip_embedder.1.weight", 1);
    nwi_config_derive(c, "dim", nwi_header_dim(h, "cap_embedder.1.weight", 0));
    nwi_z_image_derive(
        c, h,
        (struct nwi_z_image_names){.block = whole ? "layers.0." : "noise_refiner.0.",
                                   .embedders = "all_x_embedder.",
                                   .channels = "in_channels"});
    nwi_config_derive(c, "n_layers", nwi_header_count(h, "layers."));
    nwi_config_derive(c, "n_refiner_layers", nwi_header_count(h, "noise_refiner."));
    nwi_config_derive(c, "cap_feat_dim", nwi_header_dim(h, "cap_embedder.1.weight", 1));
    if (siglip > 0)
        nwi_config_derive(c, "siglip_feat_dim", siglip);
    else
        nwi_config_derive_null(c, "siglip_feat_dim");
}

static const char *const plain_keys[] = {"n_kv_heads", "norm_eps", "rope_theta",
                                         "t_scale", NULL};

const struct nwi_architecture nwi_arch_z_image_transformer_2d = {
    .klass = "ZImageTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
