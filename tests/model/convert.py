#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversions between layouts from outside, with nothing but the standard library.

    convert.py NETWEIGHT SKELETON [NAME]...
    convert.py NETWEIGHT SKELETON --make FAMILY PATH

SKELETON is the program of the build that lists a class's tensors. Every byte of a small model
that is named as its publisher would, and back, is what it was; so are the parts of a pipeline
that go through one file. NAME picks checks by a part of their names. --make writes a small
all-in-one file of a family (of small.PIPELINES), or its folder if PATH ends in no .safetensors.
"""
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import small  # noqa: E402
from compare import Tool  # noqa: E402

NETWEIGHT, SKELETON = sys.argv[1], sys.argv[2]
TOOL = Tool(SKELETON)
TRANSFORMERS = ("CLIP", "T5")


# ---- models and files ----

def listing(name, config):
    """[(name, shape)] of the tensors that a class saves: tied ones once, under the name they are tied to."""
    rows = []
    for line in TOOL.ask(name, config):
        assert not line.startswith("!"), f"{name}: {line}"
        words = line.split(" ")
        if line[0] != "@" and words[1] in ("parameter", "buffer") and len(words) == 4:
            rows.append((words[0], json.loads(words[3])))
    return rows


def values(name, shape, salt=""):
    """Two bytes an element, told by the tensor's name."""
    n = 2
    for extent in shape:
        n *= extent
    return hashlib.shake_128((salt + name).encode()).digest(n)


