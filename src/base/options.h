/* SPDX-License-Identifier: Apache-2.0
 * Option structs of any version: the caller's may be shorter or longer than ours. */
#ifndef NWI_OPTIONS_H
#define NWI_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "base/error.h"

/* Fills *dst (of dst_size bytes, `size_t size` first) from the caller's options, which
 * may be NULL: what he does not know is zero, the default. ARG if he set something that
 * this version does not know, or no size. `name` is for the message. */
static inline int nwi_options_read(void *dst, size_t dst_size, const void *src,
                                   const char *name, struct nw_error *err)
{
    size_t size = dst_size;
    memset(dst, 0, dst_size);
    if (src) {
        memcpy(&size, src, sizeof size);
        if (size < sizeof size)
            return nwi_fail(err, NW_E_ARG, "%s has no size (NW_OPTIONS_INIT sets it)",
                            name);
        memcpy(dst, src, size < dst_size ? size : dst_size);
    }
    for (size_t at = dst_size; at < size; at++) {
        if (((const unsigned char *)src)[at] != 0)
            return nwi_fail(
                err, NW_E_ARG,
                "%s of %zu bytes sets a field that this version (%zu bytes) "
                "does not have",
                name, size, dst_size);
    }
    memcpy(dst, &dst_size, sizeof dst_size);
    return NW_OK;
}

#endif
