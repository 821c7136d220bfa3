# SPDX-License-Identifier: Apache-2.0
"""What the real safetensors package wrote loads equal through ours, and casts equal torch's."""
import ctypes
import json
import shutil
import zlib

import numpy as np
import pytest
import torch
from checkpoints import (BITS, FLOATS, LONG, METADATA, TARGETS, TORCH, contents, make, raw,
                         raw_file, same, save, save_shards, stored)
from hypothesis import given, settings
from hypothesis import strategies as st
from nwlib import BACKENDS, Checkpoint, Error, command, load

THREADS = [None, 0, 1, 2, 5]
SLOW = settings(max_examples=400 if LONG else 40)
QUICK = settings(max_examples=1000 if LONG else 100)
MIB = 1 << 20


def f32(*values):
    return "F32", torch.tensor(values, dtype=torch.float32)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("load")


@given(contents(), METADATA, st.lists(st.integers(0, 99), min_size=12, max_size=12),
       st.integers(1, 5))
@SLOW
def test_every_backend_and_thread_count(scratch, tensors, metadata, of, n_shards):
    if n_shards == 1 or not tensors:
        path = scratch / "one.safetensors"
        save(path, tensors, metadata)
    else:
        path = scratch / f"of{n_shards}"
        shutil.rmtree(path, ignore_errors=True)
        save_shards(path, tensors, of, n_shards, metadata=metadata)
    expected = {name: stored(*row) for name, row in tensors.items()}
    with Checkpoint(path) as ckpt:
        assert ckpt.metadata() == (metadata or {}) or n_shards > 1
        listed = {name: row[1:3] for name, row in ckpt.tensors().items()}
        assert listed == {name: row[:2] for name, row in expected.items()}
        for backend in BACKENDS:
            for threads in THREADS:
                for copy in ("auto", "always"):
                    with ckpt.plan(backend=backend, threads=threads, copy=copy) as plan:
                        with plan.run() as weights:
                            assert weights.tensors() == expected, (backend, threads, copy)
                            if copy == "always":
                                assert not any(weights.mapped().values())


@given(contents(FLOATS, 6), st.sampled_from(TARGETS), st.sampled_from(BACKENDS),
       st.sampled_from(THREADS), st.sampled_from([0, MIB]))
@QUICK
def test_casts_equal_torch(scratch, tensors, dtype, backend, threads, ring):
    path = scratch / "cast.safetensors"
    save(path, tensors)
    got = load(path, dtype=dtype, backend=backend, threads=threads, scratch=ring)
    assert got.keys() == tensors.keys()
    for name, (_, tensor) in tensors.items():
        same(got[name], dtype, tensor.to(TORCH[dtype]))


