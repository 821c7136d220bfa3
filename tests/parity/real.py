# SPDX-License-Identifier: Apache-2.0
"""The real classes of diffusers and transformers, and the command beside them."""
import importlib.util
import json
import os
import subprocess

import pytest

if importlib.util.find_spec("diffusers") is None or importlib.util.find_spec("transformers") is None:
    pytest.skip("diffusers or transformers is not installed", allow_module_level=True)

import diffusers
import torch
import transformers
from checkpoints import raw

NETWEIGHT = os.environ["NETWEIGHT"]


def find_class(name):
    found = getattr(diffusers, name, None) or getattr(transformers, name, None)
    assert found is not None, name
    return found


def construct(name, config):
    cls = find_class(name)
    if cls.__module__.startswith("diffusers"):
        return cls.from_config(config)
    return cls(cls.config_class.from_dict(config))


def random_tensors(shapes, seed):
    """Random bits in F16 for each name."""
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randint(-2**15, 2**15, tuple(shape), generator=generator, dtype=torch.int16)
            .view(torch.float16) for name, shape in shapes.items()}


def netweight(*args, status=0):
    done = subprocess.run([NETWEIGHT, *map(str, args), "--json"], capture_output=True, text=True)
    assert done.returncode == status, f"{args}: {done.returncode} {done.stderr}{done.stdout[:600]}"
    return json.loads(done.stdout)


def assert_same(ours, wanted, what):
    """Names, dtypes, shapes and every bit."""
    assert sorted(ours) == sorted(wanted), f"{what}: names differ: {sorted(set(ours) ^ set(wanted))[:6]}"
    for key, tensor in wanted.items():
        assert (ours[key].dtype, ours[key].shape) == (tensor.dtype, tensor.shape), f"{what}: {key}"
        assert raw(ours[key]) == raw(tensor), f"{what}: values of {key}"
