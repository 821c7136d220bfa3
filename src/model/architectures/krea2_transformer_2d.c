/* SPDX-License-Identifier: Apache-2.0
 * Krea2Transformer2DModel (diffusers 0.42.1, models/transformers/transformer_krea2.py):
 * Krea 2. Its norms scale by 1 + weight, so their weights begin as zeros. */
#include "model/architecture.h"
#include "model/blocks.h"
#include "model/blocks_dit.h"

struct stack {
    int64_t dim;
    int64_t heads;
    int64_t kv_heads; /* 0: heads */
    int64_t inner;    /* of the feed forward */
};

/* Attention whose result is gated; keys and values in groups. */
static void attention(struct nwi_module *m, const struct stack *stack)
{
    int64_t dim = stack->dim;
    int64_t head_dim = nwi_per_head(m->config, dim, stack->heads);
    int64_t kv = head_dim * (stack->kv_heads ? stack->kv_heads : stack->heads);
    NWI_IN(m, "attn")
    {
        nwi_linear(m, "to_q", dim, dim, false);
        nwi_linear(m, "to_k", dim, kv, false);
        nwi_linear(m, "to_v", dim, kv, false);
        nwi_linear(m, "to_gate", dim, dim, false);
        nwi_zero_norm(m, "norm_q", head_dim);
        nwi_zero_norm(m, "norm_k", head_dim);
        nwi_linear(m, "to_out.0", dim, dim, false);
    }
}

static void block(struct nwi_module *m, const struct stack *stack)
{
    nwi_zero_norm(m, "norm1", stack->dim);
    nwi_zero_norm(m, "norm2", stack->dim);
    attention(m, stack);
    NWI_IN(m, "ff")
    {
        nwi_linear(m, "gate", stack->dim, stack->inner, false);
        nwi_linear(m, "up", stack->dim, stack->inner, false);
        nwi_linear(m, "down", stack->inner, stack->dim, false);
    }
}

static void fusion_blocks(struct nwi_module *m, const char *name, int64_t n,
                          const struct stack *text)
{
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "%s.%lld", name, (long long)i)
        {
            block(m, text);
        }
}

/* Blocks over the text encoder's layers, which are then added up, and blocks over that. */
static void text_fusion(struct nwi_module *m, struct nwi_config *c,
                        const struct stack *text)
{
    int64_t n_layers = nwi_config_int(c, "num_text_layers", 12);
    int64_t n_layerwise = nwi_config_count(c, "num_layerwise_text_blocks", 2);
    int64_t n_refiner = nwi_config_count(c, "num_refiner_text_blocks", 2);
    NWI_IN(m, "text_fusion")
    {
        fusion_blocks(m, "layerwise_blocks", n_layerwise, text);
        nwi_linear(m, "projector", n_layers, 1, false);
        fusion_blocks(m, "refiner_blocks", n_refiner, text);
    }
}

static void final_layer(struct nwi_module *m, int64_t dim, int64_t out)
{
    NWI_BLOCK(m, "final_layer")
    {
        nwi_parameter_filled(m, "scale_shift_table", NWI_DIMS(2, dim), NW_FILL_ZERO);
        nwi_zero_norm(m, "norm", dim);
        nwi_linear(m, "linear", dim, out, true);
    }
}

static int64_t read_kv_heads(struct nwi_config *c, const char *key, int64_t fallback)
{
    int64_t heads = nwi_config_int_or_null(c, key, fallback);
    if (heads == NWI_NULL)
        return 0;
    if (heads <= 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is %lld", key,
                        (long long)heads);
    return heads;
}

static struct stack read_text(struct nwi_config *c)
{
    struct stack text = {
        .dim = nwi_config_int(c, "text_hidden_dim", 2560),
        .heads = nwi_config_int(c, "text_num_attention_heads", 20),
        .kv_heads = read_kv_heads(c, "text_num_key_value_heads", 20),
        .inner = nwi_config_int(c, "text_intermediate_size", 6912),
    };
    if (text.dim != text.heads * nwi_per_head(c, text.dim, text.heads))
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "text_hidden_dim is no multiple of text_num_attention_heads");
    return text;
}