@given(contents(max_tensors=5), st.data())
@QUICK
def test_slices(scratch, tensors, data):
    path = scratch / "slice.safetensors"
    save(path, tensors)
    with Checkpoint(path) as ckpt:
        for name, (index, dtype, shape, _, nbytes) in ckpt.tensors().items():
            rows = shape[0] if shape else 1
            body = raw(tensors[name][1])
            assert len(body) == nbytes
            first = data.draw(st.integers(0, rows))
            n = data.draw(st.integers(0, rows - first))
            bits = int(np.prod(shape[1:], dtype=np.int64)) * BITS[dtype]
            if bits % 8:  # rows of F4 that do not end on a byte
                with pytest.raises(Error) as error:
                    ckpt.read(index, first, n, (n * bits + 7) // 8)
                assert error.value.code == "UNSUPPORTED"
                continue
            row = bits // 8
            assert ckpt.read(index, first, n, n * row) == body[first * row:(first + n) * row]
            for bad in ((rows + 1, 0, 0), (first, rows - first + 1, (rows - first + 1) * row),
                        (0, rows, rows * row + 1), (2**64 - 1, 2, 2 * row)):
                with pytest.raises(Error) as error:
                    ckpt.read(index, *bad)
                assert error.value.code == "ARG", bad


@pytest.mark.parametrize("dtype", ["I64", "F32", "BOOL", "F8_E4M3", "C64", "F64"])
def test_c14_scalars(scratch, dtype):
    path = scratch / f"scalar-{dtype}.safetensors"
    tensors = {"s": (dtype, make(dtype, (), 5)), "v": (dtype, make(dtype, (1,), 6))}
    save(path, tensors)
    got = load(path)
    assert got == {name: stored(*row) for name, row in tensors.items()}
    assert got["s"][1] == () and got["v"][1] == (1,)
    assert load(path, copy="always") == got


def test_c17_zoo(scratch):
    path = scratch / "zoo.safetensors"
    tensors = {dtype.lower(): (dtype, make(dtype, (2, 8), 1)) for dtype in TORCH}
    tensors["e8"] = "F8_E8M0", torch.tensor([127, 128], dtype=torch.uint8).view(
        torch.float8_e8m0fnu)
    save(path, tensors)
    expected = {name: stored(*row) for name, row in tensors.items()}
    assert load(path) == expected and load(path, copy="always") == expected
    status, doc, _ = command("inspect", path, "--tensors", "--json")
    assert status == 0
    sizes = {row["name"]: (row["dtype"], row["shape"], row["nbytes"]) for row in doc["list"]}
    assert sizes == {name: (row[0], list(row[1]), len(row[2]))
                     for name, row in expected.items()}
    assert load(path, dtype="F32", only=["e8"])["e8"][2] == np.array([1, 2], "<f4").tobytes()


@pytest.mark.parametrize("dtype,shape,nbytes", [
    ("F6_E2M3", (4,), 3), ("F6_E3M2", (2, 8), 12), ("F4", (2, 8), 8), ("F4", (6,), 3),
    ("F8_E5M2FNUZ", (3,), 3)])
def test_c17_small_types(scratch, dtype, shape, nbytes):
    body = bytes(range(1, nbytes + 1))
    path = raw_file(scratch / "small.safetensors", [("a", dtype, shape, body)])
    for copy in ("auto", "always"):
        assert load(path, copy=copy) == {"a": (dtype, shape, body)}


@pytest.mark.parametrize("dtype,shape", [("F4", (3,)), ("F4", (5, 1)), ("F6_E2M3", (3,)),
                                         ("F6_E3M2", (2, 1))])
@pytest.mark.parametrize("nbytes", [1, 2, 3])
def test_c17_broken_bytes(scratch, dtype, shape, nbytes):
    path = raw_file(scratch / "bits.safetensors", [("q", dtype, shape, bytes(nbytes))])
    with pytest.raises(Error) as error:
        Checkpoint(path)
    bits = int(np.prod(shape)) * int(dtype[1])
    assert error.value.code == "BAD_EXTENT" and f"{bits} bits" in error.value.message
    assert error.value.tensor == "q"


@pytest.mark.parametrize("dtype", ["F6_X", "F128", "f32", ""])
def test_c17_unknown_type(scratch, dtype):
    good = np.float32([1, 2]).tobytes()
    path = raw_file(scratch / "unknown.safetensors",
                    [("good", "F32", [2], good), ("q", dtype, [4], b"\1\2\3")])
    with pytest.raises(Error) as error:
        Checkpoint(path)
    assert error.value.code == "UNSUPPORTED_TYPE" and error.value.tensor == "q"
    assert load(path, {"tolerate": 4}) == {"good": ("F32", (2,), good)}
    with Checkpoint(path, tolerate=4) as ckpt:
        assert ckpt.tensors().keys() == {"good", "q"}


def test_c34_narrowing(scratch):
    path = scratch / "narrow.safetensors"
    w = torch.tensor(np.array([0x3F80, 0x4788, 0xF149, 0x3089], np.uint16).view(np.int16))
    save(path, {"f": f32(65504, 65520, 65519.99), "w": ("BF16", w.view(torch.bfloat16))})
    with Checkpoint(path) as ckpt, ckpt.plan(dtype="F16") as plan, plan.run() as weights:
        got = {name: np.frombuffer(row[2], np.float16).tolist()
               for name, row in weights.tensors().items()}
        counts = dict(zip(got, ((r.overflow, r.flushed) for r in weights.per_target())))
        assert got == {"w": [1, np.inf, -np.inf, 0], "f": [65504, np.inf, 65504]}
        assert counts == {"w": (2, 1), "f": (1, 0)}
        assert (weights.figures().overflow, weights.figures().flushed) == (3, 1)
    with pytest.raises(Error) as error:
        load(path, dtype="F16", flags=1)
    assert error.value.code == "OVERFLOW" and error.value.tensor in "fw"
    status, doc, _ = command("load", path, "--dtype", "fp16", "--json")
    assert status == 0 and doc["result"]["overflow"] == 3
    status, doc, _ = command("load", path, "--dtype", "fp16", "--strict-cast", "--json")
    assert status in (1, 3) and doc["error"]["code"] == "OVERFLOW"


@pytest.mark.parametrize("value,expected", [(448, 448), (464, 448), (465, 448), (1e9, 448),
                                            (-1e9, -448)])
def test_c34_fp8_saturates(scratch, value, expected):
    path = scratch / "fp8.safetensors"
    save(path, {"a": f32(value)})
    got = load(path, dtype="fp8_e4m3")["a"][2]
    assert torch.frombuffer(bytearray(got), dtype=torch.float8_e4m3fn).float().item() == expected
    old = load(path, dtype="fp8_e4m3", fp8_nan=True)["a"][2]
    assert (old[0] & 127 == 127) == (abs(value) > 464)


@pytest.mark.parametrize("asked", ["bf16", "float16", "fp8_e4m3", "torch.float64"])
def test_c35_integers_untouched(scratch, asked):
    path = scratch / "ints.safetensors"
    tensors = {"position_ids": ("I64", torch.arange(300)[None]), "w": f32(1, 2, 3)}
    for dtype in ("BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64"):
        tensors[dtype] = dtype, make(dtype, (7,), 3)
    save(path, tensors)
    got = load(path, dtype=asked)
    dtype, tensor = tensors.pop("w")
    wanted = {"bf16": "BF16", "float16": "F16", "fp8_e4m3": "F8_E4M3"}.get(asked, "F64")
    same(got.pop("w"), wanted, tensor.to(TORCH[wanted]))
    assert got == {name: stored(*row) for name, row in tensors.items()}


def test_c36_auto_and_keep_fp32(scratch):
    path = scratch / "keep.safetensors"
    save(path, {"a": ("BF16", torch.ones(4, dtype=torch.bfloat16)), "b.norm": f32(.1),
                "c": ("F16", torch.ones(1, dtype=torch.float16)), "b.normal": f32(.1),
                "ids": ("I64", torch.tensor([257]))})
    assert [load(path)[n][0] for n in ("a", "b.norm", "c", "ids")] == ["BF16", "F32", "F16",
                                                                      "I64"]
    got = load(path, dtype="F16", keep_fp32=["norm"])
    assert got["b.norm"] == ("F32", (1,), np.float32([.1]).tobytes())
    assert got["b.normal"][0] == got["a"][0] == "F16" and got["ids"][0] == "I64"
    # Without a dtype the list does nothing; a narrower stored type is widened by it.
    assert load(path, keep_fp32=["a"])["a"][0] == "BF16"
    assert load(path, dtype="F16", keep_fp32=["a"])["a"] == (
        "F32", (4,), np.ones(4, np.float32).tobytes())
    status, doc, _ = command("plan", path, "--dtype", "fp16", "--keep-fp32", "norm", "--json")
    assert status == 0 and doc["report"]["kept_fp32"] == ["b.norm"]


def test_rules_and_names(scratch):
    path = scratch / "rules.safetensors"
    save(path, {"x.bias": f32(1, 2), "x.weight": ("F32", torch.ones(2, 2)),
                "y.weight": ("F32", torch.ones(3, 3))})
    types = {n: row[0] for n, row in load(
        path, dtype="fp8_e4m3", dtype_rules=["*@rank<=1=auto", "y.*@bytes<64=bf16"]).items()}
    assert types == {"x.bias": "F32", "x.weight": "F8_E4M3", "y.weight": "BF16"}
    assert load(path, rename=["x.*=z.*.0"], prefix="p.", drop=["*.weight.0"]).keys() == {
        "p.z.bias.0", "p.y.weight"}
    with pytest.raises(Error) as error:
        load(path, only=["nothing*"])
    assert error.value.code == "NOT_FOUND"
    with pytest.raises(Error) as error:
        load(path, rename=["*.weight=same"])
    assert error.value.code == "DUPLICATE"


@pytest.fixture(scope="module")
def c49(scratch):
    path = scratch / "c49.safetensors"
    tensors = {f"t{i}": ("BF16", torch.ones(512, 1024, dtype=torch.bfloat16))
               for i in range(64)}
    tensors["big"] = "BF16", torch.ones(2048, 2048, dtype=torch.bfloat16)
    save(path, tensors)
    assert sum(row[1].nbytes for row in tensors.values()) == 75_497_472
    return path


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32", "fp8_e5m2"])
@pytest.mark.parametrize("scratch_mib", [None, 20, 8])
def test_c49_peak(c49, backend, dtype, scratch_mib):
    """Each in a process of its own: the engine's peak, and the kernel's view of it."""
    bound = (scratch_mib or 64) * MIB
    status, doc, err = command("load", c49, "--dtype", dtype, "--backend", backend, "--copy",
                               "always", "--json", "--scratch", bound)
    assert status == 0, err
    final, result = doc["cost"]["final_bytes"], doc["result"]
    assert final == 75_497_472 * {"fp32": 2, "fp8_e5m2": .5}.get(dtype, 1)
    measured, predicted = result["peak_bytes"], result["predicted_peak_bytes"]
    assert predicted == doc["cost"]["peak_bytes"]
    assert measured <= predicted <= 1.02 * measured
    assert predicted <= final + bound
    assert result["rss_peak_bytes"] <= final + bound + 32 * MIB


def test_c49_budget(c49):
    with pytest.raises(Error) as error:
        load(c49, copy="always", budget=32 * MIB)
    assert error.value.code == "BUDGET"
    assert str(32 * MIB) in error.value.message.replace(",", "") or "32" in error.value.message
    status, doc, _ = command("load", c49, "--copy", "always", "--budget", "32MiB", "--json")
    assert status == 3 and doc["error"]["code"] == "BUDGET" and "cost" in doc
    peak = doc["cost"]["peak_bytes"]
    assert command("load", c49, "--copy", "always", "--budget", peak, "--json")[0] == 0
    assert command("load", c49, "--copy", "always", "--budget", peak - 1, "--json")[0] == 3


def test_mapping_is_private(scratch):
    path = scratch / "map.safetensors"
    save(path, {"a": ("F32", torch.arange(100_000, dtype=torch.float32)), "b": f32(1)})
    before = path.read_bytes()
    with Checkpoint(path) as ckpt, ckpt.plan(copy="never") as plan, plan.run() as weights:
        assert all(weights.mapped().values())
        for row in weights.rows():
            ctypes.memset(row.data, 7, row.nbytes)
        assert set(weights.tensors()["a"][2]) == {7}
    assert path.read_bytes() == before
    with pytest.raises(Error) as error:
        load(path, copy="never", dtype="F16")
    assert error.value.code == "ARG"


@pytest.mark.parametrize("pad", range(8))
def test_unaligned_is_copied(scratch, pad):
    path = raw_file(scratch / "odd.safetensors", [
        ("b", "U8", [pad], bytes(pad)), ("a", "F32", [3], np.float32([1, 2, 3]).tobytes()),
        ("d", "F64", [2], np.float64([1, 2]).tobytes())])
    with Checkpoint(path) as ckpt, ckpt.plan() as plan, plan.run() as weights:
        rows = {name: row[3] for name, row in ckpt.tensors().items()}
        mapped = weights.mapped()
        assert mapped["a"] == (rows["a"] % 4 == 0) and mapped["d"] == (rows["d"] % 8 == 0)
        assert weights.tensors()["d"][2] == np.float64([1, 2]).tobytes()


@pytest.mark.parametrize("folder", ["モデル と😀", "e\u0301\u00e9", "a'b\"c"])
def test_c50_path(scratch, folder):
    (scratch / folder).mkdir()
    path = scratch / folder / "重み 🎈.safetensors"
    save(path, {"a": f32(1, 2)})
    assert load(path)["a"][2] == np.float32([1, 2]).tobytes()
    status, doc, _ = command("load", path, "--json", "--digest")
    assert status == 0 and doc["targets"][0]["name"] == "a"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(Error) as error:
        load(path)
    assert error.value.code == "TRUNCATED" and error.value.file.endswith(
        f"{folder}/{path.name}")
    status, doc, err = command("load", path, "--json")
    assert status == 1 and str(path) in doc["error"]["file"]
    assert command("inspect", scratch / folder / "無い")[0] == 1


def test_c56_cancel(scratch):
    path = scratch / "cancel.safetensors"
    tensors = {f"t{i:03}": f32(i, 1, 2, 3) for i in range(100)}
    save(path, tensors)
    for threads in THREADS:
        with Checkpoint(path) as ckpt, ckpt.plan(dtype="F16", threads=threads) as plan:
            with pytest.raises(Error) as error:
                plan.run(lambda done, total: done >= total // 2)
            assert error.value.code == "CANCELLED"
            seen = []
            with plan.run(lambda done, total: seen.append((done, total))) as weights:
                assert len(weights.tensors()) == 100
            assert seen == sorted(seen) and seen[-1] == (1600, 1600)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("copy", ["auto", "always"])
def test_c60_filter(scratch, backend, copy):
    path = scratch / "filter.safetensors"
    save(path, {f"t{i:03}": ("F32", torch.full((1000,), float(i))) for i in range(100)})
    with Checkpoint(path) as ckpt, ckpt.plan(only=["t009", "t05?"], drop=[
            f"t05{i}" for i in range(8)], copy=copy, backend=backend) as plan, (
            plan.run()) as weights:
        assert weights.tensors().keys() == {"t009", "t058", "t059"}
        assert weights.figures().read_bytes <= 3 * (4000 + 2 * 4096)
        assert plan.cost().final_bytes == 12_000


def test_digest_is_zlibs(scratch):
    path = scratch / "crc.safetensors"
    tensors = {"big": ("F32", make("F32", (3_000_001,), 1)), "small": f32(1), "none": (
        "F32", torch.empty(0)), "odd": ("U8", make("U8", (77_777,), 2))}
    save(path, tensors)
    expected = {name: f"{zlib.crc32(raw(row[1])):08x}" for name, row in tensors.items()}
    for backend in BACKENDS:
        for threads in (0, 3):
            for copy in ("auto", "always"):
                status, doc, err = command("load", path, "--digest", "--json", "--backend",
                                           backend, "--threads", threads, "--copy", copy)
                assert status == 0, err
                assert {t["name"]: t["crc32"] for t in doc["targets"]} == expected


def test_documents_are_deterministic(scratch):
    path = scratch / "same.safetensors"
    save(path, {f"t{i}": ("BF16", make("BF16", (i, 3), i)) for i in range(50)})
    texts = []
    for threads in (0, 1, 7):
        for _ in range(2):
            with Checkpoint(path) as ckpt, ckpt.plan(dtype="F32", threads=threads) as plan:
                doc = plan.json(1)
                doc.pop("machine"), doc.pop("fits")
                if threads == 1:
                    texts.append(json.dumps(doc))
    assert len(set(texts)) == 1
