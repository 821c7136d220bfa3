/* SPDX-License-Identifier: Apache-2.0
 * SHA-256, in builds with libcrypto (NWI_HAVE_CRYPTO). Its context is libcrypto's own
 * memory, a few hundred bytes, and not counted. */
#ifndef NWI_SHA256_H
#define NWI_SHA256_H

#include "base/error.h"

#define NWI_SHA256_HEX 65 /* 64 digits and a NUL */

struct nwi_sha256;

/* UNSUPPORTED without libcrypto, NOMEM. */
int nwi_sha256_new(struct nwi_sha256 **out, struct nw_error *err);
void nwi_sha256_add(struct nwi_sha256 *hash, const void *data, size_t size);
/* The hash of all that was added, in lower-case digits. Adding more afterwards is no
 * use. */
void nwi_sha256_hex(struct nwi_sha256 *hash, char out[NWI_SHA256_HEX]);
void nwi_sha256_free(struct nwi_sha256 *hash); /* NULL allowed */

#endif
