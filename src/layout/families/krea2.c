/* SPDX-License-Identifier: Apache-2.0
 * Krea 2: names of the original repository, and of diffusers 0.42.1
 * (Krea2Transformer2DModel). */
#include "layout/family.h"

#define K2_O                                                                           \
    "{n:attn.wq|attn.wk|attn.wv|attn.wo|attn.gate|mlp.gate|mlp.up|mlp.down}.{p}"
#define K2_D                                                                           \
    "{n:attn.to_q|attn.to_k|attn.to_v|attn.to_out.0|attn.to_gate|ff.gate|ff.up|ff."    \
    "down}.{p}"
#define K2S_O "{n:prenorm|postnorm|attn.qknorm.qnorm|attn.qknorm.knorm}.scale"
#define K2S_D "{n:norm1|norm2|attn.norm_q|attn.norm_k}.weight"

static const struct nwi_rule krea2_rows[] = {
    NWI_MAP("first.{p}", "img_in.{p}"),
    NWI_MAP("tmlp.{a:0|2}.{p}", "time_embed.linear_{a:1|2}.{p}"),
    NWI_MAP("tproj.1.{p}", "time_mod_proj.{p}"),
    NWI_MAP("txtmlp.0.scale", "txt_in.norm.weight"),
    NWI_MAP("txtmlp.{a:1|3}.{p}", "txt_in.linear_{a:1|2}.{p}"),
    NWI_MAP("txtfusion.projector.{p}", "text_fusion.projector.{p}"),
    NWI_MAP("txtfusion.{m:layerwise|refiner}_blocks.{i}." K2_O,
            "text_fusion.{m:layerwise|refiner}_blocks.{i}." K2_D),
    NWI_MAP("txtfusion.{m:layerwise|refiner}_blocks.{i}." K2S_O,
            "text_fusion.{m:layerwise|refiner}_blocks.{i}." K2S_D),
    {.original = "blocks.{i}.mod.lin",
     .diffusers = "transformer_blocks.{i}.scale_shift_table",
     .op = NWI_RULE_RESHAPE,
     .sizes = "6,*"},
    NWI_MAP("blocks.{i}." K2_O, "transformer_blocks.{i}." K2_D),
    NWI_MAP("blocks.{i}." K2S_O, "transformer_blocks.{i}." K2S_D),
    NWI_MAP("last.linear.{p}", "final_layer.linear.{p}"),
    NWI_MAP("last.norm.scale", "final_layer.norm.weight"),
    NWI_MAP("last.modulation.lin", "final_layer.scale_shift_table"),
    {0},
};

static const struct nwi_rules krea2_rules = {
    .rules = krea2_rows,
};

/* ---- Krea 2 ---- */

static const struct nwi_signature krea2_transformer_original[] = {
    NWI_WHEN("txtfusion.projector.weight", "first.weight", "tmlp.0.weight",
             "txtmlp.0.scale"),
    {NULL},
};

static const struct nwi_signature krea2_transformer_diffusers[] = {
    NWI_WHEN("text_fusion.projector.weight", "img_in.weight", "time_mod_proj.weight",
             "txt_in.norm.weight"),
    {NULL},
};

static const char *const krea2_transformer_pipeline[] = {"vae", "text_encoder", NULL};

const struct nwi_family nwi_family_krea2_transformer = {
    .name = "krea2",
    .title = "Krea 2",
    .component = "transformer",
    .klass = "Krea2Transformer2DModel",
    .kind = NWI_KIND_DENOISER,
    .rules = &krea2_rules,
    .original = krea2_transformer_original,
    .diffusers = krea2_transformer_diffusers,
    .pipeline = krea2_transformer_pipeline,
    .prefix = "model.diffusion_model.",
};
