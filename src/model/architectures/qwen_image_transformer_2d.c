/* SPDX-License-Identifier: Apache-2.0
 * QwenImageTransformer2DModel (diffusers 0.42.1,
 * models/transformers/transformer_qwenimage.py): Qwen-Image, Qwen-Image-Edit and
 * Qwen-Image-Layered. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"

/* Image and text each have a modulation and a feed forward; attention sees both. */
static void block(struct nwi_module *m, int64_t heads, int64_t head_dim)
{
    int64_t dim = heads * head_dim;
    nwi_linear(m, "img_mod.1", dim, 6 * dim, true);
    nwi_attention(m, "attn",
                  (struct nwi_attention){.dim = dim,
                                         .heads = heads,
                                         .head_dim = head_dim,
                                         .added = dim,
                                         .qk_norm = NWI_QK_RMS,
                                         .bias = true});
    nwi_feed_forward(m, "img_mlp", (struct nwi_feed_forward){.dim = dim});
    nwi_linear(m, "txt_mod.1", dim, 6 * dim, true);
    nwi_feed_forward(m, "txt_mlp", (struct nwi_feed_forward){.dim = dim});
}

static void read_axes(struct nwi_config *c)
{
    static const int64_t usual[] = {16, 56, 56};
    (void)nwi_rope_axes(c, (struct nwi_rope_axes){.key = "axes_dims_rope",
                                                  .fallback = usual,
                                                  .n_fallback = 3,
                                                  .n_least = 3,
                                                  .even = true});
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_config_int(c, "patch_size", 2);
    int64_t in = nwi_config_int(c, "in_channels", 64);
    int64_t out = nwi_config_int_or_null(c, "out_channels", 16);
    int64_t n = nwi_config_count(c, "num_layers", 60);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 24);
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 3584);
    bool more_time = nwi_config_bool(c, "use_additional_t_cond", false);
    int64_t dim = heads * head_dim;

    read_axes(c);
    if (out == NWI_NULL || out == 0)
        out = in;
    NWI_IN(m, "time_text_embed")
    {
        nwi_two_linears(m, "timestep_embedder", 256, dim, dim);
        if (more_time)
            nwi_embedding(m, "addition_t_embedding", 2, dim);
    }
    nwi_rms_norm(m, "txt_norm", joint);
    nwi_linear(m, "img_in", in, dim, true);
    nwi_linear(m, "txt_in", joint, dim, true);
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, heads, head_dim);
        }
    nwi_linear(m, "norm_out.linear", dim, 2 * dim, true);
    nwi_linear(m, "proj_out", dim, patch * patch * out, true);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "img_in.weight", 0);
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    int64_t patch = nwi_patch_of(-1, out, 2);
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "img_in.weight", 1));
    nwi_config_derive(c, "patch_size", patch);
    nwi_config_derive(c, "out_channels", nwi_quotient(out, patch * patch));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(dim, head_dim));
    nwi_config_derive(c, "joint_attention_dim", nwi_header_dim(h, "txt_in.weight", 1));
    nwi_config_derive_bool(c, "use_additional_t_cond",
                           nwi_header_any(h, "time_text_embed.addition_t_embedding."));
}

static const char *const plain_keys[] = {"guidance_embeds", "zero_cond_t",
                                         "use_layer3d_rope", NULL};

const struct nwi_architecture nwi_arch_qwen_image_transformer_2d = {
    .klass = "QwenImageTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
