# SPDX-License-Identifier: Apache-2.0
"""What is a valid safetensors file: our decision and that of the real package, on files by hand,
on random ones, and on the published bad examples."""
import gzip
import json
import pathlib
import struct

import pytest
from hypothesis import given, settings, strategies as st
from safetensors import SafetensorError, deserialize, safe_open

import nwlib

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "corpus"


def build(header, data=b"", length=None):
    header = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def theirs(data, path):
    """None if it is refused, else names in file order with dtype and shape, and the metadata."""
    path.write_bytes(data)
    try:
        deserialize(data)
        with safe_open(path, "np") as file:
            names = file.offset_keys() if hasattr(file, "offset_keys") else file.keys()
            rows = {n: (file.get_slice(n).get_dtype(), tuple(file.get_slice(n).get_shape()))
                    for n in names}
            return rows, file.metadata() or {}
    except SafetensorError:
        return None


def ours(data, path):
    path.write_bytes(data)
    try:
        with nwlib.Checkpoint(path) as checkpoint:
            rows = {n: (dtype, shape) for n, (_, dtype, shape, _, _) in
                    checkpoint.tensors().items()}
            return rows, checkpoint.metadata()
    except nwlib.Error as error:
        assert error.message and error.file.endswith(path.name)
        return None


def same(data, path):
    a, b = theirs(data, path), ours(data, path)
    assert (a is None) == (b is None), (data, a, b)
    if a:
        assert a[0] == b[0] and a[1] == b[1]
        if not any(0 in shape for _, shape in a[0].values()):  # empty ones share their offset
            assert list(a[0]) == list(b[0])


A = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'


def entry(text):
    return '{"a":{' + text + "}}"


CASES = [
    "{" + A + "}", " \n\t\r{" + A + "}  \n", '{"__metadata__":null,' + A + "}",
    '{"__metadata__":{},' + A + "}", "{" + A + ',"__metadata__":{"k":"v"}}',
    '{"__metadat\\u0061__":{"k":"\\u0000"},' + A + "}", '{"__metadata__":{"k":1},' + A + "}",
    '{"__metadata__":{"k":null},' + A + "}", '{"__metadata__":[],' + A + "}",
    '{"__metadata__":{},"__metadata__":{},' + A + "}",
    entry('"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":{"y":[1,null,"z"]}'),
    entry('"dtype":"F32","x":1,"x":2,"shape":[1],"data_offsets":[0,4]'),
    entry('"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]'),
    entry('"dt\\u0079pe":"F32","shape":[1],"data_offsets":[0,4]'),
    entry('"shape":[1],"data_offsets":[0,4]'), entry('"dtype":"F32","data_offsets":[0,4]'),
    entry('"dtype":"F32","shape":[1]'), entry('"dtype":"f32","shape":[1],"data_offsets":[0,4]'),
    entry('"dtype":"F31","shape":[1],"data_offsets":[0,4]'),
    entry('"dtype":"F32","shape":[],"data_offsets":[0,4]'),
    entry('"dtype":"F32","shape":[2],"data_offsets":[0,4]'),
    entry('"dtype":"F32","shape":[1],"data_offsets":[4,0]'),
    entry('"dtype":"F32","shape":[1],"data_offsets":[0,4,4]'),
    entry('"dtype":"F32","shape":[1],"data_offsets":[0]'),
    entry('"dtype":"F32","shape":[1],"data_offsets":{}'),
    *[entry(f'"dtype":"F32","shape":[{n}],"data_offsets":[0,4]')
      for n in ("1.0", "1e0", "-1", "-0", '"1"', "true", "null", "[1]", "18446744073709551616",
                "01", "4611686018427387905")],
    *[entry(f'"dtype":"F32","shape":[1],"data_offsets":[0,{n}]')
      for n in ("4.0", '"4"', "18446744073709551616", "18446744073709551615", "5", "8")],
    "{}", "[]", "", "null", '{"a":null}', "{" + A, "{" + A + "}}", "{" + A + "}\0", "\ufeff{}",
    '{},"__metadata__":{"format":"pt"}}', '{"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    '{"a\\u0000b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    '{"\\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    '{"\x01":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', '{"a":{"x":"\\q"}}',
    b'{"\xff":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    entry('"dtype":"F32","shape":[0,18446744073709551615,18446744073709551615],'
          '"data_offsets":[0,0]'),
    entry('"dtype":"F32","shape":[18446744073709551615,18446744073709551615,0],'
          '"data_offsets":[0,0]'),
    entry('"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":' + "[" * 120 + "]" * 120),
    entry('"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":' + "[" * 200 + "]" * 200),
]


@pytest.mark.parametrize("header", CASES, ids=lambda header: str(header)[:60])
def test_headers(header, tmp_path):
    for n in (0, 3, 4, 5, 8):
        same(build(header, bytes(n)), tmp_path / "x.safetensors")


