/* SPDX-License-Identifier: Apache-2.0
 * Wan 2.1's transformer (diffusers 0.42.1, models/transformers/transformer_wan.py). */
#include "model/blocks_wan_dit.h"

#include "model/blocks.h"

void nwi_wan_dit_read(struct nwi_config *c, struct nwi_wan_dit *wan)
{
    wan->patch = nwi_video_patch(c, "patch_size");
    wan->heads = nwi_config_int(c, "num_attention_heads", wan->heads);
    wan->head_dim = nwi_config_int(c, "attention_head_dim", 128);
    if (wan->in != NWI_NULL) {
        wan->in = nwi_config_int(c, "in_channels", wan->in);
        wan->out = nwi_config_int_or_null(c, "out_channels", 16);
        if (wan->out == NWI_NULL || wan->out == 0)
            wan->out = wan->in;
    }
    wan->text = nwi_config_int(c, "text_dim", 4096);
    wan->freq = nwi_config_int(c, "freq_dim", 256);
    wan->ffn = nwi_config_int(c, "ffn_dim", wan->ffn);
    wan->n_layers = nwi_config_count(c, "num_layers", wan->n_layers);
    wan->cross_norm = nwi_config_bool(c, "cross_attn_norm", true);
    wan->image = nwi_config_int_or_null(c, "image_dim", wan->image);
    wan->added = nwi_config_int_or_null(c, "added_kv_proj_dim", NWI_NULL);
    wan->rope_len = nwi_config_int(c, "rope_max_seq_len", 1024);
    wan->image_len = nwi_config_int_or_null(c, "pos_embed_seq_len", NWI_NULL);
    wan->dim = wan->heads * wan->head_dim;
    if (wan->heads <= 0 || wan->head_dim < 0 || wan->head_dim % 2 != 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "the config has %lld heads of %lld",
                        (long long)wan->heads, (long long)wan->head_dim);
}

void nwi_wan_dit_start(struct nwi_module *m, const struct nwi_wan_dit *wan)
{
    nwi_parameter(m, "scale_shift_table", NWI_DIMS(1, 2, wan->dim));
    nwi_scratch_buffer(m, "rope.freqs_cos", NWI_DIMS(wan->rope_len, wan->head_dim));
    nwi_scratch_buffer(m, "rope.freqs_sin", NWI_DIMS(wan->rope_len, wan->head_dim));
}

void nwi_wan_dit_patch(struct nwi_module *m, const char *name,
                       const struct nwi_wan_dit *wan, int64_t in)
{
    nwi_conv3d(m, name, in, wan->dim, wan->patch.at[0], wan->patch.at[1],
               wan->patch.at[2], true);
}

static void image_embedder(struct nwi_module *m, const struct nwi_wan_dit *wan)
{
    NWI_IN(m, "image_embedder")
    {
        if (wan->image_len != NWI_NULL)
            nwi_parameter_filled(m, "pos_embed",
                                 NWI_DIMS(1, wan->image_len, wan->image), NW_FILL_ZERO);
        nwi_norm(m, "norm1", wan->image);
        nwi_linear(m, "ff.net.0.proj", wan->image, wan->image, true);
        nwi_linear(m, "ff.net.2", wan->image, wan->dim, true);
        nwi_norm(m, "norm2", wan->dim);
    }
}

void nwi_wan_dit_condition(struct nwi_module *m, const struct nwi_wan_dit *wan)
{
    NWI_IN(m, "condition_embedder")
    {
        nwi_two_linears(m, "time_embedder", wan->freq, wan->dim, wan->dim);
        nwi_linear(m, "time_proj", wan->dim, 6 * wan->dim, true);
        nwi_two_linears(m, "text_embedder", wan->text, wan->dim, wan->dim);
        if (wan->image != NWI_NULL)
            image_embedder(m, wan);
    }
}

void nwi_wan_dit_attention(struct nwi_module *m, const char *name, int64_t dim,
                           int64_t added)
{
    NWI_IN(m, "%s", name)
    {
        nwi_linear(m, "to_q", dim, dim, true);
        nwi_linear(m, "to_k", dim, dim, true);
        nwi_linear(m, "to_v", dim, dim, true);
        nwi_linear(m, "to_out.0", dim, dim, true);
        nwi_rms_norm(m, "norm_q", dim);
        nwi_rms_norm(m, "norm_k", dim);
        if (added != NWI_NULL) {
            nwi_linear(m, "add_k_proj", added, dim, true);
            nwi_linear(m, "add_v_proj", added, dim, true);
            nwi_rms_norm(m, "norm_added_k", dim);
        }
    }
}

