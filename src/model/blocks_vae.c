/* SPDX-License-Identifier: Apache-2.0
 * What the autoencoders of diffusers share (0.42.1, models/autoencoders/vae.py,
 * models/attention_processor.py, models/activations.py). */
#include "model/blocks_vae.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MOST 160

/* ---- configs ---- */

void nwi_vae_ints(struct nwi_config *c, const char *key, const int64_t *fallback,
                  size_t n, struct nwi_config_ints *out)
{
    nwi_config_ints_or(c, key, fallback, n, out);
    bool good = !out->scalar;
    for (size_t i = 0; i < out->n; i++) {
        good = good && out->at[i] != NWI_NULL;
        if (out->at[i] == NWI_NULL)
            out->at[i] = 0;
    }
    if (!good)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"%s\" of the config is not a list of numbers", key);
}

void nwi_vae_flags(struct nwi_config *c, const char *key, const int64_t *fallback,
                   size_t n, bool single, struct nwi_config_ints *out)
{
    nwi_config_ints_or(c, key, fallback, n, out);
    if (out->scalar && !single)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is not a list", key);
    for (size_t i = 0; i < out->n; i++) {
        if (out->at[i] == NWI_NULL)
            out->at[i] = 0;
    }
}

bool nwi_vae_need(struct nwi_config *c, const char *key, size_t have, size_t n)
{
    if (have < n)
        nwi_config_fail(c, NW_E_BAD_CONFIG,
                        "\"%s\" of the config has %zu items, %zu are needed", key, have,
                        n);
    return have >= n;
}

int64_t nwi_vae_positive(struct nwi_config *c, const char *key, int64_t fallback)
{
    int64_t value = nwi_config_int(c, key, fallback);
    if (value >= 1)
        return value;
    nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is %lld", key,
                    (long long)value);
    return 1;
}

void nwi_vae_activation(struct nwi_config *c, const char *key, const char *fallback)
{
    static const char *const names[] = {"swish", "silu", "mish", "gelu", "relu"};
    const char *name = nwi_config_text(c, key, fallback);
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcasecmp(name, names[i]) == 0)
            return;
    }
    nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is no activation: %.60s",
                    key, name ? name : "null");
}

bool nwi_vae_divides(struct nwi_config *c, int64_t a, int64_t b)
{
    if (b > 0 && a % b == 0)
        return true;
    nwi_config_fail(c, NW_E_BAD_CONFIG, "the config divides %lld channels by %lld",
                    (long long)a, (long long)b);
    return false;
}

int64_t nwi_vae_log2(struct nwi_config *c, const char *key, int64_t value)
{
    int64_t n = 0;
    if (value < 1)
        nwi_config_fail(c, NW_E_BAD_CONFIG, "\"%s\" of the config is %lld", key,
                        (long long)value);
    for (; value > 1; value /= 2)
        n++;
    return n;
}

bool nwi_vae_lists(const struct nwi_config_ints *list, int64_t value)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i] == value)
            return true;
    }
    return false;
}

int64_t nwi_vae_halved(int64_t value, size_t times)
{
    return times < 32 ? value >> times : 0;
}

/* ---- modules ---- */

void nwi_vae_group_norm(struct nwi_module *m, const char *name, int64_t channels,
                        int64_t groups)
{
    if (nwi_vae_divides(m->config, channels, groups))
        nwi_norm(m, name, channels);
}

void nwi_vae_batch_norm(struct nwi_module *m, const char *name, int64_t channels,
                        bool affine)
{
    if (affine)
        nwi_norm(m, name, channels);
    NWI_IN(m, "%s", name)
    {
        nwi_want(m, "running_mean", NWI_DIMS(channels), NW_BUFFER, NW_FILL_ZERO,
                 NW_DTYPE_AUTO);
        nwi_want(m, "running_var", NWI_DIMS(channels), NW_BUFFER, NW_FILL_ONE,
                 NW_DTYPE_AUTO);
        nwi_want(m, "num_batches_tracked", NWI_SCALAR, NW_BUFFER, NW_FILL_ZERO, NW_I64);
    }
}

