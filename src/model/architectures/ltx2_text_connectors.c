/* SPDX-License-Identifier: Apache-2.0
 * LTX2TextConnectors (diffusers 0.42.1, pipelines/ltx2/connectors.py): what stands between
 * LTX-2's text encoder and its transformer, one for video and one for audio. */
#include <stdio.h>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_ltx_dit.h"

struct connector {
    int64_t heads;
    int64_t head_dim;
    int64_t n_layers;
    int64_t registers; /* learnt tokens that fill up the text, or NWI_NULL */
    bool gated;
};

static void block(struct nwi_module *m, const struct connector *k)
{
    int64_t dim = k->heads * k->head_dim;
    nwi_ltx_attention(m, "attn1",
                      (struct nwi_ltx_attention){.query = dim,
                                                 .context = NWI_NULL,
                                                 .heads = k->heads,
                                                 .head_dim = k->head_dim,
                                                 .bias = true,
                                                 .out_bias = true,
                                                 .gated = k->gated});
    nwi_feed_forward(m, "ff", (struct nwi_feed_forward){.dim = dim});
}

static void connector(struct nwi_module *m, const char *name, const struct connector *k)
{
    if (k->registers != NWI_NULL)
        NWI_IN(m, "%s", name)
        {
            nwi_parameter(m, "learnable_registers",
                          NWI_DIMS(k->registers, k->heads * k->head_dim));
        }
    for (int64_t i = 0; i < k->n_layers; i++)
        NWI_IN(m, "%s.transformer_blocks.%lld", name, (long long)i)
        {
            block(m, k);
        }
}

/* Projections from all layers of the text encoder at once. */
static void projections(struct nwi_module *m, struct nwi_config *c)
{
    int64_t caption = nwi_config_int(c, "caption_channels", 3840);
    int64_t in = caption * nwi_config_int(c, "text_proj_in_factor", 49);
    bool bias = nwi_config_bool(c, "proj_bias", false);
    int64_t video = nwi_config_int(c, "video_hidden_dim", 4096);
    int64_t audio = nwi_config_int(c, "audio_hidden_dim", 2048);
    if (nwi_config_bool(c, "per_modality_projections", false)) {
        nwi_linear(m, "video_text_proj_in", in, video, bias);
        nwi_linear(m, "audio_text_proj_in", in, audio, bias);
    } else {
        nwi_linear(m, "text_proj_in", in, caption, bias);
    }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct connector video = {
        .heads = nwi_config_int(c, "video_connector_num_attention_heads", 30),
        .head_dim = nwi_config_int(c, "video_connector_attention_head_dim", 128),
        .n_layers = nwi_config_count(c, "video_connector_num_layers", 2),
        .registers =
            nwi_config_int_or_null(c, "video_connector_num_learnable_registers", 128),
        .gated = nwi_config_bool(c, "video_gated_attn", false),
    };
    struct connector audio = {
        .heads = nwi_config_int(c, "audio_connector_num_attention_heads", 30),
        .head_dim = nwi_config_int(c, "audio_connector_attention_head_dim", 128),
        .n_layers = nwi_config_count(c, "audio_connector_num_layers", 2),
        .registers =
            nwi_config_int_or_null(c, "audio_connector_num_learnable_registers", 128),
        .gated = nwi_config_bool(c, "audio_gated_attn", false),
    };
    nwi_ltx_check_rope(c);
    projections(m, c);
    connector(m, "video_connector", &video);
    connector(m, "audio_connector", &audio);
}

/* ---- deriving ---- */

/* The config keys of a connector. */
struct keys {
    const char *heads;
    const char *head_dim;
    const char *layers;
    const char *registers;
    const char *gated;
};

static int64_t dim_of(const struct nwi_header *h, const char *connector,
                      const char *name, int dim)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s.%s", connector, name);
    return nwi_header_dim(h, path, dim);
}

static void derive_connector(struct nwi_config *c, const struct nwi_header *h,
                             const char *name, const struct keys *keys)
{
    char blocks[64];
    int64_t registers = dim_of(h, name, "learnable_registers", 0);
    int64_t dim = dim_of(h, name, "transformer_blocks.0.attn1.norm_q.weight", 0);
    int64_t heads =
        dim_of(h, name, "transformer_blocks.0.attn1.to_gate_logits.weight", 0);
    (void)snprintf(blocks, sizeof blocks, "%s.transformer_blocks.", name);
    nwi_config_derive(c, keys->layers, nwi_header_count(h, blocks));
    if (registers >= 0)
        nwi_config_derive(c, keys->registers, registers);
    else
        nwi_config_derive_null(c, keys->registers);
    if (dim < 0)
        dim = dim_of(h, name, "learnable_registers", 1);
    else
        nwi_config_derive_bool(c, keys->gated, heads >= 0);
    if (heads >= 0) {
        nwi_config_derive(c, keys->heads, heads);
        nwi_config_derive(c, keys->head_dim, nwi_video_over(dim, heads));
    } else {
        nwi_video_derive_factor(c, keys->heads, dim, keys->head_dim, 128);
    }
}

static void derive_projections(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t in = nwi_header_dim(h, "text_proj_in.weight", 1);
    int64_t caption = nwi_header_dim(h, "text_proj_in.weight", 0);
    int64_t video = nwi_header_dim(h, "video_text_proj_in.weight", 0);
    nwi_config_derive_bool(c, "per_modality_projections", video >= 0);
    nwi_config_derive_bool(c, "proj_bias",
                           nwi_header_has(h, "text_proj_in.bias") ||
                               nwi_header_has(h, "video_text_proj_in.bias"));
    nwi_config_derive(c, "caption_channels", caption);
    nwi_config_derive(c, "text_proj_in_factor", nwi_video_over(in, caption));
    if (video < 0)
        return;
    nwi_config_derive(c, "video_hidden_dim", video);
    nwi_config_derive(c, "audio_hidden_dim",
                      nwi_header_dim(h, "audio_text_proj_in.weight", 0));
    nwi_video_derive_factor(c, "text_proj_in_factor",
                            nwi_header_dim(h, "video_text_proj_in.weight", 1),
                            "caption_channels", 3840);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    static const struct keys video = {
        "video_connector_num_attention_heads", "video_connector_attention_head_dim",
        "video_connector_num_layers", "video_connector_num_learnable_registers",
        "video_gated_attn"};
    static const struct keys audio = {
        "audio_connector_num_attention_heads", "audio_connector_attention_head_dim",
        "audio_connector_num_layers", "audio_connector_num_learnable_registers",
        "audio_gated_attn"};
    derive_projections(c, h);
    derive_connector(c, h, "video_connector", &video);
    derive_connector(c, h, "audio_connector", &audio);
}

static const char *const plain_keys[] = {"causal_temporal_positioning",
                                         "connector_rope_base_seq_len",
                                         "rope_double_precision", "rope_theta", NULL};

const struct nwi_architecture nwi_arch_ltx2_text_connectors = {
    .klass = "LTX2TextConnectors",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .plain_keys = plain_keys,
};
