/* SPDX-License-Identifier: Apache-2.0
 * Wan (Alibaba) 2.1 and 2.2, VACE, Animate, SkyReels-V2 and ChronoEdit, whose names
 * are the same: names of the original repositories, and of diffusers 0.42.1. */
#include "layout/family.h"

#define WN_O "{n:q|k|v|o|norm_q|norm_k|k_img|v_img|norm_k_img}"
#define WN_D                                                                           \
    "{n:to_q|to_k|to_v|to_out.0|norm_q|norm_k|add_k_proj|add_v_proj|norm_added_k}"
#define WRES_O "residual.{a:0|2|3|6}.{p}"
#define WRES_D "{a:norm1|conv1|norm2|conv2}.{p}"

static const struct nwi_rule wan_rows[] = {
    NWI_DROP("{^}.kernel", "a fixed filter that the model makes itself"),
    NWI_MAP("{a:time|text}_embedding.{b:0|2}.{p}",
            "condition_embedder.{a:time|text}_embedder.linear_{b:1|2}.{p}"),
    NWI_MAP("time_projection.1.{p}", "condition_embedder.time_proj.{p}"),
    NWI_MAP(
        "img_emb.proj.{a:0|1|3|4}.{p}",
        "condition_embedder.image_embedder.{a:norm1|ff.net.0.proj|ff.net.2|norm2}.{p}"),
    NWI_MAP("img_emb.emb_pos", "condition_embedder.image_embedder.pos_embed"),
    NWI_MAP("{m:blocks|vace_blocks}.{i}.{s:self|cross}_attn." WN_O ".{p}",
            "{m:blocks|vace_blocks}.{i}.attn{s:1|2}." WN_D ".{p}"),
    NWI_MAP("{m:blocks|vace_blocks}.{i}.modulation",
            "{m:blocks|vace_blocks}.{i}.scale_shift_table"),
    NWI_MAP("{m:blocks|vace_blocks}.{i}.{a:norm2|norm3}.{p}",
            "{m:blocks|vace_blocks}.{i}.{a:norm3|norm2}.{p}"),
    NWI_MAP("{m:blocks|vace_blocks}.{i}.ffn.{b:0|2}.{p}",
            "{m:blocks|vace_blocks}.{i}.ffn.net.{b:0.proj|2}.{p}"),
    NWI_MAP("vace_blocks.{i}.{a:before|after}_proj.{p}",
            "vace_blocks.{i}.proj_{a:in|out}.{p}"),
    NWI_MAP("head.modulation", "scale_shift_table"),
    NWI_MAP("head.head.{p}", "proj_out.{p}"),
    NWI_MAP("{a:|vace_|pose_}{b:patch_embedding}.{p}",
            "{a:|vace_|pose_}{b:patch_embedding}.{p}"),
    NWI_OP(SPLIT, "face_adapter.fuser_blocks.{i}.linear1_kv.{p}",
           "face_adapter.{i}.to_{k,v}.{p}"),
    NWI_MAP("face_adapter.fuser_blocks.{i}.{a:linear1_q|linear2}.{p}",
            "face_adapter.{i}.{a:to_q|to_out}.{p}"),
    NWI_MAP("face_adapter.fuser_blocks.{i}.{b:q|k}_norm.{p}",
            "face_adapter.{i}.norm_{b:q|k}.{p}"),
    NWI_MAP("face_encoder.{a:conv1_local|conv2|conv3}.conv.{p}",
            "face_encoder.{a:conv1_local|conv2|conv3}.{p}"),
    NWI_MAP("face_encoder.{*}", "face_encoder.{*}"),
    NWI_MAP("motion_encoder.dec.direction.weight",
            "motion_encoder.motion_synthesis_weight"),
    NWI_MAP("motion_encoder.enc.fc.{*}", "motion_encoder.motion_network.{*}"),
    NWI_MAP("motion_encoder.enc.net_app.convs.0.0.weight",
            "motion_encoder.conv_in.weight"),
    {.original = "motion_encoder.enc.net_app.convs.0.1.bias",
     .diffusers = "motion_encoder.conv_in.act_fn.bias",
     .squeeze = 2,
     .rank = NWI_RANK_1C11},
    NWI_MAP("motion_encoder.enc.net_app.convs.8.weight",
            "motion_encoder.conv_out.weight"),
    NWI_MAP("motion_encoder.enc.net_app.convs.{1+b}.{c:conv1.0|conv2.1|skip.1}.weight",
            "motion_encoder.res_blocks.{b}.{c:conv1|conv2|conv_skip}.weight"),
    {.original = "motion_encoder.enc.net_app.convs.{1+b}.{c:conv1.1|conv2.2}.bias",
     .diffusers = "motion_encoder.res_blocks.{b}.{c:conv1|conv2}.act_fn.bias",
     .squeeze = 2,
     .rank = NWI_RANK_1C11},
    NWI_MAP("fps_embedding.{p}", "fps_embedding.{p}"),
    NWI_MAP("fps_projection.{b:0|2}.{p}", "fps_projection.net.{b:0.proj|2}.{p}"),
    {0},
};

