# SPDX-License-Identifier: Apache-2.0
"""Casts equal torch's, bit for bit but for the payload of NaN: all pairs of floating types, at
each level of the CPU. The bytes go through `cast_check --pipe`, whose path is
NETWEIGHT_CAST_CHECK or else beside the command in NETWEIGHT."""
import os
import subprocess

import pytest
import torch

TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz, "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "F8_E8M0": torch.float8_e8m0fnu,
}
INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
LEVELS = {"scalar": 1, "avx2": 1 | 2, "all": 0xFF}
FP8_NAN = 1
N_RANDOM = 4_000_000
PROGRAM = os.environ.get("NETWEIGHT_CAST_CHECK") or os.path.join(
    os.path.dirname(os.environ.get("NETWEIGHT", "")), "tests", "cast_check")

pytestmark = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK),
                                reason="NETWEIGHT_CAST_CHECK does not name the built file")


def edges(mantissa_bits, exponents):
    """Each exponent and sign with mantissas at and beside each halfway point; as integers."""
    everything = (1 << mantissa_bits) - 1
    mantissas = {0, everything}
    for i in range(mantissa_bits):
        for value in (1 << i, 3 << i, everything ^ 1 << i, everything & -1 << i):
            mantissas |= {(value + d) & everything for d in (-1, 0, 1)}
    tops = torch.tensor(exponents, dtype=torch.int64) << mantissa_bits
    return (tops[:, None] | torch.tensor(sorted(mantissas))[None, :]).flatten()


def source_f32():
    generator = torch.Generator().manual_seed(20)
    uniform = torch.randint(0, 1 << 32, (N_RANDOM,), generator=generator)
    bits = torch.cat([edges(23, range(512)), uniform])
    return (bits - (bits >> 31 << 32)).to(torch.int32).view(torch.float32)


def source_f64():
    generator = torch.Generator().manual_seed(20)
    near = list(range(1023 - 155, 1023 + 135))  # where F32 has values, and a little more
    exponents = near + [0, 1, 500, 1500, 2046, 2047]
    tops = exponents + [e - 2048 for e in exponents]  # with the sign
    random = torch.randint(0, 1 << 52, (N_RANDOM,), generator=generator)
    pick = torch.randint(0, len(tops), (N_RANDOM,), generator=generator)
    random |= torch.tensor(tops)[pick] << 52
    twice = source_f32()[:200_000].double().view(torch.int64)  # rounded twice
    bits = torch.cat([edges(52, tops), random, twice - 1, twice, twice + 1])
    return bits.view(torch.float64)


@pytest.fixture(scope="module")
def sources():
    made = {"F32": source_f32(), "F64": source_f64()}
    for name, dtype in TYPES.items():
        if dtype.itemsize <= 2:
            codes = torch.arange(1 << 8 * dtype.itemsize).to(INTEGERS[dtype.itemsize])
            made[name] = codes.view(dtype)
    return made


def cast(source, from_name, to_name, flags, level):
    """(result, overflow, flushed)"""
    done = subprocess.run(
        [PROGRAM, "--pipe", from_name, to_name, str(flags), str(level)], check=True,
        input=source.view(torch.uint8).numpy().tobytes(), capture_output=True)
    overflow, flushed = (int(word) for word in done.stderr.split())
    result = torch.frombuffer(bytearray(done.stdout), dtype=torch.uint8).view(TYPES[to_name])
    return result, overflow, flushed


def widened(values):
    return values if values.dtype == torch.float64 else values.to(torch.float32)


def different(ours, theirs):
    """Where the bits differ and not both are NaN."""
    size = INTEGERS[ours.dtype.itemsize]
    both_nan = torch.isnan(widened(ours)) & torch.isnan(widened(theirs))
    return (ours.view(size) != theirs.view(size)) & ~both_nan


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("to_name", TYPES)
@pytest.mark.parametrize("from_name", TYPES)
def test_pair(sources, from_name, to_name, level):
    source = sources[from_name]
    ours, overflow, flushed = cast(source, from_name, to_name, 0, LEVELS[level])
    theirs = source.to(TYPES[to_name])
    bad = different(ours, theirs)
    assert not bad.any(), (widened(source[bad][:5]), widened(ours[bad][:5]),
                           widened(theirs[bad][:5]))

    # The counts, from torch's result alone.
    before, after = widened(source), widened(theirs)
    kept = torch.isinf(before) & torch.isinf(after)
    lost = ~torch.isnan(before) & ~torch.isfinite(after) & ~kept
    if to_name == "F8_E4M3":  # saturates: those that round to more than 448
        lost = before.to(torch.float32).abs() > 464
    assert overflow == int(lost.sum())
    assert flushed == int(((before != 0) & (after == 0)).sum())


@pytest.mark.parametrize("level", LEVELS)
def test_e4m3_nan(sources, level):
    """As before torch saturated: what rounds to more than 448 is NaN, with its sign."""
    source = sources["F32"]
    ours, overflow, _ = cast(source, "F32", "F8_E4M3", FP8_NAN, LEVELS[level])
    beyond = (source.abs() > 464) | torch.isnan(source)
    signs = (source.view(torch.int32) >> 31 & 0x80).to(torch.uint8)
    assert torch.equal(ours.view(torch.uint8)[beyond], (signs | 0x7F)[beyond])
    assert not different(ours, source.to(torch.float8_e4m3fn))[~beyond].any()
    assert overflow == int((source.abs() > 464).sum())
