/* SPDX-License-Identifier: Apache-2.0
 * What several diffusion transformers of diffusers 0.42.1 need. */
#include "model/blocks_dit.h"

#define SIZE_MOST ((int64_t)1 << 60)

void nwi_zero_linear(struct nwi_module *m, const char *name, int64_t in, int64_t out)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter_filled(m, "weight", NWI_DIMS(out, in), NW_FILL_ZERO);
        nwi_parameter_filled(m, "bias", NWI_DIMS(out), NW_FILL_ZERO);
    }
}

void nwi_zero_norm(struct nwi_module *m, const char *name, int64_t dim)
{
    NWI_IN(m, "%s", name)
    {
        nwi_parameter_filled(m, "weight", NWI_DIMS(dim), NW_FILL_ZERO);
    }
}

int64_t nwi_scaled(struct nwi_config *config, double ratio, int64_t dim)
{
    double size = ratio * (double)dim;
    if (size > -1 && size <= (double)SIZE_MOST)
        return (int64_t)size;
    nwi_config_fail(config, NW_E_BAD_CONFIG, "the config makes a width of %g", size);
    return 0;
}

int64_t nwi_product(struct nwi_config *config, int64_t a, int64_t b, int64_t c,
                    int64_t d)
{
    int64_t size = a * b * c;
    if (d == 0 ||
        (size <= SIZE_MOST / (d < 0 ? -d : d) && size >= -SIZE_MOST / (d < 0 ? -d : d)))
        return size * d;
    nwi_config_fail(config, NW_E_BAD_CONFIG, "the config makes a width above 2^60");
    return 0;
}

int64_t nwi_per_head(struct nwi_config *config, int64_t dim, int64_t heads)
{
    if (heads > 0)
        return dim / heads;
    nwi_config_fail(config, NW_E_BAD_CONFIG, "the config has %lld attention heads",
                    (long long)heads);
    return 0;
}

int64_t nwi_rope_axes(struct nwi_config *config, struct nwi_rope_axes axes)
{
    struct nwi_config_ints list;
    int64_t sum = 0;
    nwi_config_ints_or(config, axes.key, axes.fallback, axes.n_fallback, &list);
    if (list.scalar || list.n < axes.n_least)
        nwi_config_fail(config, NW_E_BAD_CONFIG,
                        "\"%s\" of the config is no list of at least %zu", axes.key,
                        axes.n_least);
    for (size_t i = 0; i < list.n; i++) {
        bool bad = list.at[i] == NWI_NULL || (axes.even && list.at[i] % 2 != 0);
        if (bad)
            nwi_config_fail(config, NW_E_BAD_CONFIG,
                            "\"%s\" of the config holds null or an odd number",
                            axes.key);
        sum += bad ? 0 : list.at[i];
    }
    return sum;
}

int64_t nwi_quotient(int64_t a, int64_t b)
{
    return a > 0 && b > 0 ? a / b : -1;
}

int64_t nwi_patch_of(int64_t in, int64_t out, int64_t usual)
{
    int64_t square = usual * usual;
    bool divides = (in < 0 || in % square == 0) && (out < 0 || out % square == 0);
    return divides ? usual : 1;
}
