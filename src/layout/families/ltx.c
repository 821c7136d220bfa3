/* SPDX-License-Identifier: Apache-2.0
 * LTX-Video (Lightricks): names of the original repository, and of diffusers 0.42.1
 * (LTXVideoTransformer3DModel, AutoencoderKLLTXVideo). The blocks of the VAE were
 * counted another way in each version. */
#include "layout/family.h"

static const struct nwi_rule ltx_rows[] = {
    NWI_MAP("patchify_proj.{p}", "proj_in.{p}"),
    NWI_MAP("adaln_single.{*}", "time_embed.{*}"),
    NWI_MAP("transformer_blocks.{i}.{a:attn1|attn2}.{b:q|k}_norm.{p}",
            "transformer_blocks.{i}.{a:attn1|attn2}.norm_{b:q|k}.{p}"),
    NWI_MAP("transformer_blocks.{i}.{*}", "transformer_blocks.{i}.{*}"),
    NWI_MAP("{a:caption_projection|proj_out}.{*}",
            "{a:caption_projection|proj_out}.{*}"),
    NWI_MAP("scale_shift_table", "scale_shift_table"),
    {0},
};

static const struct nwi_rules ltx_rules = {
    .rules = ltx_rows,
};

static const struct nwi_rule ltx_vae_90_rows[] = {
    NWI_MAP("per_channel_statistics.{a:mean-of-means|std-of-means}",
            "{a:latents_mean|latents_std}"),
    NWI_DROP("per_channel_statistics.{*}", "training statistics"),
    NWI_MAP("decoder.last_time_embedder.{*}", "decoder.time_embedder.{*}"),
    NWI_MAP("decoder.last_scale_shift_table", "decoder.scale_shift_table"),
    NWI_MAP("{e:encoder|decoder}.{a:conv_in|conv_out}.{*}",
            "{e:encoder|decoder}.{a:conv_in|conv_out}.{*}"),
    NWI_MAP("encoder.down_blocks.{a:1|2|4|5|7|0|3|6|8|9}.{*}",
            "encoder.{a:down_blocks.0.downsamplers.0|down_blocks.0.conv_out|down_"
            "blocks.1.downsamplers.0|down_blocks.1.conv_out|down_blocks.2.downsamplers."
            "0|down_blocks.0|down_blocks.1|down_blocks.2|down_blocks.3|mid_block}.{*}"),
    NWI_MAP("decoder.up_blocks.{a:2|4|5|7|8|0|1|3|6|9}.{*}",
            "decoder.{a:up_blocks.1.upsamplers.0|up_blocks.2.conv_in|up_blocks.2."
            "upsamplers.0|up_blocks.3.conv_in|up_blocks.3.upsamplers.0|mid_block|up_"
            "blocks.0|up_blocks.1|up_blocks.2|up_blocks.3}.{*}"),
    {0},
};

static const struct nwi_rule ltx_vae_90_post[] = {
    NWI_MAP("{^}.res_blocks.{j}.norm3.norm.{p}", "{^}.resnets.{j}.norm3.{p}"),
    NWI_MAP("{^}.res_blocks.{j}.conv_shortcut.{p}",
            "{^}.resnets.{j}.conv_shortcut.conv.{p}"),
    NWI_MAP("{^}.res_blocks.{j}.{*}", "{^}.resnets.{j}.{*}"),
    NWI_MAP("{^}.norm3.norm.{p}", "{^}.norm3.{p}"),
    NWI_MAP("{^}.conv_shortcut.{p}", "{^}.conv_shortcut.conv.{p}"),
    {0},
};

static const struct nwi_rules ltx_vae_90_rules = {
    .rules = ltx_vae_90_rows,
    .post = ltx_vae_90_post,
};

static const struct nwi_rule ltx_vae_91_rows[] = {
    NWI_MAP("per_channel_statistics.{a:mean-of-means|std-of-means}",
            "{a:latents_mean|latents_std}"),
    NWI_DROP("per_channel_statistics.{*}", "training statistics"),
    NWI_MAP("decoder.last_time_embedder.{*}", "decoder.time_embedder.{*}"),
    NWI_MAP("decoder.last_scale_shift_table", "decoder.scale_shift_table"),
    NWI_MAP("{e:encoder|decoder}.{a:conv_in|conv_out}.{*}",
            "{e:encoder|decoder}.{a:conv_in|conv_out}.{*}"),
    NWI_MAP("encoder.down_blocks.{a:1|2|4|5|7|0|3|6|8|9}.{*}",
            "encoder.{a:down_blocks.0.downsamplers.0|down_blocks.0.conv_out|down_"
            "blocks.1.downsamplers.0|down_blocks.1.conv_out|down_blocks.2.downsamplers."
            "0|down_blocks.0|down_blocks.1|down_blocks.2|down_blocks.3|mid_block}.{*}"),
    NWI_MAP("decoder.up_blocks.0.{*}", "decoder.mid_block.{*}"),
    NWI_MAP("decoder.up_blocks.{1+2*b}.{*}", "decoder.up_blocks.{b}.upsamplers.0.{*}"),
    NWI_MAP("decoder.up_blocks.{2+2*b}.{*}", "decoder.up_blocks.{b}.{*}"),
    NWI_MAP("decoder.timestep_scale_multiplier", "decoder.timestep_scale_multiplier"),
    {0},
};

