/* SPDX-License-Identifier: Apache-2.0
 * Element types: one row each. The order of nwi_dtypes is that of enum nw_dtype. */
#ifndef NWI_DTYPE_H
#define NWI_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum nwi_dtype_class {
    NWI_CLASS_NONE, /* AUTO, UNKNOWN; F4, F6: nothing casts them */
    NWI_CLASS_BOOL,
    NWI_CLASS_INT,
    NWI_CLASS_FLOAT, /* what a dtype option acts on (behaviour.md B3: C64 is not among it) */
    NWI_CLASS_COMPLEX
};

struct nwi_dtype_info {
    const char *name;  /* safetensors spelling */
    const char *torch; /* torch spelling without "torch.", NULL if torch has none */
    const char
        *short_name; /* the command's further spelling ("fp8_e4m3", "bf16"), or NULL */
    uint32_t bits;
    enum nwi_dtype_class klass;
    uint32_t save_rank; /* place in the order of tensors in a written file, 0 first
                              (safetensors 0.8: widest first, behaviour.md B33) */
};

/* NULL outside the enum. */
const struct nwi_dtype_info *nwi_dtype_info(int dtype);
bool nwi_dtype_is_float(int dtype);

/* Exact safetensors tag -> enum nw_dtype, or -1. (nw_dtype_from_name is the lenient form.) */
int nwi_dtype_from_tag(const char *tag, size_t size);

/* Bytes of a tensor: product of the shape times the bits, checked. BAD_EXTENT on overflow or
 * if the bits are no whole bytes (the message says how many bits); UNSUPPORTED_TYPE for AUTO,
 * UNKNOWN and what is outside the enum. *n_elems may be NULL; both are 0 on failure. */
int nwi_tensor_bytes(int dtype, const uint64_t *shape, uint32_t rank, uint64_t *n_elems,
                     uint64_t *nbytes, struct nw_error *err);

#endif
