/* SPDX-License-Identifier: Apache-2.0
 * Models whose files are recognised and checked, but whose names are those of the class, or of no
 * class at all: nothing is converted. */
#include "layout/family.h"

static const struct nwi_signature hunyuan_video_vae_diffusers[] = {
    NWI_WHEN("encoder.conv_in.conv.weight[]=5",
             "encoder.down_blocks.0.resnets.0.conv1.conv.weight[]=5",
             "decoder.mid_block.attentions.0.to_q.weight", "quant_conv.weight[]=5",
             "!latents_mean"),
    {NULL},
};

const struct nwi_family nwi_family_hunyuan_video_vae = {
    .name = "hunyuan_video",
    .title = "HunyuanVideo VAE",
    .component = "vae",
    .klass = "AutoencoderKLHunyuanVideo",
    .kind = NWI_KIND_VAE,
    .same_names = true,
    .diffusers = hunyuan_video_vae_diffusers,
};

static const struct nwi_signature mochi_vae_diffusers[] = {
    NWI_WHEN("encoder.proj_in.weight", "encoder.block_in.resnets.0.conv1.conv.weight",
             "decoder.block_in.resnets.0.conv1.conv.weight"),
    NWI_WHEN("decoder.block_in.resnets.0.conv1.conv.weight", "decoder.proj_out.weight",
             "!encoder*"),
    {NULL},
};

const struct nwi_family nwi_family_mochi_vae = {
    .name = "mochi",
    .title = "Mochi 1 VAE",
    .component = "vae",
    .klass = "AutoencoderKLMochi",
    .kind = NWI_KIND_VAE,
    .same_names = true,
    .diffusers = mochi_vae_diffusers,
};

static const struct nwi_signature mochi_vae_comfy_original[] = {
    NWI_WHEN("encoder.layers.1.stack.0.weight", "encoder.layers.0.weight"),
    NWI_WHEN("decoder.blocks.0.0.weight", "decoder.output_proj.weight"),
    {NULL},
};

const struct nwi_family nwi_family_mochi_vae_comfy = {
    .name = "mochi",
    .title = "Mochi 1 VAE, names of ComfyUI",
    .component = "vae",
    .kind = NWI_KIND_VAE,
    .original = mochi_vae_comfy_original,
};

static const struct nwi_signature cosmos_vae_diffusers[] = {
    NWI_WHEN("encoder.conv_in.conv_s.weight",
             "encoder.down_blocks.0.resnets.0.conv1.conv_s.weight",
             "decoder.conv_in.conv_s.weight"),
    {NULL},
};

const struct nwi_family nwi_family_cosmos_vae = {
    .name = "cosmos",
    .title = "Cosmos VAE",
    .component = "vae",
    .klass = "AutoencoderKLCosmos",
    .kind = NWI_KIND_VAE,
    .same_names = true,
    .diffusers = cosmos_vae_diffusers,
};

static const struct nwi_signature autoencoder_tiny_diffusers[] = {
    NWI_WHEN("encoder.layers.0.weight[]=4", "encoder.layers.1.conv.0.weight",
             "decoder.layers.0.weight|decoder.layers.1.weight"),
    {NULL},
};

const struct nwi_family nwi_family_autoencoder_tiny = {
    .name = "taesd",
    .title = "TAESD",
    .component = "vae",
    .klass = "AutoencoderTiny",
    .kind = NWI_KIND_VAE,
    .same_names = true,
    .diffusers = autoencoder_tiny_diffusers,
};

static const struct nwi_signature taesd_original_original[] = {
    NWI_WHEN("0.weight[]=4", "1.conv.0.weight", "2.weight"),
    NWI_WHEN("1.weight[]=4", "3.conv.0.weight", "!0.weight"),
    NWI_WHEN("0.weight[]=4", "2.weight[]=4", "4.conv.0.weight"),
    {NULL},
};

const struct nwi_family nwi_family_taesd_original = {
    .name = "taesd",
    .title = "TAESD, one half",
    .component = "vae",
    .kind = NWI_KIND_VAE,
    .original = taesd_original_original,
};