void nwi_wan_dit_block_table(struct nwi_module *m, const struct nwi_wan_dit *wan)
{
    nwi_parameter(m, "scale_shift_table", NWI_DIMS(1, 6, wan->dim));
}

void nwi_wan_dit_block_body(struct nwi_module *m, const struct nwi_wan_dit *wan)
{
    nwi_wan_dit_attention(m, "attn1", wan->dim, NWI_NULL);
    nwi_wan_dit_attention(m, "attn2", wan->dim, wan->added);
    if (wan->cross_norm)
        nwi_norm(m, "norm2", wan->dim);
    nwi_linear(m, "ffn.net.0.proj", wan->dim, wan->ffn, true);
    nwi_linear(m, "ffn.net.2", wan->ffn, wan->dim, true);
}

void nwi_wan_dit_blocks(struct nwi_module *m, const struct nwi_wan_dit *wan)
{
    for (int64_t i = 0; i < wan->n_layers; i++)
        NWI_BLOCK(m, "blocks.%lld", (long long)i)
        {
            nwi_wan_dit_block_table(m, wan);
            nwi_wan_dit_block_body(m, wan);
        }
}

void nwi_wan_dit_output(struct nwi_module *m, const struct nwi_wan_dit *wan)
{
    nwi_linear(m, "proj_out", wan->dim, wan->out * wan->patch.volume, true);
}

void nwi_wan_dit_build(struct nwi_module *m, const struct nwi_wan_dit *wan)
{
    nwi_wan_dit_start(m, wan);
    nwi_wan_dit_patch(m, "patch_embedding", wan, wan->in);
    nwi_wan_dit_condition(m, wan);
    nwi_wan_dit_blocks(m, wan);
    nwi_wan_dit_output(m, wan);
}

/* ---- deriving ---- */

void nwi_wan_dit_derive_patch(struct nwi_config *c, const struct nwi_header *h,
                              const char *in, const char *out, const char *output)
{
    int64_t patch[3];
    int64_t channels = nwi_header_dim(h, output, 0);
    if (nwi_header_rank(h, "patch_embedding.weight") != 5)
        return;
    for (int i = 0; i < 3; i++) {
        patch[i] = nwi_header_dim(h, "patch_embedding.weight", 2 + i);
        channels = nwi_video_over(channels, patch[i]);
    }
    nwi_config_derive_ints(c, "patch_size", patch, 3);
    nwi_config_derive(c, in, nwi_header_dim(h, "patch_embedding.weight", 1));
    nwi_video_derive_out(c, out, nwi_header_dim(h, "patch_embedding.weight", 1),
                         channels);
}

static void derive_image(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t image =
        nwi_header_dim(h, "condition_embedder.image_embedder.norm1.weight", 0);
    int64_t len = nwi_header_dim(h, "condition_embedder.image_embedder.pos_embed", 1);
    if (image < 0) {
        nwi_config_derive_null(c, "image_dim");
        return;
    }
    nwi_config_derive(c, "image_dim", image);
    if (len < 0)
        nwi_config_derive_null(c, "pos_embed_seq_len");
    else
        nwi_config_derive(c, "pos_embed_seq_len", len);
}

static void derive_block(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t added = nwi_header_dim(h, "blocks.0.attn2.add_k_proj.weight", 1);
    nwi_config_derive(c, "ffn_dim",
                      nwi_header_dim(h, "blocks.0.ffn.net.0.proj.weight", 0));
    nwi_config_derive_bool(c, "cross_attn_norm",
                           nwi_header_has(h, "blocks.0.norm2.weight"));
    if (added < 0)
        nwi_config_derive_null(c, "added_kv_proj_dim");
    else
        nwi_config_derive(c, "added_kv_proj_dim", added);
}

void nwi_wan_dit_derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "patch_embedding.weight", 0);
    int64_t n_layers = nwi_header_count(h, "blocks.");
    nwi_wan_dit_derive_patch(c, h, "in_channels", "out_channels", "proj_out.weight");
    derive_image(c, h);
    if (n_layers > 0)
        derive_block(c, h);
    nwi_config_derive(c, "num_layers", n_layers);
    nwi_video_derive_factor(c, "num_attention_heads", dim, "attention_head_dim", 128);
    nwi_config_derive(
        c, "freq_dim",
        nwi_header_dim(h, "condition_embedder.time_embedder.linear_1.weight", 1));
    nwi_config_derive(
        c, "text_dim",
        nwi_header_dim(h, "condition_embedder.text_embedder.linear_1.weight", 1));
}
