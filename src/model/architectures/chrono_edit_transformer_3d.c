/* SPDX-License-Identifier: Apache-2.0
 * ChronoEditTransformer3DModel (diffusers 0.42.1,
 * models/transformers/transformer_chronoedit.py): Wan 2.1's tensors, other positions. */
#include "model/architecture.h"
#include "model/blocks_wan_dit.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_wan_dit wan = NWI_WAN_DIT_14B;
    nwi_wan_dit_read(c, &wan);
    nwi_wan_dit_build(m, &wan);
}

static const char *const keep_fp32[] = {
    "time_embedder", "scale_shift_table", "norm1", "norm2", "norm3", NULL};
static const char *const harmless[] = {"blocks.*.attn2.norm_added_q.*", NULL};
static const char *const plain_keys[] = {"eps", "qk_norm", "rope_temporal_skip_len",
                                         NULL};

const struct nwi_architecture nwi_arch_chrono_edit_transformer_3d = {
    .klass = "ChronoEditTransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = nwi_wan_dit_derive,
    .keep_fp32 = keep_fp32,
    .harmless = harmless,
    .plain_keys = plain_keys,
};