static const struct nwi_signature hunyuan_video_comfy_original[] = {
    NWI_WHEN("txt_in.individual_token_refiner.blocks.0.self_attn.qkv.weight",
             "img_in.proj.weight[]=5", "double_blocks.0.img_attn.qkv.weight",
             "final_layer.linear.weight", "!byt5_in*"),
    {NULL},
};

const struct nwi_family nwi_family_hunyuan_video_comfy = {
    .name = "hunyuan_video",
    .title = "HunyuanVideo, names of ComfyUI",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = hunyuan_video_comfy_original,
};

static const struct nwi_signature ltx2_vocoder_original[] = {
    NWI_WHEN("conv_pre.weight", "ups.0.weight", "resblocks.0.convs1.0.weight"),
    {NULL},
};

const struct nwi_family nwi_family_ltx2_vocoder = {
    .name = "ltx2",
    .title = "LTX-2 vocoder",
    .component = "vocoder",
    .kind = NWI_KIND_OTHER,
    .original = ltx2_vocoder_original,
};

static const struct nwi_signature ltx2_connectors_original[] = {
    NWI_WHEN("video_embeddings_connector.learnable_registers", "!patchify_proj.weight"),
    {NULL},
};

const struct nwi_family nwi_family_ltx2_connectors = {
    .name = "ltx2",
    .title = "LTX-2 text connectors",
    .component = "connectors",
    .kind = NWI_KIND_OTHER,
    .original = ltx2_connectors_original,
};

static const struct nwi_signature ltx2_upsampler_original[] = {
    NWI_WHEN("initial_conv.weight[]=5", "initial_norm.weight",
             "res_blocks.0.conv1.weight[]=5"),
    {NULL},
};

const struct nwi_family nwi_family_ltx2_upsampler = {
    .name = "ltx2",
    .title = "LTX latent upsampler",
    .component = "latent_upsampler",
    .kind = NWI_KIND_UPSCALER,
    .original = ltx2_upsampler_original,
};

static const struct nwi_signature flux_redux_original[] = {
    NWI_WHEN("redux_up.weight", "redux_down.weight"),
    {NULL},
};

const struct nwi_family nwi_family_flux_redux = {
    .name = "flux",
    .title = "FLUX.1 Redux",
    .component = "image_embedder",
    .kind = NWI_KIND_OTHER,
    .original = flux_redux_original,
};

static const struct nwi_signature flux_ip_adapter_original[] = {
    NWI_WHEN("double_blocks.0.processor.ip_adapter_double_stream_k_proj.weight",
             "double_blocks.0.processor.ip_adapter_double_stream_v_proj.weight"),
    {NULL},
};

const struct nwi_family nwi_family_flux_ip_adapter = {
    .name = "flux",
    .title = "FLUX.1 IP-Adapter",
    .component = "ip_adapter",
    .kind = NWI_KIND_ADAPTER,
    .original = flux_ip_adapter_original,
};

static const struct nwi_signature midas_original[] = {
    NWI_WHEN("pretrained.act_postprocess3.3.weight",
             "pretrained.model.blocks.0.attn.qkv.weight"),
    {NULL},
};

const struct nwi_family nwi_family_midas = {
    .name = "sd2",
    .title = "MiDaS depth estimator",
    .component = "depth_estimator",
    .kind = NWI_KIND_OTHER,
    .original = midas_original,
};

static const struct nwi_signature qwen_image_controlnet_original[] = {
    NWI_WHEN("controlnet_blocks.0.x_rms.weight", "controlnet_blocks.0.y_rms.weight",
             "img_in.weight"),
    {NULL},
};

const struct nwi_family nwi_family_qwen_image_controlnet = {
    .name = "qwen_image",
    .title = "Qwen-Image blockwise ControlNet",
    .component = "controlnet",
    .kind = NWI_KIND_CONTROLNET,
    .original = qwen_image_controlnet_original,
};

static const struct nwi_signature ideogram4_original[] = {
    NWI_WHEN("llm_cond_proj.weight", "layers.0.attention.qkv.weight",
             "t_embedding.mlp_in.weight", "adaln_proj.weight"),
    {NULL},
};

const struct nwi_family nwi_family_ideogram4 = {
    .name = "ideogram4",
    .title = "Ideogram 4",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = ideogram4_original,
};
