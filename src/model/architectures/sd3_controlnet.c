/* SPDX-License-Identifier: Apache-2.0
 * SD3ControlNetModel (diffusers 0.42.1, models/controlnets/controlnet_sd3.py): control nets
 * of Stable Diffusion 3 and 3.5, those without text (3.5 Large's own) among them. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_control.h"
#include "model/blocks_sd3.h"

/* Image alone. */
static void single_block(struct nwi_module *m, const struct nwi_sd3 *sd3)
{
    nwi_linear(m, "norm1.linear", sd3->dim, 6 * sd3->dim, true);
    nwi_attention(m, "attn",
                  (struct nwi_attention){.dim = sd3->dim,
                                         .heads = sd3->heads,
                                         .head_dim = sd3->head_dim,
                                         .bias = true});
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = sd3->dim});
}

static bool with_positions(struct nwi_config *c)
{
    const char *type = nwi_config_text(c, "pos_embed_type", "sincos");
    bool known = !type || nwi_config_is(c, "pos_embed_type", "sincos", "sincos");
    if (!known)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "no positions are of type %.40s", type);
    return type != NULL;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t extra = nwi_config_int(c, "extra_conditioning_channels", 0);
    int64_t joint = nwi_config_int_or_null(c, "joint_attention_dim", 4096);
    struct nwi_sd3 sd3;

    nwi_sd3_read(c, &sd3);
    struct nwi_patch_embed control = sd3.patch;
    control.in += extra;
    control.positions = false;
    control.zero = true;
    if (nwi_config_bool(c, "use_pos_embed", true))
        NWI_IN(m, "pos_embed")
        {
            sd3.patch.positions = with_positions(c);
            nwi_patch_embed(m, sd3.patch);
        }
    nwi_sd3_time_text_embed(m, c, sd3.dim);
    if (joint != NWI_NULL)
        nwi_sd3_context_embedder(m, c, joint);
    for (int64_t i = 0; i < sd3.n; i++)
        NWI_IN(m, "transformer_blocks.%lld", (long long)i)
        {
            if (joint != NWI_NULL)
                nwi_sd3_joint_block(m, &sd3, i, false);
            else
                single_block(m, &sd3);
        }
    nwi_control_outputs(m, "controlnet_blocks", sd3.n, sd3.dim);
    NWI_IN(m, "pos_embed_input")
    {
        nwi_patch_embed(m, control);
    }
}

/* Without an embedding of its own, the image's channels are the control's. */
static void derive_patches(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t control = nwi_header_dim(h, "pos_embed_input.proj.weight", 1);
    int64_t in = nwi_header_dim(h, "pos_embed.proj.weight", 1);
    bool own = in >= 0;
    if (control < 0)
        return;
    nwi_config_derive_bool(c, "use_pos_embed", own);
    nwi_config_derive(c, "in_channels", own ? in : control);
    if (!own || in <= control)
        nwi_config_derive(c, "extra_conditioning_channels", own ? control - in : 0);
    nwi_config_derive(c, "patch_size",
                      nwi_header_dim(h, "pos_embed_input.proj.weight", 2));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    derive_patches(c, h);
    if (!nwi_header_has(h, "context_embedder.weight") &&
        nwi_header_any(h, "time_text_embed."))
        nwi_config_derive_null(c, "joint_attention_dim");
    nwi_sd3_derive(c, h);
}

static const char *const plain_keys[] = {"out_channels",
                                         "caption_projection_dim",
                                         "pos_embed_type",
                                         "use_pos_embed",
                                         "force_zeros_for_pooled_projection",
                                         NULL};

const struct nwi_architecture nwi_arch_sd3_controlnet = {
    .klass = "SD3ControlNetModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
