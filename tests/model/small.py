# SPDX-License-Identifier: Apache-2.0
"""Small configs of every class that diffusers converts from single files, and of whole pipelines."""

WAN = {"num_layers": 2, "num_attention_heads": 2, "attention_head_dim": 128, "ffn_dim": 64, "text_dim": 16,
       "freq_dim": 16}
LTX2 = {"num_attention_heads": 2, "attention_head_dim": 6, "num_layers": 2, "cross_attention_dim": 12,
        "caption_channels": 7, "in_channels": 5, "out_channels": 5, "audio_num_attention_heads": 2,
        "audio_attention_head_dim": 4, "audio_cross_attention_dim": 8, "audio_in_channels": 3, "audio_out_channels": 3}
LTX23 = {**LTX2, "gated_attn": True, "audio_gated_attn": True, "cross_attn_mod": True, "audio_cross_attn_mod": True,
         "use_prompt_embeddings": False, "perturbed_attn": True}
COSMOS2 = {"num_attention_heads": 2, "attention_head_dim": 12, "num_layers": 2, "text_embed_dim": 16,
           "adaln_lora_dim": 8, "extra_pos_embed_type": None}
COSMOS25 = {**COSMOS2, "in_channels": 17, "use_crossattn_projection": True, "crossattn_proj_in_channels": 24,
            "encoder_hidden_states_channels": 16}
ANIMATE = {"num_layers": 2, "num_attention_heads": 2, "attention_head_dim": 128, "ffn_dim": 64, "text_dim": 16,
           "freq_dim": 16, "image_dim": 16, "added_kv_proj_dim": 256, "motion_encoder_size": 16,
           "motion_style_dim": 16, "motion_dim": 4, "motion_encoder_dim": 16, "face_encoder_hidden_dim": 16,
           "inject_face_latents_blocks": 1}
SMALL_UNET = {"block_out_channels": [32, 64], "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
              "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"], "cross_attention_dim": 16,
              "attention_head_dim": 8, "norm_num_groups": 32}

