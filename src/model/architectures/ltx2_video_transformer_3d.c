/* SPDX-License-Identifier: Apache-2.0
 * LTX2VideoTransformer3DModel (diffusers 0.42.1, models/transformers/transformer_ltx2.py):
 * LTX-2, 2.3 and 2.5, video with sound: two streams that attend to each other. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_ltx_dit.h"

/* One stream. */
struct stream {
    int64_t dim;
    int64_t heads;
    int64_t head_dim;
    int64_t text; /* channels of the text, NWI_NULL: dim */
    bool gated;
    bool modulated; /* attention to the text is modulated too */
    bool ff_bias;
};

struct ltx2 {
    struct stream video;
    struct stream audio;
    bool bias;
    bool out_bias;
    bool gelu_gated;
    bool affine;
};

/* ---- blocks ---- */

/* `query` attends to `context` channels, with the heads of `heads`. */
static void attention(struct nwi_module *m, const char *name, const struct ltx2 *ltx,
                      const struct stream *query, const struct stream *heads,
                      int64_t context)
{
    nwi_ltx_attention(m, name,
                      (struct nwi_ltx_attention){.query = query->dim,
                                                 .context = context,
                                                 .heads = heads->heads,
                                                 .head_dim = heads->head_dim,
                                                 .bias = ltx->bias,
                                                 .out_bias = ltx->out_bias,
                                                 .gated = query->gated});
}

static void norm(struct nwi_module *m, const char *name, const struct ltx2 *ltx,
                 const struct stream *stream)
{
    if (ltx->affine)
        nwi_rms_norm(m, name, stream->dim);
}

static void feed_forward(struct nwi_module *m, const char *name, const struct ltx2 *ltx,
                         const struct stream *stream)
{
    nwi_feed_forward(m, name,
                     (struct nwi_feed_forward){.dim = stream->dim,
                                               .gated = ltx->gelu_gated,
                                               .no_bias = !stream->ff_bias});
}

static void tables(struct nwi_module *m, const struct ltx2 *ltx)
{
    int64_t video = ltx->video.dim;
    int64_t audio = ltx->audio.dim;
    nwi_parameter(m, "scale_shift_table",
                  NWI_DIMS(ltx->video.modulated ? 9 : 6, video));
    nwi_parameter(m, "audio_scale_shift_table",
                  NWI_DIMS(ltx->audio.modulated ? 9 : 6, audio));
    if (ltx->video.modulated || ltx->audio.modulated) {
        nwi_parameter(m, "prompt_scale_shift_table", NWI_DIMS(2, video));
        nwi_parameter(m, "audio_prompt_scale_shift_table", NWI_DIMS(2, audio));
    }
    nwi_parameter(m, "video_a2v_cross_attn_scale_shift_table", NWI_DIMS(5, video));
    nwi_parameter(m, "audio_a2v_cross_attn_scale_shift_table", NWI_DIMS(5, audio));
}

static void block(struct nwi_module *m, const struct ltx2 *ltx)
{
    const struct stream *video = &ltx->video;
    const struct stream *audio = &ltx->audio;
    tables(m, ltx);
    norm(m, "norm1", ltx, video);
    attention(m, "attn1", ltx, video, video, NWI_NULL);
    norm(m, "audio_norm1", ltx, audio);
    attention(m, "audio_attn1", ltx, audio, audio, NWI_NULL);
    norm(m, "norm2", ltx, video);
    attention(m, "attn2", ltx, video, video, video->text);
    norm(m, "audio_norm2", ltx, audio);
    attention(m, "audio_attn2", ltx, audio, audio, audio->text);
    norm(m, "audio_to_video_norm", ltx, video);
    attention(m, "audio_to_video_attn", ltx, video, audio, audio->dim);
    norm(m, "video_to_audio_norm", ltx, audio);
    attention(m, "video_to_audio_attn", ltx, audio, audio, video->dim);
    norm(m, "norm3", ltx, video);
    feed_forward(m, "ff", ltx, video);
    norm(m, "audio_norm3", ltx, audio);
    feed_forward(m, "audio_ff", ltx, audio);
}

/* ---- the model ---- */