def write(path, tensors, metadata=None):
    """tensors: {name: (shape, bytes)} in F16, or with the dtype as a third."""
    header, at = ({"__metadata__": metadata} if metadata else {}), 0
    for name, (shape, data, *dtype) in tensors.items():
        header[name] = {"dtype": (dtype or ["F16"])[0], "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(tensor[1] for tensor in tensors.values())


def read(path):
    blob = path.read_bytes()
    size, = struct.unpack_from("<Q", blob)
    header = json.loads(blob[8:8 + size])
    header.pop("__metadata__", None)
    at = 8 + size
    return {name: (row["shape"], blob[at + row["data_offsets"][0]:at + row["data_offsets"][1]])
            for name, row in header.items()}


def model(folder, name, config, salt=""):
    """Writes a component as its class saves it; what its weights file holds."""
    transformers = name.startswith(TRANSFORMERS)
    said = {"architectures": [name]} if transformers else {"_class_name": name}
    state = {k: (s, values(k, s, salt)) for k, s in listing(name, config)}
    write(folder / ("model.safetensors" if transformers else "diffusion_pytorch_model.safetensors"), state)
    (folder / "config.json").write_text(json.dumps({**config, **said}))
    return state


def netweight(*args, status=0):
    done = subprocess.run([NETWEIGHT, *map(str, args), "--json"], capture_output=True, text=True)
    assert done.returncode == status, f"{args[1:]}: {done.returncode} {done.stderr[:300]}{done.stdout[:900]}"
    return json.loads(done.stdout) if done.stdout else {}


def same(ours, wanted, what):
    assert set(ours) == set(wanted), f"{what}: names differ: {sorted(set(ours) ^ set(wanted))[:6]}"
    for name, (shape, data) in wanted.items():
        assert ours[name][0] == shape, f"{what}: {name} has {ours[name][0]}, not {shape}"
        assert ours[name][1] == data, f"{what}: values of {name}"


# ---- checks ----

def there_and_back(folder, name, number, prefix):
    config = {**small.CONFIGS[name][number], **small.TINY.get(name, {})}
    state = model(folder / "model", name, config)
    original, back = folder / "original.safetensors", folder / "back.safetensors"
    netweight("convert", folder / "model", original, "--layout", "original", "--prefix", prefix)
    named = read(original)
    assert set(named) != set(state) or name in small.SAME_NAMES
    assert all(n.startswith(prefix) for n in named)
    netweight("convert", original, back, "--layout", "diffusers", "--config", folder / "model/config.json")
    same(read(back), state, "back")
    netweight("convert", back, folder / "again.safetensors", "--layout", "original", "--prefix", prefix,
              "--config", folder / "model/config.json")
    same(read(folder / "again.safetensors"), named, "original again")


def pipeline(folder, family):
    """Writes a folder of all parts; {component: its state}."""
    parts, states, index = small.PIPELINES[family], {}, {"_class_name": "DiffusionPipeline"}
    for component, (klass, config, _) in parts.items():
        states[component] = model(folder / component, klass, config, component)
        index[component] = ["transformers" if klass.startswith(TRANSFORMERS) else "diffusers", klass]
    (folder / "model_index.json").write_text(json.dumps(index))
    return states


def weights(folder, component):
    return read(next((folder / component).glob("*.safetensors")))


def one_file_and_back(folder, family):
    states = pipeline(folder / "model", family)
    one, back = folder / "one.safetensors", folder / "back"
    netweight("convert", folder / "model", one, "--layout", "original")
    names = read(one)
    for component, (_, _, prefix) in small.PIPELINES[family].items():
        assert any(n.startswith(prefix) for n in names), f"nothing of {component} begins with {prefix}"
    table = {c["name"]: c for c in netweight("inspect", one)["components"]}
    for component, (klass, _, _) in small.PIPELINES[family].items():
        assert table[component]["class"] == klass, (component, table[component])
        assert table[component]["family"] == family, (component, table[component])
    netweight("convert", one, back, "--layout", "diffusers", "--config", folder / "model")
    for component in states:
        same(weights(back, component), states[component], component)
        given = json.loads((folder / "model" / component / "config.json").read_text())
        made = json.loads((back / component / "config.json").read_text())
        assert given.items() <= made.items(), f"config of {component}: {made}"


def alone(folder):
    """A pipeline of one component becomes one file too."""
    name = "AutoencoderDC"
    state = model(folder / "model/vae", name, small.CONFIGS[name][0])
    (folder / "model/model_index.json").write_text(json.dumps({"_class_name": "X", "vae": ["diffusers", name]}))
    netweight("convert", folder / "model", folder / "same.safetensors")
    same(read(folder / "same.safetensors"), state, "one file")
    netweight("convert", folder / "model", folder / "original.safetensors", "--layout", "original")
    netweight("convert", folder / "original.safetensors", folder / "back.safetensors", "--layout", "diffusers",
              "--config", folder / "model/vae")
    same(read(folder / "back.safetensors"), state, "back")


def original_sd1(folder):
    pipeline(folder / "model", "sd1")
    one = folder / "one.safetensors"
    netweight("convert", folder / "model", one, "--layout", "original")
    return one, read(one)


def averaged(folder):
    """LitEma's names have no dots and no first segment."""
    one, tensors = original_sd1(folder)
    unet = {n: t for n, t in tensors.items() if n.startswith("model.diffusion_model.")}
    for name, (shape, data) in unet.items():
        tensors["model_ema." + name.removeprefix("model.").replace(".", "")] = (shape, data[::-1])
    write(folder / "ema.safetensors", tensors)
    common = ("--component", "unet", "--config", folder / "model/unet")
    netweight("convert", one, folder / "plain.safetensors", *common)
    netweight("convert", folder / "ema.safetensors", folder / "own.safetensors", *common)
    netweight("convert", folder / "ema.safetensors", folder / "averaged.safetensors", *common, "--ema")
    plain = read(folder / "plain.safetensors")
    same(read(folder / "own.safetensors"), plain, "without --ema")
    found = read(folder / "averaged.safetensors")
    for name in ("conv_in.weight", "down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_q.weight"):
        assert found[name][1] == plain[name][1][::-1], name
    name = next(n for n in tensors if n.startswith("model_ema."))
    write(folder / "part.safetensors", {n: t for n, t in tensors.items() if n != name})
    document = netweight("plan", folder / "part.safetensors", *common, "--ema", status=1)
    assert document["error"]["code"] == "MISSING" and "average" in document["error"]["message"], document
    netweight("plan", folder / "part.safetensors", *common, "--ema", "--missing", "allow")
    document = netweight("plan", one, *common, "--ema", status=1)
    assert document["error"]["code"] == "NOT_FOUND" and "averaged" in document["error"]["message"], document


def beside(folder):
    """What a file holds outside all its parts is told by one plan, once: by a reason, or as what nobody knows.
    Averages of one part do for all; those that are taken are claimed, and what they replace is told."""
    one, tensors = original_sd1(folder)
    path, unet = folder / "training.safetensors", [n for n in tensors if n.startswith("model.diffusion_model.")]
    averages = {"model_ema." + n.removeprefix("model.").replace(".", ""): tensors[n] for n in unet}
    known = ["betas", "logvar", "global_step", "model_ema.decay"]
    write(path, {**tensors, **averages, **{n: ([1], b"\0\0") for n in [*known, "surprise.weight"]}})
    common = ("plan", path, "--layout", "diffusers", "--config", folder / "model")
    for args, left in (((), list(averages)), (("--ema",), unet)):
        reports = [plan["report"] for plan in netweight(*common, *args)["plans"]]
        harmless = [row["name"] for report in reports for row in report["harmless"]]
        assert sorted(harmless) == sorted([*known, *left]), (args, set(harmless) ^ {*known, *left})
        assert [name for report in reports for name in report["unexpected"]] == ["surprise.weight"], args
    assert netweight(*common, "--unexpected", "error", status=3)["error"]["code"] == "UNEXPECTED"
    assert netweight(*common, "--component", "vae")["report"]["harmless"] == []
    document = netweight("plan", one, *common[2:], "--ema", status=1)
    assert document["error"]["code"] == "NOT_FOUND" and "averaged" in document["error"]["message"], document


def partial(folder):
    """A table of what is there, partly there, and absent; what is absent is refused in those words."""
    _, tensors = original_sd1(folder)
    path = folder / "partial.safetensors"
    write(path, {n: t for n, t in tensors.items()
                 if n.startswith(("model.diffusion_model.", "first_stage_model.decoder", "first_stage_model.post"))})
    table = {c["name"]: c for c in netweight("inspect", path)["components"]}
    assert table["unet"]["state"] == "present"
    assert table["vae"]["state"] == "partial" and table["vae"]["absent"] == ["encoder"], table["vae"]
    assert table["text_encoder"]["state"] == "absent"
    document = netweight("plan", path, "--component", "text_encoder", status=1)
    assert document["error"]["code"] == "NOT_FOUND" and "absent" in document["error"]["message"], document
    write(path, {n: t for n, t in tensors.items() if not n.startswith("cond_stage_model.")})
    document = netweight("convert", path, folder / "alone", "--layout", "diffusers", "--config", folder / "model")
    assert document["result"]["lacking"] == ["text_encoder", "tokenizer"], document["result"]


def untold(folder):
    """Without the tensor that tells of a layer, and without a config, the others of that layer are no less its
    model's: refused, not taken for a smaller model."""
    one, tensors = original_sd1(folder)
    path = folder / "untold.safetensors"
    encoder = "cond_stage_model.transformer.text_model.encoder.layers.0.layer_norm1.weight"
    vae = "first_stage_model.decoder.mid.attn_1.q.weight"
    for part, lost in (("unet", "model.diffusion_model.middle_block.1.proj_in.weight"), ("vae", vae),
                       ("text_encoder", encoder)):
        write(path, {n: t for n, t in tensors.items() if n != lost})
        netweight("plan", one, "--component", part)
        document = netweight("plan", path, "--component", part, status=3)
        assert document["error"]["code"] == "MISSING" and document["report"]["unexpected"], (lost, document["error"])
        config = ("--config", folder / "model" / part / "config.json")
        document = netweight("plan", path, "--component", part, *config, status=3)
        assert len(document["report"]["missing"]) == 1 and not document["report"]["unexpected"], document["error"]
        for take in (("--missing", "allow"), ("--unexpected", "ignore")):
            netweight("plan", path, "--component", part, *take)
    own = weights(folder / "model", "unet")  # in its class's names: the rules name back what is left
    write(path, {n: t for n, t in own.items() if n != "down_blocks.0.attentions.0.transformer_blocks.0.norm1.weight"})
    error = netweight("plan", path, "--component", "unet", status=3)["error"]
    assert error["code"] == "MISSING" and "as the shapes tell it" in error["message"], error
    write(path, {**tensors, "model.diffusion_model.middle_block.1.junk.weight": ([1], b"\0\0")})
    assert len(netweight("plan", path, "--component", "unet")["report"]["unexpected"]) == 1


def damages(tensors):
    """(what is wrong, the tensors then), for some of the tensors, whichever: one is not there, has another name,
    has lost rows, or a third of what is joined in it."""
    joined = [n for n in tensors if "qkv" in n or "in_proj" in n]
    picked = sorted(tensors, key=lambda name: hashlib.sha256(name.encode()).digest())[:4]
    for name in {*picked, *joined[:1]}:
        shape, data = tensors[name]
        others = {n: t for n, t in tensors.items() if n != name}
        yield f"without {name}", others
        yield f"renamed {name}", {**others, name + "x": tensors[name]}
        if "pos_emb" in name:
            continue  # as long as its pictures are large
        for rows in {shape[0] - 1, shape[0] * 2 // 3} - {0, shape[0]} if shape else ():
            yield f"{rows} rows of {name}", {**others, name: ([rows, *shape[1:]], data[:len(data) // shape[0] * rows])}


def mutilated(folder, name, number):
    """What is damaged is never taken for another model: it is refused, with a config and without one."""
    config = {**small.CONFIGS[name][number], **small.TINY.get(name, {})}
    model(folder / "model", name, config)
    whole, path = folder / "whole.safetensors", folder / "damaged.safetensors"
    netweight("convert", folder / "model", whole, "--layout", "original")
    for given in ((), ("--config", folder / "model/config.json")):
        if not given and subprocess.run([NETWEIGHT, "plan", whole, "--layout", "diffusers"],
                                        capture_output=True).returncode:
            continue  # so small that its family is not recognised, or its heads are not told
        for what, tensors in damages(read(whole)):
            write(path, tensors)
            done = subprocess.run([NETWEIGHT, "plan", path, "--layout", "diffusers", "--json", *given],
                                  capture_output=True, text=True)
            report = json.loads(done.stdout).get("report", {})
            assert done.returncode in (1, 3) or report["unexpected"], f"{what}, {given}: {report}"


def level(folder):
    """A level without any layer is not one that never had some."""
    name = "AutoencoderKLLTXVideo"
    state = model(folder / "model", name, small.CONFIGS[name][0])
    write(folder / "level.safetensors", {n: t for n, t in state.items() if "encoder.down_blocks.1.resnets." not in n})
    error = netweight("plan", folder / "level.safetensors", "--layout", "diffusers", status=3)["error"]
    assert error["code"] == "MISSING", error


def filled(folder):
    """What was filled has no original name: refused, not left out of the file that is written."""
    state = model(folder / "model", "FluxTransformer2DModel", small.CONFIGS["FluxTransformer2DModel"][0])
    write(folder / "model/diffusion_pytorch_model.safetensors",
          {n: t for n, t in state.items() if n != "proj_out.weight"})
    fill = ("plan", folder / "model", "--missing", "zero", "--layout")
    assert netweight(*fill, "diffusers")["report"]["initialised"] == ["proj_out.weight"]
    error = netweight(*fill, "original", status=1)["error"]
    assert (error["code"], error["tensor"]) == ("UNSUPPORTED", "proj_out.weight"), error


def replaced(folder):
    """--with takes one part from another file or folder; the others stay."""
    one, tensors = original_sd1(folder)
    other = {n.removeprefix("first_stage_model."): (s, d[::-1]) for n, (s, d) in tensors.items()
             if n.startswith("first_stage_model.")}
    write(folder / "vae.safetensors", other)
    for out in ("mixed", "mixed.safetensors"):
        layout = "diffusers" if out == "mixed" else "original"
        netweight("convert", one, folder / out, "--layout", layout, "--with", f"vae={folder / 'vae.safetensors'}",
                  "--config", folder / "model")
    own = weights(folder / "model", "vae")
    mixed = weights(folder / "mixed", "vae")
    assert mixed["decoder.conv_in.weight"][1] == own["decoder.conv_in.weight"][1][::-1]
    netweight("convert", one, folder / "again", "--layout", "diffusers", "--with", f"vae={folder / 'mixed/vae'}",
              "--config", folder / "model")
    same(weights(folder / "again", "vae"), mixed, "vae of a folder")
    same(weights(folder / "mixed", "unet"), weights(folder / "model", "unet"), "unet")
    wanted = {n: other.get(n.removeprefix("first_stage_model."), t) if n.startswith("first_stage_model.") else t
              for n, t in tensors.items()}
    same(read(folder / "mixed.safetensors"), wanted, "one file")


def scaled(folder, part):
    """Every scale stands beside its weight, in each part of what a rule cuts; and back. Scales that
    differ cannot become one."""
    model(folder / "model", "FluxTransformer2DModel", {**small.PIPELINES["flux"]["transformer"][1]})
    original, quantised = folder / "original.safetensors", folder / "scaled.safetensors"
    netweight("convert", folder / "model", original, "--layout", "original")
    tensors = {}
    for name, (shape, data) in read(original).items():
        if len(shape) != 2:
            tensors[name] = (shape, data)
            continue
        tensors[name] = (shape, bytes(b & 0x7e for b in data[:len(data) // 2]), "F8_E4M3")
        tensors[name.removesuffix("weight") + "scale_weight"] = ([], values(name, [2]), "F32")
    tensors["scaled_fp8"] = ([2], b"\0\0", "F8_E4M3")
    write(quantised, tensors)
    config = ("--config", folder / "model/config.json")
    report = netweight("convert", quantised, folder / "split.safetensors", "--layout", "diffusers", *config)["report"]
    assert not report["unexpected"] and len(report["companions"]) > sum(n.endswith("scale_weight") for n in tensors)
    split = read(folder / "split.safetensors")
    fused = tensors["double_blocks.0.img_attn.qkv.scale_weight"]
    for name in ("to_q", "to_k", "to_v"):
        assert split[f"transformer_blocks.0.attn.{name}.scale_weight"] == fused[:2], name
    if part == "equal":
        netweight("convert", folder / "split.safetensors", folder / "again.safetensors", "--layout", "original", *config)
        wanted = {n: t[:2] for n, t in tensors.items() if n != "scaled_fp8"}
        return same(read(folder / "again.safetensors"), wanted, "joined again")
    dtypes = {n: "F8_E4M3" if len(s) == 2 and len(d) < 2 * s[0] * s[1] else "F32" if not s else "F16"
              for n, (s, d) in split.items()}
    split["transformer_blocks.0.attn.to_k.scale_weight"] = ([], values("other", [2]))
    write(folder / "unlike.safetensors", {n: (*t, dtypes[n]) for n, t in split.items()})
    document = netweight("plan", folder / "unlike.safetensors", "--layout", "original", *config, status=1)
    assert document["error"]["code"] == "UNSUPPORTED" and "scale" in document["error"]["message"], document


def checks():
    for name, configs in small.CONFIGS.items():
        for number in range(len(configs)):
            for prefix in ("", small.PREFIXES.get(name, "model.diffusion_model.")):
                yield f"{name} {number} '{prefix}'", there_and_back, (name, number, prefix)
            yield f"mutilated {name} {number}", mutilated, (name, number)
    for family in small.PIPELINES:
        yield f"pipeline {family}", one_file_and_back, (family,)
    for part in ("equal", "unlike"):
        yield f"scaled {part}", scaled, (part,)
    for check in (alone, averaged, beside, partial, untold, level, filled, replaced):
        yield check.__name__, check, ()


def make(family, path):
    if not path.endswith(".safetensors"):
        return pipeline(pathlib.Path(path), family) and None
    with tempfile.TemporaryDirectory() as folder:
        pipeline(pathlib.Path(folder), family)
        netweight("convert", folder, path, "--layout", "original")


def main():
    if sys.argv[3:4] == ["--make"]:
        return make(*sys.argv[4:])
    wanted, passed, failed = sys.argv[3:], 0, 0
    for name, check, args in checks():
        if wanted and not any(w in name for w in wanted):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(pathlib.Path(folder), *args)
                passed += 1
            except Exception as problem:
                failed += 1
                where = traceback.extract_tb(problem.__traceback__)[-1].lineno
                print(f"FAILED {name} (line {where}): {problem}"[:600])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