# Classes whose converters have a width built in (3072, 2304) need that width: few layers then.
CONFIGS = {
    "UNet2DConditionModel": [
        SMALL_UNET,
        {**SMALL_UNET, "in_channels": 9, "layers_per_block": 1},
        {**SMALL_UNET, "use_linear_projection": True, "block_out_channels": [32, 64, 64],
         "down_block_types": ["CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"],
         "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"]},
        {"block_out_channels": [32, 64, 64], "cross_attention_dim": 16, "use_linear_projection": True,
         "attention_head_dim": [1, 2, 2], "transformer_layers_per_block": [1, 2, 3],
         "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
         "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"],
         "addition_embed_type": "text_time", "addition_time_embed_dim": 8, "projection_class_embeddings_input_dim": 80},
        {**SMALL_UNET, "use_linear_projection": True, "class_embed_type": "projection",
         "projection_class_embeddings_input_dim": 24},
        {**SMALL_UNET, "in_channels": 7, "num_class_embeds": 10, "block_out_channels": [32, 64, 64],
         "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
         "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"],
         "use_linear_projection": True, "only_cross_attention": [True, True, False]},
        {"block_out_channels": [32, 64, 64], "cross_attention_dim": 16, "use_linear_projection": True,
         "attention_head_dim": [1, 2, 2], "transformer_layers_per_block": [1, 2, 3],
         "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
         "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"],
         "mid_block_type": "UNetMidBlock2D",
         "addition_embed_type": "text_time", "addition_time_embed_dim": 8, "projection_class_embeddings_input_dim": 80},
    ],
    "ControlNetModel": [
        {"block_out_channels": [32, 64], "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
         "cross_attention_dim": 16, "attention_head_dim": 8, "conditioning_embedding_out_channels": [16, 32, 96, 256]},
        {"block_out_channels": [32, 64, 64], "cross_attention_dim": 16, "use_linear_projection": True,
         "attention_head_dim": [1, 2, 2], "transformer_layers_per_block": [1, 2, 3],
         "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
         "addition_embed_type": "text_time", "addition_time_embed_dim": 8, "projection_class_embeddings_input_dim": 80},
    ],
    "AutoencoderKL": [
        {"block_out_channels": [32, 64], "down_block_types": ["DownEncoderBlock2D"] * 2,
         "up_block_types": ["UpDecoderBlock2D"] * 2, "layers_per_block": 2},
        {"block_out_channels": [32, 32, 64], "down_block_types": ["DownEncoderBlock2D"] * 3,
         "up_block_types": ["UpDecoderBlock2D"] * 3, "latent_channels": 16, "use_quant_conv": False,
         "use_post_quant_conv": False},
    ],
    "SD3Transformer2DModel": [
        {"num_layers": 2, "num_attention_heads": 2, "caption_projection_dim": 128, "joint_attention_dim": 16,
         "pooled_projection_dim": 8, "pos_embed_max_size": 8},
        {"num_layers": 3, "num_attention_heads": 2, "caption_projection_dim": 128, "joint_attention_dim": 16,
         "pooled_projection_dim": 8, "pos_embed_max_size": 8, "qk_norm": "rms_norm", "dual_attention_layers": [0, 1]},
    ],
    "FluxTransformer2DModel": [
        {"num_layers": 1, "num_single_layers": 1, "guidance_embeds": True, "joint_attention_dim": 8,
         "pooled_projection_dim": 8},
    ],
    "ChromaTransformer2DModel": [
        {"num_layers": 1, "num_single_layers": 1, "joint_attention_dim": 8, "approximator_layers": 2,
         "approximator_hidden_dim": 16, "approximator_num_channels": 8},
    ],
    "Flux2Transformer2DModel": [
        {"num_layers": 2, "num_single_layers": 2, "num_attention_heads": 2, "attention_head_dim": 16,
         "joint_attention_dim": 8, "axes_dims_rope": [4, 4, 4, 4]},
        {"num_layers": 1, "num_single_layers": 1, "num_attention_heads": 1, "attention_head_dim": 16,
         "joint_attention_dim": 8, "axes_dims_rope": [4, 4, 4, 4], "guidance_embeds": False},
    ],
    "Flux3Transformer2DModel": [
        {"num_layers": 2, "num_single_layers": 2, "num_attention_heads": 2, "attention_head_dim": 16,
         "joint_attention_dim": 8, "axes_dims_rope": [4, 4, 4, 4], "flow_map": True},
    ],
    "AuraFlowTransformer2DModel": [
        {"num_mmdit_layers": 1, "num_single_dit_layers": 2, "num_attention_heads": 1, "attention_head_dim": 256,
         "joint_attention_dim": 8, "caption_projection_dim": 256, "pos_embed_max_size": 4},
    ],
    "HiDreamImageTransformer2DModel": [
        {"patch_size": 2, "in_channels": 16, "num_layers": 1, "num_single_layers": 1, "caption_channels": [16, 16],
         "llama_layers": [0, 1], "num_attention_heads": 1, "num_routed_experts": 2, "text_emb_dim": 8},
    ],
    "Lumina2Transformer2DModel": [
        {"num_layers": 1, "num_refiner_layers": 1, "cap_feat_dim": 8},
    ],
    "SanaTransformer2DModel": [],
    "ZImageTransformer2DModel": [
        {"n_layers": 2, "n_refiner_layers": 1, "dim": 256, "n_heads": 2, "n_kv_heads": 2, "cap_feat_dim": 8,
         "axes_dims": [32, 48, 48]},
    ],
    "QwenImageTransformer2DModel": [
        {"num_layers": 1, "num_attention_heads": 1, "joint_attention_dim": 8},
    ],
    "QwenImage21Transformer2DModel": [
        {"num_layers": 2},
    ],
    "ErnieImageTransformer2DModel": [
        {"num_layers": 1},
    ],
    "MotifVideoTransformer3DModel": [
        {"num_layers": 1, "num_single_layers": 1, "num_decoder_layers": 0},
    ],
    "LTXVideoTransformer3DModel": [
        {"num_layers": 2, "num_attention_heads": 2, "attention_head_dim": 8, "cross_attention_dim": 16,
         "caption_channels": 8},
    ],
    "MochiTransformer3DModel": [
        {"num_layers": 48, "num_attention_heads": 1, "attention_head_dim": 8, "pooled_projection_dim": 8,
         "text_embed_dim": 8, "time_embed_dim": 8},
    ],
    "HunyuanVideoTransformer3DModel": [
        {"num_layers": 1, "num_single_layers": 1, "num_refiner_layers": 1, "text_embed_dim": 8,
         "pooled_projection_dim": 8},
    ],
    "WanTransformer3DModel": [
        WAN,
        {**WAN, "in_channels": 36, "image_dim": 16, "added_kv_proj_dim": 256},
    ],
    "WanVACETransformer3DModel": [
        {**WAN, "vace_layers": [0], "vace_in_channels": 96},
    ],
    "SkyReelsV2Transformer3DModel": [
        {**WAN, "inject_sample_info": False},
        {**WAN, "inject_sample_info": True},
    ],
    "ChronoEditTransformer3DModel": [
        {**WAN, "in_channels": 36, "image_dim": 16, "added_kv_proj_dim": 256},
    ],
    "AutoencoderKLWan": [
        {"base_dim": 16, "z_dim": 4},
        {"base_dim": 16, "decoder_base_dim": 16, "z_dim": 8, "is_residual": True, "in_channels": 12,
         "out_channels": 12, "patch_size": 2},
    ],
    "AutoencoderDC": [
        {"encoder_block_types": ["ResBlock", "EfficientViTBlock"], "encoder_block_out_channels": [32, 64],
         "encoder_layers_per_block": [1, 2], "encoder_qkv_multiscales": [[], [5]],
         "decoder_block_types": ["ResBlock", "EfficientViTBlock"], "decoder_block_out_channels": [32, 64],
         "decoder_layers_per_block": [1, 2], "decoder_qkv_multiscales": [[], [5]],
         "attention_head_dim": 8, "latent_channels": 8},
        {"encoder_block_types": ["ResBlock", "ResBlock", "EfficientViTBlock"],
         "encoder_block_out_channels": [32, 32, 64], "encoder_layers_per_block": [0, 1, 1],
         "encoder_qkv_multiscales": [[], [], []],
         "decoder_block_types": ["ResBlock", "ResBlock", "EfficientViTBlock"],
         "decoder_block_out_channels": [32, 32, 64], "decoder_layers_per_block": [0, 1, 1],
         "decoder_qkv_multiscales": [[], [], []], "attention_head_dim": 8, "latent_channels": 8,
         "decoder_norm_types": ["batch_norm", "batch_norm", "rms_norm"]},
    ],
    "CosmosTransformer3DModel": [
        COSMOS2,
        COSMOS25,
        {**COSMOS25, "img_context_dim_in": 8, "img_context_dim_out": 24, "controlnet_block_every_n": 1},
        {**COSMOS2, "extra_pos_embed_type": "learnable", "max_size": [2, 8, 8]},
    ],
    "Krea2Transformer2DModel": [
        {"in_channels": 8, "num_layers": 2, "attention_head_dim": 16, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 48, "timestep_embed_dim": 32, "text_hidden_dim": 40,
         "num_text_layers": 3, "text_num_attention_heads": 5, "text_num_key_value_heads": 5,
         "text_intermediate_size": 56, "num_layerwise_text_blocks": 1, "num_refiner_text_blocks": 1,
         "axes_dims_rope": [4, 6, 6]},
    ],
    "MiniMaxH3Transformer3DModel": [
        {"num_attention_heads": 2, "attention_head_dim": 6, "hidden_size": 10, "num_layers": 2,
         "num_refiner_layers": 1, "ffn_dim": 14, "in_channels": 3, "audio_in_channels": 5, "text_dim": 7,
         "freq_dim": 8, "time_embed_hidden_dim": 9, "time_embed_dim": 11, "rope_freq_dim": 2},
    ],
    "LTX2VideoTransformer3DModel": [
        LTX2,
        LTX23,
        {**LTX23, "ff_bias": False, "use_keyframes_abs_pos_embedding": True},
    ],
    "WanAnimateTransformer3DModel": [
        ANIMATE,
    ],
    "WanAnimate2Transformer3DModel": [
        {"dim": 64, "ffn_dim": 48, "freq_dim": 16, "text_dim": 16, "num_heads": 2, "num_layers": 2},
    ],
    "AutoencoderKLLTXVideo": [
        {"block_out_channels": [8, 16, 32, 32], "decoder_block_out_channels": [8, 16, 32, 32], "latent_channels": 8},
        {"block_out_channels": [8, 16, 32, 32], "latent_channels": 8, "upsample_residual": [True] * 3,
         "decoder_block_out_channels": [8, 16, 32], "decoder_layers_per_block": [1, 2, 1, 1],
         "decoder_spatio_temporal_scaling": [True] * 3, "decoder_inject_noise": [True, True, True, False],
         "upsample_factor": [2] * 3, "timestep_conditioning": True},
        {"block_out_channels": [8, 16, 32, 64, 64], "decoder_block_out_channels": [8, 16, 32],
         "down_block_types": ["LTXVideo095DownBlock3D"] * 4, "layers_per_block": [1, 2, 1, 1, 1],
         "decoder_layers_per_block": [1, 2, 1, 1], "spatio_temporal_scaling": [True] * 4,
         "decoder_spatio_temporal_scaling": [True] * 3, "decoder_inject_noise": [False] * 4,
         "downsample_type": ["spatial", "temporal", "spatiotemporal", "spatiotemporal"],
         "upsample_residual": [True] * 3, "upsample_factor": [2] * 3, "timestep_conditioning": True,
         "latent_channels": 8},
    ],
    "AutoencoderKLLTX2Video": [
        {"block_out_channels": [8, 16, 32, 32], "decoder_block_out_channels": [8, 16, 32], "latent_channels": 8,
         "layers_per_block": [1] * 5, "decoder_layers_per_block": [1, 2, 1, 1]},
    ],
    "AutoencoderKLLTX2Audio": [
        {"base_channels": 32},
    ],
    "MotionAdapter": [
        {"block_out_channels": [32, 64], "motion_num_attention_heads": 2},
    ],
    "StableCascadeUNet": [
        {"block_out_channels": [32, 32], "num_attention_heads": [1, 1], "down_num_layers_per_block": [1, 2],
         "up_num_layers_per_block": [2, 1], "clip_text_in_channels": 16, "clip_text_pooled_in_channels": 16,
         "clip_image_in_channels": 16, "conditioning_dim": 32, "switch_level": [False]},
        {"block_out_channels": [32, 32], "num_attention_heads": [0, 1], "down_num_layers_per_block": [1, 2],
         "up_num_layers_per_block": [2, 1], "clip_text_pooled_in_channels": 16, "effnet_in_channels": 16,
         "pixel_mapper_in_channels": 3, "conditioning_dim": 32, "timestep_conditioning_type": ["sca"],
         "block_types_per_layer": [["SDCascadeResBlock", "SDCascadeTimestepBlock"],
                                   ["SDCascadeResBlock", "SDCascadeTimestepBlock", "SDCascadeAttnBlock"]],
         "patch_size": 2, "in_channels": 4, "out_channels": 4},
    ],
}

