/* SPDX-License-Identifier: Apache-2.0
 * What the autoencoders of diffusers share (0.42.1, models/autoencoders): reading their
 * lists, small modules, and telling lists of blocks from a header. */
#ifndef NWI_BLOCKS_VAE_H
#define NWI_BLOCKS_VAE_H

#include "model/config.h"
#include "model/module.h"
#include "source/header.h"

/* ---- configs ---- */

/* A list that the class walks by index: BAD_CONFIG for a single number, for nulls in it, and
 * unless nwi_vae_need finds at least n items. */
void nwi_vae_ints(struct nwi_config *c, const char *key, const int64_t *fallback,
                  size_t n, struct nwi_config_ints *out);
/* The same of truth values: null is false. `single`: one value may stand for all, which
 * nwi_config_spread does. */
void nwi_vae_flags(struct nwi_config *c, const char *key, const int64_t *fallback,
                   size_t n, bool single, struct nwi_config_ints *out);
bool nwi_vae_need(struct nwi_config *c, const char *key, size_t have, size_t n);
/* A number of at least 1 (what the class divides by), else BAD_CONFIG and 1. */
int64_t nwi_vae_positive(struct nwi_config *c, const char *key, int64_t fallback);
/* BAD_CONFIG unless the value names an activation (models/activations.py). */
void nwi_vae_activation(struct nwi_config *c, const char *key, const char *fallback);
/* True if b is above 0 and divides a; else BAD_CONFIG. */
bool nwi_vae_divides(struct nwi_config *c, int64_t a, int64_t b);
/* How often a whole number can be halved: floor(log2), BAD_CONFIG below 1. */
int64_t nwi_vae_log2(struct nwi_config *c, const char *key, int64_t value);

bool nwi_vae_lists(const struct nwi_config_ints *list, int64_t value);
/* value / 2^times. */
int64_t nwi_vae_halved(int64_t value, size_t times);

/* ---- modules ---- */

/* GroupNorm with its affine part. */
void nwi_vae_group_norm(struct nwi_module *m, const char *name, int64_t channels,
                        int64_t groups);
/* BatchNorm2d: statistics, and weight and bias if it is affine. */
void nwi_vae_batch_norm(struct nwi_module *m, const char *name, int64_t channels,
                        bool affine);
/* Attention with one head over the pixels, behind a GroupNorm; into the module one is in. */
void nwi_vae_attention(struct nwi_module *m, int64_t channels, int64_t groups);
/* latents_mean (zeros) and latents_std (ones), as buffers. */
void nwi_vae_latent_statistics(struct nwi_module *m, int64_t channels);

/* ---- headers ---- */

/* nwi_header_dim and nwi_header_has for a name that is put together. */
int64_t nwi_vae_dim(const struct nwi_header *h, int dim, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool nwi_vae_has(const struct nwi_header *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* How many modules 0, 1 ... of the list whose name is put together have a `leaf`
 * ("conv1.weight"). */
int64_t nwi_vae_run(const struct nwi_header *h, const char *leaf, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));
/* nwi_header_count, 0 above what a config's list may hold. */
size_t nwi_vae_levels(const struct nwi_header *h, const char *prefix);
/* The same, up to NWI_CONFIG_DEPTH. */
int64_t nwi_vae_layers(const struct nwi_header *h, const char *prefix);
/* values[i] / base if that is whole and above 0, else -1. */
int64_t nwi_vae_ratio(int64_t value, int64_t base);

/* nwi_config_derive for what has no call of its own: any value as JSON text that outlives
 * the config (lists of lists), and a list of truth values. */
void nwi_vae_derive_json(struct nwi_config *c, const char *key, const char *text);
void nwi_vae_derive_bools(struct nwi_config *c, const char *key, const bool *values,
                          size_t n);

/* Patches of `power` dimensions: `in` and `out` are channels times patch size ^ power.
 * Takes 3 channels where that fits, else a patch of 1. */
void nwi_vae_derive_patch(struct nwi_config *c, const char *key, int power, int64_t in,
                          int64_t out);

#endif
