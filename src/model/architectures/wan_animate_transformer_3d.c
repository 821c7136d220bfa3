/* SPDX-License-Identifier: Apache-2.0
 * WanAnimateTransformer3DModel (diffusers 0.42.1,
 * models/transformers/transformer_wan_animate.py): Wan 2.1 with a pose, and a face whose
 * motion every few blocks attend to. */
#include "base/arena.h"
#include "model/architecture.h"
#include "model/blocks_wan_dit.h"

#define FACE_KERNEL   3
#define BLUR_KERNEL   4
#define MOTION_LINEAR 5 /* layers of the motion network */

/* ---- channels ---- */

/* Tokens are made of a latent, one more to go by, and a mask of 4 channels. */
static int64_t latent_of(int64_t in)
{
    return in < 4 ? -1 : (in - 4) / 2;
}

static int64_t read_channels(struct nwi_config *c, struct nwi_wan_dit *wan)
{
    int64_t latent = nwi_config_int_or_null(c, "latent_channels", 16);
    wan->in = nwi_config_int_or_null(c, "in_channels", 36);
    wan->out = nwi_config_int_or_null(c, "out_channels", 16);
    if (wan->in == NWI_NULL && latent == NWI_NULL) {
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config has neither in_channels nor latent_channels");
        wan->in = latent = 0;
    }
    if (wan->in == NWI_NULL)
        wan->in = 2 * latent + 4;
    else if (latent == NWI_NULL)
        latent = latent_of(wan->in);
    else if (wan->in != 2 * latent + 4)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "the config has %lld in_channels for %lld latent_channels",
                        (long long)wan->in, (long long)latent);
    if (wan->out == NWI_NULL || wan->out == 0)
        wan->out = latent;
    return latent;
}

/* ---- the face ---- */

struct face {
    int64_t size; /* of the picture, squared */
    int64_t style;
    int64_t motion;
    int64_t out;
    int64_t hidden;
    int64_t heads;
};

static int64_t log2_of(int64_t size)
{
    int64_t log = 0;
    while (size >> (log + 1) > 0)
        log++;
    return log;
}

/* Channels where the picture has that size, by the config's table or the class's own. */
static int64_t channels_at(struct nwi_config *c, int64_t size)
{
    struct nwi_config table;
    int64_t usual = size > 32 ? 16384 / size : 512;
    if (size < 4 || size > 1024 || (size & (size - 1)) != 0)
        usual = -1;
    if (!nwi_config_has(c, "motion_encoder_channel_sizes"))
        return usual;
    const char *key = nwi_arena_printf(c->arena, "%lld", (long long)size);
    if (!key) {
        nwi_config_fail(c, NW_E_NOMEM, "no memory for a key");
        return -1;
    }
    nwi_config_inner(c, "motion_encoder_channel_sizes", &table);
    int64_t channels = nwi_config_int(&table, key, -1);
    nwi_config_join(c, &table);
    return channels;
}

static void motion_conv(struct nwi_module *m, const char *name, struct nwi_dims dims,
                        bool blur, bool active)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter(m, "weight", dims);
        if (blur)
            nwi_scratch_buffer(m, "blur_kernel", NWI_DIMS(BLUR_KERNEL, BLUR_KERNEL));
        if (active)
            nwi_parameter_filled(m, "act_fn.bias", NWI_DIMS(dims.at[0]), NW_FILL_ZERO);
    }
}

static void motion_block(struct nwi_module *m, int64_t in, int64_t out)
{
    motion_conv(m, "conv1", NWI_DIMS(in, in, 3, 3), false, true);
    motion_conv(m, "conv2", NWI_DIMS(out, in, 3, 3), true, true);
    motion_conv(m, "conv_skip", NWI_DIMS(out, in, 1, 1), true, false);
}

/* Halves the picture until it is 4 wide, then a few linear layers. */
static void motion_encoder(struct nwi_module *m, struct nwi_config *c,
                           const struct face *face)
{
    int64_t in = channels_at(c, face->size);
    nwi_parameter(m, "motion_synthesis_weight", NWI_DIMS(face->out, face->motion));
    motion_conv(m, "conv_in", NWI_DIMS(in, 3, 1, 1), false, true);
    int64_t log = log2_of(face->size);
    for (int64_t i = 0; i + 2 < log; i++) {
        int64_t out = channels_at(c, (int64_t)1 << (log - i - 1));
        NWI_BLOCK(m, "res_blocks.%lld", (long long)i)
        {
            motion_block(m, in, out);
        }
        in = out;
    }
    motion_conv(m, "conv_out", NWI_DIMS(face->style, in, 4, 4), false, false);
    for (int64_t i = 0; i < MOTION_LINEAR; i++)
        NWI_IN(m, "motion_network.%lld", (long long)i)
        {
            int64_t out = i + 1 < MOTION_LINEAR ? face->style : face->motion;
            nwi_parameter(m, "weight", NWI_DIMS(out, face->style));
            nwi_parameter_filled(m, "bias", NWI_DIMS(out), NW_FILL_ZERO);
        }
}

static void face_encoder(struct nwi_module *m, const struct face *face, int64_t dim)
{
    int64_t hidden = face->hidden;
    nwi_parameter_filled(m, "padding_tokens", NWI_DIMS(1, 1, 1, dim), NW_FILL_ZERO);
    nwi_conv1d(m, "conv1_local", face->out, hidden * face->heads, FACE_KERNEL, true);
    nwi_conv1d(m, "conv2", hidden, hidden, FACE_KERNEL, true);
    nwi_conv1d(m, "conv3", hidden, hidden, FACE_KERNEL, true);
    nwi_linear(m, "out_proj", hidden, dim, true);
}