# What makes those small for us too, who read every width from shapes.
TINY = {
    "FluxTransformer2DModel": {"num_attention_heads": 2, "attention_head_dim": 8, "axes_dims_rope": [2, 2, 4]},
    "ChromaTransformer2DModel": {"num_attention_heads": 2, "attention_head_dim": 8, "axes_dims_rope": [2, 2, 4]},
    "Lumina2Transformer2DModel": {"hidden_size": 96, "num_attention_heads": 4, "num_kv_heads": 2,
                                  "axes_dim_rope": [8, 8, 8], "multiple_of": 32},
    "QwenImage21Transformer2DModel": {"attention_head_dim": 16, "num_attention_heads": 2, "context_in_dim": 24,
                                      "axes_dims_rope": [4, 6, 6]},
    "ErnieImageTransformer2DModel": {"hidden_size": 64, "num_attention_heads": 4, "ffn_hidden_size": 96,
                                     "text_in_dim": 24},
    "MotifVideoTransformer3DModel": {"num_attention_heads": 2, "attention_head_dim": 16, "text_embed_dim": 24,
                                     "rope_axes_dim": [4, 6, 6]},
    "HunyuanVideoTransformer3DModel": {"num_attention_heads": 2, "attention_head_dim": 6},
}

# The original names are the class's own.
SAME_NAMES = {"QwenImageTransformer2DModel", "MotifVideoTransformer3DModel", "HiDreamImageTransformer2DModel",
              "ErnieImageTransformer2DModel"}