def test_lengths(tmp_path):
    path = tmp_path / "x.safetensors"
    good = build("{" + A + "}", bytes(4))
    for size in range(len(good) + 1):
        same(good[:size], path)
    for length in (0, 1, 51, 53, 2**31, 2**62, 2**63 - 1, 2**63, 2**64 - 1):
        same(build("{" + A + "}", bytes(4), length), path)


# Where we are stricter on purpose: a name twice is never right, and a tensor is an object.
STRICTER = {
    "{" + A + "," + A + "}": "DUPLICATE",
    '{"__metadata__":{"k":"1","k":"2"},' + A + "}": "DUPLICATE",
    '{"a":["F32",[1],[0,4]]}': "BAD_HEADER",
}


@pytest.mark.parametrize("header", STRICTER)
def test_stricter(header, tmp_path):
    path = tmp_path / "x.safetensors"
    data = build(header, bytes(4))
    assert theirs(data, path) is not None
    with pytest.raises(nwlib.Error) as error:
        nwlib.Checkpoint(path)
    assert error.value.code == STRICTER[header]


# ---- random files: a valid one, then perhaps one thing changed ----

BITS = {"BOOL": 8, "U8": 8, "I16": 16, "BF16": 16, "F32": 32, "I64": 64, "C64": 64, "F4": 4,
        "F6_E2M3": 6, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E5M2FNUZ": 8}
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).filter(
    lambda n: n != "__metadata__")


@st.composite
def checkpoints(draw):
    """(header as a dict, size of the data); extents may be damaged."""
    header, at = {}, 0
    for name in draw(st.lists(NAMES, unique=True, max_size=5)):
        dtype = draw(st.sampled_from(sorted(BITS)))
        shape = draw(st.lists(st.integers(0, 4), max_size=3))
        bits = BITS[dtype]
        for n in shape:
            bits *= n
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [at, at + (bits + 7) // 8]}
        at += (bits + 7) // 8
    if header and draw(st.booleans()):
        row = header[draw(st.sampled_from(sorted(header)))]
        i, by = draw(st.integers(0, 1)), draw(st.integers(-3, 3))
        row["data_offsets"][i] += by
    if draw(st.booleans()):
        header["__metadata__"] = draw(st.dictionaries(st.text(
            st.characters(exclude_categories=["Cs"]), max_size=4), st.text(
                st.characters(exclude_categories=["Cs"]), max_size=4), max_size=3))
    order = draw(st.permutations(sorted(header)))
    return {name: header[name] for name in order}, at + draw(st.sampled_from([0, 0, 0, -1, 1]))


@given(checkpoints(), st.booleans(), st.integers(0, 9))
@settings(max_examples=600)
def test_random(tmp_path_factory, checkpoint, ascii_only, padding):
    header, size = checkpoint
    text = json.dumps(header, ensure_ascii=ascii_only, separators=(",", ":")) + " " * padding
    same(build(text, bytes(max(0, size))), tmp_path_factory.getbasetemp() / "r.safetensors")


@given(st.sampled_from([c for c in CASES if isinstance(c, str)]), st.data())
@settings(max_examples=600)
def test_changed_bytes(tmp_path_factory, header, data):
    """One byte of a good or bad header changed, taken out or put in."""
    text = bytearray(header.encode())
    at = data.draw(st.integers(0, len(text)))
    byte = data.draw(st.sampled_from(b'{}[]":,0159.-eaF \\u\x00\x7f\xc3\xff'))
    what = data.draw(st.integers(0, 2))
    if what == 0:
        text[at:at + 1] = bytes([byte])
    elif what == 1:
        text[at:at + 1] = b""
    else:
        text[at:at] = bytes([byte])
    raw = build(bytes(text), bytes(4))
    path = tmp_path_factory.getbasetemp() / "c.safetensors"
    if ours(raw, path) is None and theirs(raw, path) is not None:
        with pytest.raises(nwlib.Error) as error:
            nwlib.Checkpoint(path)
        assert error.value.code == "DUPLICATE" or '"a":[' in header
    else:
        same(raw, path)


# ---- published examples ----

def shared(folder):
    if not SHARED.is_dir():
        print(f"\n{SHARED} is absent: the published examples are not tested")
        return []
    return sorted((SHARED / folder).glob("*.safetensors*"))


@pytest.mark.parametrize("path", shared("negative/safetensors"), ids=lambda p: p.name)
def test_published_bad(path, tmp_path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    copy = tmp_path / "bad.safetensors"
    assert theirs(data, copy) is None
    assert ours(data, copy) is None


@pytest.mark.parametrize("path", shared("safetensors") + shared("weights"), ids=lambda p: p.name)
def test_published_good(path, tmp_path):
    data, copy = path.read_bytes(), tmp_path / "good.safetensors"
    assert theirs(data, copy) is not None
    same(data, copy)
