/* SPDX-License-Identifier: Apache-2.0
 * WanVACETransformer3DModel (diffusers 0.42.1,
 * models/transformers/transformer_wan_vace.py): Wan 2.1 with a second row of blocks, which
 * add their output to some of the first. */
#include "model/architecture.h"
#include "model/blocks_wan_dit.h"

static const int64_t usual_layers[] = {0, 5, 10, 15, 20, 25, 30, 35};

static void vace_block(struct nwi_module *m, const struct nwi_wan_dit *wan, bool first)
{
    nwi_wan_dit_block_table(m, wan);
    if (first)
        nwi_linear(m, "proj_in", wan->dim, wan->dim, true);
    nwi_wan_dit_block_body(m, wan);
    nwi_linear(m, "proj_out", wan->dim, wan->dim, true);
}

/* How many blocks of the second row; which of the first they feed shapes nothing. */
static size_t count_vace(struct nwi_config *c, int64_t n_layers)
{
    struct nwi_config_ints layers;
    bool first = false;
    nwi_config_ints_or(c, "vace_layers", usual_layers,
                       sizeof usual_layers / sizeof *usual_layers, &layers);
    for (size_t i = 0; i < layers.n; i++) {
        first = first || layers.at[i] == 0;
        if (layers.at[i] >= n_layers)
            nwi_config_fail(c, NW_E_BAD_CONFIG,
                            "\"vace_layers\" of the config has %lld of %lld layers",
                            (long long)layers.at[i], (long long)n_layers);
    }
    if (!first || layers.scalar)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"vace_layers\" of the config has no layer 0");
    return layers.n;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_wan_dit wan = NWI_WAN_DIT_14B;
    nwi_wan_dit_read(c, &wan);
    int64_t vace_in = nwi_config_int(c, "vace_in_channels", 96);
    size_t n_vace = count_vace(c, wan.n_layers);

    nwi_wan_dit_start(m, &wan);
    nwi_wan_dit_patch(m, "patch_embedding", &wan, wan.in);
    nwi_wan_dit_patch(m, "vace_patch_embedding", &wan, vace_in);
    nwi_wan_dit_condition(m, &wan);
    nwi_wan_dit_blocks(m, &wan);
    for (size_t i = 0; i < n_vace; i++)
        NWI_BLOCK(m, "vace_blocks.%zu", i)
        {
            vace_block(m, &wan, i == 0);
        }
    nwi_wan_dit_output(m, &wan);
}

/* Blocks of the second row at even distances, unless the config has as many. */
static void derive_layers(struct nwi_config *c, int64_t n_layers, int64_t n_vace)
{
    int64_t layers[NWI_CONFIG_LIST];
    struct nwi_config_ints said;
    nwi_config_ints(c, "vace_layers", &said);
    if (n_vace <= 0 || n_vace > (int64_t)NWI_CONFIG_LIST || n_vace > n_layers ||
        (int64_t)said.n == n_vace)
        return;
    for (int64_t i = 0; i < n_vace; i++)
        layers[i] = i * (n_layers / n_vace);
    nwi_config_derive_ints(c, "vace_layers", layers, (size_t)n_vace);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_wan_dit_derive(c, h);
    derive_layers(c, nwi_header_count(h, "blocks."),
                  nwi_header_count(h, "vace_blocks."));
    nwi_config_derive(c, "vace_in_channels",
                      nwi_header_dim(h, "vace_patch_embedding.weight", 1));
}

static const char *const keep_fp32[] = {
    "rope", "time_embedder", "scale_shift_table", "norm1", "norm2", "norm3", NULL};
static const char *const harmless[] = {"blocks.*.attn2.norm_added_q.*",
                                       "vace_blocks.*.attn2.norm_added_q.*", NULL};
static const char *const plain_keys[] = {"eps", "qk_norm", NULL};

const struct nwi_architecture nwi_arch_wan_vace_transformer_3d = {
    .klass = "WanVACETransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .harmless = harmless,
    .plain_keys = plain_keys,
};
