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


# ---- a part from elsewhere ----

@pytest.fixture(scope="module")
def other_vae(make, tmp_path_factory):
    """Another VAE: its state, and {form: path} of it as a folder and as files of both layouts."""
    root = tmp_path_factory.mktemp("vae")
    model = random_model(*parts_of("sd1")["vae"], seed=77)
    model.save_pretrained(root / "folder")
    netweight("convert", root / "folder", root / "original.safetensors", "--layout", "original", "--prefix", "")
    return model.state_dict(), {"folder": root / "folder", "original": root / "original.safetensors",
                                "own": root / "folder/diffusion_pytorch_model.safetensors"}


@pytest.mark.parametrize("form", ["folder", "own", "original"])
@pytest.mark.parametrize("source", ["folder", "one"])
def test_with_another_vae(make, other_vae, tmp_path, source, form):
    """--with takes the VAE from another place, into a folder and into one file; nothing else changes."""
    made, (state, places) = make("sd1"), other_vae
    given, replaced = getattr(made, source), f"vae={places[form]}"
    to_folder(given, tmp_path / "back", made, "--with", replaced)
    assert_states(open_folder(tmp_path / "back"), made, vae=state)
    one = tmp_path / "one.safetensors"
    netweight("convert", given, one, "--layout", "original", "--with", replaced, "--config", made.folder)
    assert_states(open_file(one, made), made, vae=state)


# ---- training checkpoints ----

def with_averages(made):
    """A training checkpoint as LitEma makes it: an average of every tensor of the UNet, without dots."""
    tensors = load_file(made.one)
    averages = {"model_ema." + name.removeprefix("model.").replace(".", ""): tensor + 1
                for name, tensor in tensors.items() if name.startswith("model.diffusion_model.")}
    counts = {"model_ema.decay": torch.tensor(0.9999), "model_ema.num_updates": torch.tensor(7, dtype=torch.int32)}
    return {**tensors, **averages, **counts}


@pytest.mark.parametrize("component", [None, "unet"])
@pytest.mark.parametrize("averaged", [False, True])
def test_averages(make, tmp_path, averaged, component):
    """--ema takes the averages of the UNet, as diffusers' converter does, and else the weights; parts
    that have no averages are what they are."""
    from diffusers.loaders.single_file_utils import convert_ldm_unet_checkpoint
    made = make("sd1")
    tensors = with_averages(made)
    save_file(tensors, tmp_path / "training.safetensors")
    unet = convert_ldm_unet_checkpoint(dict(tensors), dict(made.pipeline.unet.config), extract_ema=averaged)
    args = ["--ema"] * averaged + (["--component", component] if component else [])
    to_folder(tmp_path / "training.safetensors", tmp_path / "back", made, *args)
    if component:
        return assert_same(load_file(tmp_path / "back/diffusion_pytorch_model.safetensors"), unet, "unet")
    return assert_states(open_folder(tmp_path / "back"), made, unet=unet)


@pytest.mark.parametrize("args", [[], ["--component", "unet"]])
def test_no_averages(make, tmp_path, args):
    """--ema on a file without averages is refused in those words, and nothing is written."""
    made = make("sd1")
    document = netweight("convert", made.one, tmp_path / "back", "--layout", "diffusers", "--ema", *args, status=1)
    assert document["error"]["code"] == "NOT_FOUND" and "averaged" in document["error"]["message"]
    assert not (tmp_path / "back").exists()


EXTRAS = {  # name: is it told as harmless
    "betas": True, "alphas_cumprod": True, "model_ema.decay": True, "model_ema.num_updates": True,
    "first_stage_model.loss.discriminator.weight": True,
    "cond_stage_model.transformer.text_model.embeddings.position_ids": True,
    "surprise.weight": False, "model.diffusion_model.surprise.weight": False,
}


@pytest.mark.parametrize("averaged", [False, True])
def test_every_tensor_has_a_fate(make, tmp_path, averaged):
    """What training leaves in a file is told as harmless, what nobody knows as unexpected: once each,
    wherever it stands; under --unexpected error it is a reason to refuse."""
    made, path = make("sd1"), tmp_path / "training.safetensors"
    tensors = {**with_averages(made), **{name: torch.rand(3) for name in EXTRAS}}
    save_file(tensors, path)
    document = to_folder(path, tmp_path / "back", made, "--map", *["--ema"] * averaged)
    unet = {name for name in load_file(made.one) if name.startswith("model.diffusion_model.")}
    replaced = unet if averaged else {name for name in tensors if name.startswith("model_ema.")}
    assert_sums(document, list(tensors), replaced | EXTRAS.keys())
    unexpected = [name for plan in plans_in(document) for name in plan["report"]["unexpected"]]
    assert sorted(unexpected) == sorted(name for name, harmless in EXTRAS.items() if not harmless)
    refused = netweight("plan", path, "--layout", "diffusers", "--unexpected", "error", status=3)
    assert refused["error"]["code"] == "UNEXPECTED"