static void embedders(struct nwi_module *m, struct nwi_config *c,
                      const struct ltx2 *ltx)
{
    int64_t video = ltx->video.dim;
    int64_t audio = ltx->audio.dim;
    int64_t caption = nwi_config_int(c, "caption_channels", 3840);
    if (nwi_config_bool(c, "use_prompt_embeddings", true)) {
        nwi_two_linears(m, "caption_projection", caption, video, video);
        nwi_two_linears(m, "audio_caption_projection", caption, audio, audio);
    }
    nwi_video_ada_single(m, "time_embed", video, ltx->video.modulated ? 9 : 6);
    nwi_video_ada_single(m, "audio_time_embed", audio, ltx->audio.modulated ? 9 : 6);
    nwi_video_ada_single(m, "av_cross_attn_video_scale_shift", video, 4);
    nwi_video_ada_single(m, "av_cross_attn_audio_scale_shift", audio, 4);
    nwi_video_ada_single(m, "av_cross_attn_video_a2v_gate", video, 1);
    nwi_video_ada_single(m, "av_cross_attn_audio_v2a_gate", audio, 1);
    bool prompt = nwi_config_bool(c, "use_prompt_adaln_single", true);
    if (prompt && (ltx->video.modulated || ltx->audio.modulated)) {
        nwi_video_ada_single(m, "prompt_adaln", video, 2);
        nwi_video_ada_single(m, "audio_prompt_adaln", audio, 2);
    }
}

static void read(struct nwi_config *c, struct ltx2 *ltx)
{
    ltx->video = (struct stream){
        .heads = nwi_config_int(c, "num_attention_heads", 32),
        .head_dim = nwi_config_int(c, "attention_head_dim", 128),
        .text = nwi_config_int_or_null(c, "cross_attention_dim", 4096),
        .gated = nwi_config_bool(c, "gated_attn", false),
        .modulated = nwi_config_bool(c, "cross_attn_mod", false),
        .ff_bias = nwi_config_bool(c, "ff_bias", true),
    };
    ltx->audio = (struct stream){
        .heads = nwi_config_int(c, "audio_num_attention_heads", 32),
        .head_dim = nwi_config_int(c, "audio_attention_head_dim", 64),
        .text = nwi_config_int_or_null(c, "audio_cross_attention_dim", 2048),
        .gated = nwi_config_bool(c, "audio_gated_attn", false),
        .modulated = nwi_config_bool(c, "audio_cross_attn_mod", false),
        .ff_bias = nwi_config_bool(c, "audio_ff_bias", true),
    };
    ltx->video.dim = ltx->video.heads * ltx->video.head_dim;
    ltx->audio.dim = ltx->audio.heads * ltx->audio.head_dim;
    ltx->bias = nwi_config_bool(c, "attention_bias", true);
    ltx->out_bias = nwi_config_bool(c, "attention_out_bias", true);
    ltx->gelu_gated = nwi_video_gated(c, "activation_fn", "gelu-approximate");
    ltx->affine = nwi_config_bool(c, "norm_elementwise_affine", false);
    nwi_ltx_check_norm(c);
    nwi_ltx_check_rope(c);
}

static int64_t read_out(struct nwi_config *c, const char *key, int64_t in)
{
    int64_t out = nwi_config_int_or_null(c, key, 128);
    return out == NWI_NULL || out == 0 ? in : out;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct ltx2 ltx;
    read(c, &ltx);
    int64_t in = nwi_config_int(c, "in_channels", 128);
    int64_t out = read_out(c, "out_channels", in);
    int64_t audio_in = nwi_config_int(c, "audio_in_channels", 128);
    int64_t audio_out = read_out(c, "audio_out_channels", audio_in);
    int64_t n_layers = nwi_config_count(c, "num_layers", 48);

    if (nwi_config_bool(c, "use_keyframes_abs_pos_embedding", false))
        nwi_parameter_filled(m, "keyframes_abs_pos_embedding",
                             NWI_DIMS(1, ltx.video.dim), NW_FILL_ZERO);
    nwi_parameter(m, "scale_shift_table", NWI_DIMS(2, ltx.video.dim));
    nwi_parameter(m, "audio_scale_shift_table", NWI_DIMS(2, ltx.audio.dim));
    nwi_linear(m, "proj_in", in, ltx.video.dim, true);
    nwi_linear(m, "audio_proj_in", audio_in, ltx.audio.dim, true);
    embedders(m, c, &ltx);
    for (int64_t i = 0; i < n_layers; i++)
        NWI_IN(m, "transformer_blocks.%lld", (long long)i)
        {
            block(m, &ltx);
        }
    nwi_linear(m, "proj_out", ltx.video.dim, out, true);
    nwi_linear(m, "audio_proj_out", ltx.audio.dim, audio_out, true);
}

/* ---- deriving ---- */

#define BLOCK "transformer_blocks.0."

/* Heads, where a gate counts them; else their number is the config's, or 32. */
static void derive_heads(struct nwi_config *c, const char *heads_key,
                         const char *head_dim_key, int64_t heads, int64_t dim)
{
    if (heads > 0) {
        nwi_config_derive(c, heads_key, heads);
        nwi_config_derive(c, head_dim_key, nwi_video_over(dim, heads));
    } else {
        nwi_video_derive_factor(c, head_dim_key, dim, heads_key, 32);
    }
}

