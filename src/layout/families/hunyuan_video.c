/* SPDX-License-Identifier: Apache-2.0
 * HunyuanVideo (Tencent): names of the original repository, and of diffusers 0.42.1
 * (HunyuanVideoTransformer3DModel). */
#include "layout/family.h"

static const struct nwi_rule_variable hunyuan_variables[] = {
    {'H', "img_in.proj.weight[0]", "x_embedder.proj.weight[0]"},
    {0},
};

static const struct nwi_rule hunyuan_rows[] = {
    NWI_MAP("img_in.proj.{p}", "x_embedder.proj.{p}"),
    NWI_MAP("{a:time|guidance}_in.mlp.{b:0|2}.{p}",
            "time_text_embed.{a:timestep|guidance}_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("vector_in.{b:in|out}_layer.{p}",
            "time_text_embed.text_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("txt_in.input_embedder.{p}", "context_embedder.proj_in.{p}"),
    NWI_MAP("txt_in.t_embedder.mlp.{b:0|2}.{p}",
            "context_embedder.time_text_embed.timestep_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("txt_in.c_embedder.linear_{b:1|2}.{p}",
            "context_embedder.time_text_embed.text_embedder.linear_{b:1|2}.{p}"),
    NWI_OP(SPLIT, "txt_in.individual_token_refiner.blocks.{i}.self_attn_qkv.{p}",
           "context_embedder.token_refiner.refiner_blocks.{i}.attn.to_{q,k,v}.{p}"),
    NWI_MAP("txt_in.individual_token_refiner.blocks.{i}.self_attn_proj.{p}",
            "context_embedder.token_refiner.refiner_blocks.{i}.attn.to_out.0.{p}"),
    NWI_MAP("txt_in.individual_token_refiner.blocks.{i}.adaLN_modulation.1.{p}",
            "context_embedder.token_refiner.refiner_blocks.{i}.norm_out.linear.{p}"),
    NWI_MAP(
        "txt_in.individual_token_refiner.blocks.{i}.mlp.fc{b:1|2}.{p}",
        "context_embedder.token_refiner.refiner_blocks.{i}.ff.net.{b:0.proj|2}.{p}"),
    NWI_MAP("txt_in.individual_token_refiner.blocks.{i}.norm{b:1|2}.{p}",
            "context_embedder.token_refiner.refiner_blocks.{i}.norm{b:1|2}.{p}"),
    NWI_MAP("double_blocks.{i}.{a:img|txt}_mod.linear.{p}",
            "transformer_blocks.{i}.norm1{a:|_context}.linear.{p}"),
    NWI_OP(SPLIT, "double_blocks.{i}.img_attn_qkv.{p}",
           "transformer_blocks.{i}.attn.to_{q,k,v}.{p}"),
    NWI_OP(SPLIT, "double_blocks.{i}.txt_attn_qkv.{p}",
           "transformer_blocks.{i}.attn.add_{q,k,v}_proj.{p}"),
    NWI_MAP("double_blocks.{i}.{a:img|txt}_attn_{b:q|k}_norm.{p}",
            "transformer_blocks.{i}.attn.norm_{a:|added_}{b:q|k}.{p}"),
    NWI_MAP("double_blocks.{i}.{a:img|txt}_attn_proj.{p}",
            "transformer_blocks.{i}.attn.{a:to_out.0|to_add_out}.{p}"),
    NWI_MAP("double_blocks.{i}.{a:img|txt}_mlp.fc{b:1|2}.{p}",
            "transformer_blocks.{i}.ff{a:|_context}.net.{b:0.proj|2}.{p}"),
    NWI_MAP("single_blocks.{i}.modulation.linear.{p}",
            "single_transformer_blocks.{i}.norm.linear.{p}"),
    NWI_SPLIT_SIZES(
        "single_blocks.{i}.linear1.{p}",
        "single_transformer_blocks.{i}.{attn.to_q,attn.to_k,attn.to_v,proj_mlp}.{p}",
        "H,H,H,*"),
    NWI_MAP("single_blocks.{i}.linear2.{p}",
            "single_transformer_blocks.{i}.proj_out.{p}"),
    NWI_MAP("single_blocks.{i}.{b:q|k}_norm.{p}",
            "single_transformer_blocks.{i}.attn.norm_{b:q|k}.{p}"),
    NWI_MAP("final_layer.linear.{p}", "proj_out.{p}"),
    NWI_OP(SWAP, "final_layer.adaLN_modulation.1.{p}", "norm_out.linear.{p}"),
    {0},
};

static const struct nwi_rules hunyuan_rules = {
    .variables = hunyuan_variables,
    .rules = hunyuan_rows,
};

/* ---- HunyuanVideo ---- */

static const struct nwi_signature hunyuan_video_transformer_original[] = {
    NWI_WHEN("txt_in.individual_token_refiner.blocks.0.self_attn_qkv.weight",
             "img_in.proj.weight[]=5", "double_blocks.0.img_attn_qkv.weight",
             "final_layer.linear.weight", "!byt5_in*"),
    {NULL},
};

static const struct nwi_signature hunyuan_video_transformer_diffusers[] = {
    NWI_WHEN(
        "context_embedder.token_refiner.refiner_blocks.0.attn.to_q.weight",
        "x_embedder.proj.weight[]=5", "transformer_blocks.0.attn.add_q_proj.weight",
        "time_text_embed.timestep_embedder.linear_1.weight", "!context_embedder_2*"),
    {NULL},
};

/* Replacing tokens asks for no layer of its own: with guidance, only the caller can tell it
 * from text to video (--hint image_condition_type). */
static const struct nwi_variant hunyuan_video_transformer_variants[] = {
    {"t2v", NWI_WHEN("img_in.proj.weight[1]=16", "guidance_in.mlp.0.weight"),
     NWI_WHEN("x_embedder.proj.weight[1]=16",
              "time_text_embed.guidance_embedder.linear_1.weight"),
     NULL, "hunyuanvideo-community/HunyuanVideo"},
    {"i2v-33", NWI_WHEN("img_in.proj.weight[1]=33"),
     NWI_WHEN("x_embedder.proj.weight[1]=33"),
     "{\"image_condition_type\": \"latent_concat\"}",
     "hunyuanvideo-community/HunyuanVideo-I2V-33ch"},
    {"i2v-16", NWI_WHEN("img_in.proj.weight[1]=16", "!guidance_in.mlp.0.weight"),
     NWI_WHEN("x_embedder.proj.weight[1]=16",
              "!time_text_embed.guidance_embedder.linear_1.weight"),
     "{\"image_condition_type\": \"token_replace\"}",
     "hunyuanvideo-community/HunyuanVideo-I2V"},
    {"i2v-16",
     NWI_WHEN("img_in.proj.weight[1]=16", "guidance_in.mlp.0.weight",
              "$image_condition_type=token_replace"),
     NWI_WHEN("x_embedder.proj.weight[1]=16",
              "time_text_embed.guidance_embedder.linear_1.weight",
              "$image_condition_type=token_replace"),
     "{\"image_condition_type\": \"token_replace\"}",
     "hunyuanvideo-community/HunyuanVideo-I2V"},
    {"skyreels-v1-i2v", NWI_WHEN("img_in.proj.weight[1]=32"),
     NWI_WHEN("x_embedder.proj.weight[1]=32"), NULL, "Skywork/SkyReels-V1-Hunyuan-I2V"},
    {0},
};

static const char *const hunyuan_video_transformer_pipeline[] = {
    "vae", "text_encoder", "text_encoder_2", NULL};

const struct nwi_family nwi_family_hunyuan_video_transformer = {
    .name = "hunyuan_video",
    .title = "HunyuanVideo",
    .component = "transformer",
    .klass = "HunyuanVideoTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &hunyuan_rules,
    .original = hunyuan_video_transformer_original,
    .diffusers = hunyuan_video_transformer_diffusers,
    .variants = hunyuan_video_transformer_variants,
    .preset = "{\"rope_theta\": 256.0, \"rope_axes_dim\": [16, 56, 56]}",
    .pipeline = hunyuan_video_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- HunyuanVideo 1.5, HunyuanImage 2.1 ---- */

static const struct nwi_signature hunyuan_video_15_original[] = {
    NWI_WHEN(("txt_in.individual_token_refiner.blocks.0.self_attn_qkv.weight|"
              "txt_in.individual_token_refiner.blocks.0.self_attn.qkv.weight"),
             "img_in.proj.weight", "final_layer.linear.weight", "byt5_in*"),
    {NULL},
};

const struct nwi_family nwi_family_hunyuan_video_15 = {
    .name = "hunyuan_video",
    .title = "HunyuanVideo 1.5, HunyuanImage 2.1",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = hunyuan_video_15_original,
};
