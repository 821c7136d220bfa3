# SPDX-License-Identifier: Apache-2.0
"""Original yaml configs against diffusers' own functions, for every real file of the shared
collection that these accept; and the documents themselves against PyYAML."""
import functools
import importlib.util
import inspect
import json
import os
import pathlib
import subprocess
import sys
import warnings

import pytest

if importlib.util.find_spec("diffusers") is None or importlib.util.find_spec("yaml") is None:
    pytest.skip("diffusers or yaml is not installed", allow_module_level=True)

import yaml
from diffusers.loaders import single_file_utils as reference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "model"))
import headers

TOOL = os.path.join(os.path.dirname(os.environ.get("NETWEIGHT", "")), "tests", "yaml_config")
SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "checkpoints" / "yaml"
FILES = sorted(SHARED.glob("**/*.yaml"))


def ask(klass, path):
    done = subprocess.run([TOOL, klass, path], capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.stdout.strip()


def refused(text):
    return text.split()[0] if text.startswith("!") else None


def feature():
    done = subprocess.run([os.environ["NETWEIGHT"], "--version"], capture_output=True, text=True)
    return "yaml: yes" in done.stdout


SD1, XL = "compvis/configs/stable-diffusion/v1-inference", "generative-models/configs/inference/sd_xl_base"
# A header of the collection, a part of it, the yaml, and what a plan says.
PLANS = [
    ("sd1/sd15.single-file.json.gz", "unet", SD1, None),
    ("sd1/sd15.single-file.json.gz", "vae", SD1, None),
    ("sd1/sd15.single-file.json.gz", "text_encoder", SD1, None),
    ("sd1/sd15.single-file.json.gz", "unet", XL, "MISMATCH"),
    ("sdxl/sdxl-base.single-file.json.gz", "unet", XL, None),
    ("sdxl/sdxl-base.single-file.json.gz", "vae", XL, None),
    ("sdxl/sdxl-base.single-file.json.gz", "text_encoder_2", XL, None),
    ("controlnet/sd15-controlnet.single-file.json.gz", None, "controlnet/cldm_v15", None),
    ("sd1/component.VAE-v1-SD.json", None, "compvis/models/first_stage_models/kl-f8/config", None),
]

pytestmark = pytest.mark.skipif(not os.path.exists(TOOL) or not feature(),
                                reason="built without libyaml")


def quietly(make, *args, **kwargs):
    """The reference's config, or None where it breaks on the document."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(*args, **kwargs)
        except (KeyError, TypeError, AttributeError, AssertionError):
            return None


def unet(document, image_size):
    return quietly(reference.create_unet_diffusers_config_from_ldm, document, {}, image_size=image_size)


def vae(document, image_size):
    return quietly(reference.create_vae_diffusers_config_from_ldm, document, {}, image_size=image_size)


def controlnet(document, image_size):
    """The reference forgets to pass the checkpoint on."""
    inner = reference.create_unet_diffusers_config_from_ldm
    if "checkpoint" in inspect.signature(inner).parameters:
        reference.create_unet_diffusers_config_from_ldm = functools.partial(inner, checkpoint={})
    try:
        return quietly(reference.create_controlnet_diffusers_config_from_ldm, document, {},
                       image_size=image_size)
    finally:
        reference.create_unet_diffusers_config_from_ldm = inner


CLASSES = {"UNet2DConditionModel": unet, "AutoencoderKL": vae, "ControlNetModel": controlnet}


def image_size(document, klass):
    """What makes the reference's sample_size the document's own."""
    params = document["model"]["params"]
    levels = quietly(lambda: len(params["first_stage_config"]["params"]["ddconfig"]["ch_mult"]))
    return params.get("image_size", 64) * 2 ** ((levels or 1) - 1)


@pytest.mark.parametrize("klass", CLASSES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SHARED)))
def test_config(path, klass):
    document = yaml.safe_load(path.read_text())
    params = (quietly(lambda: document["model"]["params"]) or {})
    wanted = CLASSES[klass](document, image_size(document, klass)) if params else None
    text = ask(klass, path)
    if ".video_model." in path.read_text() and klass == "UNet2DConditionModel":
        assert refused(text) == "!UNSUPPORTED", text
        return
    if wanted is None:
        # Only a VAE's own file is more than the reference reads.
        assert refused(text) == "!BAD_CONFIG" or "ddconfig" in params, text
        return
    assert not refused(text), text
    ours = json.loads(text)
    assert ours.pop("_class_name") == klass
    if "image_size" not in params:
        wanted.pop("sample_size", None)
        assert "sample_size" not in ours
    assert ours == wanted


def test_all_classes_are_compared():
    """Enough of the files are accepted by the reference to make the test worth its name."""
    if not FILES:
        pytest.skip("no shared collection beside this clone")
    for klass, least in (("UNet2DConditionModel", 25), ("AutoencoderKL", 25), ("ControlNetModel", 4)):
        texts = [ask(klass, path) for path in FILES]
        assert sum(not refused(text) for text in texts) >= least, klass


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SHARED)))
def test_document(path):
    """The tree is PyYAML's, but for numbers that PyYAML takes for text (1e-4)."""
    def loosely(value):
        if isinstance(value, dict):
            return {str(key): loosely(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [loosely(inner) for inner in value]
        try:
            return float(value) if isinstance(value, str) else value
        except ValueError:
            return value
    text = ask("-", path)
    assert not refused(text), text
    assert loosely(json.loads(text)) == loosely(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("klass", ["CLIPTextModel", "CLIPTextModelWithProjection"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SHARED)))
def test_text_encoder(path, klass):
    text = ask(klass, path)
    assert (text == "{}") == ("CLIPEmbedder" in path.read_text()), text


@pytest.mark.parametrize("header,part,name,code", PLANS)
def test_plan(header, part, name, code, tmp_path):
    """A published file planned with its own yaml fits it; with another it does not."""
    source = SHARED.parent / "headers" / header
    if not source.exists():
        pytest.skip("no shared collection beside this clone")
    path = tmp_path / "model.safetensors"
    headers.write(headers.read(source), path)
    command = [os.environ["NETWEIGHT"], "plan", path, "--layout=diffusers", "--json",
               f"--config={SHARED / name}.yaml"] + ([f"--component={part}"] if part else [])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    assert document.get("error", {}).get("code") == code, done.stdout[:600]
    assert (done.returncode == 0) == (code is None)
