# SPDX-License-Identifier: Apache-2.0
"""Whole pipelines, both ways, against diffusers itself.

A pipeline of real classes with random weights is saved by diffusers, made one original file by
netweight, and a folder again; diffusers opens both, and every tensor is what it was.
"""
import collections
import json

import diffusers
import pytest
import torch
from pipelines import CLASSES, build, parts_of, random_model, states_of
from real import assert_same, find_class, netweight
from safetensors.torch import load_file, save_file

Made = collections.namedtuple("Made", "family pipeline states folder one document")
FAMILIES = list(CLASSES)


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """make(family): the pipeline, its folder, and the original file that netweight made of it."""
    known = {}

    def make_family(family):
        if family not in known:
            root = tmp_path_factory.mktemp(family)
            pipeline = build(family, root)
            folder, one = root / "folder", root / "one.safetensors"
            pipeline.save_pretrained(folder)
            document = netweight("convert", folder, one, "--layout", "original", "--map")
            known[family] = Made(family, pipeline, states_of(pipeline, family), folder, one, document)
        return known[family]
    return make_family


def to_folder(source, folder, made, *args):
    return netweight("convert", source, folder, "--layout", "diffusers", "--config", made.folder, *args)


def open_folder(folder, **kwargs):
    return diffusers.DiffusionPipeline.from_pretrained(folder, local_files_only=True, **kwargs)


def open_file(path, made, **kwargs):
    return type(made.pipeline).from_single_file(str(path), config=str(made.folder), local_files_only=True, **kwargs)


def assert_states(pipeline, made, **replaced):
    """Every component has the weights that the pipeline began with, or those given."""
    for component, state in {**made.states, **replaced}.items():
        assert_same(getattr(pipeline, component).state_dict(), state, component)


def config_of(model):
    config = model.config if isinstance(model.config, dict) else model.config.to_dict()
    passing = ("_name_or_path", "_commit_hash", "_use_default_values", "transformers_version", "dtype")
    return {key: value for key, value in config.items() if key not in passing}


def files_below(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- both ways ----

@pytest.mark.parametrize("family", FAMILIES)
def test_there_and_back(make, tmp_path, family):
    """A folder made of the original file opens as the same pipeline: weights, configs, and all that
    are no weights."""
    made = make(family)
    to_folder(made.one, tmp_path / "back", made)
    opened = open_folder(tmp_path / "back")
    assert type(opened) is type(made.pipeline)
    assert_states(opened, made)
    for component in made.states:
        assert config_of(getattr(opened, component)) == config_of(getattr(made.pipeline, component)), component
    given, back = files_below(made.folder), files_below(tmp_path / "back")
    assert given.keys() == back.keys()
    for name in given:
        assert name.split("/")[0] in made.states or given[name] == back[name], name


# What diffusers' own way from an original file leaves out or changes, and why.
NOT_ITS_OWN = {
    ("sd3", "text_encoder"): {"text_projection.weight"},           # puts the identity there
    ("sd3", "text_encoder_3"): {"encoder.embed_tokens.weight"},    # does not tie it: it has no memory
    ("flux", "text_encoder_2"): {"encoder.embed_tokens.weight"},   # the same
}
WIDTH_BUILT_IN = {("flux", "transformer")}  # of its converter: 3072


@pytest.mark.parametrize("family", FAMILIES)
def test_original_file_opens_in_diffusers(make, family):
    """The pipeline's own from_single_file takes the file that netweight wrote."""
    made = make(family)
    given = {component: getattr(made.pipeline, component) for f, component in WIDTH_BUILT_IN if f == family}
    opened = states_of(open_file(made.one, made, **given), family)
    for component, state in made.states.items():
        skip = NOT_ITS_OWN.get((family, component), set())
        assert skip < state.keys()
        assert_same({k: v for k, v in opened[component].items() if k not in skip},
                    {k: v for k, v in state.items() if k not in skip}, component)


@pytest.mark.parametrize("family,component", [
    (family, component) for family in FAMILIES for component in ("unet", "transformer", "vae")
    if component in parts_of(family) and (family, component) not in WIDTH_BUILT_IN])
def test_original_file_opens_as_one_model(make, family, component):
    """So does the from_single_file of each class that has one."""
    made = make(family)
    cls = find_class(parts_of(family)[component][0])
    model = cls.from_single_file(str(made.one), config=str(made.folder), subfolder=component, local_files_only=True)
    assert_same(model.state_dict(), made.states[component], component)


# ---- sums ----

def plans_in(document):
    return document.get("plans", [document])


def assert_sums(document, stored, unused=()):
    """Every wanted tensor is of one class and none is missing; every stored one (by name: as often as
    it is there) has one fate, and only `unused` are used for nothing."""
    fates, left = collections.Counter(), set()
    for plan in plans_in(document):
        report = plan["report"]
        assert report["wanted"] == report["loaded"] + sum(
            len(report[key]) for key in ("tied", "by_rule", "missing", "mismatched")), plan["component"]
        assert not report["missing"] and not report["mismatched"], plan["component"]
        fates.update({part["source"] for target in plan["targets"] for part in target["parts"]})
        rest = report["unexpected"] + [row["name"] for row in report["harmless"]]
        fates.update(rest)
        left.update(rest)
    assert fates == collections.Counter(stored)
    assert left == set(unused)


@pytest.mark.parametrize("family", FAMILIES)
def test_sums(make, tmp_path, family):
    """Counts of both conversions add up, on the side of the class and on that of the file."""
    made = make(family)
    folders = [name for component in made.states for path in (made.folder / component).glob("*.safetensors")
               for name in load_file(path)]
    assert_sums(made.document, folders)
    assert_sums(to_folder(made.one, tmp_path / "back", made, "--map"), list(load_file(made.one)))
    assert [len(plans_in(made.document))] == [len(made.states)]
