/* SPDX-License-Identifier: Apache-2.0
 * The blocks of Stable Diffusion 3, as diffusers 0.42.1 lays them out (models/attention.py,
 * JointTransformerBlock). */
#include "model/blocks_sd3.h"

#include <stdio.h>

#include "model/blocks.h"
#include "model/blocks_dit.h"

void nwi_sd3_read(struct nwi_config *c, struct nwi_sd3 *sd3)
{
    sd3->n = nwi_config_count(c, "num_layers", 18);
    sd3->head_dim = nwi_config_int(c, "attention_head_dim", 64);
    sd3->heads = nwi_config_int(c, "num_attention_heads", 18);
    sd3->dim = sd3->heads * sd3->head_dim;
    sd3->qk_norm = nwi_qk_norm(c, "qk_norm", NULL);
    nwi_config_ints(c, "dual_attention_layers", &sd3->dual);
    sd3->patch = (struct nwi_patch_embed){
        .in = nwi_config_int(c, "in_channels", 16),
        .dim = sd3->dim,
        .patch = nwi_config_int(c, "patch_size", 2),
        .sample = nwi_config_int(c, "sample_size", 128),
        .table = nwi_config_int_or_null(c, "pos_embed_max_size", 96),
        .positions = true,
    };
}

void nwi_sd3_time_text_embed(struct nwi_module *m, struct nwi_config *c, int64_t dim)
{
    int64_t pooled = nwi_config_int(c, "pooled_projection_dim", 2048);
    NWI_IN(m, "time_text_embed")
    {
        nwi_two_linears(m, "timestep_embedder", 256, dim, dim);
        nwi_two_linears(m, "text_embedder", pooled, dim, dim);
    }
}

void nwi_sd3_context_embedder(struct nwi_module *m, struct nwi_config *c, int64_t joint)
{
    int64_t caption = nwi_config_int(c, "caption_projection_dim", 1152);
    nwi_linear(m, "context_embedder", joint, caption, true);
}

static bool is_dual(const struct nwi_sd3 *sd3, int64_t i)
{
    for (size_t k = 0; k < sd3->dual.n; k++) {
        if (sd3->dual.at[k] == i)
            return true;
    }
    return false;
}

/* Two streams have no norm across heads, nor "l2". */
static void check_norm(struct nwi_config *c, const struct nwi_sd3 *sd3)
{
    bool across = sd3->qk_norm == NWI_QK_RMS_ALL || sd3->qk_norm == NWI_QK_LAYER_ALL;
    if (across || nwi_config_is(c, "qk_norm", NULL, "l2"))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"qk_norm\" of the config is none for joint attention");
}

void nwi_sd3_joint_block(struct nwi_module *m, const struct nwi_sd3 *sd3, int64_t i,
                         bool last)
{
    int64_t dim = sd3->dim;
    bool dual = is_dual(sd3, i);
    struct nwi_attention attention = {.dim = dim,
                                      .heads = sd3->heads,
                                      .head_dim = sd3->head_dim,
                                      .qk_norm = sd3->qk_norm,
                                      .bias = true};
    struct nwi_attention joint = attention;
    joint.added = dim;
    joint.added_stays_in = last;
    check_norm(m->config, sd3);
    nwi_linear(m, "norm1.linear", dim, (dual ? 9 : 6) * dim, true);
    nwi_linear(m, "norm1_context.linear", dim, (last ? 2 : 6) * dim, true);
    nwi_attention(m, "attn", joint);
    if (dual)
        nwi_attention(m, "attn2", attention);
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim});
    if (!last)
        nwi_feed_forward(m, "ff_context", (struct nwi_feed_forward){.dim = dim});
}

/* ---- deriving ---- */

static void derive_dual(struct nwi_config *c, const struct nwi_header *h, int64_t n)
{
    int64_t dual[NWI_CONFIG_LIST];
    size_t n_dual = 0;
    int64_t most = n < NWI_CONFIG_DEPTH ? n : NWI_CONFIG_DEPTH;
    for (int64_t i = 0; i < most && n_dual < NWI_CONFIG_LIST; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "transformer_blocks.%lld.attn2.to_q.weight",
                       (long long)i);
        if (nwi_header_has(h, name))
            dual[n_dual++] = i;
    }
    nwi_config_derive_ints(c, "dual_attention_layers", dual, n_dual);
}

static void derive_norm(struct nwi_config *c, const struct nwi_header *h)
{
    if (!nwi_header_has(h, "transformer_blocks.0.attn.to_q.weight"))
        return;
    if (!nwi_header_has(h, "transformer_blocks.0.attn.norm_q.weight"))
        nwi_config_derive_null(c, "qk_norm");
    else if (nwi_header_has(h, "transformer_blocks.0.attn.norm_q.bias"))
        nwi_config_derive_text(c, "qk_norm", "layer_norm");
    else
        nwi_config_derive_text(c, "qk_norm", "rms_norm");
}

void nwi_sd3_derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t n = nwi_header_count(h, "transformer_blocks.");
    int64_t norm = nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0);
    nwi_derive_heads(
        c, nwi_header_dim(h, "time_text_embed.timestep_embedder.linear_1.weight", 0),
        norm > 0 ? norm : 64);
    nwi_config_derive(c, "num_layers", n);
    derive_dual(c, h, n);
    derive_norm(c, h);
    nwi_config_derive(
        c, "pooled_projection_dim",
        nwi_header_dim(h, "time_text_embed.text_embedder.linear_1.weight", 1));
    nwi_config_derive(c, "joint_attention_dim",
                      nwi_header_dim(h, "context_embedder.weight", 1));
    nwi_config_derive(c, "caption_projection_dim",
                      nwi_header_dim(h, "context_embedder.weight", 0));
    nwi_config_derive(c, "pos_embed_max_size",
                      nwi_square_side(nwi_header_dim(h, "pos_embed.pos_embed", 1)));
}
