/* SPDX-License-Identifier: Apache-2.0
 * Z-Image's blocks and patch embedders (diffusers 0.42.1). */
#include "model/blocks_z_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/blocks_attention.h"
#include "model/blocks_dit.h"

struct nwi_z_image nwi_z_image_read(struct nwi_config *config)
{
    struct nwi_z_image z = {
        .dim = nwi_config_int(config, "dim", 3840),
        .heads = nwi_config_int(config, "n_heads", 30),
        .qk_norm = nwi_config_bool(config, "qk_norm", true),
    };
    z.head_dim = nwi_per_head(config, z.dim, z.heads);
    z.condition = z.dim < NWI_Z_IMAGE_CONDITION ? z.dim : NWI_Z_IMAGE_CONDITION;
    return z;
}

void nwi_z_image_block(struct nwi_module *m, const struct nwi_z_image *z,
                       bool modulation)
{
    int64_t dim = z->dim;
    int64_t inner = (int64_t)((double)dim / 3 * 8);
    nwi_attention(
        m, "attention",
        (struct nwi_attention){.dim = dim,
                               .heads = z->heads,
                               .head_dim = z->head_dim,
                               .qk_norm = z->qk_norm ? NWI_QK_RMS : NWI_QK_NONE,
                               .no_out_bias = true});
    NWI_IN(m, "feed_forward")
    {
        nwi_linear(m, "w1", dim, inner, false);
        nwi_linear(m, "w2", inner, dim, false);
        nwi_linear(m, "w3", dim, inner, false);
    }
    nwi_rms_norm(m, "attention_norm1", dim);
    nwi_rms_norm(m, "ffn_norm1", dim);
    nwi_rms_norm(m, "attention_norm2", dim);
    nwi_rms_norm(m, "ffn_norm2", dim);
    if (modulation)
        nwi_linear(m, "adaLN_modulation.0", z->condition, 4 * dim, true);
}

void nwi_z_image_blocks(struct nwi_module *m, const char *name, int64_t n,
                        const struct nwi_z_image *z, bool modulation)
{
    for (int64_t i = 0; i < n; i++)
        NWI_BLOCK(m, "%s.%lld", name, (long long)i)
        {
            nwi_z_image_block(m, z, modulation);
        }
}

/* ---- patches ---- */

void nwi_z_image_patches(struct nwi_config *config, bool equal,
                         struct nwi_z_image_patches *out)
{
    static const int64_t space[] = {2};
    static const int64_t time[] = {1};
    nwi_config_ints_or(config, "all_patch_size", space, 1, &out->space);
    nwi_config_ints_or(config, "all_f_patch_size", time, 1, &out->time);
    out->n = out->space.n < out->time.n ? out->space.n : out->time.n;
    if (out->space.scalar || out->time.scalar || (equal && out->space.n != out->time.n))
        nwi_config_fail(
            config, NW_E_BAD_CONFIG,
            "all_patch_size and all_f_patch_size are no lists of one length");
    for (size_t i = 0; i < out->n; i++) {
        if (out->space.at[i] < 0 || out->time.at[i] < 0)
            nwi_config_fail(config, NW_E_BAD_CONFIG, "a patch size below 0, or null");
    }
}

bool nwi_z_image_patch_is_new(const struct nwi_z_image_patches *patches, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (patches->space.at[k] == patches->space.at[i] &&
            patches->time.at[k] == patches->time.at[i])
            return false;
    }
    return true;
}

int64_t nwi_z_image_patch_width(struct nwi_config *config,
                                const struct nwi_z_image_patches *patches, size_t i,
                                int64_t channels)
{
    int64_t space = patches->space.at[i];
    if (config->code != NW_OK)
        return 0;
    return nwi_product(config, space, space, patches->time.at[i], channels);
}

void nwi_z_image_embedders(struct nwi_module *m, const char *name,
                           const struct nwi_z_image_patches *patches, int64_t channels,
                           int64_t dim)
{
    char pair[48];
    for (size_t i = 0; i < patches->n; i++) {
        int64_t width = nwi_z_image_patch_width(m->config, patches, i, channels);
        if (!nwi_z_image_patch_is_new(patches, i))
            continue;
        (void)snprintf(pair, sizeof pair, "%" PRId64 "-%" PRId64, patches->space.at[i],
                       patches->time.at[i]);
        NWI_IN(m, "%s", name)
        {
            nwi_linear(m, pair, width, dim, true);
        }
    }
}

/* ---- deriving ---- */

/* A number of at most four digits; what follows it, or NULL. */
static const char *read_number(const char *text, int64_t *out)
{
    size_t n = 0;
    for (*out = 0; n < 4 && text[n] >= '0' && text[n] <= '9'; n++)
        *out = *out * 10 + (text[n] - '0');
    return n ? text + n : NULL;
}

/* "2-1.weight": patch size and frames of an embedder. */
static bool read_patch(const char *text, int64_t *p, int64_t *f)
{
    const char *at = read_number(text, p);
    at = at && *at == '-' ? read_number(at + 1, f) : NULL;
    return at && strcmp(at, ".weight") == 0;
}

static void derive_patches(struct nwi_config *c, const struct nwi_header *h,
                           struct nwi_z_image_names names)
{
    int64_t space[NWI_CONFIG_LIST];
    int64_t time[NWI_CONFIG_LIST];
    size_t size = strlen(names.embedders);
    size_t n = 0;
    for (size_t i = 0; i < h->n && n < NWI_CONFIG_LIST; i++) {
        const struct nwi_header_row *row = &h->rows[i];
        int64_t p = 0;
        int64_t f = 0;
        if (strncmp(row->name, names.embedders, size) != 0 || row->rank != 2 ||
            !read_patch(row->name + size, &p, &f))
            continue;
        space[n] = p;
        time[n++] = f;
        if (row->shape[1] <= INT64_MAX)
            nwi_config_derive(c, names.channels,
                              nwi_quotient((int64_t)row->shape[1], p * p * f));
    }
    if (n == 0)
        return;
    nwi_config_derive_ints(c, "all_patch_size", space, n);
    nwi_config_derive_ints(c, "all_f_patch_size", time, n);
}

static int64_t block_dim(const struct nwi_header *h, const char *block,
                         const char *name, int dim)
{
    char path[128];
    int size = snprintf(path, sizeof path, "%s%s", block, name);
    return size > 0 && (size_t)size < sizeof path ? nwi_header_dim(h, path, dim) : -1;
}

void nwi_z_image_derive(struct nwi_config *config, const struct nwi_header *header,
                        struct nwi_z_image_names names)
{
    int64_t dim = block_dim(header, names.block, "attention_norm1.weight", 0);
    int64_t q = block_dim(header, names.block, "attention.to_q.weight", 0);
    int64_t head_dim = block_dim(header, names.block, "attention.norm_q.weight", 0);
    derive_patches(config, header, names);
    nwi_config_derive(config, "dim", dim);
    nwi_config_derive(config, "n_heads", nwi_quotient(q, head_dim));
    if (dim > 0)
        nwi_config_derive_bool(config, "qk_norm", head_dim > 0);
}