# The reference's converter is wrong here, or cannot be asked; what is right is said beside it. A class, or
# one config of it.
SKIP_REFERENCE = {
    ("UNet2DConditionModel", 6): "has a middle block without attention, of one residual block",
    ("ControlNetModel", 1): "drops the label embedding of SDXL",
    ("AutoencoderKLWan", 1): "folds the nested levels of Wan 2.2 into one; each has a name of its own",
    ("AutoencoderKLLTXVideo", 2): "tells 0.9.5 by a width of 2048",
    "MotionAdapter": "drops the positions, which its class has; they are kept",
    ("CosmosTransformer3DModel", 3): "it takes the names of 2.0 for all: what 1.0 names otherwise stays",
    ("LTX2VideoTransformer3DModel", 1): "it leaves prompt_adaln_single under its original name",
    ("LTX2VideoTransformer3DModel", 2): "the same",
    ("SkyReelsV2Transformer3DModel", 1): "it leaves fps_projection under its original name",
}

# Prefixes in all-in-one files, where they are not the denoiser's.
PREFIXES = {"ControlNetModel": "control_model.", "AutoencoderKL": "first_stage_model.",
            "AutoencoderKLLTXVideo": "vae.", "AutoencoderKLWan": "vae.", "AutoencoderDC": "vae.",
            "AutoencoderKLLTX2Video": "vae.", "AutoencoderKLLTX2Audio": "audio_vae.", "MotionAdapter": "module.",
            "StableCascadeUNet": "module.", "CosmosTransformer3DModel": "net."}

