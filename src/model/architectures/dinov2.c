/* SPDX-License-Identifier: Apache-2.0
 * Dinov2Model and Dinov2WithRegistersModel (transformers 5.24, models/dinov2,
 * models/dinov2_with_registers): image encoders of representation autoencoders. */
#include "model/architecture.h"
#include "model/blocks_clip.h"
#include "model/blocks_vae.h"
#include "model/transformers_keys.h"

struct dino {
    int64_t dim;
    int64_t wide; /* of all heads together */
    int64_t inner;
    bool qkv_bias;
    bool gated;
    bool unit_scale; /* layer scales start at one */
};

/* Two thirds of what an MLP without a gate has, as a multiple of 8. */
static int64_t gated_inner(int64_t inner)
{
    return (inner * 2 / 3 + 7) / 8 * 8;
}

static void layer_scale(struct nwi_module *m, const struct dino *d, const char *name)
{
    nwi_parameter_filled(m, name, NWI_DIMS(d->dim),
                         d->unit_scale ? NW_FILL_ONE : NW_FILL_NONE);
}

static void mlp(struct nwi_module *m, const struct dino *d)
{
    if (d->gated) {
        nwi_linear(m, "mlp.gate_proj", d->dim, d->inner, true);
        nwi_linear(m, "mlp.up_proj", d->dim, d->inner, true);
        nwi_linear(m, "mlp.down_proj", d->inner, d->dim, true);
        return;
    }
    nwi_linear(m, "mlp.fc1", d->dim, d->inner, true);
    nwi_linear(m, "mlp.fc2", d->inner, d->dim, true);
}

static void layer(struct nwi_module *m, const struct dino *d)
{
    nwi_norm(m, "norm1", d->dim);
    nwi_linear(m, "attention.q_proj", d->dim, d->wide, d->qkv_bias);
    nwi_linear(m, "attention.k_proj", d->dim, d->wide, d->qkv_bias);
    nwi_linear(m, "attention.v_proj", d->dim, d->wide, d->qkv_bias);
    nwi_linear(m, "attention.o_proj", d->wide, d->dim, true);
    layer_scale(m, d, "layer_scale1.lambda1");
    nwi_norm(m, "norm2", d->dim);
    mlp(m, d);
    layer_scale(m, d, "layer_scale2.lambda1");
}

/* A number or [height, width]; BAD_CONFIG for others. */
static void read_size(struct nwi_config *c, const char *key, int64_t fallback,
                      int64_t out[2])
{
    struct nwi_config_ints size;
    nwi_config_ints_or(c, key, &fallback, 1, &size);
    if (size.scalar || (!size.given && size.n == 1))
        size.at[1] = size.at[0];
    else if (size.n != 2 || size.at[0] == NWI_NULL || size.at[1] == NWI_NULL)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is no size", key);
    out[0] = size.at[0];
    out[1] = size.at[1];
}

/* registers: -1 for the class without them. */
static void embeddings(struct nwi_module *m, struct nwi_config *c, int64_t dim,
                       int64_t patch_size, int64_t registers)
{
    int64_t image[2];
    int64_t patch[2];
    int64_t channels = nwi_config_int(c, "num_channels", 3);
    bool masked = registers >= 0 || nwi_config_bool(c, "use_mask_token", true);
    read_size(c, "image_size", 224, image);
    read_size(c, "patch_size", patch_size, patch);
    int64_t n = nwi_patches_a_side(c, image[0], patch[0]) *
                nwi_patches_a_side(c, image[1], patch[1]);
    NWI_BLOCK(m, "embeddings")
    {
        nwi_parameter(m, "cls_token", NWI_DIMS(1, 1, dim));
        if (masked)
            nwi_parameter_filled(m, "mask_token", NWI_DIMS(1, dim), NW_FILL_ZERO);
        nwi_parameter(m, "position_embeddings", NWI_DIMS(1, n + 1, dim));
        if (registers >= 0)
            nwi_parameter_filled(m, "register_tokens", NWI_DIMS(1, registers, dim),
                                 NW_FILL_ZERO);
        nwi_conv(m, "patch_embeddings.projection",
                 NWI_DIMS(dim, channels, patch[0], patch[1]), true);
    }
}

