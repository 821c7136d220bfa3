/* SPDX-License-Identifier: Apache-2.0
 * Denoisers that no class of diffusers 0.42.1 loads from one file, or that this version has
 * no class for: recognised by names of their publishers, so that none is taken for a
 * relative. */
#include "layout/family.h"

static const struct nwi_signature joyai_original[] = {
    NWI_WHEN("img_in.weight[]=5", "double_blocks.0.img_mod.modulate_table",
             "double_blocks.0.img_attn_qkv.weight",
             "condition_embedder.time_embedder.linear_1.weight"),
    {NULL},
};

const struct nwi_family nwi_family_joyai = {
    .name = "joyai_image",
    .title = "JoyAI-Image",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = joyai_original,
};

static const struct nwi_signature boogu_original[] = {
    NWI_WHEN("image_index_embedding", "ref_image_patch_embedder.weight",
             "time_caption_embed.caption_embedder.0.weight", "double_stream_layers*",
             "noise_refiner.0.attn.to_q.weight"),
    {NULL},
};

const struct nwi_family nwi_family_boogu = {
    .name = "boogu_image",
    .title = "Boogu-Image",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = boogu_original,
};

static const struct nwi_signature lingbot_original[] = {
    NWI_WHEN("patch_embedder.weight", "time_modulation.1.weight",
             "text_embedder.norm.weight", "blocks.0.norm_post_attn.weight"),
    {NULL},
};

static const struct nwi_variant lingbot_variants[] = {
    {"dense",
     NWI_WHEN("!blocks.0.ffn.experts*"),
     {NULL},
     NULL,
     "robbyant/lingbot-video-dense-1.3b"},
    {"moe",
     NWI_WHEN("blocks.0.ffn.experts*"),
     {NULL},
     NULL,
     "robbyant/lingbot-video-moe-30b-a3b"},
    {0},
};

const struct nwi_family nwi_family_lingbot = {
    .name = "lingbot_video",
    .title = "LingBot-Video",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = lingbot_original,
    .variants = lingbot_variants,
};

static const struct nwi_signature longcat_original[] = {
    NWI_WHEN("x_embedder.proj.weight[]=5", "blocks.0.pre_crs_attn_norm.weight",
             "blocks.0.cross_attn.kv_linear.weight", "y_embedder.y_proj.0.weight"),
    {NULL},
};

const struct nwi_family nwi_family_longcat = {
    .name = "longcat_video",
    .title = "LongCat-Video",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = longcat_original,
};

static const struct nwi_signature mova_audio_original[] = {
    NWI_WHEN("patch_embedding.weight[]=3", "blocks.0.self_attn.q.weight",
             "blocks.0.cross_attn.q.weight", "blocks.0.modulation", "head.modulation"),
    {NULL},
};

const struct nwi_family nwi_family_mova_audio = {
    .name = "mova",
    .title = "MOVA, its sound",
    .component = "audio_dit",
    .kind = NWI_KIND_DENOISER,
    .original = mova_audio_original,
};

static const struct nwi_signature mova_bridge_original[] = {
    NWI_WHEN("audio_to_video_conditioners.0.inner.q.weight",
             "video_to_audio_conditioners.0.inner.q.weight"),
    {NULL},
};

const struct nwi_family nwi_family_mova_bridge = {
    .name = "mova",
    .title = "MOVA, the bridge between picture and sound",
    .component = "dual_tower_bridge",
    .kind = NWI_KIND_OTHER,
    .original = mova_bridge_original,
};

static const struct nwi_signature minimax_music3_original[] = {
    NWI_WHEN("time_proj.weight", "preprocess_conv.weight", "proj_in.weight",
             "transformer_blocks.0.ff_in.weight"),
    {NULL},
};

const struct nwi_family nwi_family_minimax_music3 = {
    .name = "minimax_music3",
    .title = "MiniMax-Music3",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = minimax_music3_original,
};

static const struct nwi_signature wan_sound_original[] = {
    NWI_WHEN("patch_embedding.weight[]=5", "blocks.0.self_attn.q.weight",
             "blocks.0.cross_attn.q.weight", "blocks.0.modulation", "head.modulation",
             "casual_audio_encoder*|audio_proj*|music_encoder*"),
    {NULL},
};

static const struct nwi_variant wan_sound_variants[] = {
    {"s2v", NWI_WHEN("casual_audio_encoder*"), {NULL}, NULL, "Wan-AI/Wan2.2-S2V-14B"},
    {"humo",
     NWI_WHEN("audio_proj.audio_proj_glob_1*"),
     {NULL},
     NULL,
     "bytedance-research/HuMo"},
    {"dancer", NWI_WHEN("music_encoder*"), {NULL}, NULL, "Wan-AI/Wan-Dancer-14B"},
    {0},
};

const struct nwi_family nwi_family_wan_sound = {
    .name = "wan",
    .title = "Wan, driven by sound",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = wan_sound_original,
    .variants = wan_sound_variants,
};
