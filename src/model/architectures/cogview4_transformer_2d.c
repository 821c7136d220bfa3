/* SPDX-License-Identifier: Apache-2.0
 * CogView4Transformer2DModel (diffusers 0.42.1, models/transformers/transformer_cogview4.py):
 * CogView4-6B. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"

/* Text and image go through one stream; the norms of attention have no weights. */
static void block(struct nwi_module *m, int64_t heads, int64_t head_dim, int64_t time)
{
    int64_t dim = heads * head_dim;
    nwi_linear(m, "norm1.linear", time, 12 * dim, true);
    nwi_attention(m, "attn1",
                  (struct nwi_attention){
                      .dim = dim, .heads = heads, .head_dim = head_dim, .bias = true});
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim});
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_config_int(c, "patch_size", 2);
    int64_t in = nwi_config_int(c, "in_channels", 16);
    int64_t out = nwi_config_int(c, "out_channels", 16);
    int64_t n = nwi_config_count(c, "num_layers", 30);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 40);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 64);
    int64_t text = nwi_config_int(c, "text_embed_dim", 4096);
    int64_t time = nwi_config_int(c, "time_embed_dim", 512);
    int64_t condition = nwi_config_int(c, "condition_dim", 256);
    int64_t dim = heads * head_dim;

    NWI_BLOCK(m, "patch_embed")
    {
        nwi_linear(m, "proj", patch * patch * in, dim, true);
        nwi_linear(m, "text_proj", text, dim, true);
    }
    NWI_IN(m, "time_condition_embed")
    {
        nwi_two_linears(m, "timestep_embedder", dim, time, time);
        nwi_two_linears(m, "condition_embedder", (int64_t)3 * 2 * condition, time,
                        time);
    }
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, heads, head_dim, time);
        }
    nwi_linear(m, "norm_out.linear", time, 2 * dim, true);
    nwi_linear(m, "proj_out", dim, patch * patch * out, true);
}

/* No tensor tells heads: 128 channels as in CogView4-6B, 40 as in the class's default. */
static void derive_heads(struct nwi_config *c, int64_t dim)
{
    int64_t head_dim = dim % 128 == 0 && dim != 2560 ? 128 : 40;
    if (dim <= 0)
        return;
    if (dim % head_dim != 0)
        head_dim = dim;
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", dim / head_dim);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "patch_embed.proj.weight", 1);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    int64_t patch = nwi_patch_of(in, out, 2);
    int64_t condition =
        nwi_header_dim(h, "time_condition_embed.condition_embedder.linear_1.weight", 1);
    derive_heads(c, nwi_header_dim(h, "patch_embed.proj.weight", 0));
    nwi_config_derive(c, "patch_size", patch);
    nwi_config_derive(c, "in_channels", nwi_quotient(in, patch * patch));
    nwi_config_derive(c, "out_channels", nwi_quotient(out, patch * patch));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "text_embed_dim",
                      nwi_header_dim(h, "patch_embed.text_proj.weight", 1));
    nwi_config_derive(c, "time_embed_dim",
                      nwi_header_dim(h, "norm_out.linear.weight", 1));
    nwi_config_derive(c, "condition_dim", nwi_quotient(condition, 6));
}

static const char *const plain_keys[] = {"pos_embed_max_size", "sample_size",
                                         "rope_axes_dim", NULL};

const struct nwi_architecture nwi_arch_cogview4_transformer_2d = {
    .klass = "CogView4Transformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
