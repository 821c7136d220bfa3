# SPDX-License-Identifier: Apache-2.0
"""Values through every layout, against diffusers' own converters.

A small model of each class, every bit random, is named as its publisher would (netweight, to
original), named back by diffusers' converter, and by netweight: all three ways every byte is the
same. What a converter does wrong is not asked of it: see SKIP_REFERENCE.
"""
import importlib.util
import inspect
import json
import os
import subprocess

import pytest

if importlib.util.find_spec("diffusers") is None or importlib.util.find_spec("transformers") is None:
    pytest.skip("diffusers or transformers is not installed", allow_module_level=True)

import torch
from safetensors.torch import load_file, save_file

import small

NETWEIGHT = os.environ["NETWEIGHT"]


def find_class(name):
    import diffusers
    import transformers
    found = getattr(diffusers, name, None) or getattr(transformers, name, None)
    assert found is not None, name
    return found


def random_state(name, config):
    """The class's state dict with random bits in F16, made without its initialisers, and its whole
    config."""
    cls = find_class(name)
    with torch.device("meta"):
        if hasattr(cls, "from_config") and cls.__module__.startswith("diffusers"):
            model = cls.from_config(config)
        else:
            model = cls(cls.config_class.from_dict(config))
    generator = torch.Generator().manual_seed(1)
    state = {}
    for key, tensor in model.state_dict().items():
        bits = torch.randint(-2**15, 2**15, tuple(tensor.shape), generator=generator, dtype=torch.int16)
        state[key] = bits.view(torch.float16)
    full = model.config.to_dict() if hasattr(model.config, "to_dict") else dict(model.config)
    return state, full


def netweight(*args):
    done = subprocess.run([NETWEIGHT, *args, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, f"{args}: {done.stderr}{done.stdout[:600]}"
    return json.loads(done.stdout)


def assert_same(ours, wanted, what):
    assert sorted(ours) == sorted(wanted), f"{what}: names differ: {sorted(set(ours) ^ set(wanted))[:6]}"
    for key in wanted:
        assert ours[key].shape == wanted[key].shape, f"{what}: {key}: {ours[key].shape}"
        assert torch.equal(ours[key].contiguous().view(torch.int16), wanted[key].contiguous().view(torch.int16)), \
            f"{what}: values of {key}"


def reference(name, checkpoint, config):
    """diffusers' own conversion of an original state dict."""
    from diffusers.loaders.single_file_model import SINGLE_FILE_LOADABLE_CLASSES
    convert = SINGLE_FILE_LOADABLE_CLASSES[name]["checkpoint_mapping_fn"]
    arguments = {"config": config, "checkpoint": dict(checkpoint)}
    names = inspect.signature(convert).parameters
    if not any(p.kind == p.VAR_KEYWORD for p in names.values()):
        arguments = {k: v for k, v in arguments.items() if k in names}
    return convert(**arguments)


@pytest.mark.parametrize("name,number", [(n, i) for n, cs in small.CONFIGS.items() for i in range(len(cs))])
@pytest.mark.parametrize("bare", [True, False])
def test_there_and_back(tmp_path, name, number, bare):
    config = dict(small.CONFIGS[name][number])
    prefix = "" if bare else small.PREFIXES.get(name, "model.diffusion_model.")
    state, full = random_state(name, config)
    folder, original, back = tmp_path / "model", tmp_path / "original.safetensors", tmp_path / "back.safetensors"
    folder.mkdir()
    save_file(state, str(folder / "diffusion_pytorch_model.safetensors"))
    key = "_class_name" if find_class(name).__module__.startswith("diffusers") else "architectures"
    config[key] = name if key == "_class_name" else [name]
    (folder / "config.json").write_text(json.dumps(config))

    netweight("convert", str(folder), str(original), "--layout", "original", "--prefix", prefix)
    named = load_file(str(original))
    assert set(named) != set(state) or name in small.SAME_NAMES

    netweight("convert", str(original), str(back), "--layout", "diffusers", "--config", str(folder / "config.json"))
    assert_same(load_file(str(back)), state, "back")

    skip = small.SKIP_BARE if bare else small.SKIP_PREFIX
    if {name, (name, number)} & set(small.SKIP_REFERENCE) or name in skip:
        return
    theirs = reference(name, named, full)
    assert_same({k: v for k, v in theirs.items() if v is not None}, state, "the reference")
