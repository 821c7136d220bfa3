/* SPDX-License-Identifier: Apache-2.0
 * CLIP's and SigLIP's encoders (transformers 5.24, models/clip/modeling_clip.py,
 * models/siglip/modeling_siglip.py, models/siglip2/modeling_siglip2.py). */
#include "model/blocks_clip.h"

#include "model/blocks_vae.h"
#include "netweight.h"

/* ---- layers ---- */

static void attention(struct nwi_module *m, int64_t dim)
{
    NWI_IN(m, "self_attn")
    {
        nwi_linear(m, "k_proj", dim, dim, true);
        nwi_linear(m, "v_proj", dim, dim, true);
        nwi_linear(m, "q_proj", dim, dim, true);
        nwi_linear(m, "out_proj", dim, dim, true);
    }
}

static void mlp(struct nwi_module *m, int64_t dim, int64_t inner)
{
    NWI_IN(m, "mlp")
    {
        nwi_linear(m, "fc1", dim, inner, true);
        nwi_linear(m, "fc2", inner, dim, true);
    }
}

/* SigLIP registers the norms before what they stand before, CLIP after it. */
static void layers(struct nwi_module *m, const struct nwi_clip *clip, bool norm_first)
{
    for (int64_t i = 0; i < clip->layers; i++)
        NWI_BLOCK(m, "encoder.layers.%lld", (long long)i)
        {
            if (norm_first)
                nwi_norm(m, "layer_norm1", clip->dim);
            attention(m, clip->dim);
            nwi_norm(m, norm_first ? "layer_norm2" : "layer_norm1", clip->dim);
            mlp(m, clip->dim, clip->inner);
            if (!norm_first)
                nwi_norm(m, "layer_norm2", clip->dim);
        }
}

static void position_ids(struct nwi_module *m, int64_t n)
{
    nwi_want(m, "position_ids", NWI_DIMS(1, n), NW_NON_PERSISTENT, NW_FILL_ARANGE,
             NW_I64);
}

/* ---- configs ---- */

static void need_heads(struct nwi_config *c, int64_t dim, int64_t heads)
{
    if (heads == 0 || dim % heads != 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"hidden_size\" of the config (%lld) is no multiple of "
                        "\"num_attention_heads\" (%lld)",
                        (long long)dim, (long long)heads);
}

static struct nwi_clip read(struct nwi_config *c, int64_t dim, int64_t inner,
                            int64_t heads)
{
    struct nwi_clip clip = {
        .dim = nwi_config_int(c, "hidden_size", dim),
        .inner = nwi_config_int(c, "intermediate_size", inner),
        .layers = nwi_config_count(c, "num_hidden_layers", 12),
    };
    need_heads(c, clip.dim, nwi_config_int(c, "num_attention_heads", heads));
    return clip;
}

int64_t nwi_patches_a_side(struct nwi_config *c, int64_t image, int64_t patch)
{
    if (patch > 0 && image >= 0)
        return image / patch;
    nwi_config_fail(c, NW_E_BAD_CONFIG,
                    "\"image_size\" of the config is %lld, \"patch_size\" %lld",
                    (long long)image, (long long)patch);
    return 0;
}

/* ---- CLIP ---- */

struct nwi_clip nwi_clip_text(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_clip clip = read(c, 512, 2048, 8);
    clip.projection = nwi_config_int_or_null(c, "projection_dim", 512);
    int64_t vocab = nwi_config_int(c, "vocab_size", 49408);
    int64_t positions = nwi_config_int(c, "max_position_embeddings", 77);

    NWI_BLOCK(m, "embeddings")
    {
        position_ids(m, positions);
        nwi_embedding(m, "token_embedding", vocab, clip.dim);
        nwi_embedding(m, "position_embedding", positions, clip.dim);
    }
    layers(m, &clip, false);
    nwi_norm(m, "final_layer_norm", clip.dim);
    return clip;
}

