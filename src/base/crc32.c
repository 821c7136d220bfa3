/* SPDX-License-Identifier: Apache-2.0
 * Eight bytes a step through eight tables. Combining multiplies polynomials over GF(2).
 */
#include "base/crc32.h"

#include <string.h>

#include "base/crc32_table.h"

#define POLYNOMIAL 0xEDB88320u

static uint32_t eight_bytes(uint32_t crc, const unsigned char *at)
{
    uint32_t low = 0;
    uint32_t high = 0;
    memcpy(&low, at, 4);
    memcpy(&high, at + 4, 4);
    low ^= crc;
    return crc32_table[7][low & 255] ^ crc32_table[6][low >> 8 & 255] ^
           crc32_table[5][low >> 16 & 255] ^ crc32_table[4][low >> 24] ^
           crc32_table[3][high & 255] ^ crc32_table[2][high >> 8 & 255] ^
           crc32_table[1][high >> 16 & 255] ^ crc32_table[0][high >> 24];
}

uint32_t nwi_crc32(uint32_t crc, const void *data, size_t size)
{
    const unsigned char *at = data;
    crc = ~crc;
    for (; size >= 8; at += 8, size -= 8)
        crc = eight_bytes(crc, at);
    for (; size > 0; at++, size--)
        crc = crc >> 8 ^ crc32_table[0][(crc ^ *at) & 255];
    return ~crc;
}

/* a * b modulo the polynomial; bit 31 is the coefficient of x^0. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b & 1 ? b >> 1 ^ POLYNOMIAL : b >> 1;
    }
    return product;
}

uint32_t nwi_crc32_combine(uint32_t a, uint32_t b, uint64_t size_b)
{
    uint32_t power = 1u << 23; /* x^8: one byte */
    for (; size_b; size_b >>= 1) {
        if (size_b & 1)
            a = multiply(a, power);
        power = multiply(power, power);
    }
    return a ^ b;
}
