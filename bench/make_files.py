# SPDX-License-Identifier: Apache-2.0
"""The files of the benchmarks, under build/bench: names and shapes of real models if the
facts about them lie beside the clone, else lists like them; random normal values."""
import array
import gzip
import json
import os
import random
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
FOLDER = os.path.join(ROOT, "build", "bench")
FACTS = os.path.join(ROOT, "..", "shared", "checkpoints", "headers")
SIZES = {"F32": 4, "F16": 2, "BF16": 2}


def facts(name):
    """[(name, shape)] of a published model, or None."""
    path = os.path.join(FACTS, name)
    if not os.path.exists(path):
        return None
    with gzip.open(path, "rt") as f:
        doc = json.load(f)
    return [(key, row["shape"]) for key, row in doc.items() if key != "__metadata__"]


def unet_like(n_tensors, n_elements):
    """Blocks of convolutions, attention and norms, until both numbers are reached."""
    block = [("conv.weight", [1280, 1280, 3, 3]), ("conv.bias", [1280]),
             ("norm.weight", [1280]), ("norm.bias", [1280]), ("attn.q.weight", [1280, 1280]),
             ("attn.k.weight", [1280, 768]), ("ff.weight", [10240, 1280]),
             ("ff.bias", [10240])]
    rows, total = [], 0
    for i in range(n_tensors):
        name, shape = block[i % len(block)]
        n = 1
        for k in shape:
            n *= k
        if total + n > n_elements:
            n, shape = 320, [320]
        total += n
        rows.append((f"blocks.{i // len(block)}.{name}", shape))
    rows[-1] = (rows[-1][0], [max(1, n_elements - total)])
    return rows


def count(shape):
    n = 1
    for k in shape:
        n *= k
    return n


def header(rows):
    """rows: (name, dtype, shape). The bytes before the data, and how many follow."""
    doc, at = {}, 0
    for name, dtype, shape in rows:
        end = at + count(shape) * SIZES[dtype]
        doc[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(doc, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, at


def half(values):
    return struct.pack(f"<{len(values)}e", *values)


def write(path, rows, sparse=False):
    """Random normal values; `sparse`: a hole, for files of which only headers are read."""
    if os.path.exists(path):
        return path
    head, size = header(rows)
    random.seed(1)
    values = array.array("f", (random.gauss(0, 0.05) for _ in range(1 << 20)))
    blocks = {"F32": values.tobytes() * 2, "F16": half(values) * 2}
    with open(path + ".part", "wb") as f:
        f.write(head)
        if sparse:
            f.truncate(len(head) + size)
        for _, dtype, shape in [] if sparse else rows:
            left = count(shape) * SIZES[dtype]
            while left:
                begin = random.randrange(1 << 18) * SIZES[dtype]
                n = min(left, len(blocks[dtype]) - begin)
                f.write(memoryview(blocks[dtype])[begin:begin + n])
                left -= n
        f.flush()
        os.fsync(f.fileno())
    os.rename(path + ".part", path)
    return path


def by_width(rows):
    """Widest types first, as savers do: everything is aligned."""
    return sorted(rows, key=lambda row: -SIZES[row[1]])


def unet():
    """3.4 GB of F32: the UNet of Stable Diffusion 1.5."""
    rows = facts("sd1/diffusers.stable-diffusion-v1-5.unet.UNet2DConditionModel.json.gz")
    rows = rows or unet_like(686, 859_520_964)
    return write(os.path.join(FOLDER, "unet-f32.safetensors"),
                 [(name, "F32", shape) for name, shape in rows])


def mixed():
    """3.0 GB in 1,131 tensors: as much of it F32 as fits, the rest F16."""
    rows = facts("sd1/sd15.single-file.json.gz") or unet_like(1131, 1_066_235_307)
    wide, left = [], 3_000_000_000 - 2 * sum(count(shape) for _, shape in rows)
    for name, shape in rows:
        fits = 2 * count(shape) <= left
        left -= 2 * count(shape) * fits
        wide.append((name, "F32" if fits else "F16", shape))
    return write(os.path.join(FOLDER, "mixed-1131.safetensors"), by_width(wide))


def many(n):
    """Only a header: 2,515 tensors as in SDXL, or any other number of small ones."""
    rows = facts("sdxl/sdxl-base.single-file.json.gz") if n == 2515 else None
    rows = rows or [(f"model.blocks.{i // 8}.attn.{i % 8}.to_q.weight", [16 + i % 7, 32])
                    for i in range(n)]
    return write(os.path.join(FOLDER, f"header-{n}.safetensors"),
                 [(name, "F16", shape) for name, shape in rows], sparse=True)


def original_unet(dtype="F32"):
    """The UNet of Stable Diffusion 1.5 under its publisher's names: 3.4 GB of F32, 1.7 of F16."""
    rows = facts("sd1/component.UNET-v1-SD.json.gz")
    return rows and write(os.path.join(FOLDER, f"unet-original-{dtype.lower()}.safetensors"),
                          [("model.diffusion_model." + name, dtype, shape) for name, shape in rows])


def original_flux():
    """FLUX.1-dev, 23.8 GB of BF16, a hole: its peak is what counts."""
    rows = facts("flux/original.flux1-dev-comfy-prefixed.json.gz")
    return rows and write(os.path.join(FOLDER, "flux-original.safetensors"),
                          [(name, "BF16", shape) for name, shape in rows], sparse=True)


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    for made in (unet(), mixed(), many(2515), many(200_000)):
        print(f"{os.path.getsize(made):>13,}  {os.path.relpath(made, ROOT)}")
