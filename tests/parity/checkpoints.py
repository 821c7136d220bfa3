# SPDX-License-Identifier: Apache-2.0
"""Random checkpoints: what hypothesis draws, and how the real safetensors package writes it."""
import json
import os
import struct

import numpy as np
import torch
from hypothesis import strategies as st
from safetensors.torch import save_file

LONG = "NETWEIGHT_LONG" in os.environ

# As spelt in the files; those torch has no name for are written by raw_file below.
TORCH = {
    "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "U16": torch.uint16,
    "I16": torch.int16, "U32": torch.uint32, "I32": torch.int32, "U64": torch.uint64,
    "I64": torch.int64, "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32,
    "F64": torch.float64, "C64": torch.complex64, "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2, "F8_E8M0": torch.float8_e8m0fnu,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz, "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
}
if hasattr(torch, "float4_e2m1fn_x2"):
    TORCH["F4"] = torch.float4_e2m1fn_x2
BITS = {name: 4 if name == "F4" else torch.empty(0, dtype=dtype).element_size() * 8
        for name, dtype in TORCH.items()}
FLOATS = ["F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
          "F8_E8M0"]
TARGETS = ["F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"]


def make(dtype, shape, seed):
    """A torch tensor of random bits (each value of a bool is 0 or 1)."""
    nbytes = int(np.prod(shape, dtype=np.int64)) * BITS[dtype] // 8
    data = np.random.default_rng(seed).integers(0, 256, nbytes, np.uint8)
    if dtype == "BOOL":
        data &= 1
    shape = (*shape[:-1], shape[-1] // 2) if dtype == "F4" else shape
    if nbytes == 0:
        return torch.empty(shape, dtype=TORCH[dtype])
    return torch.from_numpy(data).view(TORCH[dtype]).reshape(shape)


def raw(tensor):
    """The bytes of a tensor, row major."""
    if tensor.numel() == 0:
        return b""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def stored(dtype, tensor):
    """As nwlib gives it: (dtype, shape, bytes)."""
    shape = tuple(tensor.shape)
    shape = (*shape[:-1], shape[-1] * 2) if dtype == "F4" else shape
    return dtype, shape, raw(tensor)


@st.composite
def shapes(draw, dtype):
    rank = draw(st.integers(1 if dtype == "F4" else 0, 8))
    if rank == 1 and draw(st.integers(0, 4)) == 0:
        shape = [draw(st.integers(20_000, 400_000))]
    else:
        shape = draw(st.lists(st.integers(0, 9 if rank < 4 else 3), min_size=rank,
                              max_size=rank))
    if dtype == "F4":
        shape[-1] *= 2
    return tuple(shape)


NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text("ab.\0 \"\\/*?\n\x7fé\u0301\u2028\ufeff\U0001f600", max_size=6),
    st.lists(st.sampled_from(["down_blocks", "0", "attn", "to_q", "weight", "bias", ""]),
             min_size=1, max_size=5).map(".".join),
    st.text("x\u65e5", min_size=200, max_size=700),
).filter(lambda name: name != "__metadata__")


@st.composite
def contents(draw, dtypes=tuple(TORCH), max_tensors=12):
    """name -> (dtype, tensor)."""
    names = draw(st.lists(NAMES, unique=True, max_size=max_tensors))
    result = {}
    for name in names:
        dtype = draw(st.sampled_from(dtypes))
        result[name] = dtype, make(dtype, draw(shapes(dtype)), draw(st.integers(0, 2**32)))
    return result


METADATA = st.one_of(st.none(), st.dictionaries(st.text(
    st.characters(exclude_categories=["Cs"]), max_size=9), st.text(
        st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=1))


def save(path, tensors, metadata=None):
    save_file({name: tensor for name, (_, tensor) in tensors.items()}, path, metadata)


def save_shards(folder, tensors, of, n, stem="model", metadata=None):
    """`of[i]` is the shard of the i-th tensor; returns the folder."""
    os.makedirs(folder, exist_ok=True)
    used = sorted({k % n for k in of[:len(tensors)]})
    weight_map = {}
    for row, shard in enumerate(used):
        name = f"{stem}-{row + 1:05}-of-{len(used):05}.safetensors"
        part = {key: tensors[key] for key, k in zip(tensors, of) if k % n == shard}
        save(os.path.join(folder, name), part, metadata)
        weight_map.update(dict.fromkeys(part, name))
    total = sum(len(raw(tensor)) for _, tensor in tensors.values())
    with open(os.path.join(folder, f"{stem}.safetensors.index.json"), "w",
              encoding="utf-8") as f:
        json.dump({"metadata": {"total_size": total}, "weight_map": weight_map}, f,
                  ensure_ascii=n % 2 == 0)
    return folder


def raw_file(path, rows, metadata=None, pad=0):
    """rows: (name, dtype text, shape, bytes). A header as anyone may write it."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, dtype, shape, body in rows:
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(body)]}
        data += body
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8 + pad)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    return path


def same(got, dtype, expected):
    """Equal bits, but any NaN is equal to any NaN. `expected` is a torch tensor."""
    got_dtype, got_shape, got_bytes = got
    assert (got_dtype, got_shape) == (dtype, tuple(expected.shape))
    want = np.frombuffer(raw(expected), np.uint8)
    have = np.frombuffer(got_bytes, np.uint8)
    assert have.size == want.size
    if have.size == 0 or np.array_equal(have, want):
        return
    size = BITS[dtype] // 8
    value = torch.from_numpy(have.copy()).view(TORCH[dtype])
    nan = torch.isnan(expected.reshape(-1).to(torch.float64)).numpy()
    assert np.array_equal(torch.isnan(value.to(torch.float64)).numpy(), nan)
    differ = (have.reshape(-1, size) != want.reshape(-1, size)).any(axis=1) & ~nan
    where = np.flatnonzero(differ)
    assert where.size == 0, (where[0], have.reshape(-1, size)[where[0]],
                             want.reshape(-1, size)[where[0]])
