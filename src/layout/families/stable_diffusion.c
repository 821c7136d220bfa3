/* SPDX-License-Identifier: Apache-2.0
 * The UNets of Stable Diffusion 1, 2 and XL and what was trained from them: names of
 * the latent-diffusion and sgm repositories, and of diffusers 0.42.1
 * (UNet2DConditionModel). S is the number of entries that a resolution has in
 * input_blocks. */
#include "layout/family.h"

#define RES_O                                                                          \
    "{a:in_layers.0|in_layers.2|emb_layers.1|out_layers.0|out_layers.3|skip_"          \
    "connection}.{p}"
#define RES_D "{a:norm1|conv1|time_emb_proj|norm2|conv2|conv_shortcut}.{p}"

static const struct nwi_rule_variable unet_variables[] = {
    {'S', "<input_blocks.{i}.0.op.weight", "#down_blocks.0.resnets.+1"},
    {0},
};

static const struct nwi_rule_feature unet_features[] = {
    /* label_emb.0 is that of unCLIP, not SDXL, where the first level has attention */
    {0, "input_blocks.1.1.proj_in.weight"},
    {0, "class_embedding.linear_1.weight"},
    {0},
};

static const struct nwi_rule unet_rows[] = {
    NWI_MAP("time_embed.{a:0|2}.{p}", "time_embedding.linear_{a:1|2}.{p}"),
    {.original = "label_emb.0.{a:0|2}.{p}",
     .diffusers = "add_embedding.linear_{a:1|2}.{p}",
     .deny = 1},
    {.original = "label_emb.0.{a:0|2}.{p}",
     .diffusers = "class_embedding.linear_{a:1|2}.{p}",
     .need = 1},
    NWI_MAP("label_emb.weight", "class_embedding.weight"),
    NWI_MAP("input_blocks.0.0.{p}", "conv_in.{p}"),
    NWI_MAP("out.{a:0|2}.{p}", "{a:conv_norm_out|conv_out}.{p}"),
    NWI_MAP("input_blocks.{S+b*S}.0.op.{p}", "down_blocks.{b}.downsamplers.0.conv.{p}"),
    NWI_MAP("input_blocks.{1+b*S+r}.0." RES_O, "down_blocks.{b}.resnets.{r}." RES_D),
    NWI_MAP("input_blocks.{1+b*S+r}.1.{*}", "down_blocks.{b}.attentions.{r}.{*}"),
    NWI_MAP("middle_block.{c:0|2}." RES_O, "mid_block.resnets.{c:0|1}." RES_D),
    NWI_MAP("middle_block.1.{*}", "mid_block.attentions.0.{*}"),
    {.original = "output_blocks.{S-1+b*S}.2.conv.{p}",
     .diffusers = "up_blocks.{b}.upsamplers.0.conv.{p}",
     .back_if = "up_blocks.{b}.attentions.0.norm.weight"},
    {.original = "output_blocks.{S-1+b*S}.1.conv.{p}",
     .diffusers = "up_blocks.{b}.upsamplers.0.conv.{p}",
     .back_if = "!up_blocks.{b}.attentions.0.norm.weight"},
    NWI_MAP("output_blocks.{b*S+r}.0." RES_O, "up_blocks.{b}.resnets.{r}." RES_D),
    NWI_MAP("output_blocks.{b*S+r}.1.{*}", "up_blocks.{b}.attentions.{r}.{*}"),
    {0},
};

static const struct nwi_rules unet_rules = {
    .variables = unet_variables,
    .features = unet_features,
    .rules = unet_rows,
};

/* ---- Stable Diffusion 1 ---- */

static const struct nwi_signature sd1_unet_original[] = {
    NWI_WHEN("input_blocks.0.0.weight", "time_embed.0.weight", "out.2.weight",
             "!input_hint_block.0.weight", "!input_blocks.1.0.time_mixer.mix_factor",
             "input_blocks.1.1.proj_in.weight[]=4", "!label_emb.0.0.weight",
             "!input_blocks.1.1.time_stack.0.norm1.weight"),
    {NULL},
};

static const struct nwi_signature sd1_unet_diffusers[] = {
    NWI_WHEN("conv_in.weight", "time_embedding.linear_1.weight",
             "down_blocks.0.resnets.0.conv1.weight", "conv_out.weight",
             "!controlnet_cond_embedding.conv_in.weight",
             "down_blocks.0.attentions.0.proj_in.weight[]=4",
             "!add_embedding.linear_1.weight"),
    {NULL},
};