struct nwi_clip nwi_clip_vision(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_clip clip = read(c, 768, 3072, 12);
    clip.projection = nwi_config_int(c, "projection_dim", 512);
    int64_t channels = nwi_config_int(c, "num_channels", 3);
    int64_t patch = nwi_config_int(c, "patch_size", 32);
    int64_t side = nwi_patches_a_side(c, nwi_config_int(c, "image_size", 224), patch);
    int64_t positions = side * side + 1;

    NWI_BLOCK(m, "embeddings")
    {
        nwi_parameter(m, "class_embedding", NWI_DIMS(clip.dim));
        position_ids(m, positions);
        nwi_conv2d(m, "patch_embedding", channels, clip.dim, patch, false);
        nwi_embedding(m, "position_embedding", positions, clip.dim);
    }
    nwi_norm(m, "pre_layrnorm", clip.dim);
    layers(m, &clip, false);
    nwi_norm(m, "post_layernorm", clip.dim);
    return clip;
}

/* ---- SigLIP ---- */

/* One learned query looks at all patches. */
static void pooling_head(struct nwi_module *m, const struct nwi_clip *clip)
{
    int64_t dim = clip->dim;
    NWI_BLOCK(m, "head")
    {
        nwi_parameter(m, "probe", NWI_DIMS(1, 1, dim));
        nwi_parameter(m, "attention.in_proj_weight", NWI_DIMS(3 * dim, dim));
        nwi_parameter_filled(m, "attention.in_proj_bias", NWI_DIMS(3 * dim),
                             NW_FILL_ZERO);
        nwi_linear(m, "attention.out_proj", dim, dim, true);
        nwi_norm(m, "layernorm", dim);
        mlp(m, dim, clip->inner);
    }
}

static void siglip_tail(struct nwi_module *m, struct nwi_config *c,
                        const struct nwi_clip *clip)
{
    layers(m, clip, true);
    nwi_norm(m, "post_layernorm", clip->dim);
    if (nwi_config_bool(c, "vision_use_head", true))
        pooling_head(m, clip);
}

int64_t nwi_siglip_vision(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_clip clip = read(c, 768, 3072, 12);
    int64_t channels = nwi_config_int(c, "num_channels", 3);
    int64_t patch = nwi_config_int(c, "patch_size", 16);
    int64_t side = nwi_patches_a_side(c, nwi_config_int(c, "image_size", 224), patch);

    NWI_BLOCK(m, "embeddings")
    {
        position_ids(m, side * side);
        nwi_conv2d(m, "patch_embedding", channels, clip.dim, patch, true);
        nwi_embedding(m, "position_embedding", side * side, clip.dim);
    }
    siglip_tail(m, c, &clip);
    return clip.dim;
}

void nwi_siglip2_vision(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_clip clip = read(c, 768, 3072, 12);
    int64_t channels = nwi_config_int(c, "num_channels", 3);
    int64_t patch = nwi_config_int(c, "patch_size", 16);
    int64_t patches = nwi_config_int(c, "num_patches", 256);

    NWI_BLOCK(m, "embeddings")
    {
        nwi_linear(m, "patch_embedding", channels * patch * patch, clip.dim, true);
        nwi_embedding(m, "position_embedding", patches, clip.dim);
    }
    siglip_tail(m, c, &clip);
}

/* ---- deriving ---- */

void nwi_vision_heads_derive(struct nwi_config *c, int64_t dim)
{
    if (dim <= 0)
        return;
    if (dim % 64 == 0 && dim <= 1024)
        nwi_config_derive(c, "num_attention_heads", dim / 64);
    else
        nwi_config_derive(c, "num_attention_heads", dim % 16 == 0 ? 16 : 1);
}

void nwi_image_size_derive(struct nwi_config *c, int64_t n, int64_t patch)
{
    static const int64_t usual[] = {224, 256, 336, 384, 448, 512, 896};
    int64_t side = 0;
    while (n > 0 && (side + 1) * (side + 1) <= n && side < NWI_CONFIG_DEPTH)
        side++;
    if (side == 0 || side * side != n || patch <= 0)
        return;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (usual[i] / patch != side)
            continue;
        nwi_config_derive(c, "image_size", usual[i]);
        return;
    }
    if (patch <= NWI_CONFIG_DEPTH)
        nwi_config_derive(c, "image_size", side * patch);
}

