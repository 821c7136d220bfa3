/* SPDX-License-Identifier: Apache-2.0
 * The hashes that model sites use. */
#ifndef NWI_HASH_H
#define NWI_HASH_H

#include "base/sha256.h"
#include "source/catalog.h"

/* Of one file, in hex. */
struct nwi_hashes {
    char whole[NWI_SHA256_HEX]; /* sha256 of all bytes; autov2 is its first 10 digits */
    char data[NWI_SHA256_HEX];  /* of what follows the header; autov3 is its first 12 */
};

/* Reads all bytes of a used file. UNSUPPORTED in a build without libcrypto, NOMEM, IO,
 * CHANGED. */
int nwi_hash_file(const struct nwi_source_file *source, struct nwi_memory *memory,
                  struct nwi_hashes *out, struct nw_error *err);

#endif