static const struct nwi_variant sd1_unet_variants[] = {
    {"base", NWI_WHEN("input_blocks.0.0.weight[1]=4"), NWI_WHEN("conv_in.weight[1]=4"),
     "{\"cross_attention_dim\": 768, \"attention_head_dim\": 8, \"sample_size\": 64}",
     "stable-diffusion-v1-5/stable-diffusion-v1-5, unet/config.json"},
    {"inpainting", NWI_WHEN("input_blocks.0.0.weight[1]=9"),
     NWI_WHEN("conv_in.weight[1]=9"),
     "{\"attention_head_dim\": 8, \"sample_size\": 64}",
     "stable-diffusion-v1-5/stable-diffusion-inpainting, unet/config.json"},
    {"instruct-pix2pix", NWI_WHEN("input_blocks.0.0.weight[1]=8"),
     NWI_WHEN("conv_in.weight[1]=8"),
     "{\"attention_head_dim\": 8, \"sample_size\": 64}",
     "timbrooks/instruct-pix2pix, unet/config.json"},
    {0},
};

static const char *const sd1_unet_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_sd1_unet = {
    .name = "sd1",
    .title = "Stable Diffusion 1",
    .component = "unet",
    .klass = "UNet2DConditionModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &unet_rules,
    .original = sd1_unet_original,
    .diffusers = sd1_unet_diffusers,
    .variants = sd1_unet_variants,
    .preset = "{\"attention_head_dim\": 8, \"sample_size\": 64}",
    .pipeline = sd1_unet_pipeline,
    .prefix = "model.diffusion_model.",
    .prediction_type = "epsilon",
};

/* ---- Stable Diffusion 2 ---- */

static const struct nwi_signature sd2_unet_original[] = {
    NWI_WHEN("input_blocks.0.0.weight", "time_embed.0.weight", "out.2.weight",
             "!input_hint_block.0.weight", "!input_blocks.1.0.time_mixer.mix_factor",
             "input_blocks.1.1.proj_in.weight[]=2", "!label_emb.0.0.weight",
             "!input_blocks.1.1.time_stack.0.norm1.weight"),
    NWI_WHEN("input_blocks.0.0.weight", "time_embed.0.weight", "out.2.weight",
             "!input_hint_block.0.weight", "!input_blocks.1.0.time_mixer.mix_factor",
             "label_emb.weight", "!input_blocks.1.1.proj_in.weight"),
    NWI_WHEN("input_blocks.0.0.weight", "time_embed.0.weight", "out.2.weight",
             "!input_hint_block.0.weight", "!input_blocks.1.0.time_mixer.mix_factor",
             "input_blocks.1.1.proj_in.weight[]=2", "label_emb.0.0.weight",
             "!input_blocks.1.1.time_stack.0.norm1.weight"),
    {NULL},
};

static const struct nwi_signature sd2_unet_diffusers[] = {
    NWI_WHEN("conv_in.weight", "time_embedding.linear_1.weight",
             "down_blocks.0.resnets.0.conv1.weight", "conv_out.weight",
             "!controlnet_cond_embedding.conv_in.weight",
             "down_blocks.0.attentions.0.proj_in.weight[]=2",
             "!add_embedding.linear_1.weight"),
    NWI_WHEN("conv_in.weight", "time_embedding.linear_1.weight",
             "down_blocks.0.resnets.0.conv1.weight", "conv_out.weight",
             "!controlnet_cond_embedding.conv_in.weight", "class_embedding.weight",
             "!down_blocks.0.attentions.0.proj_in.weight"),
    {NULL},
};

static const struct nwi_variant sd2_unet_variants[] = {
    {"base", NWI_WHEN("input_blocks.0.0.weight[1]=4"), NWI_WHEN("conv_in.weight[1]=4"),
     "{\"sample_size\": 96, \"upcast_attention\": true}",
     "stabilityai/stable-diffusion-2-1, unet/config.json"},
    {"inpainting", NWI_WHEN("input_blocks.0.0.weight[1]=9"),
     NWI_WHEN("conv_in.weight[1]=9"), "{\"sample_size\": 64}",
     "stabilityai/stable-diffusion-2-inpainting, unet/config.json"},
    {"depth", NWI_WHEN("input_blocks.0.0.weight[1]=5"), NWI_WHEN("conv_in.weight[1]=5"),
     "{\"sample_size\": 32}", "stabilityai/stable-diffusion-2-depth, unet/config.json"},
    {"x4-upscaler", NWI_WHEN("input_blocks.0.0.weight[1]=7"),
     NWI_WHEN("conv_in.weight[1]=7"),
     "{\"attention_head_dim\": 8, \"sample_size\": 128}",
     "stabilityai/stable-diffusion-x4-upscaler, unet/config.json"},
    {"unclip", NWI_WHEN("input_blocks.0.0.weight[1]=4", "label_emb.0.0.weight"),
     NWI_WHEN("conv_in.weight[1]=4", "class_embedding.linear_1.weight"),
     "{\"class_embed_type\": \"projection\", \"sample_size\": 96, "
     "\"upcast_attention\": true}",
     "stabilityai/stable-diffusion-2-1-unclip, unet/config.json"},
    {0},
};

