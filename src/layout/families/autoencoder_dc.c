/* SPDX-License-Identifier: Apache-2.0
 * DC-AE (MIT Han Lab): names of the original repository, and of diffusers 0.42.1
 * (AutoencoderDC). Sana's has plain convolutions at its ends. */
#include "layout/family.h"

#define DC_O "{e:encoder|decoder}.stages.{i}.op_list.{j}."
#define DC_D "{e:encoder.down|decoder.up}_blocks.{i}.{j}."

static const struct nwi_rule_feature dc_features[] = {
    {0, "encoder.project_in.conv.bias"},
    {0, "encoder.conv_in.bias"},
    {0},
};

static const struct nwi_rule dc_rows[] = {
    {.original = DC_O "context_module.main.qkv.conv.weight",
     .diffusers = DC_D "attn.to_{q,k,v}.weight",
     .op = NWI_RULE_SPLIT,
     .squeeze = 2,
     .rank = 4},
    {.original = DC_O "context_module.main.proj.conv.weight",
     .diffusers = DC_D "attn.to_out.weight",
     .squeeze = 2,
     .rank = 4},
    NWI_MAP(DC_O "context_module.main.proj.norm.{p}", DC_D "attn.norm_out.{p}"),
    NWI_MAP(DC_O "context_module.main.aggreg.0.{a:0|1}.{p}",
            DC_D "attn.to_qkv_multiscale.0.{a:proj_in|proj_out}.{p}"),
    NWI_MAP(DC_O "local_module.main.{a:inverted|depth|point}_conv.conv.{p}",
            DC_D "conv_out.conv_{a:inverted|depth|point}.{p}"),
    NWI_MAP(DC_O "local_module.main.point_conv.norm.{p}", DC_D "conv_out.norm.{p}"),
    NWI_MAP(DC_O "main.conv{a:1|2}.conv.{p}", DC_D "conv{a:1|2}.{p}"),
    NWI_MAP(DC_O "main.conv2.norm.{p}", DC_D "norm.{p}"),
    {.original = "encoder.stages.{i}.op_list.{j}.main.conv.{p}", /* no unshuffling */
     .diffusers = "encoder.down_blocks.{i}.{j}.conv.{p}",
     .need = 1},
    NWI_MAP(DC_O "main.conv.conv.{p}", DC_D "conv.{p}"),
    {.original = "encoder.project_in.conv.{p}",
     .diffusers = "encoder.conv_in.{p}",
     .need = 1,
     .deny = 0},
    {.original = "encoder.project_in.conv.conv.{p}",
     .diffusers = "encoder.conv_in.conv.{p}",
     .need = 0,
     .deny = 1},
    NWI_MAP("encoder.project_out.main.op_list.0.conv.conv.{p}", "encoder.conv_out.{p}"),
    NWI_MAP("decoder.project_in.main.conv.{p}", "decoder.conv_in.{p}"),
    NWI_MAP("decoder.project_out.op_list.0.{p}", "decoder.norm_out.{p}"),
    {.original = "decoder.project_out.op_list.2.conv.{p}",
     .diffusers = "decoder.conv_out.{p}",
     .need = 1,
     .deny = 0},
    {.original = "decoder.project_out.op_list.2.conv.conv.{p}",
     .diffusers = "decoder.conv_out.conv.{p}",
     .need = 0,
     .deny = 1},
    NWI_MAP("encoder.project_out.main.op_list.0.conv.{p}", "encoder.conv_out.{p}"),
    {0},
};

static const struct nwi_rules dc_rules = {
    .features = dc_features,
    .rules = dc_rows,
};

/* ---- DC-AE ---- */

static const struct nwi_signature autoencoder_dc_original[] = {
    NWI_WHEN("encoder.project_in.conv.weight|encoder.project_in.conv.conv.weight",
             "decoder.project_in.main.conv.weight",
             "decoder.project_out.op_list.0.weight"),
    {NULL},
};

static const struct nwi_signature autoencoder_dc_diffusers[] = {
    NWI_WHEN("encoder.conv_in.weight|encoder.conv_in.conv.weight",
             "decoder.norm_out.weight", "decoder.conv_in.weight[]=4",
             "encoder.down_blocks*", "decoder.up_blocks*", "!decoder.mid_block*",
             "!quant_conv.weight"),
    {NULL},
};

static const struct nwi_variant autoencoder_dc_variants[] = {
    {"f32c32-sana", NWI_WHEN("encoder.project_in.conv.bias"),
     NWI_WHEN("encoder.conv_in.bias"),
     "{\"scaling_factor\": 0.41407, \"decoder_act_fns\": \"silu\"}",
     "mit-han-lab/dc-ae-f32c32-sana-1.0-diffusers"},
    {"f32c32",
     NWI_WHEN("!encoder.project_in.conv.bias",
              "decoder.project_in.main.conv.weight[1]=32"),
     NWI_WHEN("!encoder.conv_in.bias", "decoder.conv_in.weight[1]=32"),
     "{\"scaling_factor\": 0.4552, \"decoder_act_fns\": [\"relu\", \"relu\", \"relu\", "
     "\"silu\", \"silu\", \"silu\"]}",
     "mit-han-lab/dc-ae-f32c32-mix-1.0-diffusers"},
    {"f64c128",
     NWI_WHEN("!encoder.project_in.conv.bias",
              "decoder.project_in.main.conv.weight[1]=128"),
     NWI_WHEN("!encoder.conv_in.bias", "decoder.conv_in.weight[1]=128"),
     "{\"scaling_factor\": 0.4538, \"decoder_act_fns\": [\"relu\", \"relu\", \"relu\", "
     "\"silu\", \"silu\", \"silu\", \"silu\"]}",
     "mit-han-lab/dc-ae-f64c128-mix-1.0-diffusers"},
    {"f128c512",
     NWI_WHEN("!encoder.project_in.conv.bias",
              "decoder.project_in.main.conv.weight[1]=512"),
     NWI_WHEN("!encoder.conv_in.bias", "decoder.conv_in.weight[1]=512"),
     "{\"scaling_factor\": 0.362, \"decoder_act_fns\": [\"relu\", \"relu\", \"relu\", "
     "\"silu\", \"silu\", \"silu\", \"silu\", \"silu\"]}",
     "mit-han-lab/dc-ae-f128c512-mix-1.0-diffusers"},
    {0},
};

const struct nwi_family nwi_family_autoencoder_dc = {
    .name = "autoencoder_dc",
    .title = "DC-AE",
    .component = "vae",
    .klass = "AutoencoderDC",
    .kind = NWI_KIND_VAE,
    .rules = &dc_rules,
    .original = autoencoder_dc_original,
    .diffusers = autoencoder_dc_diffusers,
    .variants = autoencoder_dc_variants,
};