static const struct nwi_rules wan_rules = {
    .rules = wan_rows,
};

static const struct nwi_rule wan_animate2_rows[] = {
    NWI_MAP("blocks.{i}.block.{s:self|cross}_attn." WN_O ".{p}",
            "blocks.{i}.{s:self|cross}_attn." WN_D ".{p}"),
    NWI_MAP("blocks.{i}.block.{*}", "blocks.{i}.{*}"),
    NWI_MAP("{^}.{s:self|cross}_attn." WN_O ".{p}",
            "{^}.{s:self|cross}_attn." WN_D ".{p}"),
    NWI_MAP("{*}", "{*}"),
    {0},
};

static const struct nwi_rules wan_animate2_rules = {
    .rules = wan_animate2_rows,
};

static const struct nwi_rule wan_vae_rows[] = {
    NWI_MAP("{e:encoder|decoder}.middle.{c:0|2}." WRES_O,
            "{e:encoder|decoder}.mid_block.resnets.{c:0|1}." WRES_D),
    NWI_MAP("{e:encoder|decoder}.middle.1.{*}",
            "{e:encoder|decoder}.mid_block.attentions.0.{*}"),
    NWI_MAP("{e:encoder|decoder}.head.{a:0|2}.{p}",
            "{e:encoder|decoder}.{a:norm_out|conv_out}.{p}"),
    NWI_MAP("{e:encoder|decoder}.conv1.{p}", "{e:encoder|decoder}.conv_in.{p}"),
    NWI_MAP("{a:conv1|conv2}.{p}", "{a:quant_conv|post_quant_conv}.{p}"),
    NWI_MAP("encoder.downsamples.{i}." WRES_O, "encoder.down_blocks.{i}." WRES_D),
    NWI_MAP("encoder.downsamples.{i}.shortcut.{p}",
            "encoder.down_blocks.{i}.conv_shortcut.{p}"),
    NWI_MAP("encoder.downsamples.{i}.{a:resample.1|time_conv}.{p}",
            "encoder.down_blocks.{i}.{a:resample.1|time_conv}.{p}"),
    NWI_MAP("decoder.upsamples.{4*b+r}." WRES_O,
            "decoder.up_blocks.{b}.resnets.{r}." WRES_D),
    NWI_MAP("decoder.upsamples.{4*b+r}.shortcut.{p}",
            "decoder.up_blocks.{b}.resnets.{r}.conv_shortcut.{p}"),
    NWI_MAP("decoder.upsamples.{4*b+3}.{a:resample.1|time_conv}.{p}",
            "decoder.up_blocks.{b}.upsamplers.0.{a:resample.1|time_conv}.{p}"),
    {0},
};

static const struct nwi_rules wan_vae_rules = {
    .rules = wan_vae_rows,
};

/* The levels of Wan 2.2 are nested; what resizes stands behind the residual blocks, which
 * are D in the encoder and U in the decoder. */
static const struct nwi_rule_variable wan_vae_22_variables[] = {
    {'D', "<encoder.downsamples.0.downsamples.{i}.resample.1.weight",
     "#encoder.down_blocks.0.resnets."},
    {'U', "<decoder.upsamples.0.upsamples.{i}.resample.1.weight",
     "#decoder.up_blocks.0.resnets."},
    {0},
};

