/* SPDX-License-Identifier: Apache-2.0
 * CosmosTransformer3DModel (diffusers 0.42.1, models/transformers/transformer_cosmos.py):
 * Cosmos 1.0, Predict 2, Predict 2.5 and Transfer 2.5. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_attention.h"
#include "model/blocks_video.h"

struct cosmos {
    int64_t dim;
    int64_t heads;
    int64_t head_dim;
    int64_t text;
    int64_t lora; /* inner width of the modulations */
    int64_t inner;
    bool image; /* attention to an image beside the text */
};

/* Two layers without biases: dim -> lora -> parts * dim. */
static void modulation(struct nwi_module *m, const char *name,
                       const struct cosmos *cosmos, int64_t parts)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "linear_1", cosmos->dim, cosmos->lora, false);
        nwi_linear(m, "linear_2", cosmos->lora, parts * cosmos->dim, false);
    }
}

static void attention(struct nwi_module *m, const char *name,
                      const struct cosmos *cosmos, int64_t from)
{
    nwi_attention(m, name,
                  (struct nwi_attention){.dim = cosmos->dim,
                                         .heads = cosmos->heads,
                                         .head_dim = cosmos->head_dim,
                                         .from = from,
                                         .qk_norm = NWI_QK_RMS,
                                         .no_out_bias = true});
}

static void image_attention(struct nwi_module *m, const struct cosmos *cosmos)
{
    int64_t dim = cosmos->dim;
    NWI_IN(m, "attn2")
    {
        nwi_linear(m, "q_img", dim, dim, false);
        nwi_linear(m, "k_img", dim, dim, false);
        nwi_linear(m, "v_img", dim, dim, false);
        nwi_rms_norm(m, "q_img_norm", cosmos->head_dim);
        nwi_rms_norm(m, "k_img_norm", cosmos->head_dim);
    }
}

static void block(struct nwi_module *m, const struct cosmos *cosmos)
{
    modulation(m, "norm1", cosmos, 3);
    attention(m, "attn1", cosmos, cosmos->dim);
    modulation(m, "norm2", cosmos, 3);
    attention(m, "attn2", cosmos, cosmos->text);
    if (cosmos->image)
        image_attention(m, cosmos);
    modulation(m, "norm3", cosmos, 3);
    nwi_feed_forward(m, "ff",
                     (struct nwi_feed_forward){
                         .dim = cosmos->dim, .inner = cosmos->inner, .no_bias = true});
}

/* One learnt position for every patch along each side of the largest video. */
static void positions(struct nwi_module *m, struct nwi_config *c, int64_t dim,
                      const struct nwi_patch *patch)
{
    static const int64_t usual[] = {128, 240, 240};
    static const char *const names[] = {"pos_emb_t", "pos_emb_h", "pos_emb_w"};
    struct nwi_config_ints sizes;
    nwi_config_ints_or(c, "max_size", usual, 3, &sizes);
    if (sizes.n != 3)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"max_size\" of the config has %zu numbers", sizes.n);
    if (!nwi_config_is(c, "extra_pos_embed_type", "learnable", "learnable"))
        return;
    NWI_IN(m, "learnable_pos_embed")
    {
        for (size_t i = 0; i < 3; i++)
            nwi_parameter_filled(m, names[i], NWI_DIMS(sizes.at[i] / patch->at[i], dim),
                                 NW_FILL_ZERO);
    }
}

/* An image's projection to the width of attention, and the text's. */
static void projections(struct nwi_module *m, struct nwi_config *c, int64_t image_in)
{
    int64_t text_in = nwi_config_int(c, "crossattn_proj_in_channels", 1024);
    int64_t text_out = nwi_config_int(c, "encoder_hidden_states_channels", 1024);
    int64_t image_out = nwi_config_int(c, "img_context_dim_out", 2048);
    if (nwi_config_bool(c, "use_crossattn_projection", false))
        nwi_linear(m, "crossattn_proj.0", text_in, text_out, true);
    if (image_in != NWI_NULL && image_in != 0)
        nwi_linear(m, "img_context_proj.0", image_in, image_out, true);
}

