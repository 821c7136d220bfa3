/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 through libcrypto's EVP functions, which use the CPU's own instructions. The
 * handle is the EVP context itself. */
#include "base/sha256.h"

#ifdef NWI_HAVE_CRYPTO

#include <openssl/evp.h>

static EVP_MD_CTX *context(struct nwi_sha256 *hash)
{
    return (EVP_MD_CTX *)(void *)hash;
}

int nwi_sha256_new(struct nwi_sha256 **out, struct nw_error *err)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    *out = NULL;
    if (!ctx)
        return nwi_fail(err, NW_E_NOMEM, "libcrypto got no memory");
    if (EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(ctx);
        return nwi_fail(err, NW_E_UNSUPPORTED, "this libcrypto does not offer sha256");
    }
    *out = (struct nwi_sha256 *)(void *)ctx;
    return NW_OK;
}

void nwi_sha256_add(struct nwi_sha256 *hash, const void *data, size_t size)
{
    (void)EVP_DigestUpdate(context(hash), data, size);
}

void nwi_sha256_hex(struct nwi_sha256 *hash, char out[NWI_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[EVP_MAX_MD_SIZE] = {0};
    (void)EVP_DigestFinal_ex(context(hash), bytes, NULL);
    for (size_t i = 0; i < (NWI_SHA256_HEX - 1) / 2; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[NWI_SHA256_HEX - 1] = '\0';
}

void nwi_sha256_free(struct nwi_sha256 *hash)
{
    EVP_MD_CTX_free(context(hash));
}

#else /* the optional library is absent */

int nwi_sha256_new(struct nwi_sha256 **out, struct nw_error *err)
{
    *out = NULL;
    return nwi_fail(err, NW_E_UNSUPPORTED, "this build has no sha256 (libcrypto)");
}

void nwi_sha256_add(struct nwi_sha256 *hash, const void *data, size_t size)
{
    (void)hash;
    (void)data;
    (void)size;
}

void nwi_sha256_hex(struct nwi_sha256 *hash, char out[NWI_SHA256_HEX])
{
    (void)hash;
    out[0] = '\0';
}

void nwi_sha256_free(struct nwi_sha256 *hash)
{
    (void)hash;
}

#endif
