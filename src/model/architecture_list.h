/* SPDX-License-Identifier: Apache-2.0
 * One line a model class; included by architectures.c with ROW defined, twice. */
/* NOLINTNEXTLINE(llvm-header-guard): no guard, on purpose */
ROW(flux_transformer_2d)
ROW(chrono_edit_transformer_3d)
ROW(sky_reels_v2_transformer_3d)
ROW(wan_animate2_transformer_3d)
ROW(wan_animate_transformer_3d)
ROW(wan_transformer_3d)
ROW(wan_vace_transformer_3d)
ROW(autoencoder_kl)
ROW(autoencoder_kl_flux2)
ROW(autoencoder_kl_qwen_image)
ROW(autoencoder_kl_wan)
ROW(autoencoder_tiny)
ROW(paella_vq_model)
ROW(autoencoder_kl_hunyuan_video)
ROW(autoencoder_kl_mochi)