static const struct nwi_rule wan_vae_22_rows[] = {
    NWI_MAP("{e:encoder|decoder}.middle.{c:0|2}." WRES_O,
            "{e:encoder|decoder}.mid_block.resnets.{c:0|1}." WRES_D),
    NWI_MAP("{e:encoder|decoder}.middle.1.{*}",
            "{e:encoder|decoder}.mid_block.attentions.0.{*}"),
    NWI_MAP("{e:encoder|decoder}.head.{a:0|2}.{p}",
            "{e:encoder|decoder}.{a:norm_out|conv_out}.{p}"),
    NWI_MAP("{e:encoder|decoder}.conv1.{p}", "{e:encoder|decoder}.conv_in.{p}"),
    NWI_MAP("{a:conv1|conv2}.{p}", "{a:quant_conv|post_quant_conv}.{p}"),
    NWI_MAP("encoder.downsamples.{i}.downsamples.{D}.{a:resample.1|time_conv}.{p}",
            "encoder.down_blocks.{i}.downsampler.{a:resample.1|time_conv}.{p}"),
    NWI_MAP("decoder.upsamples.{i}.upsamples.{U}.{a:resample.1|time_conv}.{p}",
            "decoder.up_blocks.{i}.upsampler.{a:resample.1|time_conv}.{p}"),
    NWI_MAP("encoder.downsamples.{i}.downsamples.{j}." WRES_O,
            "encoder.down_blocks.{i}.resnets.{j}." WRES_D),
    NWI_MAP("encoder.downsamples.{i}.downsamples.{j}.shortcut.{p}",
            "encoder.down_blocks.{i}.resnets.{j}.conv_shortcut.{p}"),
    NWI_MAP("decoder.upsamples.{i}.upsamples.{j}." WRES_O,
            "decoder.up_blocks.{i}.resnets.{j}." WRES_D),
    NWI_MAP("decoder.upsamples.{i}.upsamples.{j}.shortcut.{p}",
            "decoder.up_blocks.{i}.resnets.{j}.conv_shortcut.{p}"),
    {0},
};

static const struct nwi_rules wan_vae_22_rules = {
    .variables = wan_vae_22_variables,
    .rules = wan_vae_22_rows,
};

/* ---- Wan ---- */

static const struct nwi_signature wan_transformer_original[] = {
    NWI_WHEN("patch_embedding.weight[]=5", "blocks.0.self_attn.q.weight",
             "blocks.0.cross_attn.q.weight", "blocks.0.modulation", "head.modulation",
             "!vace_blocks*", "!motion_encoder*", "!fps_embedding*",
             "!control_adapter*", "!ref_conv*", "!casual_audio_encoder*",
             "!audio_proj*", "!music_encoder*"),
    {NULL},
};

static const struct nwi_signature wan_transformer_diffusers[] = {
    NWI_WHEN("patch_embedding.weight[]=5", "blocks.0.attn1.to_q.weight",
             "blocks.0.scale_shift_table",
             "condition_embedder.time_embedder.linear_1.weight", "proj_out.weight",
             "!vace_blocks*", "!motion_encoder*", "!fps_embedding*"),
    {NULL},
};

static const struct nwi_variant wan_transformer_variants[] = {
    {"t2v-1.3b",
     NWI_WHEN("patch_embedding.weight[0]=1536", "patch_embedding.weight[1]=16"),
     NWI_WHEN("patch_embedding.weight[0]=1536", "patch_embedding.weight[1]=16"), NULL,
     "Wan-AI/Wan2.1-T2V-1.3B"},
    {"t2v-14b",
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=16"),
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=16"), NULL,
     "Wan-AI/Wan2.1-T2V-14B, Wan2.2-T2V-A14B"},
    {"i2v-1.3b",
     NWI_WHEN("patch_embedding.weight[0]=1536", "patch_embedding.weight[1]=36",
              "img_emb.proj.1.weight"),
     NWI_WHEN("patch_embedding.weight[0]=1536", "patch_embedding.weight[1]=36",
              "condition_embedder.image_embedder.ff.net.0.proj.weight"),
     NULL, "alibaba-pai/Wan2.1-Fun-1.3B-InP"},
    {"i2v-14b",
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=36",
              "img_emb.proj.1.weight", "!img_emb.emb_pos"),
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=36",
              "condition_embedder.image_embedder.ff.net.0.proj.weight",
              "!condition_embedder.image_embedder.pos_embed"),
     NULL, "Wan-AI/Wan2.1-I2V-14B"},
    {"flf2v-14b",
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=36",
              "img_emb.emb_pos"),
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=36",
              "condition_embedder.image_embedder.pos_embed"),
     NULL, "Wan-AI/Wan2.1-FLF2V-14B-720P"},
    {"2.2-i2v-a14b",
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=36",
              "!img_emb.proj.1.weight"),
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=36",
              "!condition_embedder.image_embedder.ff.net.0.proj.weight"),
     NULL, "Wan-AI/Wan2.2-I2V-A14B"},
    {"2.2-ti2v-5b",
     NWI_WHEN("patch_embedding.weight[0]=3072", "patch_embedding.weight[1]=48"),
     NWI_WHEN("patch_embedding.weight[0]=3072", "patch_embedding.weight[1]=48"), NULL,
     "Wan-AI/Wan2.2-TI2V-5B"},
    {"fun-control-1.3b",
     NWI_WHEN("patch_embedding.weight[0]=1536", "patch_embedding.weight[1]=48"),
     NWI_WHEN("patch_embedding.weight[0]=1536", "patch_embedding.weight[1]=48"), NULL,
     "alibaba-pai/Wan2.1-Fun-1.3B-Control"},
    {"fun-control-14b",
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=48"),
     NWI_WHEN("patch_embedding.weight[0]=5120", "patch_embedding.weight[1]=48"), NULL,
     "alibaba-pai/Wan2.1-Fun-14B-Control"},
    {0},
};

