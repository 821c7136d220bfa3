/* SPDX-License-Identifier: Apache-2.0
 * AuraFlowTransformer2DModel (diffusers 0.42.1,
 * models/transformers/auraflow_transformer_2d.py): AuraFlow 0.1 to 0.3. Layers of the
 * blocks have no bias, their norms no weights. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"
#include "model/blocks_patch.h"

#define REGISTERS 8 /* learned tokens before the text */

/* int(2 * 4 * dim / 3), up to a multiple of 256. */
static int64_t inner_width(int64_t dim)
{
    int64_t width = 8 * dim / 3;
    return (width + 255) / 256 * 256;
}

static void feed_forward(struct nwi_module *m, const char *name, int64_t dim)
{
    int64_t inner = inner_width(dim);
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear_1", dim, inner, false);
        nwi_linear(m, "linear_2", dim, inner, false);
        nwi_linear(m, "out_projection", inner, dim, false);
    }
}

static void joint_block(struct nwi_module *m, struct nwi_attention attn)
{
    nwi_linear(m, "norm1.linear", attn.dim, 6 * attn.dim, false);
    nwi_linear(m, "norm1_context.linear", attn.dim, 6 * attn.dim, false);
    attn.added = attn.dim;
    nwi_attention(m, "attn", attn);
    feed_forward(m, "ff", attn.dim);
    feed_forward(m, "ff_context", attn.dim);
}

static void single_block(struct nwi_module *m, struct nwi_attention attn)
{
    nwi_linear(m, "norm1.linear", attn.dim, 6 * attn.dim, false);
    nwi_attention(m, "attn", attn);
    feed_forward(m, "ff", attn.dim);
}

static void embedders(struct nwi_module *m, struct nwi_config *c, int64_t dim)
{
    int64_t patch = nwi_config_int(c, "patch_size", 2);
    int64_t in = nwi_config_int(c, "in_channels", 4);
    int64_t places = nwi_config_int(c, "pos_embed_max_size", 1024);
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 2048);
    int64_t caption = nwi_config_int(c, "caption_projection_dim", 3072);
    nwi_parameter(m, "register_tokens", NWI_DIMS(1, REGISTERS, dim));
    NWI_BLOCK(m, "pos_embed")
    {
        nwi_parameter(m, "pos_embed", NWI_DIMS(1, places, dim));
        nwi_linear(m, "proj", patch * patch * in, dim, true);
    }
    nwi_linear(m, "context_embedder", joint, caption, false);
    nwi_two_linears(m, "time_step_proj", 256, dim, dim);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t patch = nwi_config_int(c, "patch_size", 2);
    int64_t n_joint = nwi_config_count(c, "num_mmdit_layers", 4);
    int64_t n_single = nwi_config_count(c, "num_single_dit_layers", 32);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 256);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 12);
    int64_t out = nwi_config_int_or_null(c, "out_channels", 4);
    struct nwi_attention attn = {.dim = heads * head_dim,
                                 .heads = heads,
                                 .head_dim = head_dim,
                                 .no_out_bias = true,
                                 .no_added_bias = true};

    if (patch <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "the config has patches of %lld",
                        (long long)patch);
    if (out == NWI_NULL)
        out = nwi_config_int(c, "in_channels", 4);
    embedders(m, c, attn.dim);
    for (int64_t i = 0; i < n_joint; i++)
        NWI_BLOCK(m, "joint_transformer_blocks.%lld", (long long)i)
        {
            joint_block(m, attn);
        }
    for (int64_t i = 0; i < n_single; i++)
        NWI_BLOCK(m, "single_transformer_blocks.%lld", (long long)i)
        {
            single_block(m, attn);
        }
    nwi_linear(m, "norm_out.linear", attn.dim, 2 * attn.dim, false);
    nwi_linear(m, "proj_out", attn.dim, patch * patch * out, false);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "pos_embed.pos_embed", 2);
    int64_t in = nwi_header_dim(h, "pos_embed.proj.weight", 1);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    int64_t patch = nwi_patch_of(in, out, 2);
    nwi_config_derive(c, "patch_size", patch);
    nwi_config_derive(c, "in_channels", nwi_quotient(in, patch * patch));
    nwi_config_derive(c, "out_channels", nwi_quotient(out, patch * patch));
    nwi_config_derive_layers(c, "num_mmdit_layers",
                             nwi_header_count(h, "joint_transformer_blocks."));
    nwi_config_derive_layers(c, "num_single_dit_layers",
                             nwi_header_count(h, "single_transformer_blocks."));
    nwi_derive_heads(c, dim, 256);
    nwi_config_derive(c, "joint_attention_dim",
                      nwi_header_dim(h, "context_embedder.weight", 1));
    nwi_config_derive(c, "caption_projection_dim",
                      nwi_header_dim(h, "context_embedder.weight", 0));
    nwi_config_derive(c, "pos_embed_max_size",
                      nwi_header_dim(h, "pos_embed.pos_embed", 1));
}

static const char *const plain_keys[] = {"sample_size", NULL};

const struct nwi_architecture nwi_arch_aura_flow_transformer_2d = {
    .klass = "AuraFlowTransformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