static const char *const sd2_unet_pipeline[] = {"vae", "text_encoder", NULL};

static const struct nwi_original_part sd2_unet_parts[] = {
    {"text_encoder", NULL, &nwi_family_openclip_h, NULL},
    {0},
};

const struct nwi_family nwi_family_sd2_unet = {
    .name = "sd2",
    .title = "Stable Diffusion 2",
    .component = "unet",
    .klass = "UNet2DConditionModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &unet_rules,
    .original = sd2_unet_original,
    .diffusers = sd2_unet_diffusers,
    .variants = sd2_unet_variants,
    .preset = "{\"attention_head_dim\": [5, 10, 20, 20]}",
    .pipeline = sd2_unet_pipeline,
    .parts = sd2_unet_parts,
    .prefix = "model.diffusion_model.",
};

/* ---- Stable Diffusion XL ---- */

static const struct nwi_signature sdxl_unet_original[] = {
    NWI_WHEN("input_blocks.0.0.weight", "time_embed.0.weight", "out.2.weight",
             "!input_hint_block.0.weight", "!input_blocks.1.0.time_mixer.mix_factor",
             "label_emb.0.0.weight", "!input_blocks.1.1.proj_in.weight"),
    {NULL},
};

static const struct nwi_signature sdxl_unet_diffusers[] = {
    NWI_WHEN("conv_in.weight", "time_embedding.linear_1.weight",
             "down_blocks.0.resnets.0.conv1.weight", "conv_out.weight",
             "!controlnet_cond_embedding.conv_in.weight",
             "add_embedding.linear_1.weight",
             "!down_blocks.0.attentions.0.proj_in.weight"),
    {NULL},
};

static const struct nwi_variant sdxl_unet_variants[] = {
    {"base",
     NWI_WHEN("input_blocks.0.0.weight[1]=4", "input_blocks.0.0.weight[0]!=384"),
     NWI_WHEN("conv_in.weight[1]=4", "conv_in.weight[0]!=384"),
     "{\"attention_head_dim\": [5, 10, 20]}",
     "stabilityai/stable-diffusion-xl-base-1.0, unet/config.json"},
    {"inpainting", NWI_WHEN("input_blocks.0.0.weight[1]=9"),
     NWI_WHEN("conv_in.weight[1]=9"), "{\"attention_head_dim\": [5, 10, 20]}",
     "diffusers/stable-diffusion-xl-1.0-inpainting-0.1, unet/config.json"},
    {"instruct-pix2pix", NWI_WHEN("input_blocks.0.0.weight[1]=8"),
     NWI_WHEN("conv_in.weight[1]=8"), "{\"attention_head_dim\": [5, 10, 20]}",
     "diffusers/sdxl-instructpix2pix-768, unet/config.json"},
    {"refiner",
     NWI_WHEN("input_blocks.0.0.weight[1]=4", "input_blocks.0.0.weight[0]=384"),
     NWI_WHEN("conv_in.weight[1]=4", "conv_in.weight[0]=384"),
     "{\"attention_head_dim\": [6, 12, 24, 24]}",
     "stabilityai/stable-diffusion-xl-refiner-1.0, unet/config.json"},
    {"ssd-1b",
     NWI_WHEN("input_blocks.0.0.weight[1]=4", "!middle_block.1*",
              "#input_blocks.7.1.transformer_blocks.=4"),
     NWI_WHEN("conv_in.weight[1]=4", "!mid_block.attentions*",
              "#down_blocks.2.attentions.0.transformer_blocks.=4"),
     "{\"attention_head_dim\": [5, 10, 20]}", "segmind/SSD-1B, unet/config.json"},
    {"vega",
     NWI_WHEN("input_blocks.0.0.weight[1]=4", "!middle_block.1*",
              "#input_blocks.7.1.transformer_blocks.=2"),
     NWI_WHEN("conv_in.weight[1]=4", "!mid_block.attentions*",
              "#down_blocks.2.attentions.0.transformer_blocks.=2"),
     "{\"attention_head_dim\": [5, 10, 20]}", "segmind/Segmind-Vega, unet/config.json"},
    /* Told by what lies beside the U-Net (edm_mean, v_pred). */
    {"playground-v2-5",
     {NULL},
     {NULL},
     "{\"attention_head_dim\": [5, 10, 20]}",
     "playgroundai/playground-v2.5-1024px-aesthetic, unet/config.json"},
    {"v-prediction",
     {NULL},
     {NULL},
     "{\"attention_head_dim\": [5, 10, 20]}",
     "Laxhar/NoobAI-XL-Vpred-1.0"},
    {0},
};