static const struct nwi_rule ltx_vae_91_post[] = {
    NWI_MAP("{^}.res_blocks.{j}.norm3.norm.{p}", "{^}.resnets.{j}.norm3.{p}"),
    NWI_MAP("{^}.res_blocks.{j}.conv_shortcut.{p}",
            "{^}.resnets.{j}.conv_shortcut.conv.{p}"),
    NWI_MAP("{^}.res_blocks.{j}.{*}", "{^}.resnets.{j}.{*}"),
    NWI_MAP("{^}.norm3.norm.{p}", "{^}.norm3.{p}"),
    NWI_MAP("{^}.conv_shortcut.{p}", "{^}.conv_shortcut.conv.{p}"),
    {0},
};

static const struct nwi_rules ltx_vae_91_rules = {
    .rules = ltx_vae_91_rows,
    .post = ltx_vae_91_post,
};

static const struct nwi_rule ltx_vae_95_rows[] = {
    NWI_MAP("per_channel_statistics.{a:mean-of-means|std-of-means}",
            "{a:latents_mean|latents_std}"),
    NWI_DROP("per_channel_statistics.{*}", "training statistics"),
    NWI_MAP("decoder.last_time_embedder.{*}", "decoder.time_embedder.{*}"),
    NWI_MAP("decoder.last_scale_shift_table", "decoder.scale_shift_table"),
    NWI_MAP("{e:encoder|decoder}.{a:conv_in|conv_out}.{*}",
            "{e:encoder|decoder}.{a:conv_in|conv_out}.{*}"),
    NWI_MAP("decoder.up_blocks.0.{*}", "decoder.mid_block.{*}"),
    NWI_MAP("decoder.up_blocks.{1+2*b}.{*}", "decoder.up_blocks.{b}.upsamplers.0.{*}"),
    NWI_MAP("decoder.up_blocks.{2+2*b}.{*}", "decoder.up_blocks.{b}.{*}"),
    NWI_MAP("encoder.down_blocks.8.{*}", "encoder.mid_block.{*}"),
    NWI_MAP("encoder.down_blocks.{1+2*b}.{*}",
            "encoder.down_blocks.{b}.downsamplers.0.{*}"),
    NWI_MAP("encoder.down_blocks.{2*b}.{*}", "encoder.down_blocks.{b}.{*}"),
    NWI_MAP("decoder.timestep_scale_multiplier", "decoder.timestep_scale_multiplier"),
    {0},
};

static const struct nwi_rule ltx_vae_95_post[] = {
    NWI_MAP("{^}.res_blocks.{j}.norm3.norm.{p}", "{^}.resnets.{j}.norm3.{p}"),
    NWI_MAP("{^}.res_blocks.{j}.conv_shortcut.{p}",
            "{^}.resnets.{j}.conv_shortcut.conv.{p}"),
    NWI_MAP("{^}.res_blocks.{j}.{*}", "{^}.resnets.{j}.{*}"),
    NWI_MAP("{^}.norm3.norm.{p}", "{^}.norm3.{p}"),
    NWI_MAP("{^}.conv_shortcut.{p}", "{^}.conv_shortcut.conv.{p}"),
    {0},
};

static const struct nwi_rules ltx_vae_95_rules = {
    .rules = ltx_vae_95_rows,
    .post = ltx_vae_95_post,
};

/* ---- LTX-Video ---- */

static const struct nwi_signature ltx_transformer_original[] = {
    NWI_WHEN("patchify_proj.weight",
             "adaln_single.emb.timestep_embedder.linear_1.weight",
             "caption_projection.linear_1.weight",
             "transformer_blocks.0.attn1.to_q.weight", "!audio_patchify_proj.weight"),
    {NULL},
};

static const struct nwi_signature ltx_transformer_diffusers[] = {
    NWI_WHEN("proj_in.weight", "time_embed.emb.timestep_embedder.linear_1.weight",
             "caption_projection.linear_1.weight",
             "transformer_blocks.0.attn1.to_q.weight", "!audio_proj_in.weight"),
    {NULL},
};

static const struct nwi_variant ltx_transformer_variants[] = {
    {"2b", NWI_WHEN("!transformer_blocks.47*"), NWI_WHEN("!transformer_blocks.47*"),
     NULL, "Lightricks/LTX-Video"},
    {"13b", NWI_WHEN("transformer_blocks.47*"), NWI_WHEN("transformer_blocks.47*"),
     NULL, "Lightricks/LTX-Video-0.9.7-dev"},
    {0},
};