void nwi_vae_attention(struct nwi_module *m, int64_t channels, int64_t groups)
{
    if (channels <= 0)
        nwi_config_fail(m->config, NW_E_BAD_CONFIG, "attention over %lld channels",
                        (long long)channels);
    nwi_vae_group_norm(m, "group_norm", channels, groups);
    nwi_linear(m, "to_q", channels, channels, true);
    nwi_linear(m, "to_k", channels, channels, true);
    nwi_linear(m, "to_v", channels, channels, true);
    nwi_linear(m, "to_out.0", channels, channels, true);
}

void nwi_vae_latent_statistics(struct nwi_module *m, int64_t channels)
{
    nwi_want(m, "latents_mean", NWI_DIMS(channels), NW_BUFFER, NW_FILL_ZERO,
             NW_DTYPE_AUTO);
    nwi_want(m, "latents_std", NWI_DIMS(channels), NW_BUFFER, NW_FILL_ONE,
             NW_DTYPE_AUTO);
}

/* ---- headers ---- */

int64_t nwi_vae_dim(const struct nwi_header *h, int dim, const char *format, ...)
{
    char name[NAME_MOST];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return nwi_header_dim(h, name, dim);
}

bool nwi_vae_has(const struct nwi_header *h, const char *format, ...)
{
    char name[NAME_MOST];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return nwi_header_has(h, name);
}

int64_t nwi_vae_run(const struct nwi_header *h, const char *leaf, const char *format,
                    ...)
{
    char list[NAME_MOST];
    int64_t n = 0;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(list, sizeof list, format, args);
    va_end(args);
    while (n < NWI_CONFIG_DEPTH &&
           nwi_vae_has(h, "%s.%lld.%s", list, (long long)n, leaf))
        n++;
    return n;
}

size_t nwi_vae_levels(const struct nwi_header *h, const char *prefix)
{
    int64_t n = nwi_header_count(h, prefix);
    return n > 0 && n < (int64_t)NWI_CONFIG_LIST ? (size_t)n : 0;
}

int64_t nwi_vae_layers(const struct nwi_header *h, const char *prefix)
{
    int64_t n = nwi_header_count(h, prefix);
    return n <= NWI_CONFIG_DEPTH ? n : 0;
}

int64_t nwi_vae_ratio(int64_t value, int64_t base)
{
    return base > 0 && value > 0 && value % base == 0 ? value / base : -1;
}

void nwi_vae_derive_json(struct nwi_config *c, const char *key, const char *text)
{
    struct nwi_json_value *value = NULL;
    int code = nwi_json_parse(text, strlen(text), 0, NW_E_BAD_CONFIG, c->arena, &value,
                              c->err);
    if (code != NW_OK) {
        c->code = c->code == NW_OK ? code : c->code;
        return;
    }
    value->key = key;
    value->key_size = strlen(key);
    value->next = c->derived;
    c->derived = value;
}

void nwi_vae_derive_bools(struct nwi_config *c, const char *key, const bool *values,
                          size_t n)
{
    char text[8 * (NWI_CONFIG_LIST + 2)] = "[";
    size_t size = 1;
    for (size_t i = 0; i < n && i < NWI_CONFIG_LIST + 1; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s", i ? "," : "",
                                 values[i] ? "true" : "false");
    text[size] = ']';
    const char *copy = nwi_arena_copy(c->arena, text, size + 1);
    if (copy)
        nwi_vae_derive_json(c, key, copy);
    else if (c->code == NW_OK)
        c->code = nwi_fail_nomem(c->err, size);
}

static int64_t power_of(int64_t value, int power)
{
    int64_t out = 1;
    while (power-- > 0)
        out *= value;
    return out;
}

void nwi_vae_derive_patch(struct nwi_config *c, const char *key, int power, int64_t in,
                          int64_t out)
{
    int64_t patch = 1;
    if (in <= 0 || out <= 0)
        return;
    while (patch < 1024 && 3 * power_of(patch, power) < in)
        patch++;
    int64_t volume = power_of(patch, power);
    if (3 * volume != in || out % volume != 0)
        patch = volume = 1;
    nwi_config_derive(c, key, patch);
    nwi_config_derive(c, "in_channels", in / volume);
    nwi_config_derive(c, "out_channels", out / volume);
}
