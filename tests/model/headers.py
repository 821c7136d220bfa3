# SPDX-License-Identifier: Apache-2.0
"""Checkpoints without data: files whose headers are real, and whose bytes are a hole."""
import gzip
import json
import os
import struct

BYTES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1,
         "U8": 1, "I8": 1, "BOOL": 1}


def read(path):
    """{name: {"dtype", "shape"}} of a header file, plain or gzipped."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path) as file:
        return {k: v for k, v in json.load(file).items() if k != "__metadata__"}


def write(header, path, dtype="F16", metadata=None, filled=()):
    """A sparse safetensors file; tensors without a dtype get `dtype`, unknown sizes (-1) become 4.
    All values are zero, but the first of the tensors named in `filled`."""
    rows, at = {}, 0
    if metadata:
        rows["__metadata__"] = metadata
    for name, row in header.items():
        kind = row.get("dtype") or dtype
        shape = [4 if d < 0 else d for d in row["shape"]]
        n = BYTES[kind]
        for d in shape:
            n *= d
        rows[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(rows).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        os.truncate(file.fileno(), 8 + len(text) + at)
        for name in filled:
            file.seek(8 + len(text) + rows[name]["data_offsets"][0])
            file.write(b"\1")