static struct stack read_main(struct nwi_config *c)
{
    static const int64_t usual[] = {32, 48, 48};
    int64_t head_dim = nwi_config_int(c, "attention_head_dim", 128);
    struct stack stack = {
        .heads = nwi_config_int(c, "num_attention_heads", 48),
        .kv_heads = read_kv_heads(c, "num_key_value_heads", 12),
        .inner = nwi_config_int(c, "intermediate_size", 16384),
    };
    int64_t turned = nwi_rope_axes(c, (struct nwi_rope_axes){.key = "axes_dims_rope",
                                                             .fallback = usual,
                                                             .n_fallback = 3});
    if (turned != head_dim)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "axes_dims_rope adds up to %lld, attention_head_dim is %lld",
                        (long long)turned, (long long)head_dim);
    stack.dim = stack.heads * head_dim;
    return stack;
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    int64_t in = nwi_config_int(c, "in_channels", 64);
    int64_t n = nwi_config_count(c, "num_layers", 28);
    int64_t time = nwi_config_int(c, "timestep_embed_dim", 256);
    struct stack stack = read_main(c);
    struct stack text = read_text(c);

    nwi_linear(m, "img_in", in, stack.dim, true);
    nwi_two_linears(m, "time_embed", time, stack.dim, stack.dim);
    nwi_linear(m, "time_mod_proj", stack.dim, 6 * stack.dim, true);
    text_fusion(m, c, &text);
    NWI_IN(m, "txt_in")
    {
        nwi_zero_norm(m, "norm", text.dim);
        nwi_linear(m, "linear_1", text.dim, stack.dim, true);
        nwi_linear(m, "linear_2", stack.dim, stack.dim, true);
    }
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "transformer_blocks.%lld", (long long)i)
        {
            nwi_parameter_filled(m, "scale_shift_table", NWI_DIMS(6, stack.dim),
                                 NW_FILL_ZERO);
            block(m, &stack);
        }
    final_layer(m, stack.dim, in);
}

static void derive_text(struct nwi_config *c, const struct nwi_header *h)
{
    static const char layerwise[] = "text_fusion.layerwise_blocks.0.";
    bool first = nwi_header_any(h, layerwise);
    int64_t dim = nwi_header_dim(h, "txt_in.linear_1.weight", 1);
    int64_t head_dim =
        nwi_header_dim(h,
                       first ? "text_fusion.layerwise_blocks.0.attn.norm_q.weight"
                             : "text_fusion.refiner_blocks.0.attn.norm_q.weight",
                       0);
    int64_t kv =
        nwi_header_dim(h,
                       first ? "text_fusion.layerwise_blocks.0.attn.to_k.weight"
                             : "text_fusion.refiner_blocks.0.attn.to_k.weight",
                       0);
    int64_t inner = nwi_header_dim(h,
                                   first ? "text_fusion.layerwise_blocks.0.ff.up.weight"
                                         : "text_fusion.refiner_blocks.0.ff.up.weight",
                                   0);
    nwi_config_derive(c, "text_hidden_dim", dim);
    nwi_config_derive(c, "text_num_attention_heads", nwi_quotient(dim, head_dim));
    nwi_config_derive(c, "text_num_key_value_heads", nwi_quotient(kv, head_dim));
    nwi_config_derive(c, "text_intermediate_size", inner);
    nwi_config_derive(c, "num_text_layers",
                      nwi_header_dim(h, "text_fusion.projector.weight", 1));
    nwi_config_derive(c, "num_layerwise_text_blocks",
                      nwi_header_count(h, "text_fusion.layerwise_blocks."));
    nwi_config_derive(c, "num_refiner_text_blocks",
                      nwi_header_count(h, "text_fusion.refiner_blocks."));
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    int64_t dim = nwi_header_dim(h, "img_in.weight", 0);
    int64_t head_dim = nwi_header_dim(h, "transformer_blocks.0.attn.norm_q.weight", 0);
    int64_t kv = nwi_header_dim(h, "transformer_blocks.0.attn.to_k.weight", 0);
    nwi_config_derive(c, "in_channels", nwi_header_dim(h, "img_in.weight", 1));
    nwi_config_derive(c, "num_layers", nwi_header_count(h, "transformer_blocks."));
    nwi_config_derive(c, "attention_head_dim", head_dim);
    nwi_config_derive(c, "num_attention_heads", nwi_quotient(dim, head_dim));
    nwi_config_derive(c, "num_key_value_heads", nwi_quotient(kv, head_dim));
    nwi_config_derive(c, "intermediate_size",
                      nwi_header_dim(h, "transformer_blocks.0.ff.up.weight", 0));
    nwi_config_derive(c, "timestep_embed_dim",
                      nwi_header_dim(h, "time_embed.linear_1.weight", 1));
    derive_text(c, h);
}

static const char *const plain_keys[] = {"rope_theta", "norm_eps", NULL};
static const char *const keep_fp32[] = {"norm",   "norm1",  "norm2",
                                        "norm_q", "norm_k", NULL};

const struct nwi_architecture nwi_arch_krea2_transformer_2d = {
    .klass = "Krea2Transformer2DModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
    .keep_fp32 = keep_fp32,
    .plain_keys = plain_keys,
};