static void encoder(struct nwi_module *m, struct nwi_config *c, int64_t patch_size,
                    int64_t registers)
{
    int64_t n = nwi_config_count(c, "num_hidden_layers", 12);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 12);
    struct dino d = {
        .dim = nwi_config_int(c, "hidden_size", 768),
        .qkv_bias = nwi_config_bool(c, "qkv_bias", true),
        .gated = nwi_config_bool(c, "use_swiglu_ffn", false),
        .unit_scale = nwi_config_real(c, "layerscale_value", 1) == 1,
    };
    d.inner = d.dim * nwi_config_int(c, "mlp_ratio", 4);
    if (d.gated)
        d.inner = gated_inner(d.inner);
    if (n > 0 && heads <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"num_attention_heads\" of the config is %lld",
                        (long long)heads);
    d.wide = heads > 0 ? d.dim / heads * heads : 0;
    embeddings(m, c, d.dim, patch_size, registers);
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "encoder.layer.%lld", (long long)i)
        {
            layer(m, &d);
        }
    nwi_norm(m, "layernorm", d.dim);
}

static void build_plain(struct nwi_module *m, struct nwi_config *c)
{
    encoder(m, c, 14, -1);
}

static void build_registers(struct nwi_module *m, struct nwi_config *c)
{
    int64_t registers = nwi_config_int(c, "num_register_tokens", 4);
    if (registers < 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"num_register_tokens\" of the config is %lld",
                        (long long)registers);
    encoder(m, c, 16, registers < 0 ? 0 : registers);
}

/* ---- deriving ---- */

/* The ratio from which the class computes that many channels; 4 where it fits. */
static void derive_mlp(struct nwi_config *c, const struct nwi_header *h, int64_t dim)
{
    int64_t plain = nwi_header_dim(h, "encoder.layer.0.mlp.fc1.weight", 0);
    int64_t gated = nwi_header_dim(h, "encoder.layer.0.mlp.gate_proj.weight", 0);
    int64_t ratio = 1;
    if (plain < 0 && gated < 0)
        return;
    nwi_config_derive_bool(c, "use_swiglu_ffn", gated >= 0);
    if (gated < 0) {
        nwi_config_derive(c, "mlp_ratio", nwi_vae_ratio(plain, dim));
        return;
    }
    while (ratio < 64 && gated_inner(ratio * dim) < gated)
        ratio++;
    if (ratio < 4 && gated_inner(4 * dim) == gated)
        ratio = 4;
    if (gated_inner(ratio * dim) == gated)
        nwi_config_derive(c, "mlp_ratio", ratio);
}

static void derive_patches(struct nwi_config *c, const struct nwi_header *h)
{
    static const char patches[] = "embeddings.patch_embeddings.projection.weight";
    int64_t n = nwi_header_dim(h, "embeddings.position_embeddings", 1);
    int64_t height = nwi_header_dim(h, patches, 2);
    int64_t width = nwi_header_dim(h, patches, 3);
    nwi_config_derive(c, "num_channels", nwi_header_dim(h, patches, 1));
    if (height != width) {
        nwi_config_derive_ints(c, "patch_size", (const int64_t[]){height, width}, 2);
        return;
    }
    nwi_config_derive(c, "patch_size", height);
    nwi_image_size_derive(c, n - 1, height);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "layernorm.weight", 0);
    int64_t wide = nwi_header_dim(h, "encoder.layer.0.attention.q_proj.weight", 0);
    if (dim <= 0 || dim > INT32_MAX)
        return;
    nwi_config_derive(c, "hidden_size", dim);
    nwi_config_derive(c, "num_hidden_layers",
                      nwi_vae_run(h, "norm1.weight", "encoder.layer"));
    if (wide == dim)
        nwi_vision_heads_derive(c, dim);
    if (wide >= 0)
        nwi_config_derive_bool(
            c, "qkv_bias", nwi_header_has(h, "encoder.layer.0.attention.q_proj.bias"));
    derive_mlp(c, h, dim);
    derive_patches(c, h);
    if (nwi_header_has(h, "embeddings.register_tokens"))
        nwi_config_derive(c, "num_register_tokens",
                          nwi_header_dim(h, "embeddings.register_tokens", 1));
    else
        nwi_config_derive_bool(c, "use_mask_token",
                               nwi_header_has(h, "embeddings.mask_token"));
}

const struct nwi_architecture nwi_arch_dinov2_model = {
    .klass = "Dinov2Model",
    .library = "transformers",
    .build = build_plain,
    .derive = derive,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "dinov2",
};

const struct nwi_architecture nwi_arch_dinov2_with_registers_model = {
    .klass = "Dinov2WithRegistersModel",
    .library = "transformers",
    .build = build_registers,
    .derive = derive,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "dinov2_with_registers",
};
