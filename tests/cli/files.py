# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of a case from their descriptions, with the standard library alone.

A path ending in / is a folder. Else the description is one of
  {"tensors": [[name, dtype, shape, values]], "metadata": {}, "cut": n, "tail": n}
      safetensors; values are numbers (missing: all zero), "cut" drops bytes at the end
  {"sparse": [name, dtype, shape]}    safetensors whose data is a hole
  {"json": value}   {"text": "..."}   {"hex": "..."}   {"link": "target"}
"""
import json
import os
import struct

FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b",
           "U8": "B", "BOOL": "?"}
BITS = {"F64": 64, "F32": 32, "F16": 16, "BF16": 16, "I64": 64, "I32": 32, "I16": 16, "I8": 8,
        "U8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E5M2": 8}


def count(shape):
    n = 1
    for extent in shape:
        n *= extent
    return n


def tensor_bytes(dtype, shape, values=None):
    n = count(shape)
    if values is None:
        return bytes(n * BITS.get(dtype, 8) // 8)
    if dtype == "BF16":  # the upper half of an F32
        return b"".join(struct.pack("<f", v)[2:] for v in values)
    return struct.pack(f"<{len(values)}{FORMATS[dtype]}", *(float(v) if dtype[0] == "F" else v
                                                           for v in values))


def header(entries, metadata):
    fields = {} if metadata is None else {"__metadata__": metadata}
    fields.update(entries)
    text = json.dumps(fields, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def safetensors(what):
    entries, data = {}, b""
    for name, dtype, shape, *values in what["tensors"]:
        piece = tensor_bytes(dtype, shape, *values)
        entries[name] = {"dtype": dtype, "shape": shape,
                         "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    blob = header(entries, what.get("metadata")) + data + b"x" * what.get("tail", 0)
    return blob[:len(blob) - what.get("cut", 0)]


def sparse(path, name, dtype, shape):
    nbytes = count(shape) * BITS[dtype] // 8
    head = header({name: {"dtype": dtype, "shape": shape, "data_offsets": [0, nbytes]}}, None)
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(len(head) + nbytes)


def write(root, path, what):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if path.endswith("/"):
        return
    if "link" in what:
        os.symlink(what["link"], full)
    elif "sparse" in what:
        sparse(full, *what["sparse"])
    else:
        blob = (safetensors(what) if "tensors" in what else
                json.dumps(what["json"]).encode() if "json" in what else
                bytes.fromhex(what["hex"]) if "hex" in what else what["text"].encode())
        with open(full, "wb") as file:
            file.write(blob)