static void derive_layers(struct nwi_config *c, const struct nwi_header *h,
                          const char *at)
{
    nwi_config_derive(c, "hidden_size",
                      nwi_vae_dim(h, 1, "%sembeddings.position_embedding.weight", at));
    nwi_config_derive(c, "intermediate_size",
                      nwi_vae_dim(h, 0, "%sencoder.layers.0.mlp.fc1.weight", at));
    nwi_config_derive(c, "num_hidden_layers",
                      nwi_vae_run(h, "layer_norm1.weight", "%sencoder.layers", at));
}

void nwi_clip_text_derive(struct nwi_config *c, const struct nwi_header *h,
                          const char *at)
{
    int64_t dim = nwi_vae_dim(h, 1, "%sembeddings.position_embedding.weight", at);
    derive_layers(c, h, at);
    nwi_config_derive(c, "vocab_size",
                      nwi_vae_dim(h, 0, "%sembeddings.token_embedding.weight", at));
    nwi_config_derive(c, "max_position_embeddings",
                      nwi_vae_dim(h, 0, "%sembeddings.position_embedding.weight", at));
    if (dim > 0)
        nwi_config_derive(c, "num_attention_heads", dim % 64 == 0 ? dim / 64 : 1);
}

/* What patches tell; `extra` positions are of no patch. */
static void derive_vision(struct nwi_config *c, const struct nwi_header *h,
                          const char *at, int64_t extra)
{
    int64_t patch = nwi_vae_dim(h, 2, "%sembeddings.patch_embedding.weight", at);
    int64_t positions = nwi_vae_dim(h, 0, "%sembeddings.position_embedding.weight", at);
    derive_layers(c, h, at);
    nwi_vision_heads_derive(
        c, nwi_vae_dim(h, 1, "%sembeddings.position_embedding.weight", at));
    nwi_config_derive(c, "num_channels",
                      nwi_vae_dim(h, 1, "%sembeddings.patch_embedding.weight", at));
    nwi_config_derive(c, "patch_size", patch);
    nwi_image_size_derive(c, positions - extra, patch);
}

void nwi_clip_vision_derive(struct nwi_config *c, const struct nwi_header *h,
                            const char *at)
{
    derive_vision(c, h, at, 1);
}

/* A patch comes as one row of n values: of 3 channels where that fits. */
static void derive_cut_patch(struct nwi_config *c, int64_t n)
{
    int64_t patch = 1;
    if (n <= 0)
        return;
    while (patch < NWI_CONFIG_DEPTH && 3 * patch * patch < n)
        patch++;
    bool fits = 3 * patch * patch == n;
    nwi_config_derive(c, "num_channels", fits ? 3 : n);
    nwi_config_derive(c, "patch_size", fits ? patch : 1);
}

void nwi_siglip_vision_derive(struct nwi_config *c, const struct nwi_header *h,
                              const char *at)
{
    bool cut = nwi_vae_dim(h, 3, "%sembeddings.patch_embedding.weight", at) < 0;
    if (!nwi_vae_has(h, "%spost_layernorm.weight", at))
        return;
    nwi_config_derive_bool(c, "vision_use_head", nwi_vae_has(h, "%shead.probe", at));
    if (!cut) {
        derive_vision(c, h, at, 0);
        return;
    }
    derive_layers(c, h, at);
    nwi_vision_heads_derive(
        c, nwi_vae_dim(h, 1, "%sembeddings.position_embedding.weight", at));
    nwi_config_derive(c, "num_patches",
                      nwi_vae_dim(h, 0, "%sembeddings.position_embedding.weight", at));
    derive_cut_patch(c, nwi_vae_dim(h, 1, "%sembeddings.patch_embedding.weight", at));
}
