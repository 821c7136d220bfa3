/* SPDX-License-Identifier: Apache-2.0
 * One pass over the file for both sums. */
#include "source/hash.h"

#include <string.h>

#include "base/arith.h"

#define UNIT_BYTES ((size_t)1 << 20)

struct sums {
    struct nwi_sha256 *whole;
    struct nwi_sha256 *data;
};

static int feed(const struct nwi_source_file *source, const struct sums *sums,
                uint8_t *unit, struct nw_error *err)
{
    uint64_t total = source->file->identity.size;
    for (uint64_t at = 0; at < total; at += UNIT_BYTES) {
        size_t size = (size_t)nwi_min(UNIT_BYTES, total - at);
        size_t skip = (size_t)nwi_min(size, nwi_sub_floor(source->data_start, at));
        NWI_TRY(nwi_file_read(source->file, at, unit, size, err));
        nwi_sha256_add(sums->whole, unit, size);
        nwi_sha256_add(sums->data, unit + skip, size - skip);
    }
    return NW_OK;
}

int nwi_hash_file(const struct nwi_source_file *source, struct nwi_memory *memory,
                  struct nwi_hashes *out, struct nw_error *err)
{
    struct sums sums = {0};
    uint8_t *unit = nwi_alloc(memory, UNIT_BYTES);
    memset(out, 0, sizeof *out);
    int code = unit ? NW_OK : nwi_fail_nomem(err, UNIT_BYTES);
    if (code == NW_OK)
        code = nwi_sha256_new(&sums.whole, err);
    if (code == NW_OK)
        code = nwi_sha256_new(&sums.data, err);
    if (code == NW_OK)
        code = feed(source, &sums, unit, err);
    if (code == NW_OK) {
        nwi_sha256_hex(sums.whole, out->whole);
        nwi_sha256_hex(sums.data, out->data);
    }
    nwi_free(memory, unit, UNIT_BYTES);
    nwi_sha256_free(sums.whole);
    nwi_sha256_free(sums.data);
    return code;
}
