/* SPDX-License-Identifier: Apache-2.0
 * What the names of weight files say: stem, variant, shard, index.
 *
 *     single   model.safetensors                       model.fp16.safetensors
 *     shard    model-00001-of-00003.safetensors model.fp16-00001-of-00003.safetensors
 *     index    model.safetensors.index.json model.safetensors.index.fp16.json legacy
 * model-00001-of-00003.fp16.safetensors   model.safetensors.fp16.index.json */
#ifndef NWI_NAMES_H
#define NWI_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nwi_name_form {
    NWI_NAME_OTHER, /* no weights */
    NWI_NAME_SINGLE,
    NWI_NAME_SHARD,
    NWI_NAME_INDEX,
    NWI_NAME_INDEX_LEGACY, /* the old spelling of a variant's index */
    NWI_NAME_TEMPORARY     /* left by an interrupted save */
};

enum nwi_name_type {
    NWI_TYPE_SAFETENSORS,
    NWI_TYPE_BIN,    /* ".bin": torch pickles */
    NWI_TYPE_LOOSE,  /* other containers, which come without index and variants */
    NWI_TYPE_FOREIGN /* weights of other frameworks: never read */
};

/* Texts point into the name. */
struct nwi_weight_name {
    const char *name;
    const char *stem;    /* "model"; need not end in a NUL */
    const char *variant; /* "fp16"; size 0: the default */
    size_t stem_size;
    size_t variant_size;
    enum nwi_name_form form;
    enum nwi_name_type type;
    uint32_t stem_rank; /* place among the usual stems; NWI_STEM_OTHER if it is none */
    uint32_t shard;     /* from 1; 0 if it is none */
    uint32_t n_shards;
};

#define NWI_STEM_OTHER 3u

/* "diffusion_pytorch_model", "model", "pytorch_model" in this order; NULL past the end.
 */
const char *nwi_stem(uint32_t rank);

/* Takes a bare file name apart; form OTHER if it holds no weights. */
struct nwi_weight_name nwi_weight_name(const char *name);

/* Part of the temporary names of an interrupted save. */
#define NWI_TEMPORARY_MARK ".netweight-tmp"

bool nwi_name_is(const char *text, size_t size, const char *word);

#endif
