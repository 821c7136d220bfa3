/* SPDX-License-Identifier: Apache-2.0
 * What a model class was configured with: a config.json, or, where there is none, values
 * derived from the file's shapes over a family's built-in ones. Every value that is
 * missing is the class's default, which the reader states as it asks.
 *
 * Errors stick: after the first one every question answers with its default, so that an
 * architecture reads its config without checks in between, and whoever made the config
 * looks at it once at the end. One thread at a time. */
#ifndef NWI_MODEL_CONFIG_H
#define NWI_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"

/* The value of a nullable number that is null. */
#define NWI_NULL INT64_MIN

/* Longest list a config may hold. */
#define NWI_CONFIG_LIST 256u

/* Most modules a list of them may have: far above every model there is, and low enough
 * that a hostile config ends at once. */
#define NWI_CONFIG_DEPTH 4096

struct nwi_config {
    struct nwi_arena *arena; /* borrowed */
    const struct nwi_json_value
        *given; /* config.json; NULL: none, then what follows counts */
    const struct nwi_json_value
        *preset;                    /* the family's own values, under the derived */
    struct nwi_json_value *derived; /* what shapes tell: a list, newest first */
    struct nw_error *err;           /* may be NULL */
    int code;                       /* of the first failure */
    const char *const *asked;       /* keys asked for so far; private */
    size_t n_asked;
    size_t asked_room;
};

/* `given` and `preset`: an object or NULL, on an arena that outlives the config. */
void nwi_config_init(struct nwi_config *config, const struct nwi_json_value *given,
                     const struct nwi_json_value *preset, struct nwi_arena *arena,
                     struct nw_error *err);

/* ---- asking ----
 * `fallback` is the default of the class's constructor. A value of another type is
 * BAD_CONFIG naming the key. Numbers: whole (1.0 counts as 1), at most 2^20 either side of 0,
 * so that a product of three of them fits. */

int64_t nwi_config_int(struct nwi_config *config, const char *key, int64_t fallback);
/* How many modules: 0 to NWI_CONFIG_DEPTH, else BAD_CONFIG (negative) or LIMIT. */
int64_t nwi_config_count(struct nwi_config *config, const char *key, int64_t fallback);
/* A number that may be null: NWI_NULL then (also as fallback). */
int64_t nwi_config_int_or_null(struct nwi_config *config, const char *key,
                               int64_t fallback);
double nwi_config_real(struct nwi_config *config, const char *key, double fallback);
/* null counts as false. */
bool nwi_config_bool(struct nwi_config *config, const char *key, bool fallback);
/* NULL if the value is null (also as fallback). Lives as long as the arena. */
const char *nwi_config_text(struct nwi_config *config, const char *key,
                            const char *fallback);
/* nwi_config_text, compared. */
bool nwi_config_is(struct nwi_config *config, const char *key, const char *fallback,
                   const char *value);
/* True if the key has a value, and it is not null. */
bool nwi_config_has(struct nwi_config *config, const char *key);

/* A list of numbers. `given` false: the key is absent or null, and n is 0 (ask for the
 * class's default with nwi_config_ints_or). A single number is a list of one. */
struct nwi_config_ints {
    bool given;
    bool scalar; /* the config holds a number, not a list */
    size_t n;
    int64_t at[NWI_CONFIG_LIST];
};
void nwi_config_ints(struct nwi_config *config, const char *key,
                     struct nwi_config_ints *out);
/* The same with the class's default, [n]. */
void nwi_config_ints_or(struct nwi_config *config, const char *key,
                        const int64_t *fallback, size_t n, struct nwi_config_ints *out);
/* Makes a single number a list of n (as many classes do), and BAD_CONFIG of a list of
 * another length. */
void nwi_config_spread(struct nwi_config *config, const char *key,
                       struct nwi_config_ints *list, size_t n);

/* Booleans are told as 0 and 1 by nwi_config_ints; null items as NWI_NULL. */

struct nwi_config_texts {
    bool given;
    size_t n;
    const char *at[NWI_CONFIG_LIST]; /* NULL for null */
};
void nwi_config_texts(struct nwi_config *config, const char *key,
                      struct nwi_config_texts *out);
/* The same with the class's default, [n]. */
void nwi_config_texts_or(struct nwi_config *config, const char *key,
                         const char *const *fallback, size_t n,
                         struct nwi_config_texts *out);

/* The value as it stands, NULL if there is none: for shapes of config that the questions
 * above do not cover. Counts as asked. */
const struct nwi_json_value *nwi_config_raw(struct nwi_config *config, const char *key);

/* The object under `key` as a config of its own (transformers' text_config); empty if it
 * is absent or null. Its failures are the outer config's: call nwi_config_join after. */
void nwi_config_inner(struct nwi_config *config, const char *key,
                      struct nwi_config *out);
void nwi_config_join(struct nwi_config *config, const struct nwi_config *inner);

/* A combination of values that no class accepts, or that this version does not build
 * (UNSUPPORTED). */
void nwi_config_fail(struct nwi_config *config, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Marks keys as known that shape no tensor; NULL ends the list. */
void nwi_config_known(struct nwi_config *config, const char *const *keys);

/* ---- deriving: what the shapes of a file tell ----
 * A later value for a key replaces an earlier one. Negative numbers (the answer of a
 * header that lacks the tensor) are ignored, so that a row costs one line. */

void nwi_config_derive(struct nwi_config *config, const char *key, int64_t number);

/* Of layers that no release of a class is without: a file that has none lacks them, unless
 * a config says otherwise. */
int64_t nwi_layers_told(struct nwi_config *config, const char *key, int64_t n_found);
void nwi_config_derive_layers(struct nwi_config *config, const char *key,
                              int64_t n_found);
/* The ratio, in as few digits as it takes, for which int(ratio * whole) is `part`; nothing
 * unless both are above 0. */
void nwi_config_derive_ratio(struct nwi_config *config, const char *key, int64_t part,
                             int64_t whole);
void nwi_config_derive_bool(struct nwi_config *config, const char *key, bool truth);
void nwi_config_derive_null(struct nwi_config *config, const char *key);
void nwi_config_derive_text(struct nwi_config *config, const char *key,
                            const char *text);
void nwi_config_derive_ints(struct nwi_config *config, const char *key,
                            const int64_t *values, size_t n);
void nwi_config_derive_texts(struct nwi_config *config, const char *key,
                             const char *const *values, size_t n);
/* The same for the object under `key`: what was derived to `inner`, a config of its own
 * on the same arena. nwi_config_inner finds it again, over what a preset says. */
void nwi_config_derive_inner(struct nwi_config *config, const char *key,
                             const struct nwi_config *inner);

/* ---- afterwards ---- */

/* The i-th key of the given config that nobody asked for (those that begin with "_" and
 * quantization_config aside), NULL past the end. */
const char *nwi_config_unknown(const struct nwi_config *config, size_t i);

/* One derived value that the given config contradicts; texts as in JSON. */
struct nwi_config_conflict {
    const char *key;
    const char *given;
    const char *derived;
};
/* The i-th, false past the end. Texts are on the arena ("?" if there is no memory). */
bool nwi_config_conflict(const struct nwi_config *config, size_t i,
                         struct nwi_config_conflict *out);

#endif