static const char *const ltx_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_ltx_transformer = {
    .name = "ltx",
    .title = "LTX-Video",
    .component = "transformer",
    .klass = "LTXVideoTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &ltx_rules,
    .original = ltx_transformer_original,
    .diffusers = ltx_transformer_diffusers,
    .variants = ltx_transformer_variants,
    .preset = "{\"num_attention_heads\": 32}",
    .pipeline = ltx_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- LTX-Video VAE 0.9.0 ---- */

static const struct nwi_signature ltx_vae_090_original[] = {
    NWI_WHEN("encoder.down_blocks.0.res_blocks.0.conv1.conv.weight",
             "encoder.down_blocks.9.res_blocks.0.conv1.conv.weight",
             "per_channel_statistics.mean-of-means", "!decoder.last_time_embedder*"),
    {NULL},
};

static const struct nwi_signature ltx_vae_090_diffusers[] = {
    NWI_WHEN("encoder.down_blocks.0.resnets.0.conv1.conv.weight[]=5",
             "decoder.mid_block.resnets.0.conv1.conv.weight", "latents_mean",
             "encoder.down_blocks.0.conv_out*", "!decoder.time_embedder*"),
    {NULL},
};

const struct nwi_family nwi_family_ltx_vae_090 = {
    .name = "ltx",
    .title = "LTX-Video VAE 0.9.0",
    .component = "vae",
    .klass = "AutoencoderKLLTXVideo",
    .kind = NWI_KIND_VAE,
    .rules = &ltx_vae_90_rules,
    .original = ltx_vae_090_original,
    .diffusers = ltx_vae_090_diffusers,
    .preset = "{\"encoder_causal\": true, \"decoder_causal\": false, "
              "\"upsample_residual\": [false, false, false, false]}",
    .prefix = "vae.",
};

/* ---- LTX-Video VAE 0.9.1 ---- */

static const struct nwi_signature ltx_vae_091_original[] = {
    NWI_WHEN("encoder.down_blocks.0.res_blocks.0.conv1.conv.weight",
             "encoder.down_blocks.9.res_blocks.0.conv1.conv.weight",
             "per_channel_statistics.mean-of-means", "decoder.last_time_embedder*"),
    {NULL},
};

static const struct nwi_signature ltx_vae_091_diffusers[] = {
    NWI_WHEN("encoder.down_blocks.0.resnets.0.conv1.conv.weight[]=5",
             "decoder.mid_block.resnets.0.conv1.conv.weight", "latents_mean",
             "encoder.down_blocks.0.conv_out*", "decoder.time_embedder*"),
    {NULL},
};

const struct nwi_family nwi_family_ltx_vae_091 = {
    .name = "ltx",
    .title = "LTX-Video VAE 0.9.1",
    .component = "vae",
    .klass = "AutoencoderKLLTXVideo",
    .kind = NWI_KIND_VAE,
    .rules = &ltx_vae_91_rules,
    .original = ltx_vae_091_original,
    .diffusers = ltx_vae_091_diffusers,
    .preset = "{\"encoder_causal\": true, \"decoder_causal\": false, "
              "\"upsample_residual\": [true, true, true]}",
    .prefix = "vae.",
};

/* ---- LTX-Video VAE 0.9.5 ---- */

static const struct nwi_signature ltx_vae_095_original[] = {
    NWI_WHEN("encoder.down_blocks.0.res_blocks.0.conv1.conv.weight",
             "!encoder.down_blocks.9*", "per_channel_statistics.mean-of-means",
             "decoder.last_time_embedder*"),
    {NULL},
};

static const struct nwi_signature ltx_vae_095_diffusers[] = {
    NWI_WHEN("encoder.down_blocks.0.resnets.0.conv1.conv.weight[]=5",
             "decoder.mid_block.resnets.0.conv1.conv.weight", "latents_mean",
             "!encoder.down_blocks.0.conv_out*", "decoder.time_embedder*"),
    {NULL},
};

const struct nwi_family nwi_family_ltx_vae_095 = {
    .name = "ltx",
    .title = "LTX-Video VAE 0.9.5",
    .component = "vae",
    .klass = "AutoencoderKLLTXVideo",
    .kind = NWI_KIND_VAE,
    .rules = &ltx_vae_95_rules,
    .original = ltx_vae_095_original,
    .diffusers = ltx_vae_095_diffusers,
    .preset = "{\"encoder_causal\": true, \"decoder_causal\": false, "
              "\"upsample_residual\": [true, true, true], "
              "\"spatial_compression_ratio\": 32, \"temporal_compression_ratio\": 8}",
    .prefix = "vae.",
};
