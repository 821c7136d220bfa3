/* SPDX-License-Identifier: Apache-2.0
 * LTX2LatentUpsamplerModel (diffusers 0.42.1, pipelines/ltx2/latent_upsampler.py): LTX-2's
 * spatial and temporal upscalers, which also know scales that are no whole numbers. */
#include "model/architecture.h"
#include "model/blocks_ltx_dit.h"

#define BLUR_KERNEL 5

/* Up by `up`, then down by a number that shapes nothing. */
static const struct scale {
    double scale;
    int64_t up;
} scales[] = {{0.75, 3}, {1.5, 3}, {2, 2}, {4, 4}};

/* The factor up, 0 if there is no such scale. */
static int64_t factor_of(double scale)
{
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        double off = scales[i].scale - scale;
        if (off >= 0 && off <= 0)
            return scales[i].up;
    }
    return 0;
}

static void resampler(struct nwi_module *m, struct nwi_config *c, int64_t mid,
                      double scale)
{
    int64_t up = factor_of(scale);
    if (up == 0)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"rational_spatial_scale\" of the config is %g", scale);
    NWI_IN(m, "upsampler")
    {
        nwi_conv2d(m, "conv", mid, up * up * mid, 3, true);
        nwi_buffer(m, "blur_down.kernel", NWI_DIMS(1, 1, BLUR_KERNEL, BLUR_KERNEL));
    }
}

static void build(struct nwi_module *m, struct nwi_config *c)
{
    struct nwi_ltx_upsampler up = {.mid = 1024};
    nwi_ltx_upsampler_read(c, &up);
    double scale = nwi_config_real(c, "rational_spatial_scale", 2);
    bool rational = nwi_config_bool(c, "use_rational_resampler", true);
    nwi_ltx_upsampler_before(m, &up);
    if (up.spatial && !up.temporal && rational)
        resampler(m, c, up.mid, scale);
    else
        nwi_ltx_upsampler_shuffle(m, &up);
    nwi_ltx_upsampler_after(m, &up);
}

/* 1.5 and 0.75 have the same shapes: 1.5, unless the config says the other. */
static void derive_scale(struct nwi_config *c, int64_t squared)
{
    int64_t up = factor_of(nwi_config_real(c, "rational_spatial_scale", 2));
    if (squared == 9 && up != 3)
        nwi_config_derive_ratio(c, "rational_spatial_scale", 150, 100);
    else if (squared == 4 || squared == 16)
        nwi_config_derive(c, "rational_spatial_scale", squared == 4 ? 2 : 4);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    bool rational = nwi_header_has(h, "upsampler.conv.weight");
    bool plain = nwi_header_has(h, "upsampler.0.weight");
    int64_t mid = nwi_header_dim(h, "initial_conv.weight", 0);
    nwi_ltx_upsampler_derive(c, h);
    if (rational ||
        nwi_video_over(nwi_header_dim(h, "upsampler.0.weight", 0), mid) == 4)
        nwi_config_derive_bool(c, "use_rational_resampler", !plain);
    if (rational)
        derive_scale(
            c, nwi_video_over(nwi_header_dim(h, "upsampler.conv.weight", 0), mid));
}

const struct nwi_architecture nwi_arch_ltx2_latent_upsampler = {
    .klass = "LTX2LatentUpsamplerModel",
    .library = "diffusers",
    .build = build,
    .derive = derive,
};
