/* SPDX-License-Identifier: Apache-2.0
 * Models whose publishers and diffusers 0.42.1 use the same names: HiDream, ERNIE-
 * Image, Qwen-Image, Motif-Video, CogView4, CogVideoX, PixArt, Hunyuan-DiT in the
 * names of diffusers. */
#include "layout/family.h"

/* ---- HiDream-I1 ---- */

static const struct nwi_signature hidream_transformer_diffusers[] = {
    NWI_WHEN("x_embedder.proj.weight", "p_embedder.pooled_embedder.linear_1.weight",
             "t_embedder.timestep_embedder.linear_1.weight",
             "caption_projection.0.linear.weight"),
    {NULL},
};

static const char *const hidream_transformer_pipeline[] = {
    "vae", "text_encoder", "text_encoder_2", "text_encoder_3", "text_encoder_4", NULL};

const struct nwi_family nwi_family_hidream_transformer = {
    .name = "hidream",
    .title = "HiDream-I1",
    .component = "transformer",
    .klass = "HiDreamImageTransformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .same_names = true,
    .diffusers = hidream_transformer_diffusers,
    .preset = "{\"axes_dims_rope\": [64, 32, 32], \"llama_layers\": [0, 1, 2, 3, 4, 5, "
              "6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, "
              "25, 26, 27, 28, 29, 30, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, "
              "31, 31, 31, 31, 31]}",
    .pipeline = hidream_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- ERNIE-Image ---- */

static const struct nwi_signature ernie_transformer_diffusers[] = {
    NWI_WHEN("x_embedder.proj.weight", "text_proj.weight",
             "layers.0.adaLN_sa_ln.weight", "layers.0.self_attention.to_q.weight"),
    {NULL},
};

static const char *const ernie_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_ernie_transformer = {
    .name = "ernie_image",
    .title = "ERNIE-Image",
    .component = "transformer",
    .klass = "ErnieImageTransformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .same_names = true,
    .diffusers = ernie_transformer_diffusers,
    .pipeline = ernie_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- Qwen-Image ---- */

static const struct nwi_signature qwen_image_transformer_diffusers[] = {
    NWI_WHEN("transformer_blocks.0.img_mod.1.weight",
             "transformer_blocks.0.attn.add_q_proj.weight", "txt_norm.weight",
             "img_in.weight", "txt_in.weight"),
    {NULL},
};

/* ComfyUI marks Edit-2511, whose references have no time, with a tensor without elements. */
#define QWEN_MARK "__index_timestep_zero__"
static const struct nwi_rule qwen_image_rows[] = {
    NWI_DROP(QWEN_MARK, "a mark without elements"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules qwen_image_rules = {
    .rules = qwen_image_rows,
};

static const struct nwi_signature qwen_image_transformer_original[] = {
    NWI_WHEN("transformer_blocks.0.img_mod.1.weight",
             "transformer_blocks.0.attn.add_q_proj.weight", "txt_norm.weight",
             "img_in.weight", "txt_in.weight", QWEN_MARK),
    {NULL},
};

static const struct nwi_variant qwen_image_transformer_variants[] = {
    {"edit-2511", NWI_WHEN(QWEN_MARK), NWI_WHEN("$zero_cond_t=true"),
     "{\"zero_cond_t\": true}", "Qwen/Qwen-Image-Edit-2511, transformer/config.json"},
    {"layered",
     {NULL},
     NWI_WHEN("time_text_embed.addition_t_embedding.weight"),
     NULL,
     "Qwen/Qwen-Image-Layered"},
    {0},
};

static const char *const qwen_image_transformer_pipeline[] = {"vae", "text_encoder",
                                                              NULL};

const struct nwi_family nwi_family_qwen_image_transformer = {
    .name = "qwen_image",
    .title = "Qwen-Image",
    .component = "transformer",
    .klass = "QwenImageTransformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &qwen_image_rules,
    .original = qwen_image_transformer_original,
    .diffusers = qwen_image_transformer_diffusers,
    .variants = qwen_image_transformer_variants,
    .pipeline = qwen_image_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- Motif-Video ---- */

static const struct nwi_signature motif_transformer_diffusers[] = {
    NWI_WHEN("x_embedder.proj.weight[]=5", "context_embedder.linear_1.weight",
             "transformer_blocks.0.attn.add_q_proj.weight",
             "time_text_embed.timestep_embedder.linear_1.weight",
             "!context_embedder.token_refiner*"),
    {NULL},
};

static const char *const motif_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_motif_transformer = {
    .name = "motif_video",
    .title = "Motif-Video",
    .component = "transformer",
    .klass = "MotifVideoTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .same_names = true,
    .diffusers = motif_transformer_diffusers,
    .pipeline = motif_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- Hunyuan-DiT ---- */

static const struct nwi_signature hunyuan_dit_transformer_diffusers[] = {
    NWI_WHEN("pos_embed.proj.weight",
             "time_extra_emb.timestep_embedder.linear_1.weight",
             "text_embedder.linear_1.weight", "blocks.0.attn2.to_q.weight"),
    {NULL},
};

const struct nwi_family nwi_family_hunyuan_dit_transformer = {
    .name = "hunyuan_dit",
    .title = "Hunyuan-DiT",
    .component = "transformer",
    .klass = "HunyuanDiT2DModel",
    .kind = NWI_KIND_DENOISER,
    .diffusers = hunyuan_dit_transformer_diffusers,
};

/* ---- PixArt ---- */

static const struct nwi_signature pixart_transformer_diffusers[] = {
    NWI_WHEN(
        "pos_embed.proj.weight", "adaln_single.emb.timestep_embedder.linear_1.weight",
        "caption_projection.linear_1.weight", "transformer_blocks.0.attn2.to_q.weight",
        "!patchify_proj.weight", "!proj_in.weight"),
    {NULL},
};

const struct nwi_family nwi_family_pixart_transformer = {
    .name = "pixart",
    .title = "PixArt",
    .component = "transformer",
    .klass = "PixArtTransformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .diffusers = pixart_transformer_diffusers,
};

/* ---- PixArt, original names ---- */

static const struct nwi_signature pixart_original_original[] = {
    NWI_WHEN("blocks.0.cross_attn.kv_linear.weight", "blocks.0.attn.qkv.weight",
             "x_embedder.proj.weight", "t_block.1.weight",
             "y_embedder.y_proj.fc1.weight", "blocks.0.mlp.fc1.weight"),
    {NULL},
};

const struct nwi_family nwi_family_pixart_original = {
    .name = "pixart",
    .title = "PixArt, original names",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = pixart_original_original,
};

/* ---- CogView4 ---- */

static const struct nwi_signature cogview4_transformer_diffusers[] = {
    NWI_WHEN("patch_embed.proj.weight",
             "time_condition_embed.timestep_embedder.linear_1.weight",
             "transformer_blocks.0.norm1.linear.weight",
             "patch_embed.text_proj.weight"),
    {NULL},
};

const struct nwi_family nwi_family_cogview4_transformer = {
    .name = "cogview4",
    .title = "CogView4",
    .component = "transformer",
    .klass = "CogView4Transformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .diffusers = cogview4_transformer_diffusers,
    .preset = "{\"attention_head_dim\": 128, \"num_attention_heads\": 32}",
};

/* ---- CogVideoX ---- */

static const struct nwi_signature cogvideox_transformer_diffusers[] = {
    NWI_WHEN("patch_embed.proj.weight", "time_embedding.linear_1.weight",
             "transformer_blocks.0.norm1.linear.weight",
             "transformer_blocks.0.attn1.to_q.weight", "patch_embed.text_proj.weight"),
    {NULL},
};

const struct nwi_family nwi_family_cogvideox_transformer = {
    .name = "cogvideox",
    .title = "CogVideoX",
    .component = "transformer",
    .klass = "CogVideoXTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .diffusers = cogvideox_transformer_diffusers,
};
