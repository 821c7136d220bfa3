#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cast_golden_table.h: what PyTorch 2.13.0 gives, on the CPU.

    python3 tests/kernel/golden.py > tests/kernel/cast_golden_table.h
"""
import zlib

import torch

TYPES = {
    "NW_F64": torch.float64,
    "NW_F32": torch.float32,
    "NW_F16": torch.float16,
    "NW_BF16": torch.bfloat16,
    "NW_F8_E4M3": torch.float8_e4m3fn,
    "NW_F8_E5M2": torch.float8_e5m2,
    "NW_F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "NW_F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "NW_F8_E8M0": torch.float8_e8m0fnu,
}
NARROW = [name for name in TYPES if name not in ("NW_F64", "NW_F32")]
INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# All NaN become this one, as a signed integer of the type's size.
NAN = {"NW_F64": 0x7FF8 << 48, "NW_F32": 0x7FC00000, "NW_F16": 0x7E00, "NW_BF16": 0x7FC0,
       "NW_F8_E4M3": 0x7F, "NW_F8_E5M2": 0x7F, "NW_F8_E4M3FNUZ": 0x80,
       "NW_F8_E5M2FNUZ": 0x80, "NW_F8_E8M0": 0xFF}

EDGES = [  # F32 bits
    0x00000000, 0x00000001, 0x00007fff, 0x00008000, 0x00008001, 0x00018000, 0x003fffff,
    0x00400000, 0x00400001, 0x00600000, 0x007fffff, 0x00800000, 0x00ffffff,  # around 2^-127
    0x33000000, 0x33000001, 0x33800000, 0x33c00000, 0x387fc000, 0x387fe000, 0x38800000,  # F16
    0x36800000, 0x36800001, 0x37000000, 0x37000001, 0x37400000, 0x37800000, 0x37c00000,  # E5M2
    0x3a000000, 0x3a000001, 0x3a800000, 0x3a800001, 0x3ac00000, 0x3b000000, 0x3b400000,  # E4M3
    0x3c600000, 0x3c700000, 0x3c7fffff, 0x3c800000, 0x3c000000, 0x3c880000, 0x3c880001,
    0x3f800000, 0x3f808000, 0x3f80c000, 0x3f818000, 0x3fb33333, 0x3fbfffff, 0x3fc00000,  # 1 ...
    0x3f880000, 0x3f880001, 0x3f900000, 0x3f980000, 0x3fa00000, 0x3fa00001, 0x40000000,
    0x43700000, 0x4377ffff, 0x43780000, 0x43800000, 0x43e00000, 0x43e7ffff, 0x43e80000,  # 448
    0x43e80001, 0x43f00000, 0x43ffffff, 0x44000000, 0x476fffff, 0x47700000, 0x477fe000,
    0x477fefff, 0x477ff000, 0x477ff001, 0x47800000, 0x7f3fffff, 0x7f400000, 0x7f7f7fff,
    0x7f7f8000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff,
]


def tensor_of(dtype, values):
    """Integers (unsigned) as the bits of a tensor."""
    bits = 8 * dtype.itemsize
    signed = [v - (1 << bits) if bits > 8 and v >> (bits - 1) else v for v in values]
    return torch.tensor(signed, dtype=INTEGERS[dtype.itemsize]).view(dtype)


def codes(source, target):
    """The bits of each cast to `target`, all NaN made one, as integers of its size."""
    dtype = TYPES[target]
    result = source.to(dtype)
    integers = result.view(INTEGERS[dtype.itemsize]).clone()
    integers[torch.isnan(result.to(torch.float32))] = NAN[target]
    return integers


def hashed():
    """The sources whose casts are hashed: name, and a tensor the C side computes too."""
    for name in NARROW:
        n = 1 << 8 * TYPES[name].itemsize
        yield name, tensor_of(TYPES[name], list(range(n)))
    i = torch.arange(1 << 20, dtype=torch.int64)
    bits = i * 2654435761 & 0xFFFFFFFF
    yield "NW_F32", (bits - (bits >> 31 << 32)).to(torch.int32).view(torch.float32)
    mantissa = (bits * 1048573) & ((1 << 52) - 1)
    yield "NW_F64", ((i & 1) << 63 | (860 + i % 300) << 52 | mantissa).view(torch.float64)


def main():
    print("/* SPDX-License-Identifier: Apache-2.0")
    print(f" * Written by golden.py with PyTorch {torch.__version__.split('+')[0]}. */")
    print("#ifndef NWT_CAST_GOLDEN_TABLE_H\n#define NWT_CAST_GOLDEN_TABLE_H\n")
    print("/* clang-format off */")
    print("/* Bits of F32, and what they become, in the order of golden_targets; all NaN are")
    print(" * the one of golden_nan. */")
    print(f"#define N_GOLDEN_TARGETS {len(NARROW)}\n")
    print("static const struct {\n    int dtype;\n    uint16_t nan;")
    print("} golden_targets[N_GOLDEN_TARGETS] = {")
    for name in NARROW:
        print(f"    {{{name}, {NAN[name]:#06x}}},")
    print("};\n")
    print("static const struct {\n    uint32_t bits;\n    uint16_t codes[N_GOLDEN_TARGETS];")
    print("} golden_edges[] = {")
    for bits in EDGES + [edge | 1 << 31 for edge in EDGES]:
        source = tensor_of(torch.float32, [bits])
        row = [int(codes(source, name)[0]) & 0xFFFF for name in NARROW]
        print(f"    {{{bits:#010x}, {{{', '.join(f'{c:#06x}' for c in row)}}}}},")
    print("};\n")
    print("/* CRC-32 of the casts of all codes, or of the values of golden_f32 and golden_f64. */")
    print("static const struct {\n    int from, to;\n    uint32_t crc;\n} golden_hashes[] = {")
    for name, source in hashed():
        for target in TYPES:
            if target != name:
                crc = zlib.crc32(codes(source, target).numpy().tobytes())
                print(f"    {{{name}, {target}, {crc:#010x}}},")
    print("};\n/* clang-format on */\n\n#endif")


main()
