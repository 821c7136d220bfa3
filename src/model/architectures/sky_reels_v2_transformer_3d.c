/* SPDX-License-Identifier: Apache-2.0
 * SkyReelsV2Transformer3DModel (diffusers 0.42.1,
 * models/transformers/transformer_skyreels_v2.py): Wan 2.1, which a few of its models also
 * tell the frame rate. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_wan_dit.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_wan_dit wan = {
        .heads = 16, .ffn = 8192, .n_layers = 32, .in = 16, .image = NWI_NULL};
    nwi_wan_dit_read(c, &wan);
    nwi_wan_dit_build(m, &wan);
    if (!nwi_config_bool(c, "inject_sample_info", false))
        return;
    nwi_embedding(m, "fps_embedding", 2, wan.dim);
    nwi_feed_forward(m, "fps_projection",
                     (struct nwi_feed_forward){
                         .dim = wan.dim, .inner = wan.dim, .out = 6 * wan.dim});
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_wan_dit_derive(c, h);
    nwi_config_derive_bool(c, "inject_sample_info",
                           nwi_header_has(h, "fps_embedding.weight"));
}

static const char *const keep_fp32[] = {
    "rope", "time_embedder", "scale_shift_table", "norm1", "norm2", "norm3", NULL};
static const char *const harmless[] = {"blocks.*.attn2.norm_added_q.*", NULL};
static const char *const plain_keys[] = {"eps", "num_frame_per_block", "qk_norm", NULL};

const struct nwi_architecture nwi_arch_sky_reels_v2_transformer_3d = {
    .klass = "SkyReelsV2Transformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .harmless = harmless,
    .plain_keys = plain_keys,
};
