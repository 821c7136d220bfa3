/* SPDX-License-Identifier: Apache-2.0
 * The VAE of Stable Diffusion, SDXL, SD3 and FLUX.1: names of the latent-diffusion
 * repository, and of diffusers 0.42.1 (AutoencoderKL), today and before the attention
 * of 0.18. */
#include "layout/family.h"

#define VRES_O "{a:norm1|conv1|norm2|conv2|nin_shortcut}.{p}"
#define VRES_D "{a:norm1|conv1|norm2|conv2|conv_shortcut}.{p}"

static const struct nwi_rule_variable kl_variables[] = {
    {'N', "#decoder.up.", "#decoder.up_blocks."},
    {0},
};

/* FLUX.2 keeps the convolutions beside its latents within its halves, and normalises the latents
 * in batches. */
static const struct nwi_rule_feature kl_features[] = {
    {0, "bn.running_mean"},
    {0},
};

static const struct nwi_rule kl_rows[] = {
    {.original = "encoder.quant_conv.{p}", .diffusers = "quant_conv.{p}", .need = 1},
    {.original = "decoder.post_quant_conv.{p}",
     .diffusers = "post_quant_conv.{p}",
     .need = 1},
    {.original = "bn.{p}", .diffusers = "bn.{p}", .need = 1},
    NWI_MAP("encoder.down.{i}.block.{j}." VRES_O,
            "encoder.down_blocks.{i}.resnets.{j}." VRES_D),
    NWI_MAP("encoder.down.{i}.downsample.conv.{p}",
            "encoder.down_blocks.{i}.downsamplers.0.conv.{p}"),
    NWI_MAP("decoder.up.{N-1-i}.block.{j}." VRES_O,
            "decoder.up_blocks.{i}.resnets.{j}." VRES_D),
    NWI_MAP("decoder.up.{N-1-i}.upsample.conv.{p}",
            "decoder.up_blocks.{i}.upsamplers.0.conv.{p}"),
    NWI_MAP("{e:encoder|decoder}.mid.block_{1+b}." VRES_O,
            "{e:encoder|decoder}.mid_block.resnets.{b}." VRES_D),
    {.original = "{e:encoder|decoder}.mid.attn_1.{a:q|k|v|proj_out}.{p}",
     .diffusers =
         "{e:encoder|decoder}.mid_block.attentions.0.{a:to_q|to_k|to_v|to_out.0}.{p}",
     .squeeze = 1,
     .rank = 4},
    NWI_MAP("{e:encoder|decoder}.mid.attn_1.norm.{p}",
            "{e:encoder|decoder}.mid_block.attentions.0.group_norm.{p}"),
    NWI_MAP("{e:encoder|decoder}.{a:conv_in|conv_out|norm_out}.{p}",
            "{e:encoder|decoder}.{a:conv_in|conv_out|conv_norm_out}.{p}"),
    NWI_MAP("{a:quant_conv|post_quant_conv}.{p}", "{a:quant_conv|post_quant_conv}.{p}"),
    NWI_MAP("encoder.down.{i}.attn.{j}.norm.{p}",
            "encoder.down_blocks.{i}.attentions.{j}.group_norm.{p}"),
    NWI_MAP("decoder.up.{N-1-i}.attn.{j}.norm.{p}",
            "decoder.up_blocks.{i}.attentions.{j}.group_norm.{p}"),
    {.original = "encoder.down.{i}.attn.{j}.{a:q|k|v|proj_out}.{p}",
     .diffusers =
         "encoder.down_blocks.{i}.attentions.{j}.{a:to_q|to_k|to_v|to_out.0}.{p}",
     .squeeze = 1,
     .rank = 4},
    {.original = "decoder.up.{N-1-i}.attn.{j}.{a:q|k|v|proj_out}.{p}",
     .diffusers =
         "decoder.up_blocks.{i}.attentions.{j}.{a:to_q|to_k|to_v|to_out.0}.{p}",
     .squeeze = 1,
     .rank = 4},
    NWI_DROP("loss.{*}", "used in training only"),
    {0},
};

static const struct nwi_rules kl_rules = {
    .variables = kl_variables,
    .features = kl_features,
    .rules = kl_rows,
};

