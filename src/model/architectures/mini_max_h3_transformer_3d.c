/* SPDX-License-Identifier: Apache-2.0
 * MiniMaxH3Transformer3DModel (diffusers 0.42.1,
 * models/transformers/transformer_minimax_h3.py): MiniMax-H3, video with sound. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_video.h"

#define PARTS ((int64_t)6 * 3) /* text, audio and video are modulated apart */

struct minimax {
    int64_t dim;
    int64_t heads;
    int64_t head_dim; /* heads * head_dim is not dim */
    int64_t ffn;
    int64_t time;
};

/* Attention and a gated feed-forward layer, both without biases. */
static void block(struct nwi_module *m, const struct minimax *mm)
{
    int64_t inner = mm->heads * mm->head_dim;
    nwi_rms_norm(m, "norm1", mm->dim);
    NWI_IN(m, "attn")
    {
        nwi_linear(m, "to_q", mm->dim, inner, false);
        nwi_linear(m, "to_k", mm->dim, inner, false);
        nwi_linear(m, "to_v", mm->dim, inner, false);
        nwi_rms_norm(m, "norm_q", mm->head_dim);
        nwi_rms_norm(m, "norm_k", mm->head_dim);
        nwi_linear(m, "to_out.0", inner, mm->dim, false);
    }
    nwi_rms_norm(m, "norm2", mm->dim);
    nwi_linear(m, "ff.net.0.proj", mm->dim, 2 * mm->ffn, false);
    nwi_linear(m, "ff.net.2", mm->ffn, mm->dim, false);
}

static void token_refiner(struct nwi_module *m, const struct minimax *mm, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "refiner_blocks.%lld", (long long)i)
        {
            block(m, mm);
        }
    nwi_rms_norm(m, "final_norm", mm->dim);
}

static void transformer(struct nwi_module *m, const struct minimax *mm, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, mm);
            nwi_linear(m, "adaln_proj.linear", mm->time, PARTS * mm->dim, true);
        }
    NWI_BLOCK(m, "norm_out")
    {
        nwi_rms_norm(m, "norm", mm->dim);
        nwi_linear(m, "linear", mm->time, 2 * mm->dim, true);
    }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct minimax mm = {
        .dim = nwi_config_int(c, "hidden_size", 5376),
        .heads = nwi_config_int(c, "num_attention_heads", 56),
        .head_dim = nwi_config_int(c, "attention_head_dim", 128),
        .ffn = nwi_config_int(c, "ffn_dim", 14336),
        .time = nwi_config_int(c, "time_embed_dim", 2688),
    };
    int64_t n_layers = nwi_config_count(c, "num_layers", 50);
    int64_t n_refiner = nwi_config_count(c, "num_refiner_layers", 2);
    int64_t audio = nwi_config_int(c, "audio_in_channels", 32);
    int64_t text = nwi_config_int(c, "text_dim", 5120);
    int64_t freq = nwi_config_int(c, "freq_dim", 256);
    int64_t hidden = nwi_config_int(c, "time_embed_hidden_dim", 5376);
    int64_t rope = nwi_config_int(c, "rope_freq_dim", 16);
    struct nwi_patch patch = nwi_video_patch(c, "patch_size");
    int64_t video = nwi_config_int(c, "in_channels", 24) * patch.volume;

    nwi_linear(m, "proj_in", video, mm.dim, true);
    nwi_linear(m, "audio_proj_in", audio, mm.dim, true);
    nwi_linear(m, "context_embedder", text, mm.dim, true);
    nwi_two_linears(m, "time_embedder", freq, hidden, mm.time);
    nwi_scratch_buffer(m, "rope.inv_freq", NWI_DIMS(rope));
    NWI_IN(m, "token_refiner")
    {
        token_refiner(m, &mm, n_refiner);
    }
    transformer(m, &mm, n_layers);
    nwi_linear(m, "proj_out", mm.dim, video, true);
    nwi_linear(m, "audio_proj_out", mm.dim, audio, true);
}

/* Of either list of blocks. */
static void derive_block(struct nwi_config *c, const struct nwi_header *h,
                         const char *to_q, const char *norm_q, const char *ff)
{
    int64_t head_dim = nwi_header_dim(h, norm_q, 0);
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads",
                      nwi_video_over(nwi_header_dim(h, to_q, 0), head_dim));
    nwi_config_derive(c, "ffn_dim", nwi_header_dim(h, ff, 1));
}

/* Shapes tell only the volume of a patch times the channels; the patch is the config's. */
static void derive_channels(struct nwi_config *c, const struct nwi_header *h)
{
    struct nwi_patch patch = nwi_video_patch(c, "patch_size");
    nwi_config_derive(
        c, "in_channels",
        nwi_video_over(nwi_header_dim(h, "proj_in.weight", 1), patch.volume));
    nwi_config_derive(c, "audio_in_channels",
                      nwi_header_dim(h, "audio_proj_in.weight", 1));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    derive_channels(c, h);
    derive_block(c, h, "token_refiner.refiner_blocks.0.attn.to_q.weight",
                 "token_refiner.refiner_blocks.0.attn.norm_q.weight",
                 "token_refiner.refiner_blocks.0.ff.net.2.weight");
    derive_block(c, h, "transformer_blocks.0.attn.to_q.weight",
                 "transformer_blocks.0.attn.norm_q.weight",
                 "transformer_blocks.0.ff.net.2.weight");
    nwi_config_derive(c, "hidden_size", nwi_header_dim(h, "proj_in.weight", 0));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "num_refiner_layers",
                      nwi_header_count(h, "token_refiner.refiner_blocks."));
    nwi_config_derive(c, "text_dim", nwi_header_dim(h, "context_embedder.weight", 1));
    nwi_config_derive(c, "freq_dim",
                      nwi_header_dim(h, "time_embedder.linear_1.weight", 1));
    nwi_config_derive(c, "time_embed_hidden_dim",
                      nwi_header_dim(h, "time_embedder.linear_1.weight", 0));
    nwi_config_derive(c, "time_embed_dim",
                      nwi_header_dim(h, "time_embedder.linear_2.weight", 0));
}

static const char *const keep_fp32[] = {"proj_in",  "audio_proj_in",  "time_embedder",
                                        "proj_out", "audio_proj_out", "rope",
                                        NULL};
static const char *const plain_keys[] = {"final_norm_eps", "norm_eps", "qk_norm_eps",
                                         "rope_theta", NULL};

const struct nwi_architecture nwi_arch_mini_max_h3_transformer_3d = {
    .klass = "MiniMaxH3Transformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .plain_keys = plain_keys,
};