static void derive_video(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "proj_in.weight", 1);
    int64_t dim = nwi_header_dim(h, "proj_in.weight", 0);
    nwi_config_derive(c, "in_channels", in);
    nwi_video_derive_out(c, "out_channels", in,
                         nwi_header_dim(h, "proj_out.weight", 0));
    derive_heads(c, "num_attention_heads", "attention_head_dim",
                 nwi_header_dim(h, BLOCK "attn1.to_gate_logits.weight", 0), dim);
    nwi_video_derive_out(c, "cross_attention_dim", dim,
                         nwi_header_dim(h, BLOCK "attn2.to_k.weight", 1));
    nwi_config_derive_bool(
        c, "cross_attn_mod",
        nwi_video_over(nwi_header_dim(h, "time_embed.linear.weight", 0), dim) == 9);
    nwi_config_derive_bool(c, "use_keyframes_abs_pos_embedding",
                           nwi_header_has(h, "keyframes_abs_pos_embedding"));
}

static void derive_audio(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "audio_proj_in.weight", 1);
    int64_t dim = nwi_header_dim(h, "audio_proj_in.weight", 0);
    int64_t heads = nwi_header_dim(h, BLOCK "audio_attn1.to_gate_logits.weight", 0);
    if (heads < 0)
        heads = nwi_header_dim(h, BLOCK "audio_to_video_attn.to_gate_logits.weight", 0);
    nwi_config_derive(c, "audio_in_channels", in);
    nwi_video_derive_out(c, "audio_out_channels", in,
                         nwi_header_dim(h, "audio_proj_out.weight", 0));
    derive_heads(c, "audio_num_attention_heads", "audio_attention_head_dim", heads,
                 dim);
    nwi_video_derive_out(c, "audio_cross_attention_dim", dim,
                         nwi_header_dim(h, BLOCK "audio_attn2.to_k.weight", 1));
    nwi_config_derive_bool(
        c, "audio_cross_attn_mod",
        nwi_video_over(nwi_header_dim(h, "audio_time_embed.linear.weight", 0), dim) ==
            9);
}

static void derive_block(struct nwi_config *c, const struct nwi_header *h)
{
    static const struct {
        const char *key;
        const char *tensor;
    } told[] = {
        {"gated_attn", BLOCK "attn1.to_gate_logits.weight"},
        {"audio_gated_attn", BLOCK "audio_attn1.to_gate_logits.weight"},
        {"attention_bias", BLOCK "attn1.to_q.bias"},
        {"attention_out_bias", BLOCK "attn1.to_out.0.bias"},
        {"norm_elementwise_affine", BLOCK "norm1.weight"},
        {"ff_bias", BLOCK "ff.net.2.bias"},
        {"audio_ff_bias", BLOCK "audio_ff.net.2.bias"},
    };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        nwi_config_derive_bool(c, told[i].key, nwi_header_has(h, told[i].tensor));
    nwi_video_derive_gate(c, "activation_fn", "gelu-approximate",
                          nwi_header_dim(h, BLOCK "ff.net.0.proj.weight", 0),
                          nwi_header_dim(h, BLOCK "ff.net.2.weight", 1));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t n_layers = nwi_header_count(h, "transformer_blocks.");
    int64_t caption = nwi_header_dim(h, "caption_projection.linear_1.weight", 1);
    derive_video(c, h);
    derive_audio(c, h);
    nwi_config_derive(c, "num_layers", n_layers);
    nwi_config_derive(c, "caption_channels", caption);
    nwi_config_derive_bool(c, "use_prompt_embeddings", caption >= 0);
    if (nwi_header_any(h, "prompt_adaln."))
        nwi_config_derive_bool(c, "use_prompt_adaln_single", true);
    else if (nwi_header_has(h, BLOCK "prompt_scale_shift_table"))
        nwi_config_derive_bool(c, "use_prompt_adaln_single", false);
    if (n_layers > 0)
        derive_block(c, h);
}

static const char *const plain_keys[] = {"audio_hop_length",
                                         "audio_patch_size",
                                         "audio_patch_size_t",
                                         "audio_pos_embed_max_pos",
                                         "audio_sampling_rate",
                                         "audio_scale_factor",
                                         "base_height",
                                         "base_width",
                                         "causal_offset",
                                         "cross_attn_timestep_scale_multiplier",
                                         "norm_eps",
                                         "patch_size",
                                         "patch_size_t",
                                         "perturbed_attn",
                                         "pos_embed_max_pos",
                                         "rope_double_precision",
                                         "rope_theta",
                                         "timestep_scale_multiplier",
                                         "vae_scale_factors",
                                         NULL};

const struct nwi_architecture nwi_arch_ltx2_video_transformer_3d = {
    .klass = "LTX2VideoTransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
