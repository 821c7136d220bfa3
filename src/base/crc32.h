/* SPDX-License-Identifier: Apache-2.0
 * CRC-32 as in zlib, gzip and PNG (polynomial 0xEDB88320, reflected; RFC 1952 section 8). */
#ifndef NWI_CRC32_H
#define NWI_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to begin) over size bytes. */
uint32_t nwi_crc32(uint32_t crc, const void *data, size_t size);
/* The CRC of A followed by B, from those of A and B and the length of B. */
uint32_t nwi_crc32_combine(uint32_t a, uint32_t b, uint64_t size_b);

#endif
