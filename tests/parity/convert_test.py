# SPDX-License-Identifier: Apache-2.0
"""What ours writes, the real safetensors package reads equal; a single file with at most one
metadata key is the very file it would have written."""
import json
import os
import shutil
import struct

import numpy as np
import pytest
import torch
from checkpoints import (FLOATS, LONG, METADATA, TARGETS, TORCH, contents, make, raw, raw_file,
                         same, save, save_shards, stored)
from hypothesis import given, settings
from hypothesis import strategies as st
from nwlib import BACKENDS, Checkpoint, Error, command, convert, load
from safetensors import safe_open
from safetensors.torch import load_file

EXAMPLES = settings(max_examples=1000 if LONG else 100)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("convert")


def header(path):
    data = path.read_bytes()
    n = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + n]), 8 + n, len(data)


def strict(path):
    """What C58 (h) asks of a written file."""
    doc, start, size = header(path)
    doc.pop("__metadata__", None)
    assert start % 8 == 0
    end = start
    for row in doc.values():
        first, last = (start + k for k in row["data_offsets"])
        assert first == end
        end = last
        width = {"C64": 8}.get(row["dtype"]) or int("".join(filter(str.isdigit, row[
            "dtype"].split("_")[0])) or 8) // 8
        assert last == first or first % max(1, width) == 0
    assert end == size


def read(path):
    """All tensors by the real package, sharded or not."""
    if path.is_file():
        return load_file(path)
    index, = path.glob("*.index.json")
    doc = json.loads(index.read_text("utf-8"))
    result = {}
    for name in set(doc["weight_map"].values()):
        part = load_file(path / name)
        assert {k for k, v in doc["weight_map"].items() if v == name} == part.keys()
        result |= part
    assert result.keys() == doc["weight_map"].keys()
    assert doc["metadata"]["total_size"] == sum(t.nbytes for t in result.values())
    return result


@given(contents(), METADATA, st.sampled_from(BACKENDS), st.sampled_from([None, 0, 2]),
       st.lists(st.integers(0, 99), min_size=12, max_size=12), st.integers(1, 4))
@EXAMPLES
def test_identical_to_safetensors(scratch, tensors, metadata, backend, threads, of, n_shards):
    source, target = scratch / "in.safetensors", scratch / "out.safetensors"
    save(source, tensors, metadata)
    given = source
    if tensors and n_shards > 1:
        given = scratch / "shards"
        shutil.rmtree(given, ignore_errors=True)
        save_shards(given, tensors, of, n_shards, metadata=metadata)
    convert(given, target, {"overwrite": True}, backend=backend, threads=threads)
    assert target.read_bytes() == source.read_bytes()
    strict(target)


@given(contents(FLOATS, 8), st.sampled_from(TARGETS), st.sampled_from(BACKENDS))
@EXAMPLES
def test_cast_and_write(scratch, tensors, dtype, backend):
    source, target = scratch / "cast-in.safetensors", scratch / "cast-out.safetensors"
    save(source, tensors)
    convert(source, target, {"overwrite": True}, backend=backend, dtype=dtype)
    written = load_file(target)
    assert written.keys() == tensors.keys()
    expected = {}
    for name, (_, tensor) in tensors.items():
        expected[name] = dtype, tensor.to(TORCH[dtype])
        same(stored(dtype, written[name]), dtype, expected[name][1])
    if not any(torch.isnan(t.double()).any() for _, t in expected.values()):
        save(source, expected)
        assert target.read_bytes() == source.read_bytes()


@given(contents(), st.integers(1, 200_000), METADATA)
@EXAMPLES
def test_shards(scratch, tensors, max_shard, metadata):
    source, target = scratch / "whole.safetensors", scratch / "sharded"
    shutil.rmtree(target, ignore_errors=True)
    save(source, tensors, metadata)
    doc = convert(source, target, {"max_shard": max_shard})
    files = sorted(target.glob("*.safetensors"))
    total = sum(t.nbytes for _, t in tensors.values())
    if len(files) == 1:
        assert files[0].read_bytes() == source.read_bytes() and not list(target.glob("*.json"))
    else:
        assert total > max_shard
        assert {k: raw(t) for k, t in read(target).items()} == {
            k: raw(t) for k, (_, t) in tensors.items()}
        for k, path in enumerate(files):
            strict(path)
            assert path.name.endswith(f"-{k + 1:05}-of-{len(files):05}.safetensors")
            part = load_file(path)
            assert sum(t.nbytes for t in part.values()) <= max_shard or len(
                [t for t in part.values() if t.nbytes]) == 1
    written = {row["name"]: (row["bytes"], row["tensors"]) for row in doc["written"]
               if row["name"].endswith(".safetensors")}
    assert written == {p.name: (p.stat().st_size, len(load_file(p))) for p in files}
    assert load(target) == {name: stored(*row) for name, row in tensors.items()}


@pytest.mark.parametrize("change,expected", [
    (["a=1"], {"format": "pt", "a": "1"}), (["format="], None), (["format=x=y"], {
        "format": "x=y"}), (["gone="], {"format": "pt"})])
def test_metadata(scratch, change, expected):
    source, target = scratch / "meta.safetensors", scratch / "meta-out.safetensors"
    save(source, {"a": ("F32", torch.ones(2))}, {"format": "pt"})
    convert(source, target, {"overwrite": True, "metadata": change})
    with safe_open(target, "pt") as f:
        assert (f.metadata() or None) == expected
    assert load_file(target)["a"].tolist() == [1, 1]


