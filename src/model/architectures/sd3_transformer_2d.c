/* SPDX-License-Identifier: Apache-2.0
 * SD3Transformer2DModel (diffusers 0.42.1, models/transformers/transformer_sd3.py): Stable
 * Diffusion 3 Medium, 3.5 Large, 3.5 Large Turbo, 3.5 Medium. */
#include "model/architecture.h"
#include "model/blocks_dit.h"
#include "model/blocks_sd3.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t out = nwi_config_int_or_null(c, "out_channels", 16);
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 4096);
    struct nwi_sd3 sd3;

    nwi_sd3_read(c, &sd3);
    if (out == NWI_NULL)
        out = sd3.patch.in;
    NWI_IN(m, "pos_embed")
    {
        nwi_patch_embed(m, sd3.patch);
    }
    nwi_sd3_time_text_embed(m, c, sd3.dim);
    nwi_sd3_context_embedder(m, c, joint);
    for (int64_t i = 0; i < sd3.n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            nwi_sd3_joint_block(m, &sd3, i, i == sd3.n - 1);
        }
    nwi_linear(m, "norm_out.linear", sd3.dim, 2 * sd3.dim, true);
    nwi_linear(m, "proj_out", sd3.dim, sd3.patch.patch * sd3.patch.patch * out, true);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t patch = nwi_header_dim(h, "pos_embed.proj.weight", 2);
    nwi_sd3_derive(c, h);
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "pos_embed.proj.weight", 1));
    nwi_config_derive(c, "patch_size", patch);
    if (patch > 0 && patch < INT32_MAX)
        nwi_config_derive(
            c, "out_channels",
            nwi_quotient(nwi_header_dim(h, "proj_out.weight", 0), patch * patch));
}

const struct nwi_architecture nwi_arch_sd3_transformer_2d = {
    .klass = "SD3Transformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
};