# ---- part of a pipeline ----

def test_without_text_encoder(make, tmp_path):
    """What a partial file lacks is told: by inspect, by what a conversion says is lacking, and when it is
    asked for. The folder opens with the part that the caller has."""
    made, path = make("sd1"), tmp_path / "partial.safetensors"
    save_file({k: v for k, v in load_file(made.one).items() if not k.startswith("cond_stage_model.")}, path)
    states = {row["name"]: row["state"] for row in netweight("inspect", path)["components"]}
    assert states == {"unet": "present", "vae": "present", "text_encoder": "absent"}
    document = to_folder(path, tmp_path / "back", made)
    assert sorted(plan["component"] for plan in document["plans"]) == ["unet", "vae"]
    assert document["result"]["lacking"] == ["text_encoder"]
    alone = netweight("convert", path, tmp_path / "alone", "--layout", "diffusers")
    assert alone["result"]["lacking"] == ["text_encoder", "tokenizer"]
    assert_states(open_folder(tmp_path / "back", text_encoder=made.pipeline.text_encoder), made)
    for command in (["plan", path], ["convert", path, tmp_path / "none", "--layout", "diffusers"]):
        error = netweight(*command, "--component", "text_encoder", status=1)["error"]
        assert error["code"] == "NOT_FOUND"
        assert error["message"] == "the file has no text_encoder: it is absent from this checkpoint"
    assert not (tmp_path / "none").exists()


# ---- shards ----

@pytest.mark.parametrize("family", ["sd1", "sdxl"])
def test_shards(make, tmp_path, family):
    """Folders in shards, as diffusers and transformers save them, are read; those that netweight writes
    are opened."""
    made, size = make(family), 300_000
    made.pipeline.save_pretrained(tmp_path / "shards", max_shard_size=size)
    assert len(list((tmp_path / "shards/unet").glob("*.safetensors"))) > 2
    netweight("convert", tmp_path / "shards", tmp_path / "one.safetensors", "--layout", "original")
    assert_same(load_file(tmp_path / "one.safetensors"), load_file(made.one), "from shards")
    to_folder(made.one, tmp_path / "back", made, "--max-shard-size", size)
    for component in ("unet", "vae"):
        index, = (tmp_path / "back" / component).glob("*.index.json")
        assert set(json.loads(index.read_text())["weight_map"].values()) == {
            path.name for path in index.parent.glob("*.safetensors")}
    assert_states(open_folder(tmp_path / "back"), made)


# ---- dtypes ----

def weights_in(folder):
    return {name: tensor for path in folder.glob("*.safetensors") for name, tensor in load_file(path).items()}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("family", ["sd1", "sdxl", "sd3", "flux"])
def test_dtype(make, tmp_path, family, dtype):
    """Cast on the way: to a folder, what from_pretrained casts to, tensors that stay fp32 included; to one
    file, the same bits again."""
    made, word = make(family), {torch.bfloat16: "bf16", torch.float16: "fp16"}[dtype]
    wanted = states_of(open_folder(made.folder, torch_dtype=dtype), family)
    to_folder(made.one, tmp_path / "back", made, "--dtype", word)
    for component, state in wanted.items():
        ours = weights_in(tmp_path / "back" / component)
        assert_same(ours, {name: state[name] for name in weights_in(made.folder / component)}, component)
    netweight("convert", made.folder, tmp_path / "one.safetensors", "--layout", "original", "--dtype", word)
    to_folder(tmp_path / "one.safetensors", tmp_path / "again", made)
    assert files_below(tmp_path / "again").keys() == files_below(tmp_path / "back").keys()
    for component in wanted:
        assert_same(weights_in(tmp_path / "again" / component), weights_in(tmp_path / "back" / component), component)


def test_variant(make, tmp_path):
    """--out-variant names the files as from_pretrained(variant=...) looks for them."""
    made = make("sd1")
    to_folder(made.one, tmp_path / "half", made, "--dtype", "fp16", "--out-variant", "fp16")
    opened = open_folder(tmp_path / "half", torch_dtype=torch.float16, variant="fp16")
    for component, state in made.states.items():
        assert_same(getattr(opened, component).state_dict(), {k: v.half() for k, v in state.items()}, component)