static const char *const sdxl_unet_pipeline[] = {"vae", "text_encoder",
                                                 "text_encoder_2", NULL};

static const struct nwi_original_part sdxl_unet_parts[] = {
    {"text_encoder", NULL, &nwi_family_clip_l, "conditioner.embedders.0.transformer."},
    {"text_encoder_2", "refiner", &nwi_family_openclip_g,
     "conditioner.embedders.0.model."},
    {"text_encoder_2", NULL, &nwi_family_openclip_g, "conditioner.embedders.1.model."},
    {0},
};

const struct nwi_family nwi_family_sdxl_unet = {
    .name = "sdxl",
    .title = "Stable Diffusion XL",
    .component = "unet",
    .klass = "UNet2DConditionModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &unet_rules,
    .original = sdxl_unet_original,
    .diffusers = sdxl_unet_diffusers,
    .variants = sdxl_unet_variants,
    .preset = "{\"addition_embed_type\": \"text_time\", \"addition_time_embed_dim\": "
              "256, \"sample_size\": 128}",
    .pipeline = sdxl_unet_pipeline,
    .parts = sdxl_unet_parts,
    .prefix = "model.diffusion_model.",
    .prediction_type = "epsilon",
};

/* ---- Stable Video Diffusion ---- */

static const struct nwi_signature svd_unet_original[] = {
    NWI_WHEN("input_blocks.0.0.weight", "time_embed.0.weight", "out.2.weight",
             "label_emb.0.0.weight", "input_blocks.1.0.time_mixer.mix_factor",
             "input_blocks.1.0.time_stack.in_layers.0.weight"),
    {NULL},
};

static const struct nwi_signature svd_unet_diffusers[] = {
    NWI_WHEN("conv_in.weight", "time_embedding.linear_1.weight",
             "add_embedding.linear_1.weight",
             "down_blocks.0.resnets.0.spatial_res_block.conv1.weight",
             "down_blocks.0.resnets.0.temporal_res_block.conv1.weight"),
    {NULL},
};

static const char *const svd_unet_pipeline[] = {"vae", "image_encoder", NULL};

/* As published: recognised, not converted. */
const struct nwi_family nwi_family_svd_unet = {
    .name = "svd",
    .title = "Stable Video Diffusion",
    .component = "unet",
    .kind = NWI_KIND_DENOISER,
    .original = svd_unet_original,
    .pipeline = svd_unet_pipeline,
    .prefix = "model.diffusion_model.",
};

const struct nwi_family nwi_family_svd_unet_class = {
    .name = "svd",
    .title = "Stable Video Diffusion",
    .component = "unet",
    .klass = "UNetSpatioTemporalConditionModel",
    .kind = NWI_KIND_DENOISER,
    .diffusers = svd_unet_diffusers,
    .pipeline = svd_unet_pipeline,
    .prediction_type = "v_prediction",
};

/* Its VAE: the decoder's blocks look along time, too. */
static const struct nwi_signature svd_vae_original[] = {
    NWI_WHEN("decoder.mid.block_1.conv1.weight[]=4",
             "decoder.up.0.block.0.conv1.weight", "encoder.down.0.block.0.conv1.weight",
             "decoder.conv_in.weight",
             "decoder.mid.block_1.time_stack.in_layers.0.weight"),
    NWI_WHEN("decoder.mid.block_1.conv1.weight[]=4",
             "decoder.up.0.block.0.conv1.weight", "!encoder*",
             "decoder.mid.block_1.time_stack.in_layers.0.weight"),
    {NULL},
};

static const struct nwi_signature svd_vae_diffusers[] = {
    NWI_WHEN("decoder.mid_block.resnets.0.spatial_res_block.conv1.weight",
             "decoder.time_conv_out.weight",
             "encoder.down_blocks.0.resnets.0.conv1.weight"),
    {NULL},
};

const struct nwi_family nwi_family_svd_vae = {
    .name = "svd",
    .title = "VAE of Stable Video Diffusion",
    .component = "vae",
    .kind = NWI_KIND_VAE,
    .original = svd_vae_original,
    .prefix = "first_stage_model.",
};

const struct nwi_family nwi_family_svd_vae_class = {
    .name = "svd",
    .title = "VAE of Stable Video Diffusion",
    .component = "vae",
    .klass = "AutoencoderKLTemporalDecoder",
    .kind = NWI_KIND_VAE,
    .diffusers = svd_vae_diffusers,
};