static const char *const wan_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_wan_transformer = {
    .name = "wan",
    .title = "Wan",
    .component = "transformer",
    .klass = "WanTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &wan_rules,
    .original = wan_transformer_original,
    .diffusers = wan_transformer_diffusers,
    .variants = wan_transformer_variants,
    .preset = "{\"attention_head_dim\": 128}",
    .pipeline = wan_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- Wan VACE ---- */

static const struct nwi_signature wan_vace_transformer_original[] = {
    NWI_WHEN("patch_embedding.weight", "blocks.0.self_attn.q.weight",
             "blocks.0.cross_attn.q.weight", "blocks.0.modulation", "head.modulation",
             "vace_blocks.0.after_proj.weight", "vace_patch_embedding.weight"),
    {NULL},
};

static const struct nwi_signature wan_vace_transformer_diffusers[] = {
    NWI_WHEN("patch_embedding.weight", "blocks.0.attn1.to_q.weight",
             "blocks.0.scale_shift_table",
             "condition_embedder.time_embedder.linear_1.weight", "proj_out.weight",
             "vace_blocks.0.proj_out.weight", "vace_patch_embedding.weight"),
    {NULL},
};

static const struct nwi_variant wan_vace_transformer_variants[] = {
    {"vace-1.3b", NWI_WHEN("patch_embedding.weight[0]=1536"),
     NWI_WHEN("patch_embedding.weight[0]=1536"), NULL, "Wan-AI/Wan2.1-VACE-1.3B"},
    {"vace-14b", NWI_WHEN("patch_embedding.weight[0]=5120"),
     NWI_WHEN("patch_embedding.weight[0]=5120"), NULL, "Wan-AI/Wan2.1-VACE-14B"},
    {0},
};

static const char *const wan_vace_transformer_pipeline[] = {"vae", "text_encoder",
                                                            NULL};

const struct nwi_family nwi_family_wan_vace_transformer = {
    .name = "wan",
    .title = "Wan VACE",
    .component = "transformer",
    .klass = "WanVACETransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &wan_rules,
    .original = wan_vace_transformer_original,
    .diffusers = wan_vace_transformer_diffusers,
    .variants = wan_vace_transformer_variants,
    .preset = "{\"attention_head_dim\": 128}",
    .pipeline = wan_vace_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- Wan Animate ---- */

static const struct nwi_signature wan_animate_transformer_original[] = {
    NWI_WHEN("patch_embedding.weight", "blocks.0.self_attn.q.weight",
             "blocks.0.cross_attn.q.weight", "blocks.0.modulation", "head.modulation",
             "motion_encoder.dec.direction.weight", "pose_patch_embedding.weight"),
    {NULL},
};

static const struct nwi_signature wan_animate_transformer_diffusers[] = {
    NWI_WHEN("patch_embedding.weight", "blocks.0.attn1.to_q.weight",
             "blocks.0.scale_shift_table",
             "condition_embedder.time_embedder.linear_1.weight", "proj_out.weight",
             "motion_encoder.motion_synthesis_weight", "pose_patch_embedding.weight"),
    {NULL},
};

static const struct nwi_variant wan_animate_transformer_variants[] = {
    {"animate-14b", NWI_WHEN("patch_embedding.weight[0]=5120"),
     NWI_WHEN("patch_embedding.weight[0]=5120"), NULL, "Wan-AI/Wan2.2-Animate-14B"},
    {0},
};

static const char *const wan_animate_transformer_pipeline[] = {"vae", "text_encoder",
                                                               NULL};

const struct nwi_family nwi_family_wan_animate_transformer = {
    .name = "wan",
    .title = "Wan Animate",
    .component = "transformer",
    .klass = "WanAnimateTransformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &wan_rules,
    .original = wan_animate_transformer_original,
    .diffusers = wan_animate_transformer_diffusers,
    .variants = wan_animate_transformer_variants,
    .preset = "{\"attention_head_dim\": 128}",
    .pipeline = wan_animate_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- Wan Animate 2 ---- */

static const struct nwi_signature wan_animate2_transformer_original[] = {
    NWI_WHEN("patch_embedding.weight", "blocks.0.block.self_attn.q.weight",
             "blocks.0.block.cross_attn.q.weight"),
    {NULL},
};

static const struct nwi_signature wan_animate2_transformer_diffusers[] = {
    NWI_WHEN("patch_embedding.weight", "blocks.0.self_attn.to_q.weight",
             "blocks.0.cross_attn.to_q.weight"),
    {NULL},
};

static const char *const wan_animate2_transformer_pipeline[] = {"vae", "text_encoder",
                                                                NULL};

const struct nwi_family nwi_family_wan_animate2_transformer = {
    .name = "wan",
    .title = "Wan Animate 2",
    .component = "transformer",
    .klass = "WanAnimate2Transformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &wan_animate2_rules,
    .original = wan_animate2_transformer_original,
    .diffusers = wan_animate2_transformer_diffusers,
    .preset = "{\"num_heads\": 40}",
    .pipeline = wan_animate2_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- SkyReels-V2 diffusion forcing ---- */

static const struct nwi_signature skyreels_transformer_original[] = {
    NWI_WHEN("patch_embedding.weight", "blocks.0.self_attn.q.weight",
             "blocks.0.cross_attn.q.weight", "blocks.0.modulation", "head.modulation",
             "fps_embedding.weight"),
    {NULL},
};

static const struct nwi_signature skyreels_transformer_diffusers[] = {
    NWI_WHEN("patch_embedding.weight", "blocks.0.attn1.to_q.weight",
             "blocks.0.scale_shift_table",
             "condition_embedder.time_embedder.linear_1.weight", "proj_out.weight",
             "fps_embedding.weight"),
    {NULL},
};

static const char *const skyreels_transformer_pipeline[] = {"vae", "text_encoder",
                                                            NULL};

const struct nwi_family nwi_family_skyreels_transformer = {
    .name = "skyreels_v2",
    .title = "SkyReels-V2 diffusion forcing",
    .component = "transformer",
    .klass = "SkyReelsV2Transformer3DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &wan_rules,
    .original = skyreels_transformer_original,
    .diffusers = skyreels_transformer_diffusers,
    .preset = "{\"attention_head_dim\": 128}",
    .pipeline = skyreels_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};

/* ---- Wan Fun (camera control, reference) ---- */

static const struct nwi_signature wan_fun_transformer_original[] = {
    NWI_WHEN("patch_embedding.weight", "blocks.0.self_attn.q.weight",
             "blocks.0.cross_attn.q.weight", "blocks.0.modulation", "head.modulation",
             "control_adapter*"),
    NWI_WHEN("patch_embedding.weight", "blocks.0.self_attn.q.weight",
             "blocks.0.cross_attn.q.weight", "blocks.0.modulation", "head.modulation",
             "ref_conv*", "!control_adapter*", "!music_encoder*"),
    {NULL},
};

static const struct nwi_variant wan_fun_transformer_variants[] = {
    {"fun-control-camera",
     NWI_WHEN("control_adapter*"),
     {NULL},
     NULL,
     "alibaba-pai/Wan2.1-Fun-V1.1-14B-Control-Camera"},
    {"fun-control-reference",
     NWI_WHEN("!control_adapter*", "ref_conv*"),
     {NULL},
     NULL,
     "alibaba-pai/Wan2.1-Fun-V1.1-14B-Control"},
    {0},
};

const struct nwi_family nwi_family_wan_fun_transformer = {
    .name = "wan",
    .title = "Wan Fun (camera control, reference)",
    .component = "transformer",
    .kind = NWI_KIND_DENOISER,
    .original = wan_fun_transformer_original,
    .variants = wan_fun_transformer_variants,
};

/* ---- Wan 2.1 VAE ---- */

static const struct nwi_signature wan_vae_original[] = {
    NWI_WHEN("decoder.middle.0.residual.0.gamma", "encoder.middle.0.residual.0.gamma",
             "conv1.weight[]=5", "!decoder.upsamples.0.upsamples*"),
    {NULL},
};

static const struct nwi_signature wan_vae_diffusers[] = {
    NWI_WHEN("decoder.mid_block.resnets.0.norm1.gamma",
             "encoder.mid_block.resnets.0.norm1.gamma", "quant_conv.weight[]=5",
             "encoder.down_blocks.0.norm1.gamma"),
    {NULL},
};

const struct nwi_family nwi_family_wan_vae = {
    .name = "wan",
    .title = "Wan 2.1 VAE",
    .component = "vae",
    .klass = "AutoencoderKLWan",
    .kind = NWI_KIND_VAE,
    .rules = &wan_vae_rules,
    .original = wan_vae_original,
    .diffusers = wan_vae_diffusers,
    .prefix = "vae.",
};

/* ---- Wan 2.2 VAE ---- */

static const struct nwi_signature wan_vae_22_original[] = {
    NWI_WHEN("decoder.middle.0.residual.0.gamma", "encoder.middle.0.residual.0.gamma",
             "conv1.weight[]=5", "decoder.upsamples.0.upsamples*"),
    {NULL},
};

static const struct nwi_signature wan_vae_22_diffusers[] = {
    NWI_WHEN("decoder.mid_block.resnets.0.norm1.gamma",
             "encoder.mid_block.resnets.0.norm1.gamma", "quant_conv.weight[]=5",
             "encoder.down_blocks.0.resnets.0.norm1.gamma"),
    {NULL},
};

const struct nwi_family nwi_family_wan_vae_22 = {
    .name = "wan",
    .title = "Wan 2.2 VAE",
    .component = "vae",
    .klass = "AutoencoderKLWan",
    .kind = NWI_KIND_VAE,
    .rules = &wan_vae_22_rules,
    .original = wan_vae_22_original,
    .diffusers = wan_vae_22_diffusers,
    /* Wan-AI/Wan2.2-TI2V-5B-Diffusers, vae/config.json */
    .preset = "{\"patch_size\": 2, \"scale_factor_spatial\": 16, "
              "\"scale_factor_temporal\": 4, \"latents_mean\": [-0.2289, "
              "-0.0052, -0.1323, -0.2339, -0.2799, 0.0174, 0.1838, 0.1557, "
              "-0.1382, 0.0542, 0.2813, 0.0891, 0.157, -0.0098, 0.0375, "
              "-0.1825, -0.2246, -0.1207, -0.0698, 0.5109, 0.2665, "
              "-0.2108, -0.2158, 0.2502, -0.2055, -0.0322, 0.1109, 0.1567, "
              "-0.0729, 0.0899, -0.2799, -0.123, -0.0313, -0.1649, 0.0117, "
              "0.0723, -0.2839, -0.2083, -0.052, 0.3748, 0.0152, 0.1957, "
              "0.1433, -0.2944, 0.3573, -0.0548, -0.1681, -0.0667], "
              "\"latents_std\": [0.4765, 1.0364, 0.4514, 1.1677, 0.5313, "
              "0.499, 0.4818, 0.5013, 0.8158, 1.0344, 0.5894, 1.0901, "
              "0.6885, 0.6165, 0.8454, 0.4978, 0.5759, 0.3523, 0.7135, "
              "0.6804, 0.5833, 1.4146, 0.8986, 0.5659, 0.7069, 0.5338, "
              "0.4889, 0.4917, 0.4069, 0.4999, 0.6866, 0.4093, 0.5709, "
              "0.6065, 0.6415, 0.4944, 0.5726, 1.2042, 0.5458, 1.6887, "
              "0.3971, 1.06, 0.3943, 0.5537, 0.5444, 0.4089, 0.7468, "
              "0.7744]}",
    .prefix = "vae.",
};

/* ---- Qwen-Image VAE ---- */

/* The names and shapes are those of Wan 2.1: only the company tells. */
const struct nwi_family nwi_family_qwen_image_vae = {
    .name = "qwen_image",
    .title = "Qwen-Image VAE",
    .component = "vae",
    .klass = "AutoencoderKLQwenImage",
    .kind = NWI_KIND_VAE,
    .rules = &wan_vae_rules,
    .prefix = "vae.",
};
