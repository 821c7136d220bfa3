/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/crc32.h"
#include "support/support.h"
#include "test.h"

static void known_values(void **state)
{
    (void)state;
    static const char fox[] = "The quick brown fox jumps over the lazy dog";
    const unsigned char zeros[32] = {0};
    assert_int_equal(nwi_crc32(0, "", 0), 0);
    assert_int_equal(nwi_crc32(0, "a", 1), 0xE8B7BE43);
    assert_int_equal(nwi_crc32(0, "123456789", 9), 0xCBF43926);
    assert_int_equal(nwi_crc32(0, fox, sizeof fox - 1), 0x414FA339);
    assert_int_equal(nwi_crc32(0, zeros, sizeof zeros), 0x190A55AD);
}

/* One bit at a time, straight from the definition. */
static uint32_t slow(uint32_t crc, const unsigned char *data, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

static void every_length_and_alignment(void **state)
{
    (void)state;
    uint64_t seed = 0xC4C;
    unsigned char data[96];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(nwt_random(&seed) >> 32);
    for (size_t at = 0; at < 16; at++) {
        for (size_t size = 0; at + size <= sizeof data; size++)
            assert_int_equal(nwi_crc32(0, data + at, size), slow(0, data + at, size));
    }
}

static void parts_combine(void **state)
{
    (void)state;
    uint64_t seed = 0xABCD;
    unsigned char data[5000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(nwt_random(&seed) >> 32);
    uint32_t whole = slow(0, data, sizeof data);
    for (int i = 0; i < 500; i++) {
        size_t split =
            i < 2 ? (size_t)i * sizeof data : nwt_random(&seed) % sizeof data;
        uint32_t a = nwi_crc32(0, data, split);
        uint32_t b = nwi_crc32(0, data + split, sizeof data - split);
        assert_int_equal(nwi_crc32_combine(a, b, sizeof data - split), whole);
        assert_int_equal(nwi_crc32(a, data + split, sizeof data - split), whole);
    }
}

/* 5 GiB of zeros, never in memory: A followed by n zero bytes is A "continued" n times.
 */
static void combining_works_past_4_gib(void **state)
{
    (void)state;
    static const unsigned char zeros[1 << 16];
    uint32_t block = nwi_crc32(0, zeros, sizeof zeros);
    uint64_t size = sizeof zeros;
    while (size < (uint64_t)5 << 30) {
        block = nwi_crc32_combine(block, block, size);
        size *= 2;
    }
    uint32_t a = nwi_crc32(0, "123456789", 9);
    uint32_t stepwise = a;
    for (uint64_t done = 0; done < size; done += (uint64_t)1 << 30) {
        uint32_t part = nwi_crc32(0, zeros, sizeof zeros);
        for (uint64_t n = sizeof zeros; n < (uint64_t)1 << 30; n *= 2)
            part = nwi_crc32_combine(part, part, n);
        stepwise = nwi_crc32_combine(stepwise, part, (uint64_t)1 << 30);
    }
    assert_int_equal(nwi_crc32_combine(a, block, size), stepwise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_length_and_alignment),
        cmocka_unit_test(parts_combine),
        cmocka_unit_test(combining_works_past_4_gib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