static const struct nwi_rule kl_old_rows[] = {
    NWI_MAP("{^}.attentions.{i}.{a:query|key|value|proj_attn}.{p}",
            "{^}.attentions.{i}.{a:to_q|to_k|to_v|to_out.0}.{p}"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules kl_old_rules = {
    .rules = kl_old_rows,
};

/* ---- AutoencoderKL ---- */

static const struct nwi_signature autoencoder_kl_original[] = {
    NWI_WHEN("decoder.mid.block_1.conv1.weight[]=4",
             "decoder.up.0.block.0.conv1.weight", "encoder.down.0.block.0.conv1.weight",
             "decoder.conv_in.weight"),
    NWI_WHEN("decoder.mid.block_1.conv1.weight[]=4",
             "decoder.up.0.block.0.conv1.weight", "!encoder*"),
    NWI_WHEN("encoder.mid.block_1.conv1.weight[]=4",
             "encoder.down.0.block.0.conv1.weight", "!decoder*"),
    NWI_WHEN("decoder.conv_in.weight[]=4", "post_quant_conv.weight[]=4",
             "!decoder.mid*", "!encoder*"),
    {NULL},
};

static const struct nwi_signature autoencoder_kl_diffusers[] = {
    NWI_WHEN("decoder.mid_block.resnets.0.conv1.weight[]=4",
             "decoder.up_blocks.0.resnets.0.conv1.weight[]=4",
             "encoder.down_blocks.0.resnets.0.conv1.weight[]=4",
             "decoder.conv_in.weight[]=4", "!bn.running_mean"),
    NWI_WHEN("decoder.mid_block.resnets.0.conv1.weight[]=4",
             "decoder.up_blocks.0.resnets.0.conv1.weight[]=4", "!encoder*",
             "!bn.running_mean"),
    {NULL},
};

static const struct nwi_variant autoencoder_kl_variants[] = {
    {"4-channels", NWI_WHEN("decoder.conv_in.weight[1]=4"),
     NWI_WHEN("decoder.conv_in.weight[1]=4"),
     "{\"scaling_factor\": 0.18215, \"sample_size\": 512}",
     "stable-diffusion-v1-5/stable-diffusion-v1-5, vae/config.json"},
    {"x4-upscaler",
     NWI_WHEN("decoder.conv_in.weight[1]=4", "#decoder.up.=3",
              "decoder.conv_in.weight[0]=512"),
     NWI_WHEN("decoder.conv_in.weight[1]=4", "#decoder.up_blocks.=3",
              "decoder.conv_in.weight[0]=512"),
     "{\"scaling_factor\": 0.08333, \"sample_size\": 256}",
     "stabilityai/stable-diffusion-x4-upscaler, vae/config.json"},
    {"16-channels", NWI_WHEN("decoder.conv_in.weight[1]=16"),
     NWI_WHEN("decoder.conv_in.weight[1]=16"),
     "{\"scaling_factor\": 0.3611, \"shift_factor\": 0.1159, \"sample_size\": 1024, "
     "\"force_upcast\": false}",
     "black-forest-labs/FLUX.1-dev, vae/config.json"},
    {0},
};

const struct nwi_family nwi_family_autoencoder_kl = {
    .name = "vae",
    .title = "AutoencoderKL",
    .component = "vae",
    .klass = "AutoencoderKL",
    .kind = NWI_KIND_VAE,
    .rules = &kl_rules,
    .deprecated = &kl_old_rules,
    .original = autoencoder_kl_original,
    .diffusers = autoencoder_kl_diffusers,
    .variants = autoencoder_kl_variants,
    .prefix = "first_stage_model.",
};

/* ---- the same, beside the denoiser of a family: what shapes do not tell ---- */

static const struct nwi_variant kl_sd2_variants[] = {
    {"x4-upscaler",
     {NULL},
     {NULL},
     "{\"scaling_factor\": 0.08333, \"sample_size\": 256}",
     "stabilityai/stable-diffusion-x4-upscaler, vae/config.json"},
    {0},
};

/* stabilityai/stable-diffusion-2-1, vae/config.json */
const struct nwi_family nwi_family_autoencoder_kl_sd2 = {
    .name = "sd2",
    .title = "VAE of Stable Diffusion 2",
    .component = "vae",
    .klass = "AutoencoderKL",
    .kind = NWI_KIND_VAE,
    .rules = &kl_rules,
    .deprecated = &kl_old_rules,
    .variants = kl_sd2_variants,
    .preset = "{\"scaling_factor\": 0.18215, \"sample_size\": 768}",
    .prefix = "first_stage_model.",
};

static const struct nwi_variant kl_sdxl_variants[] = {
    {"playground-v2-5",
     {NULL},
     {NULL},
     "{\"scaling_factor\": 0.5, \"latents_mean\": [-1.6574, 1.886, -1.383, 2.5155], "
     "\"latents_std\": [8.4927, 5.9022, 6.5498, 5.2299]}",
     "playgroundai/playground-v2.5-1024px-aesthetic, vae/config.json"},
    {0},
};

/* stabilityai/stable-diffusion-xl-base-1.0, vae/config.json */
const struct nwi_family nwi_family_autoencoder_kl_sdxl = {
    .name = "sdxl",
    .title = "VAE of Stable Diffusion XL",
    .component = "vae",
    .klass = "AutoencoderKL",
    .kind = NWI_KIND_VAE,
    .rules = &kl_rules,
    .deprecated = &kl_old_rules,
    .variants = kl_sdxl_variants,
    .preset =
        "{\"scaling_factor\": 0.13025, \"sample_size\": 1024, \"force_upcast\": true}",
    .prefix = "first_stage_model.",
};

/* stabilityai/stable-diffusion-3-medium-diffusers, vae/config.json */
const struct nwi_family nwi_family_autoencoder_kl_sd3 = {
    .name = "sd3",
    .title = "VAE of Stable Diffusion 3",
    .component = "vae",
    .klass = "AutoencoderKL",
    .kind = NWI_KIND_VAE,
    .rules = &kl_rules,
    .deprecated = &kl_old_rules,
    .preset = "{\"scaling_factor\": 1.5305, \"shift_factor\": 0.0609, "
              "\"force_upcast\": false, \"sample_size\": 1024}",
    .prefix = "first_stage_model.",
};

/* black-forest-labs/FLUX.1-dev, vae/config.json */
const struct nwi_family nwi_family_autoencoder_kl_flux = {
    .name = "flux",
    .title = "VAE of FLUX.1",
    .component = "vae",
    .klass = "AutoencoderKL",
    .kind = NWI_KIND_VAE,
    .rules = &kl_rules,
    .deprecated = &kl_old_rules,
    .preset = "{\"scaling_factor\": 0.3611, \"shift_factor\": 0.1159, "
              "\"force_upcast\": false, \"sample_size\": 1024}",
    .prefix = "first_stage_model.",
};

/* lodestones/Chroma1-HD, vae/config.json */
const struct nwi_family nwi_family_autoencoder_kl_chroma = {
    .name = "chroma",
    .title = "VAE of Chroma",
    .component = "vae",
    .klass = "AutoencoderKL",
    .kind = NWI_KIND_VAE,
    .rules = &kl_rules,
    .deprecated = &kl_old_rules,
    .preset = "{\"scaling_factor\": 0.3611, \"shift_factor\": 0.1159, "
              "\"force_upcast\": true, \"sample_size\": 1024}",
    .prefix = "first_stage_model.",
};

/* ---- FLUX.2 VAE ---- */

static const struct nwi_signature flux2_vae_original[] = {
    NWI_WHEN("bn.running_mean", "decoder.mid.block_1.conv1.weight[]=4",
             "encoder.down.0.block.0.conv1.weight[]=4", "encoder.quant_conv.weight",
             "decoder.conv_in.weight[]=4"),
    {NULL},
};

static const struct nwi_signature flux2_vae_diffusers[] = {
    NWI_WHEN("bn.running_mean", "decoder.mid_block.resnets.0.conv1.weight[]=4",
             "encoder.down_blocks.0.resnets.0.conv1.weight[]=4",
             "decoder.conv_in.weight[]=4"),
    {NULL},
};

const struct nwi_family nwi_family_flux2_vae = {
    .name = "flux2",
    .title = "FLUX.2 VAE",
    .component = "vae",
    .klass = "AutoencoderKLFlux2",
    .kind = NWI_KIND_VAE,
    .rules = &kl_rules,
    .original = flux2_vae_original,
    .diffusers = flux2_vae_diffusers,
};
