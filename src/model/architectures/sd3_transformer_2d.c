/* SPDX-License-Identifier: Apache-2.0
 * SD3Transformer2DModel (diffusers 0.42.1, models/transformers/transformer_sd3.py): Stable
 * Diffusion 3 and 3.5. */
#include <stdio.h>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_dit.h"

struct sd3 {
    int64_t dim;
    int64_t heads;
    int64_t head_dim;
    enum nwi_qk_norm qk_norm;
};

/* Positions are kept for the largest picture the model was trained on; without such a size
 * they are computed for the sample. */
static void pos_embed(struct nwi_module *m, struct nwi_config *c, int64_t dim)
{
    int64_t sample = nwi_config_int(c, "sample_size", 128);
    int64_t patch = nwi_config_int(c, "patch_size", 2);
    int64_t in = nwi_config_int(c, "in_channels", 16);
    int64_t most = nwi_config_int_or_null(c, "pos_embed_max_size", 96);
    bool kept = most != NWI_NULL && most != 0;
    int64_t side = kept ? most : patch > 0 ? sample / patch : 0;
    if (patch <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"patch_size\" of the config is %lld",
                        (long long)patch);
    NWI_IN(m, "pos_embed")
    {
        nwi_want(m, "pos_embed", NWI_DIMS(1, side * side, dim),
                 kept ? NW_BUFFER : NW_NON_PERSISTENT, NW_FILL_NONE, NW_DTYPE_AUTO);
        nwi_conv2d(m, "proj", in, dim, patch, true);
    }
}

static void block(struct nwi_module *m, const struct sd3 *sd3, bool last, bool dual)
{
    int64_t dim = sd3->dim;
    struct nwi_attention attn = {.dim = dim,
                                 .heads = sd3->heads,
                                 .head_dim = sd3->head_dim,
                                 .added = dim,
                                 .qk_norm = sd3->qk_norm,
                                 .bias = true,
                                 .added_stays_in = last};
    nwi_linear(m, "norm1.linear", dim, (dual ? 9 : 6) * dim, true);
    nwi_linear(m, "norm1_context.linear", dim, (last ? 2 : 6) * dim, true);
    nwi_attention(m, "attn", attn);
    attn.added = 0;
    attn.added_stays_in = false;
    if (dual)
        nwi_attention(m, "attn2", attn);
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim});
    if (!last)
        nwi_feed_forward(m, "ff_context", (struct nwi_feed_forward){.dim = dim});
}

static bool is_listed(const struct nwi_config_ints *list, int64_t i)
{
    for (size_t k = 0; k < list->n; k++) {
        if (list->at[k] == i)
            return true;
    }
    return false;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_config_ints dual;
    int64_t n = nwi_config_count(c, "num_layers", 18);
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 64);
    int64_t heads = nwi_config_int(c, "num_attention_heads", 18);
    int64_t joint = nwi_config_int(c, "joint_attention_dim", 4096);
    int64_t caption = nwi_config_int(c, "caption_projection_dim", 1152);
    int64_t pooled = nwi_config_int(c, "pooled_projection_dim", 2048);
    int64_t out = nwi_config_int_or_null(c, "out_channels", 16);
    int64_t patch = nwi_config_int(c, "patch_size", 2);
    struct sd3 sd3 = {.dim = heads * head_dim, .heads = heads, .head_dim = head_dim};

    sd3.qk_norm = nwi_qk_norm(c, "qk_norm", NULL);
    nwi_config_ints(c, "dual_attention_layers", &dual);
    if (out == NWI_NULL || out == 0)
        out = nwi_config_int(c, "in_channels", 16);
    pos_embed(m, c, sd3.dim);
    NWI_IN(m, "time_text_embed")
    {
        nwi_two_linears(m, "timestep_embedder", 256, sd3.dim, sd3.dim);
        nwi_two_linears(m, "text_embedder", pooled, sd3.dim, sd3.dim);
    }
    nwi_linear(m, "context_embedder", joint, caption, true);
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, &sd3, i == n - 1, is_listed(&dual, i));
        }
    nwi_linear(m, "norm_out.linear", sd3.dim, 2 * sd3.dim, true);
    nwi_linear(m, "proj_out", sd3.dim, patch * patch * out, true);
}

/* ---- what shapes tell ---- */

static int64_t square_root(int64_t n)
{
    int64_t root = 0;
    while (root < 4096 && (root + 1) * (root + 1) <= n)
        root++;
    return root * root == n ? root : -1;
}

/* Blocks whose modulation makes nine vectors attend twice. */
static void derive_dual(struct nwi_config *c, const struct nwi_header *h, int64_t n)
{
    int64_t dual[NWI_CONFIG_LIST];
    char name[96];
    size_t n_dual = 0;
    for (int64_t i = 0; i < n && n_dual < NWI_CONFIG_LIST; i++) {
        (void)snprintf(name, sizeof name, "transformer_blocks.%lld.attn2.to_q.weight",
                       (long long)i);
        if (nwi_header_has(h, name))
            dual[n_dual++] = i;
    }
    nwi_config_derive_ints(c, "dual_attention_layers", dual, n_dual);
}

static void derive_heads(struct nwi_config *c, const struct nwi_header *h, int64_t dim)
{
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0);
    bool bias = nwi_header_has(h, "transformer_blocks.0.attn.norm_q.bias");
    if (head_dim < 0) /* no norm to tell: 64, as in every model of the family */
        nwi_config_derive_null(c, "qk_norm");
    else
        nwi_config_derive_text(c, "qk_norm", bias ? "layer_norm" : "rms_norm");
    head_dim = head_dim < 0 ? 64 : head_dim;
    if (head_dim == 0 || dim % head_dim != 0)
        return;
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", dim / head_dim);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t n = nwi_header_count(h, "transformer_blocks.");
    int64_t dim = nwi_header_dim(h, "pos_embed.proj.weight", 0);
    int64_t patch = nwi_header_dim(h, "pos_embed.proj.weight", 2);
    int64_t places = nwi_header_dim(h, "pos_embed.pos_embed", 1);
    int64_t out = nwi_header_dim(h, "proj_out.weight", 0);
    nwi_config_derive(c, "num_layers", n);
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "pos_embed.proj.weight", 1));
    nwi_config_derive(c, "patch_size", patch);
    if (patch > 0 && patch <= 4096 && out % (patch * patch) == 0)
        nwi_config_derive(c, "out_channels", out / (patch * patch));
    if (places >= 0)
        nwi_config_derive(c, "pos_embed_max_size", square_root(places));
    else
        nwi_config_derive_null(c, "pos_embed_max_size");
    nwi_config_derive(c, "joint_attention_dim",
                      nwi_header_dim(h, "context_embedder.weight", 1));
    nwi_config_derive(c, "caption_projection_dim",
                      nwi_header_dim(h, "context_embedder.weight", 0));
    nwi_config_derive(
        c, "pooled_projection_dim",
        nwi_header_dim(h, "time_text_embed.text_embedder.linear_1.weight", 1));
    derive_heads(c, h, dim);
    derive_dual(c, h, n);
}

const struct nwi_architecture nwi_arch_sd3_transformer_2d = {
    .klass = "SD3Transformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
};
