/* SPDX-License-Identifier: Apache-2.0
 * Decoding one element at a time: obvious, not fast. Only tensors whose bytes differ
 * get here. */
#include "run/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/cast.h"
#include "tensor/dtype.h"

uint32_t nwi_value_count(int dtype)
{
    return dtype == NW_C64 ? 2 : 1;
}

/* Types of 4 and 6 bits: sign, exponent, mantissa; no infinity, no NaN. */
struct packed {
    uint32_t bits;
    uint32_t n_mantissa;
    uint32_t bias;
};

static struct packed packed_of(int dtype)
{
    switch (dtype) {
    case NW_F4:
        return (struct packed){4, 1, 1};
    case NW_F6_E2M3:
        return (struct packed){6, 3, 1};
    default: /* F6_E3M2 */
        return (struct packed){6, 2, 3};
    }
}

static double load_packed(int dtype, const uint8_t *data, size_t i)
{
    struct packed packed = packed_of(dtype);
    size_t bit = i * packed.bits;
    uint32_t code = 0;
    for (uint32_t k = 0; k < packed.bits; k++, bit++)
        code |= (uint32_t)(data[bit / 8] >> (bit % 8) & 1) << k;
    uint32_t sign = code >> (packed.bits - 1);
    uint32_t mantissa = code & ((1u << packed.n_mantissa) - 1);
    uint32_t exponent = (code & ((1u << (packed.bits - 1)) - 1)) >> packed.n_mantissa;
    if (exponent)
        mantissa |= 1u << packed.n_mantissa;
    else
        exponent = 1; /* subnormal */
    double value =
        (double)(mantissa << exponent) / (1u << (packed.bias + packed.n_mantissa));
    return sign ? -value : value;
}

static double load_float(int dtype, const uint8_t *data, size_t i)
{
    struct nwi_cast cast;
    struct nwi_cast_counts counts = {0};
    double value = 0;
    if (nwi_cast_find(dtype, NW_F64, NW_CPU_SCALAR, 0, &cast))
        nwi_cast_run(&cast, data + i * cast.from_bytes, &value, 1, &counts);
    return value;
}

static struct nwi_value load_int(int dtype, const uint8_t *data, size_t i)
{
    bool is_signed =
        dtype == NW_I8 || dtype == NW_I16 || dtype == NW_I32 || dtype == NW_I64;
    uint32_t bits = nw_dtype_bits(dtype);
    uint64_t value = 0;
    memcpy(&value, data + i * (bits / 8),
           bits / 8); /* little-endian, as all we run on */
    struct nwi_value out = {.is_int = true, .magnitude = value};
    if (is_signed && value >> (bits - 1)) {
        out.negative = true;
        out.magnitude = (~value + 1) & (UINT64_MAX >> (64 - bits));
    }
    return out;
}

struct nwi_value nwi_value_load(int dtype, const void *data, size_t i)
{
    if (dtype == NW_C64)
        dtype = NW_F32;
    if (dtype == NW_F4 || dtype == NW_F6_E2M3 || dtype == NW_F6_E3M2)
        return (struct nwi_value){.real = load_packed(dtype, data, i)};
    if (nwi_dtype_is_float(dtype))
        return (struct nwi_value){.real = load_float(dtype, data, i)};
    return load_int(dtype, data, i);
}

static double to_real(struct nwi_value value)
{
    if (!value.is_int)
        return value.real;
    double real = (double)value.magnitude;
    return value.negative ? -real : real;
}

double nwi_value_magnitude(struct nwi_value value)
{
    return fabs(to_real(value));
}

static double int_distance(struct nwi_value a, struct nwi_value b)
{
    if (a.negative != b.negative)
        return (double)a.magnitude + (double)b.magnitude;
    return (double)(a.magnitude > b.magnitude ? a.magnitude - b.magnitude
                                              : b.magnitude - a.magnitude);
}

double nwi_value_distance(struct nwi_value a, struct nwi_value b)
{
    if (a.is_int && b.is_int)
        return int_distance(a, b);
    return nwi_real_distance(to_real(a), to_real(b));
}

void nwi_value_write(struct nwi_json_writer *w, struct nwi_value value)
{
    if (value.is_int) {
        char text[32];
        int size = snprintf(text, sizeof text, "%s%" PRIu64, value.negative ? "-" : "",
                            value.magnitude);
        nwi_json_raw_value(w, text, (size_t)size);
    } else if (isfinite(value.real)) {
        nwi_json_real(w, value.real);
    } else if (isnan(value.real)) {
        nwi_json_str(w, "NaN");
    } else {
        nwi_json_str(w, value.real < 0 ? "-Infinity" : "Infinity");
    }
}