# Its converter takes names with their prefix only.
SKIP_BARE = {"UNet2DConditionModel", "AutoencoderKLLTXVideo", "AutoencoderKLLTX2Video", "AutoencoderKLLTX2Audio",
             "CosmosTransformer3DModel"}

# Its converter is wrong with the prefix only: it strips none.
SKIP_PREFIX = {"Flux2Transformer2DModel", "Flux3Transformer2DModel", "AuraFlowTransformer2DModel",
               "HunyuanVideoTransformer3DModel", "Lumina2Transformer2DModel", "QwenImageTransformer2DModel",
               "MotifVideoTransformer3DModel", "MiniMaxH3Transformer3DModel", "AutoencoderKLWan", "AutoencoderDC",
               "MotionAdapter", "StableCascadeUNet"}

CLIP = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2,
        "vocab_size": 50, "max_position_embeddings": 16}
T5 = {"d_model": 16, "d_ff": 32, "d_kv": 8, "num_heads": 2, "num_layers": 2, "vocab_size": 50}

# {family: {component: (class, config, prefix in one original file)}}
PIPELINES = {
    "sd1": {
        "unet": ("UNet2DConditionModel", CONFIGS["UNet2DConditionModel"][0], "model.diffusion_model."),
        "vae": ("AutoencoderKL", CONFIGS["AutoencoderKL"][0], "first_stage_model."),
        "text_encoder": ("CLIPTextModel", CLIP, "cond_stage_model.transformer.text_model."),
    },
    "sd2": {
        "unet": ("UNet2DConditionModel", CONFIGS["UNet2DConditionModel"][2], "model.diffusion_model."),
        "vae": ("AutoencoderKL", CONFIGS["AutoencoderKL"][0], "first_stage_model."),
        "text_encoder": ("CLIPTextModel", {**CLIP, "hidden_size": 1024, "num_hidden_layers": 1},
                         "cond_stage_model.model."),
    },
    "sdxl": {  # with the heads that the family has, so that the file alone is enough
        "unet": ("UNet2DConditionModel", {**CONFIGS["UNet2DConditionModel"][3], "block_out_channels": [160] * 3,
                                          "attention_head_dim": [5, 10, 20]}, "model.diffusion_model."),
        "vae": ("AutoencoderKL", CONFIGS["AutoencoderKL"][0], "first_stage_model."),
        "text_encoder": ("CLIPTextModel", CLIP, "conditioner.embedders.0.transformer.text_model."),
        "text_encoder_2": ("CLIPTextModelWithProjection", {**CLIP, "hidden_size": 48, "projection_dim": 40},
                           "conditioner.embedders.1.model."),
    },
    "sd3": {
        "transformer": ("SD3Transformer2DModel", CONFIGS["SD3Transformer2DModel"][1], "model.diffusion_model."),
        "vae": ("AutoencoderKL", CONFIGS["AutoencoderKL"][1], "first_stage_model."),
        "text_encoder": ("CLIPTextModelWithProjection", {**CLIP, "hidden_size": 768, "projection_dim": 768},
                         "text_encoders.clip_l.transformer."),
        "text_encoder_2": ("CLIPTextModelWithProjection", {**CLIP, "hidden_size": 48, "projection_dim": 40},
                           "text_encoders.clip_g.transformer."),
        "text_encoder_3": ("T5EncoderModel", T5, "text_encoders.t5xxl.transformer."),
    },
    "flux": {
        "transformer": ("FluxTransformer2DModel",
                        {**CONFIGS["FluxTransformer2DModel"][0], **TINY["FluxTransformer2DModel"]},
                        "model.diffusion_model."),
        "vae": ("AutoencoderKL", CONFIGS["AutoencoderKL"][1], "vae."),
        "text_encoder": ("CLIPTextModel", CLIP, "text_encoders.clip_l.transformer.text_model."),
        "text_encoder_2": ("T5EncoderModel", T5, "text_encoders.t5xxl.transformer."),
    },
}
