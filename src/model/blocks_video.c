/* SPDX-License-Identifier: Apache-2.0
 * Shared by video transformers, as diffusers 0.42.1 has them (models/attention.py,
 * models/normalization.py). */
#include "model/blocks_video.h"

#include <string.h>

#include "model/blocks.h"
#include "model/blocks_dit.h"

#define SIDE_MOST 4096

static int64_t check_side(struct nwi_config *c, const char *key, int64_t side)
{
    if (side >= 1 && side <= SIDE_MOST)
        return side;
    nwi_config_fail(c, side < 1 ? NW_E_BAD_CONFIG : NW_E_LIMIT,
                    "\"%s\" of the config is %lld", key, (long long)side);
    return 1;
}

struct nwi_patch nwi_video_patch(struct nwi_config *c, const char *key)
{
    static const int64_t usual[] = {1, 2, 2};
    struct nwi_patch patch = {.volume = 1};
    struct nwi_config_ints sides;
    nwi_config_ints_or(c, key, usual, 3, &sides);
    if (sides.n != 3)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config has %zu numbers", key,
                        sides.n);
    for (size_t i = 0; i < 3; i++) {
        patch.at[i] = i < sides.n ? check_side(c, key, sides.at[i]) : 1;
        patch.volume *= patch.at[i];
    }
    return patch;
}

int64_t nwi_video_patch_side(struct nwi_config *c, const char *key, int64_t fallback)
{
    return check_side(c, key, nwi_config_int(c, key, fallback));
}

int64_t nwi_video_mlp(struct nwi_config *c, int64_t dim)
{
    double ratio = nwi_config_real(c, "mlp_ratio", 4);
    int64_t inner = nwi_scaled(c, ratio, dim);
    if (inner == 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"mlp_ratio\" of the config is %g", ratio);
    return inner;
}

bool nwi_video_gated(struct nwi_config *c, const char *key, const char *fallback)
{
    static const char *const plain[] = {"gelu", "gelu-approximate", "geglu-approximate",
                                        "linear-silu"};
    const char *name = nwi_config_text(c, key, fallback);
    for (size_t i = 0; name && i < sizeof plain / sizeof *plain; i++) {
        if (strcmp(name, plain[i]) == 0)
            return false;
    }
    if (name && (strcmp(name, "geglu") == 0 || strcmp(name, "swiglu") == 0))
        return true;
    nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is \"%s\"", key,
                    name ? name : "null");
    return false;
}

void nwi_video_ada_single(struct nwi_module *m, const char *name, int64_t dim,
                          int64_t parts)
{
    NWI_IN(m, "%s", name)
    {
        nwi_two_linears(m, "emb.timestep_embedder", 256, dim, dim);
        nwi_linear(m, "linear", dim, parts * dim, true);
    }
}

int64_t nwi_video_over(int64_t n, int64_t by)
{
    return n > 0 && by > 0 && n % by == 0 ? n / by : -1;
}

void nwi_video_derive_factor(struct nwi_config *c, const char *key, int64_t product,
                             const char *other, int64_t usual)
{
    nwi_config_derive(c, key, nwi_video_over(product, nwi_config_int(c, other, usual)));
}

void nwi_video_derive_out(struct nwi_config *c, const char *key, int64_t in,
                          int64_t out)
{
    int64_t said = nwi_config_int_or_null(c, key, out);
    if ((said == NWI_NULL || said == 0) && in == out)
        return;
    nwi_config_derive(c, key, out);
}

void nwi_video_derive_gate(struct nwi_config *c, const char *key, const char *fallback,
                           int64_t proj, int64_t back)
{
    bool gated = back > 0 && nwi_video_over(proj, back) == 2;
    if (back > 0 && nwi_video_gated(c, key, fallback) != gated)
        nwi_config_derive_text(c, key, gated ? "geglu" : "gelu-approximate");
}