/* The rotary embedding splits a head by three axes, and divides by their width less 2. */
static void check_head(struct nwi_config *c, int64_t head_dim)
{
    int64_t side = head_dim / 6 * 2;
    if (head_dim <= 0 || side == 2 || head_dim - 2 * side == 2)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"attention_head_dim\" of the config is %lld",
                        (long long)head_dim);
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_patch patch = nwi_video_patch(c, "patch_size");
    int64_t in = nwi_config_int(c, "in_channels", 16);
    int64_t out = nwi_config_int(c, "out_channels", 16);
    int64_t n_layers = nwi_config_count(c, "num_layers", 28);
    int64_t image_in = nwi_config_int_or_null(c, "img_context_dim_in", NWI_NULL);
    struct cosmos cosmos = {
        .heads = nwi_config_int(c, "num_attention_heads", 32),
        .head_dim = nwi_config_int(c, "attention_head_dim", 128),
        .text = nwi_config_int_or_null(c, "text_embed_dim", 1024),
        .lora = nwi_config_int(c, "adaln_lora_dim", 256),
        .image = image_in > 0,
    };
    check_head(c, cosmos.head_dim);
    cosmos.dim = cosmos.heads * cosmos.head_dim;
    cosmos.inner = nwi_video_mlp(c, cosmos.dim);
    if (cosmos.text == NWI_NULL)
        cosmos.text = cosmos.dim;
    if (nwi_config_bool(c, "concat_padding_mask", true))
        in++;

    nwi_linear(m, "patch_embed.proj", in * patch.volume, cosmos.dim, false);
    positions(m, c, cosmos.dim, &patch);
    NWI_IN(m, "time_embed")
    {
        nwi_linear(m, "t_embedder.linear_1", cosmos.dim, cosmos.dim, false);
        nwi_linear(m, "t_embedder.linear_2", cosmos.dim, 3 * cosmos.dim, false);
        nwi_rms_norm(m, "norm", cosmos.dim);
    }
    for (int64_t i = 0; i < n_layers; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, &cosmos);
        }
    modulation(m, "norm_out", &cosmos, 2);
    nwi_linear(m, "proj_out", cosmos.dim, patch.volume * out, false);
    projections(m, c, image_in);
}

/* ---- deriving ---- */

/* Shapes tell only the volume of a patch times the channels; the patch is the config's. */
static void derive_channels(struct nwi_config *c, const struct nwi_header *h)
{
    struct nwi_patch patch = nwi_video_patch(c, "patch_size");
    bool mask = nwi_config_bool(c, "concat_padding_mask", true);
    int64_t in =
        nwi_video_over(nwi_header_dim(h, "patch_embed.proj.weight", 1), patch.volume);
    nwi_config_derive(c, "in_channels", mask ? in - 1 : in);
    nwi_config_derive(
        c, "out_channels",
        nwi_video_over(nwi_header_dim(h, "proj_out.weight", 0), patch.volume));
}

static void derive_positions(struct nwi_config *c, const struct nwi_header *h)
{
    static const char *const names[] = {"learnable_pos_embed.pos_emb_t",
                                        "learnable_pos_embed.pos_emb_h",
                                        "learnable_pos_embed.pos_emb_w"};
    struct nwi_patch patch = nwi_video_patch(c, "patch_size");
    int64_t sizes[3];
    bool learnt = nwi_header_has(h, names[0]);
    for (size_t i = 0; i < 3; i++) {
        int64_t n = nwi_header_dim(h, names[i], 0);
        sizes[i] = n <= INT32_MAX ? n * patch.at[i] : -1;
    }
    if (learnt) {
        nwi_config_derive_text(c, "extra_pos_embed_type", "learnable");
        nwi_config_derive_ints(c, "max_size", sizes, 3);
    } else if (nwi_config_is(c, "extra_pos_embed_type", "learnable", "learnable")) {
        nwi_config_derive_null(c, "extra_pos_embed_type");
    }
}

static void derive_projections(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t image = nwi_header_dim(h, "img_context_proj.0.weight", 1);
    int64_t text = nwi_header_dim(h, "crossattn_proj.0.weight", 1);
    nwi_config_derive_bool(c, "use_crossattn_projection", text >= 0);
    nwi_config_derive(c, "crossattn_proj_in_channels", text);
    nwi_config_derive(c, "encoder_hidden_states_channels",
                      nwi_header_dim(h, "crossattn_proj.0.weight", 0));
    if (image >= 0)
        nwi_config_derive(c, "img_context_dim_in", image);
    else if (nwi_config_int_or_null(c, "img_context_dim_in", NWI_NULL) != 0)
        nwi_config_derive_null(c, "img_context_dim_in");
    nwi_config_derive(c, "img_context_dim_out",
                      nwi_header_dim(h, "img_context_proj.0.weight", 0));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "patch_embed.proj.weight", 0);
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn1.norm_q.weight", 0);
    derive_channels(c, h);
    derive_positions(c, h);
    derive_projections(c, h);
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "attention_head_dim", head_dim);
    if (head_dim > 0)
        nwi_config_derive(c, "num_attention_heads", nwi_video_over(dim, head_dim));
    else
        nwi_video_derive_factor(c, "num_attention_heads", dim, "attention_head_dim",
                                128);
    nwi_config_derive(c, "adaln_lora_dim",
                      nwi_header_dim(h, "norm_out.linear_1.weight", 0));
    nwi_config_derive(c, "text_embed_dim",
                      nwi_header_dim(h, "transformer_blocks.0.attn2.to_k.weight", 1));
    nwi_config_derive_ratio(
        c, "mlp_ratio",
        nwi_header_dim(h, "transformer_blocks.0.ff.net.0.proj.weight", 0), dim);
}

static const char *const keep_fp32[] = {"learnable_pos_embed", NULL};
static const char *const plain_keys[] = {"controlnet_block_every_n",
                                         "img_context_num_tokens", "rope_scale", NULL};

const struct nwi_architecture nwi_arch_cosmos_transformer_3d = {
    .klass = "CosmosTransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .plain_keys = plain_keys,
};