def test_c58_metadata_name(scratch):
    source, target = scratch / "a.safetensors", scratch / "never.safetensors"
    save(source, {"a": ("F32", torch.ones(2))})
    with pytest.raises(Error) as error:
        convert(source, target, rename=["a=__metadata__"])
    assert error.value.code == "ARG" and "__metadata__" in error.value.message + error.value.tensor
    assert not target.exists() and not list(scratch.glob("*netweight-tmp*"))


def test_c58_beside_a_variant(scratch):
    folder, source = scratch / "c58f", scratch / "c58f.safetensors"
    tensors = {f"t{i}": ("F32", torch.full((100,), float(i))) for i in range(6)}
    save(source, tensors)
    convert(source, folder, {"max_shard": 1200, "variant": "ema"})
    ema = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert len([n for n in ema if n.endswith(".safetensors")]) == 2
    convert(source, folder, {"max_shard": 400, "overwrite": True})
    (folder / "model_notes.txt").write_text("mine")
    (folder / "model-00001-of-00003.bin").write_text("mine")
    (folder / "other-00001-of-00003.safetensors").write_text("mine")
    assert len(list(folder.glob("*-of-00006.safetensors"))) == 6
    convert(source, folder, {"max_shard": 1200, "overwrite": True})
    assert not list(folder.glob("*-of-00006.safetensors"))
    convert(source, folder, {"overwrite": True})
    left = {p.name for p in folder.iterdir()}
    assert {n: (folder / n).read_bytes() for n in ema} == ema
    assert left - ema.keys() == {"model.safetensors", "model_notes.txt",
                                 "model-00001-of-00003.bin",
                                 "other-00001-of-00003.safetensors"}
    assert {k: raw(v) for k, v in read(folder / "model.safetensors").items()} == {
        k: raw(v) for k, (_, v) in tensors.items()}


@pytest.mark.parametrize("dtype,copy", [("auto", "auto"), ("auto", "always"),
                                        ("BF16", "auto"), ("F64", "auto")])
def test_c58_over_itself(scratch, dtype, copy):
    """Saving over the file that is being read, and over one that is mapped."""
    path = scratch / f"self-{dtype}-{copy}.safetensors"
    tensor = torch.arange(300_000, dtype=torch.float32)
    save(path, {"a": ("F32", tensor)})
    with Checkpoint(path) as ckpt, ckpt.plan() as plan, plan.run() as mapped:
        doc = convert(path, path, {"overwrite": True}, dtype=dtype, copy=copy)
        assert doc["written"][0]["tensors"] == 1
        assert mapped.tensors()["a"][2] == raw(tensor)
    expected = tensor if dtype == "auto" else tensor.to(TORCH[dtype])
    assert torch.equal(load_file(path)["a"], expected)


def test_refuses_to_overwrite(scratch):
    source, target = scratch / "over.safetensors", scratch / "over-out.safetensors"
    save(source, {"a": ("F32", torch.ones(2))})
    target.write_text("old")
    with pytest.raises(Error) as error:
        convert(source, target)
    assert error.value.code == "ARG" and target.read_text() == "old"
    status, doc, err = command("convert", source, target, "--json")
    assert status == 2 and target.read_text() == "old"
    assert command("convert", source, "-")[0] == 2
    with pytest.raises(Error) as error:
        convert(source, scratch / "single.safetensors", {"max_shard": 4})
    assert error.value.code == "ARG" and not (scratch / "single.safetensors").exists()


def test_folder_takes_config_along(scratch):
    folder, target = scratch / "folder", scratch / "folder-out"
    tensors = {"a": ("F32", torch.ones(8)), "b": ("F32", torch.zeros(8))}
    save_shards(folder, tensors, [0, 1], 2, "diffusion_pytorch_model", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(
        {"_class_name": "UNet2DConditionModel", "torch_dtype": "float32", "x": [1, {"é": 2}]}))
    convert(folder, target, dtype="BF16")
    assert {p.name for p in target.iterdir()} == {"config.json",
                                                  "diffusion_pytorch_model.safetensors"}
    doc = json.loads((target / "config.json").read_text("utf-8"))
    assert doc == {"_class_name": "UNet2DConditionModel", "torch_dtype": "bfloat16",
                   "x": [1, {"é": 2}]}
    got = load_file(target / "diffusion_pytorch_model.safetensors")
    assert got["a"].dtype == torch.bfloat16 and got["a"].tolist() == [1] * 8


def test_c58_peak(scratch):
    source = scratch / "peak.safetensors"
    save(source, {f"t{i}": ("F32", make("F32", (1 << 20,), i)) for i in range(40)})
    for dtype in ("auto", "fp8_e4m3", "fp64"):
        status, doc, err = command("convert", source, scratch / "peak-out.safetensors",
                                   "--dtype", dtype, "--overwrite", "--scratch", "8MiB",
                                   "--json")
        assert status == 0, err
        result = doc["result"]
        assert result["peak_bytes"] <= result["predicted_peak_bytes"] <= 9 << 20
        assert result["rss_peak_bytes"] <= (4 << 20) + (8 << 20) + (4 << 20)


def test_command_round_trip(scratch):
    source, target = scratch / "cli.safetensors", scratch / "cli-out.safetensors"
    tensors = {name.lower(): (name, make(name, (6, 4), 3)) for name in TORCH}
    save(source, tensors, {"format": "pt"})
    for backend in BACKENDS:
        for threads in (0, 1, 3):
            status, doc, err = command("convert", source, target, "--backend", backend,
                                       "--threads", threads, "--overwrite", "--json")
            assert status == 0, err
            assert target.read_bytes() == source.read_bytes()
    assert command("diff", source, target, "--values", "--json")[0:2] == (
        0, {"equal": True, "only_a": [], "only_b": [], "differ": []})
