/* SPDX-License-Identifier: Apache-2.0
 * LTX-2 (Lightricks): names of the original repository, and of diffusers 0.42.1
 * (LTX2VideoTransformer3DModel, AutoencoderKLLTX2Video, AutoencoderKLLTX2Audio). */
#include "layout/family.h"

static const struct nwi_rule ltx2_rows[] = {
    NWI_MAP("{a:|audio_}prompt_adaln_single.{*}", "{a:|audio_}prompt_adaln.{*}"),
    NWI_DROP("{a:video|audio}_embeddings_connector.{*}",
             "the text connectors are a model of their own"),
    NWI_DROP("{a:video|audio}_connector.{*}",
             "the text connectors are a model of their own"),
    NWI_MAP("{a:|audio_}patchify_proj.{p}", "{a:|audio_}proj_in.{p}"),
    NWI_MAP("{a:|audio_}adaln_single.{*}", "{a:|audio_}time_embed.{*}"),
    NWI_MAP("av_ca_{a:video_scale_shift|audio_scale_shift}_adaln_single.{*}",
            "av_cross_attn_{a:video_scale_shift|audio_scale_shift}.{*}"),
    NWI_MAP("av_ca_{a:a2v|v2a}_gate_adaln_single.{*}",
            "av_cross_attn_{a:video_a2v|audio_v2a}_gate.{*}"),
    NWI_MAP("transformer_blocks.{i}.scale_shift_table_a2v_ca_{a:video|audio}",
            "transformer_blocks.{i}.{a:video|audio}_a2v_cross_attn_scale_shift_table"),
    NWI_MAP("transformer_blocks.{i}.{m:attn1|attn2|audio_attn1|audio_attn2|audio_to_"
            "video_attn|video_to_audio_attn}.{b:q|k}_norm.{p}",
            "transformer_blocks.{i}.{m:attn1|attn2|audio_attn1|audio_attn2|audio_to_"
            "video_attn|video_to_audio_attn}.norm_{b:q|k}.{p}"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules ltx2_rules = {
    .rules = ltx2_rows,
};

static const struct nwi_rule ltx2_vae_rows[] = {
    NWI_MAP("per_channel_statistics.{a:mean-of-means|std-of-means}",
            "{a:latents_mean|latents_std}"),
    NWI_DROP("per_channel_statistics.{*}", "training statistics"),
    NWI_MAP("decoder.up_blocks.0.{*}", "decoder.mid_block.{*}"),
    NWI_MAP("decoder.up_blocks.{1+2*b}.{*}", "decoder.up_blocks.{b}.upsamplers.0.{*}"),
    NWI_MAP("decoder.up_blocks.{2+2*b}.{*}", "decoder.up_blocks.{b}.{*}"),
    NWI_MAP("encoder.down_blocks.8.{*}", "encoder.mid_block.{*}"),
    NWI_MAP("encoder.down_blocks.{1+2*b}.{*}",
            "encoder.down_blocks.{b}.downsamplers.0.{*}"),
    NWI_MAP("encoder.down_blocks.{2*b}.{*}", "encoder.down_blocks.{b}.{*}"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rule ltx2_vae_post[] = {
    NWI_MAP("{^}.res_blocks.{j}.{*}", "{^}.resnets.{j}.{*}"),
    {0},
};

static const struct nwi_rules ltx2_vae_rules = {
    .rules = ltx2_vae_rows,
    .post = ltx2_vae_post,
};

static const struct nwi_rule ltx2_audio_rows[] = {
    NWI_MAP("per_channel_statistics.{a:mean-of-means|std-of-means}",
            "{a:latents_mean|latents_std}"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules ltx2_audio_rules = {
    .rules = ltx2_audio_rows,
};

/* ---- LTX-2 ---- */

static const struct nwi_signature ltx2_transformer_original[] = {
    NWI_WHEN("patchify_proj.weight", "audio_patchify_proj.weight",
             "adaln_single.emb.timestep_embedder.linear_1.weight",
             "transformer_blocks.0.audio_attn1.to_q.weight"),
    {NULL},
};

static const struct nwi_signature ltx2_transformer_diffusers[] = {
    NWI_WHEN("proj_in.weight", "audio_proj_in.weight",
             "time_embed.emb.timestep_embedder.linear_1.weight",
             "transformer_blocks.0.audio_attn1.to_q.weight"),
    {NULL},
};

static const struct nwi_variant ltx2_transformer_variants[] = {
    {"2.0", NWI_WHEN("caption_projection.linear_1.weight"),
     NWI_WHEN("caption_projection.linear_1.weight"), NULL, "Lightricks/LTX-2"},
    {"2.3",
     NWI_WHEN("prompt_adaln_single.linear.weight", "!keyframes_abs_pos_embedding*"),
     NWI_WHEN("prompt_adaln.linear.weight", "!keyframes_abs_pos_embedding*"),
     "{\"perturbed_attn\": true}",
     "huggingface/diffusers, scripts/convert_ltx2_to_diffusers.py"},
    {"2.5",
     NWI_WHEN("prompt_adaln_single.linear.weight", "keyframes_abs_pos_embedding*"),
     NWI_WHEN("prompt_adaln.linear.weight", "keyframes_abs_pos_embedding*"),
     "{\"perturbed_attn\": true}",
     "huggingface/diffusers, scripts/convert_ltx2_to_diffusers.py"},
    {0},
};

static const char *const ltx2_transformer_pipeline[] = {"vae", "audio_vae", "vocoder",
                                                        "text_encoder", NULL};

const struct nwi_family nwi_family_ltx2_transformer = {
    .name = "ltx2",
    .title = "LTX-2",
    .component = "transformer",
    .klass = "LTX2VideoTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &ltx2_rules,
    .original = ltx2_transformer_original,
    .diffusers = ltx2_transformer_diffusers,
    .variants = ltx2_transformer_variants,
    .preset = "{\"num_attention_heads\": 32, \"audio_num_attention_heads\": 32, "
              "\"rope_type\": \"split\", \"rope_double_precision\": true}",
    .pipeline = ltx2_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- LTX-2 video VAE ---- */

static const struct nwi_signature ltx2_vae_original[] = {
    NWI_WHEN("encoder.down_blocks.0.res_blocks.0.conv1.conv.weight",
             "!encoder.down_blocks.9*", "per_channel_statistics.mean-of-means",
             "!decoder.last_time_embedder*"),
    {NULL},
};

static const struct nwi_signature ltx2_vae_diffusers[] = {
    NWI_WHEN("encoder.down_blocks.0.resnets.0.conv1.conv.weight[]=5",
             "decoder.mid_block.resnets.0.conv1.conv.weight", "latents_mean",
             "!encoder.down_blocks.0.conv_out*", "!decoder.time_embedder*"),
    {NULL},
};

static const struct nwi_variant ltx2_vae_variants[] = {
    {"2.0", NWI_WHEN("!decoder.up_blocks.7*"), NWI_WHEN("!decoder.up_blocks.3*"),
     "{\"upsample_residual\": [true, true, true], "
     "\"decoder_spatial_padding_mode\": \"reflect\"}",
     "Lightricks/LTX-2, vae/config.json"},
    {"2.3", NWI_WHEN("decoder.up_blocks.7*"), NWI_WHEN("decoder.up_blocks.3*"),
     "{\"upsample_residual\": [false, false, false, false], "
     "\"decoder_spatial_padding_mode\": \"zeros\"}",
     "Lightricks/LTX-2.3, vae"},
    {0},
};

const struct nwi_family nwi_family_ltx2_vae = {
    .name = "ltx2",
    .title = "LTX-2 video VAE",
    .component = "vae",
    .klass = "AutoencoderKLLTX2Video",
    .kind = NWI_KIND_VAE,
    .rules = &ltx2_vae_rules,
    .original = ltx2_vae_original,
    .diffusers = ltx2_vae_diffusers,
    .variants = ltx2_vae_variants,
    .preset = "{\"decoder_causal\": false, \"encoder_spatial_padding_mode\": "
              "\"zeros\", \"spatial_compression_ratio\": 32, "
              "\"temporal_compression_ratio\": 8}",
    .prefix = "vae.",
};

/* ---- LTX-2 audio VAE ---- */

static const struct nwi_signature ltx2_audio_vae_original[] = {
    NWI_WHEN("per_channel_statistics.mean-of-means",
             "decoder.mid.block_1.conv1.conv.weight",
             "decoder.up.0.block.0.conv1.conv.weight"),
    {NULL},
};

static const struct nwi_signature ltx2_audio_vae_diffusers[] = {
    NWI_WHEN("latents_mean", "decoder.mid.block_1.conv1.conv.weight",
             "decoder.up.0.block.0.conv1.conv.weight"),
    {NULL},
};

const struct nwi_family nwi_family_ltx2_audio_vae = {
    .name = "ltx2",
    .title = "LTX-2 audio VAE",
    .component = "audio_vae",
    .klass = "AutoencoderKLLTX2Audio",
    .kind = NWI_KIND_VAE,
    .rules = &ltx2_audio_rules,
    .original = ltx2_audio_vae_original,
    .diffusers = ltx2_audio_vae_diffusers,
    .prefix = "audio_vae.",
};
