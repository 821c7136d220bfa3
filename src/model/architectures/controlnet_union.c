/* SPDX-License-Identifier: Apache-2.0
 * ControlNetUnionModel (diffusers 0.42.1, models/controlnets/controlnet_union.py): one
 * control net for several kinds of conditions, which a small transformer tells apart. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_controlnet.h"
#include "model/blocks_vae.h"

struct kinds {
    int64_t n; /* of conditions */
    int64_t dim;
    int64_t heads;
    int64_t layers;
    int64_t out;
    int64_t time; /* sinusoids for each kind */
};

static void transformer_layer(struct nwi_module *m, int64_t dim)
{
    NWI_IN(m, "attn")
    {
        nwi_parameter(m, "in_proj_weight", NWI_DIMS(3 * dim, dim));
        nwi_parameter_filled(m, "in_proj_bias", NWI_DIMS(3 * dim), NW_FILL_ZERO);
        nwi_linear(m, "out_proj", dim, dim, true);
    }
    nwi_norm(m, "ln_1", dim);
    nwi_linear(m, "mlp.c_fc", dim, 4 * dim, true);
    nwi_linear(m, "mlp.c_proj", 4 * dim, dim, true);
    nwi_norm(m, "ln_2", dim);
}

static void conditions(struct nwi_module *m, const struct kinds *kinds, int64_t time)
{
    for (int64_t i = 0; i < kinds->layers; i++)
        NWI_IN(m, "transformer_layes.%lld", (long long)i) /* the class's own spelling */
        {
            transformer_layer(m, kinds->dim);
        }
    NWI_IN(m, "spatial_ch_projs")
    {
        nwi_parameter_filled(m, "weight", NWI_DIMS(kinds->out, kinds->dim),
                             NW_FILL_ZERO);
        nwi_parameter_filled(m, "bias", NWI_DIMS(kinds->out), NW_FILL_ZERO);
    }
    nwi_two_linears(m, "control_add_embedding", kinds->time * kinds->n, time, time);
}

static struct kinds read_kinds(struct nwi_config *c)
{
    struct kinds kinds = {
        .n = nwi_config_int(c, "num_control_type", 6),
        .dim = nwi_config_int(c, "num_trans_channel", 320),
        .heads = nwi_config_int(c, "num_trans_head", 8),
        .layers = nwi_config_count(c, "num_trans_layer", 1),
        .out = nwi_config_int(c, "num_proj_channel", 320),
        .time = nwi_config_int_or_null(c, "addition_time_embed_dim", NWI_NULL),
    };
    if (kinds.layers > 0)
        (void)nwi_vae_divides(c, kinds.dim, kinds.heads);
    if (kinds.time == NWI_NULL)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config needs a number in \"addition_time_embed_dim\"");
    return kinds;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    static const int64_t condition[] = {48, 96, 192, 384};
    struct nwi_controlnet net = {0};
    struct kinds kinds = read_kinds(c);
    if (!nwi_controlnet_read(c, &net, condition, 1280))
        return;
    if (nwi_config_has(c, "encoder_hid_dim_type"))
        nwi_config_fail(c, NW_E_BAD_CONFIG, "the class takes no encoder_hid_dim_type");
    net.embeds.hid = nwi_config_int_or_null(c, "encoder_hid_dim", NWI_NULL);
    nwi_parameter(m, "task_embedding", NWI_DIMS(kinds.n, kinds.dim));
    nwi_controlnet_conv_in(m, &net);
    nwi_controlnet_time(m, &net);
    nwi_unet_class_embedding(m, &net.embeds, false);
    nwi_unet_added_embedding(m, &net.embeds, false);
    nwi_controlnet_condition(m, &net, nwi_config_int(c, "conditioning_channels", 3));
    conditions(m, &kinds, net.embeds.time);
    nwi_controlnet_levels(m, &net, "UNetMidBlock2DCrossAttn", NULL);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t n = nwi_header_dim(h, "task_embedding", 0);
    int64_t time = nwi_header_dim(h, "control_add_embedding.linear_1.weight", 1);
    nwi_controlnet_derive(c, h, false);
    nwi_unet_derive_embeddings(c, h, nwi_header_dim(h, "conv_in.weight", 0), false);
    nwi_config_derive_null(c, "encoder_hid_dim_type");
    /* Only text that is added tells it. */
    if (nwi_header_has(h, "add_embedding.norm1.weight"))
        nwi_config_derive(c, "encoder_hid_dim",
                          nwi_header_dim(h, "add_embedding.norm1.weight", 0));
    nwi_config_derive(c, "conditioning_channels",
                      nwi_header_dim(h, "controlnet_cond_embedding.conv_in.weight", 1));
    nwi_config_derive(c, "num_control_type", n);
    nwi_config_derive(c, "num_trans_channel", nwi_header_dim(h, "task_embedding", 1));
    nwi_config_derive(c, "num_trans_layer", nwi_vae_layers(h, "transformer_layes."));
    nwi_config_derive(c, "num_proj_channel",
                      nwi_header_dim(h, "spatial_ch_projs.weight", 0));
    if (n > 0 && time > 0)
        nwi_config_derive(c, "addition_time_embed_dim", time / n);
}

static const char *const plain_keys[] = {"flip_sin_to_cos",
                                         "freq_shift",
                                         "downsample_padding",
                                         "mid_block_scale_factor",
                                         "norm_eps",
                                         "upcast_attention",
                                         "controlnet_conditioning_channel_order",
                                         "global_pool_conditions",
                                         "addition_embed_type_num_heads",
                                         NULL};

const struct nwi_architecture nwi_arch_controlnet_union = {
    .klass = "ControlNetUnionModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
