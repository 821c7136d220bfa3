/* SPDX-License-Identifier: Apache-2.0
 * WanAnimate2Transformer3DModel (diffusers 0.42.1,
 * models/transformers/transformer_wan_animate_2.py): Wan 2.1's blocks under the names of its
 * first release. */
#include "model/architecture.h"
#include "model/blocks_wan_dit.h"

#define IMAGE_CHANNELS 1280 /* of the picture encoder */

struct animate {
    int64_t dim;
    int64_t ffn;
    bool cross_norm;
    bool image;
};

static void two_layers(struct nwi_module *m, const char *name, int64_t in, int64_t dim,
                       int64_t out)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "0", in, dim, true);
        nwi_linear(m, "2", dim, out, true);
    }
}

static void block(struct nwi_module *m, const struct animate *a)
{
    nwi_parameter(m, "modulation", NWI_DIMS(1, 6, a->dim));
    nwi_wan_dit_attention(m, "self_attn", a->dim, NWI_NULL);
    if (a->cross_norm)
        nwi_norm(m, "norm3", a->dim);
    nwi_wan_dit_attention(m, "cross_attn", a->dim, a->image ? a->dim : NWI_NULL);
    two_layers(m, "ffn", a->dim, a->ffn, a->dim);
}

static void image_embedding(struct nwi_module *m, int64_t dim)
{
    NWI_IN(m, "img_emb.proj")
    {
        nwi_norm(m, "0", IMAGE_CHANNELS);
        nwi_linear(m, "1", IMAGE_CHANNELS, IMAGE_CHANNELS, true);
        nwi_linear(m, "3", IMAGE_CHANNELS, dim, true);
        nwi_norm(m, "4", dim);
    }
}

static bool splits_evenly(int64_t dim, int64_t heads)
{
    return heads > 0 && dim >= 0 && dim % heads == 0 && dim / heads % 2 == 0;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_patch patch = nwi_video_patch(c, "patch_size");
    int64_t in = nwi_config_int(c, "in_dim", 36);
    int64_t freq = nwi_config_int(c, "freq_dim", 256);
    int64_t text = nwi_config_int(c, "text_dim", 4096);
    int64_t out = nwi_config_int(c, "out_dim", 16);
    int64_t heads = nwi_config_int(c, "num_heads", 40);
    int64_t n_layers = nwi_config_count(c, "num_layers", 40);
    struct animate a = {
        .dim = nwi_config_int(c, "dim", 5120),
        .ffn = nwi_config_int(c, "ffn_dim", 13824),
        .cross_norm = nwi_config_bool(c, "cross_attn_norm", true),
        .image = nwi_config_bool(c, "use_img_emb", true),
    };

    if (!splits_evenly(a.dim, heads))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config has %lld heads in %lld channels", (long long)heads,
                        (long long)a.dim);
    nwi_conv3d(m, "patch_embedding", in, a.dim, patch.at[0], patch.at[1], patch.at[2],
               true);
    two_layers(m, "text_embedding", text, a.dim, a.dim);
    two_layers(m, "time_embedding", freq, a.dim, a.dim);
    nwi_linear(m, "time_projection.1", a.dim, 6 * a.dim, true);
    for (int64_t i = 0; i < n_layers; i++)
        NWI_BLOCK(m, "blocks.%lld", (long long)i)
        {
            block(m, &a);
        }
    nwi_parameter(m, "head.modulation", NWI_DIMS(1, 2, a.dim));
    nwi_linear(m, "head.head", a.dim, patch.volume * out, true);
    if (a.image)
        image_embedding(m, a.dim);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "patch_embedding.weight", 0);
    int64_t n_layers = nwi_header_count(h, "blocks.");
    nwi_wan_dit_derive_patch(c, h, "in_dim", "out_dim", "head.head.weight");
    nwi_config_derive(c, "dim", dim);
    nwi_config_derive(c, "text_dim", nwi_header_dim(h, "text_embedding.0.weight", 1));
    nwi_config_derive(c, "freq_dim", nwi_header_dim(h, "time_embedding.0.weight", 1));
    nwi_config_derive(c, "ffn_dim", nwi_header_dim(h, "blocks.0.ffn.0.weight", 0));
    nwi_config_derive(c, "num_layers", n_layers);
    if (!splits_evenly(dim, nwi_config_int(c, "num_heads", 0)))
        nwi_config_derive(c, "num_heads", nwi_video_over(dim, 128));
    if (n_layers > 0)
        nwi_config_derive_bool(c, "cross_attn_norm",
                               nwi_header_has(h, "blocks.0.norm3.weight"));
    nwi_config_derive_bool(c, "use_img_emb", nwi_header_any(h, "img_emb."));
}

static const char *const keep_fp32[] = {
    "time_embedding", "time_projection", "scale_shift_table", "norm1",
    "norm2",          "norm3",           "modulation",        NULL};
static const char *const plain_keys[] = {"eps",
                                         "refer_offset_h",
                                         "refer_offset_t",
                                         "refer_offset_w",
                                         "refer_stride",
                                         "text_len",
                                         NULL};

const struct nwi_architecture nwi_arch_wan_animate2_transformer_3d = {
    .klass = "WanAnimate2Transformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .plain_keys = plain_keys,
};