static void face_attention(struct nwi_module *m, const struct nwi_wan_dit *wan)
{
    nwi_linear(m, "to_q", wan->dim, wan->dim, true);
    nwi_linear(m, "to_k", wan->dim, wan->dim, true);
    nwi_linear(m, "to_v", wan->dim, wan->dim, true);
    nwi_linear(m, "to_out", wan->dim, wan->dim, true);
    nwi_rms_norm(m, "norm_q", wan->head_dim);
    nwi_rms_norm(m, "norm_k", wan->head_dim);
}

/* ---- the model ---- */

static void read_face(struct nwi_config *c, struct face *face)
{
    face->size = nwi_config_int(c, "motion_encoder_size", 512);
    face->style = nwi_config_int(c, "motion_style_dim", 512);
    face->motion = nwi_config_int(c, "motion_dim", 20);
    face->out = nwi_config_int(c, "motion_encoder_dim", 512);
    face->hidden = nwi_config_int(c, "face_encoder_hidden_dim", 1024);
    face->heads = nwi_config_int(c, "face_encoder_num_heads", 4);
}

static int64_t count_adapters(int64_t n_layers, int64_t every)
{
    return every > 0 ? n_layers / every : 0;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_wan_dit wan = {
        .heads = 40, .ffn = 13824, .n_layers = 40, .in = NWI_NULL, .image = 1280};
    struct face face;
    nwi_wan_dit_read(c, &wan);
    read_face(c, &face);
    int64_t latent = read_channels(c, &wan);
    int64_t every = nwi_config_int(c, "inject_face_latents_blocks", 5);
    if (every == 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"inject_face_latents_blocks\" of the config is 0");

    nwi_wan_dit_start(m, &wan);
    nwi_wan_dit_patch(m, "patch_embedding", &wan, wan.in);
    nwi_wan_dit_patch(m, "pose_patch_embedding", &wan, latent);
    nwi_wan_dit_condition(m, &wan);
    NWI_IN(m, "motion_encoder")
    {
        motion_encoder(m, c, &face);
    }
    NWI_IN(m, "face_encoder")
    {
        face_encoder(m, &face, wan.dim);
    }
    nwi_wan_dit_blocks(m, &wan);
    for (int64_t i = 0; i < count_adapters(wan.n_layers, every); i++)
        NWI_IN(m, "face_adapter.%lld", (long long)i)
        {
            face_attention(m, &wan);
        }
    nwi_wan_dit_output(m, &wan);
}

/* ---- deriving ---- */

/* Values of which shapes tell less than the value: the config's own stays if it fits. */
static void derive_counts(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t n_layers = nwi_header_count(h, "blocks.");
    int64_t n_faces = nwi_header_count(h, "face_adapter.");
    int64_t n_halved = nwi_header_count(h, "motion_encoder.res_blocks.");
    int64_t every = nwi_config_int(c, "inject_face_latents_blocks", 5);
    int64_t size = nwi_config_int(c, "motion_encoder_size", 512);
    if (count_adapters(n_layers, every) != n_faces)
        nwi_config_derive(c, "inject_face_latents_blocks",
                          n_faces > 0 ? n_layers / n_faces : n_layers + 1);
    if (nwi_header_has(h, "motion_encoder.conv_in.weight") && n_halved < 16 &&
        log2_of(size) != n_halved + 2)
        nwi_config_derive(c, "motion_encoder_size", (int64_t)4 << n_halved);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t head_dim = nwi_header_dim(h, "face_adapter.0.norm_q.weight", 0);
    int64_t dim = nwi_header_dim(h, "patch_embedding.weight", 0);
    int64_t hidden = nwi_header_dim(h, "face_encoder.conv2.weight", 0);
    int64_t in = nwi_header_dim(h, "patch_embedding.weight", 1);
    int64_t latent = nwi_header_dim(h, "pose_patch_embedding.weight", 1);
    nwi_wan_dit_derive(c, h);
    derive_counts(c, h);
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", nwi_video_over(dim, head_dim));
    if (in % 2 == 0 && latent == latent_of(in))
        nwi_config_derive(c, "latent_channels", latent);
    else if (latent >= 0)
        nwi_config_derive_null(c, "latent_channels");
    nwi_config_derive(c, "motion_style_dim",
                      nwi_header_dim(h, "motion_encoder.conv_out.weight", 0));
    nwi_config_derive(c, "motion_dim",
                      nwi_header_dim(h, "motion_encoder.motion_synthesis_weight", 1));
    nwi_config_derive(c, "motion_encoder_dim",
                      nwi_header_dim(h, "motion_encoder.motion_synthesis_weight", 0));
    nwi_config_derive(c, "face_encoder_hidden_dim", hidden);
    nwi_config_derive(
        c, "face_encoder_num_heads",
        nwi_video_over(nwi_header_dim(h, "face_encoder.conv1_local.weight", 0),
                       hidden));
}

static const char *const keep_fp32[] = {
    "time_embedder", "scale_shift_table",       "norm1", "norm2",
    "norm3",         "motion_synthesis_weight", "rope",  NULL};
static const char *const harmless[] = {"blocks.*.attn2.norm_added_q.*", NULL};
static const char *const plain_keys[] = {"eps", "motion_encoder_batch_size", "qk_norm",
                                         NULL};

const struct nwi_architecture nwi_arch_wan_animate_transformer_3d = {
    .klass = "WanAnimateTransformer3DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .harmless = harmless,
    .plain_keys = plain_keys,
};
