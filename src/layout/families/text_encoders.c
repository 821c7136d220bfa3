/* SPDX-License-Identifier: Apache-2.0
 * CLIP, OpenCLIP and T5 text encoders as single files and all-in-one files hold them,
 * for the classes of transformers 5.24. CLIPTextModel has no "text_model." in its own
 * names; files of every version have it. */
#include "layout/family.h"

static const struct nwi_rule clip_rows[] = {
    NWI_DROP("logit_scale", "the text encoder has no such parameter"),
    NWI_DROP("text_projection.weight", "this class has no projection"),
    NWI_MAP("text_model.{*}", "{*}"),
    {0},
};

static const struct nwi_rules clip_rules = {
    .rules = clip_rows,
};

static const struct nwi_rule_feature clip_eye_features[] = {
    {0, "!text_projection.weight"},
    {0},
};

static const struct nwi_rule clip_eye_rows[] = {
    NWI_DROP("logit_scale", "the text encoder has no such parameter"),
    {.original = "text_model.final_layer_norm.weight",
     .diffusers = "text_projection.weight",
     .op = NWI_RULE_CONSTANT,
     .fill = NW_FILL_EYE,
     .need = 1},
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules clip_eye_rules = {
    .features = clip_eye_features,
    .rules = clip_eye_rows,
};

static const struct nwi_rule openclip_h_rows[] = {
    NWI_DROP("transformer.resblocks.23.{*}", "the last layer is not used"),
    NWI_DROP("text_projection", "this encoder has no projection"),
    NWI_DROP("logit_scale", "the text encoder has no such parameter"),
    NWI_MAP("positional_embedding", "embeddings.position_embedding.weight"),
    NWI_MAP("token_embedding.weight", "embeddings.token_embedding.weight"),
    NWI_MAP("ln_final.{p}", "final_layer_norm.{p}"),
    NWI_OP(SPLIT, "transformer.resblocks.{i}.attn.in_proj_{a:weight|bias}",
           "encoder.layers.{i}.self_attn.{q,k,v}_proj.{a:weight|bias}"),
    NWI_MAP("transformer.resblocks.{i}.attn.out_proj.{p}",
            "encoder.layers.{i}.self_attn.out_proj.{p}"),
    NWI_MAP("transformer.resblocks.{i}.ln_{a:1|2}.{p}",
            "encoder.layers.{i}.layer_norm{a:1|2}.{p}"),
    NWI_MAP("transformer.resblocks.{i}.mlp.{a:c_fc|c_proj}.{p}",
            "encoder.layers.{i}.mlp.{a:fc1|fc2}.{p}"),
    {0},
};

static const struct nwi_rules openclip_h_rules = {
    .rules = openclip_h_rows,
};

static const struct nwi_rule openclip_g_rows[] = {
    NWI_DROP("logit_scale", "the text encoder has no such parameter"),
    NWI_MAP("positional_embedding", "text_model.embeddings.position_embedding.weight"),
    NWI_MAP("token_embedding.weight", "text_model.embeddings.token_embedding.weight"),
    NWI_MAP("ln_final.{p}", "text_model.final_layer_norm.{p}"),
    NWI_OP(TRANSPOSE, "text_projection", "text_projection.weight"),
    NWI_OP(SPLIT, "transformer.resblocks.{i}.attn.in_proj_{a:weight|bias}",
           "text_model.encoder.layers.{i}.self_attn.{q,k,v}_proj.{a:weight|bias}"),
    NWI_MAP("transformer.resblocks.{i}.attn.out_proj.{p}",
            "text_model.encoder.layers.{i}.self_attn.out_proj.{p}"),
    NWI_MAP("transformer.resblocks.{i}.ln_{a:1|2}.{p}",
            "text_model.encoder.layers.{i}.layer_norm{a:1|2}.{p}"),
    NWI_MAP("transformer.resblocks.{i}.mlp.{a:c_fc|c_proj}.{p}",
            "text_model.encoder.layers.{i}.mlp.{a:fc1|fc2}.{p}"),
    {0},
};

static const struct nwi_rules openclip_g_rules = {
    .rules = openclip_g_rows,
};

/* ---- CLIP text encoder ---- */

static const struct nwi_signature clip_l_original[] = {
    NWI_WHEN("text_model.encoder.layers.0.self_attn.q_proj.weight",
             "text_model.embeddings.token_embedding.weight", "!text_projection.weight",
             "!vision_model*"),
    {NULL},
};

static const struct nwi_signature clip_l_diffusers[] = {
    NWI_WHEN("encoder.layers.0.self_attn.q_proj.weight",
             "embeddings.token_embedding.weight", "final_layer_norm.weight",
             "!text_projection.weight"),
    {NULL},
};

static const struct nwi_variant clip_l_variants[] = {
    {"vit-l", NWI_WHEN("text_model.embeddings.token_embedding.weight[1]=768"),
     NWI_WHEN("embeddings.token_embedding.weight[1]=768"),
     "{\"num_attention_heads\": 12, \"hidden_act\": \"quick_gelu\", \"bos_token_id\": "
     "0, \"eos_token_id\": 2, "
     "\"projection_dim\": 768}",
     "openai/clip-vit-large-patch14, config.json"},
    {"vit-h", NWI_WHEN("text_model.embeddings.token_embedding.weight[1]=1024"),
     NWI_WHEN("embeddings.token_embedding.weight[1]=1024"),
     "{\"num_attention_heads\": 16, \"hidden_act\": \"gelu\", \"bos_token_id\": 0, "
     "\"eos_token_id\": 2}",
     "stabilityai/stable-diffusion-2-1, text_encoder/config.json"},
    {"vit-bigg", NWI_WHEN("text_model.embeddings.token_embedding.weight[1]=1280"),
     NWI_WHEN("embeddings.token_embedding.weight[1]=1280"),
     "{\"num_attention_heads\": 20, \"hidden_act\": \"gelu\", \"bos_token_id\": 0, "
     "\"eos_token_id\": 2, \"projection_dim\": "
     "1280}",
     "stabilityai/stable-diffusion-xl-base-1.0, text_encoder_2/config.json"},
    {0},
};

const struct nwi_family nwi_family_clip_l = {
    .name = "clip",
    .title = "CLIP text encoder",
    .component = "text_encoder",
    .klass = "CLIPTextModel",
    .kind = NWI_KIND_TEXT_ENCODER,
    .rules = &clip_rules,
    .original = clip_l_original,
    .diffusers = clip_l_diffusers,
    .variants = clip_l_variants,
    .preset = "{\"num_attention_heads\": 12, \"hidden_act\": \"quick_gelu\", "
              "\"bos_token_id\": 0, \"eos_token_id\": 2}",
    .prefix = "cond_stage_model.transformer.",
};

/* ---- CLIP text encoder with projection ---- */

static const struct nwi_signature clip_projection_diffusers[] = {
    NWI_WHEN("text_model.encoder.layers.0.self_attn.q_proj.weight",
             "text_model.embeddings.token_embedding.weight", "text_projection.weight",
             "!vision_model*"),
    {NULL},
};

static const struct nwi_variant clip_projection_variants[] = {
    {"vit-l",
     {NULL},
     NWI_WHEN("text_model.embeddings.token_embedding.weight[1]=768"),
     "{\"num_attention_heads\": 12, \"hidden_act\": \"quick_gelu\", \"bos_token_id\": "
     "0, \"eos_token_id\": 2, "
     "\"projection_dim\": 768}",
     "openai/clip-vit-large-patch14, config.json"},
    {"vit-h",
     {NULL},
     NWI_WHEN("text_model.embeddings.token_embedding.weight[1]=1024"),
     "{\"num_attention_heads\": 16, \"hidden_act\": \"gelu\", \"bos_token_id\": 0, "
     "\"eos_token_id\": 2}",
     "stabilityai/stable-diffusion-2-1, text_encoder/config.json"},
    {"vit-bigg",
     {NULL},
     NWI_WHEN("text_model.embeddings.token_embedding.weight[1]=1280"),
     "{\"num_attention_heads\": 20, \"hidden_act\": \"gelu\", \"bos_token_id\": 0, "
     "\"eos_token_id\": 2, \"projection_dim\": "
     "1280}",
     "stabilityai/stable-diffusion-xl-base-1.0, text_encoder_2/config.json"},
    {0},
};

const struct nwi_family nwi_family_clip_projection = {
    .name = "clip",
    .title = "CLIP text encoder with projection",
    .component = "text_encoder_2",
    .klass = "CLIPTextModelWithProjection",
    .kind = NWI_KIND_TEXT_ENCODER,
    .same_names = true,
    .diffusers = clip_projection_diffusers,
    .variants = clip_projection_variants,
    .preset = "{\"num_attention_heads\": 20, \"hidden_act\": \"gelu\", "
              "\"bos_token_id\": 0, \"eos_token_id\": 2}",
    .prefix = "text_encoders.clip_g.transformer.",
};

/* ---- CLIP-L of Stable Diffusion 3 ---- */

const struct nwi_family nwi_family_clip_sd3 = {
    .name = "sd3",
    .title = "CLIP-L of Stable Diffusion 3",
    .component = "text_encoder",
    .klass = "CLIPTextModelWithProjection",
    .kind = NWI_KIND_TEXT_ENCODER,
    .rules = &clip_eye_rules,
    .preset = "{\"num_attention_heads\": 12, \"hidden_act\": \"quick_gelu\", "
              "\"bos_token_id\": 0, \"eos_token_id\": 2}",
    .prefix = "text_encoders.clip_l.transformer.",
};

/* ---- OpenCLIP ViT-H text encoder ---- */

static const struct nwi_signature openclip_h_original[] = {
    NWI_WHEN("transformer.resblocks.0.attn.in_proj_weight",
             "token_embedding.weight[1]=1024", "positional_embedding",
             "ln_final.weight"),
    {NULL},
};

const struct nwi_family nwi_family_openclip_h = {
    .name = "openclip",
    .title = "OpenCLIP ViT-H text encoder",
    .component = "text_encoder",
    .klass = "CLIPTextModel",
    .kind = NWI_KIND_TEXT_ENCODER,
    .rules = &openclip_h_rules,
    .original = openclip_h_original,
    .preset = "{\"num_attention_heads\": 16, \"hidden_act\": \"gelu\", "
              "\"bos_token_id\": 0, \"eos_token_id\": 2}",
    .prefix = "cond_stage_model.model.",
};

/* ---- OpenCLIP ViT-bigG text encoder ---- */

static const struct nwi_signature openclip_g_original[] = {
    NWI_WHEN("transformer.resblocks.0.attn.in_proj_weight",
             "token_embedding.weight[1]!=1024", "positional_embedding",
             "ln_final.weight"),
    {NULL},
};

const struct nwi_family nwi_family_openclip_g = {
    .name = "openclip",
    .title = "OpenCLIP ViT-bigG text encoder",
    .component = "text_encoder_2",
    .klass = "CLIPTextModelWithProjection",
    .kind = NWI_KIND_TEXT_ENCODER,
    .rules = &openclip_g_rules,
    .original = openclip_g_original,
    .preset = "{\"num_attention_heads\": 20, \"hidden_act\": \"gelu\", "
              "\"bos_token_id\": 0, \"eos_token_id\": 2}",
    .prefix = "conditioner.embedders.1.model.",
};

/* ---- CLIP image encoder ---- */

static const struct nwi_signature clip_vision_diffusers[] = {
    NWI_WHEN("vision_model.encoder.layers.0.self_attn.q_proj.weight",
             "vision_model.embeddings.patch_embedding.weight",
             "visual_projection.weight", "!text_model*"),
    {NULL},
};

static const struct nwi_variant clip_vision_variants[] = {
    {"vit-l",
     {NULL},
     NWI_WHEN("vision_model.embeddings.patch_embedding.weight[0]=1024"),
     "{\"num_attention_heads\": 16, \"hidden_act\": \"quick_gelu\"}",
     "openai/clip-vit-large-patch14, config.json"},
    {"vit-h",
     {NULL},
     NWI_WHEN("vision_model.embeddings.patch_embedding.weight[0]=1280"),
     "{\"num_attention_heads\": 16, \"hidden_act\": \"gelu\"}",
     "laion/CLIP-ViT-H-14-laion2B-s32B-b79K, config.json"},
    {"vit-bigg",
     {NULL},
     NWI_WHEN("vision_model.embeddings.patch_embedding.weight[0]=1664"),
     "{\"num_attention_heads\": 16, \"hidden_act\": \"gelu\"}",
     "laion/CLIP-ViT-bigG-14-laion2B-39B-b160k, config.json"},
    {0},
};

const struct nwi_family nwi_family_clip_vision = {
    .name = "clip_vision",
    .title = "CLIP image encoder",
    .component = "image_encoder",
    .klass = "CLIPVisionModelWithProjection",
    .kind = NWI_KIND_IMAGE_ENCODER,
    .same_names = true,
    .diffusers = clip_vision_diffusers,
    .variants = clip_vision_variants,
};

/* ---- T5 encoder ---- */

static const struct nwi_signature t5_diffusers[] = {
    NWI_WHEN("encoder.block.0.layer.0.SelfAttention.q.weight",
             "encoder.final_layer_norm.weight",
             "shared.weight|encoder.embed_tokens.weight",
             "!encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight",
             "!decoder*"),
    {NULL},
};

const struct nwi_family nwi_family_t5 = {
    .name = "t5",
    .title = "T5 encoder",
    .component = "text_encoder_2",
    .klass = "T5EncoderModel",
    .kind = NWI_KIND_TEXT_ENCODER,
    .same_names = true,
    .diffusers = t5_diffusers,
    .prefix = "text_encoders.t5xxl.transformer.",
};

/* ---- UMT5 encoder ---- */

static const struct nwi_signature umt5_diffusers[] = {
    NWI_WHEN("encoder.block.0.layer.0.SelfAttention.q.weight",
             "encoder.final_layer_norm.weight",
             "shared.weight|encoder.embed_tokens.weight",
             "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight",
             "!decoder*"),
    {NULL},
};

const struct nwi_family nwi_family_umt5 = {
    .name = "umt5",
    .title = "UMT5 encoder",
    .component = "text_encoder",
    .klass = "UMT5EncoderModel",
    .kind = NWI_KIND_TEXT_ENCODER,
    .same_names = true,
    .diffusers = umt5_diffusers,
};

/* ---- UMT5 encoder in the names of Wan's repository (models_t5_umt5-xxl-enc) ---- */

#define UMT5_BLOCK "encoder.block.{i}.layer."

static const struct nwi_rule umt5_wan_rows[] = {
    NWI_MAP("token_embedding.{p}", "shared.{p}"),
    NWI_MAP("norm.{p}", "encoder.final_layer_norm.{p}"),
    NWI_MAP("blocks.{i}.norm1.{p}", UMT5_BLOCK "0.layer_norm.{p}"),
    NWI_MAP("blocks.{i}.attn.{a:q|k|v|o}.{p}",
            UMT5_BLOCK "0.SelfAttention.{a:q|k|v|o}.{p}"),
    NWI_MAP("blocks.{i}.pos_embedding.embedding.{p}",
            UMT5_BLOCK "0.SelfAttention.relative_attention_bias.{p}"),
    NWI_MAP("blocks.{i}.norm2.{p}", UMT5_BLOCK "1.layer_norm.{p}"),
    NWI_MAP("blocks.{i}.ffn.{a:gate.0|fc1|fc2}.{p}",
            UMT5_BLOCK "1.DenseReluDense.{a:wi_0|wi_1|wo}.{p}"),
    {0},
};

static const struct nwi_rules umt5_wan_rules = {
    .rules = umt5_wan_rows,
};

static const struct nwi_signature umt5_wan_original[] = {
    NWI_WHEN("token_embedding.weight", "blocks.0.attn.q.weight",
             "blocks.0.ffn.gate.0.weight", "blocks.0.pos_embedding.embedding.weight"),
    {NULL},
};

const struct nwi_family nwi_family_umt5_wan = {
    .name = "umt5",
    .title = "UMT5 encoder, names of Wan",
    .component = "text_encoder",
    .klass = "UMT5EncoderModel",
    .kind = NWI_KIND_TEXT_ENCODER,
    .rules = &umt5_wan_rules,
    .original = umt5_wan_original,
};

/* ---- Llama, Mistral or Qwen text encoder ---- */

static const struct nwi_signature llama_diffusers[] = {
    NWI_WHEN("model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight",
             "model.norm.weight", "model.layers.0.mlp.gate_proj.weight"),
    NWI_WHEN("layers.0.self_attn.q_proj.weight", "embed_tokens.weight", "norm.weight",
             "layers.0.mlp.gate_proj.weight"),
    {NULL},
};

const struct nwi_family nwi_family_llama = {
    .name = "llama",
    .title = "Llama, Mistral or Qwen text encoder",
    .component = "text_encoder",
    .kind = NWI_KIND_TEXT_ENCODER,
    .diffusers = llama_diffusers,
};
