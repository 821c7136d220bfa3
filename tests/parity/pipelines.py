# SPDX-License-Identifier: Apache-2.0
"""Small pipelines of the real classes, whole: weights, tokenizers, scheduler."""
import json

import diffusers
import small
import torch
import transformers
from real import construct

FLOW = ("FlowMatchEulerDiscreteScheduler", {})

# What the pipeline is called, and its scheduler: settings that are not warned of.
CLASSES = {
    "sd1": ("StableDiffusionPipeline", ("PNDMScheduler", {"steps_offset": 1})),
    "sd2": ("StableDiffusionPipeline", ("DDIMScheduler", {"steps_offset": 1, "clip_sample": False})),
    "sdxl": ("StableDiffusionXLPipeline", ("EulerDiscreteScheduler", {})),
    "sd3": ("StableDiffusion3Pipeline", FLOW),
    "flux": ("FluxPipeline", FLOW),
}

# Here a config is at hand: the family's own head size is not needed.
NARROW = {("sdxl", "unet"): small.CONFIGS["UNet2DConditionModel"][3]}


def parts_of(family):
    """{component: (class, config)}"""
    return {component: (klass, NARROW.get((family, component), config))
            for component, (klass, config, _) in small.PIPELINES[family].items()}


def random_model(name, config, seed):
    """No two values of it are alike, but by chance."""
    model = construct(name, config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


def clip_tokenizer(folder):
    vocabulary = ["<|startoftext|>", "<|endoftext|>"] + [c + end for c in "abcdefgh" for end in ("", "</w>")]
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))


def build(family, folder):
    """The pipeline; `folder` takes the tokenizer's files."""
    name, (scheduler, settings) = CLASSES[family]
    parts = {component: random_model(klass, config, seed)
             for seed, (component, (klass, config)) in enumerate(parts_of(family).items())}
    tokenizers = {component.replace("text_encoder", "tokenizer"):
                  transformers.T5TokenizerFast() if klass.startswith("T5") else clip_tokenizer(folder)
                  for component, (klass, _) in parts_of(family).items() if component.startswith("text_encoder")}
    rest = {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
    return getattr(diffusers, name)(**parts, **tokenizers, scheduler=getattr(diffusers, scheduler)(**settings),
                                    **(rest if name == "StableDiffusionPipeline" else {}))


def states_of(pipeline, family):
    return {component: getattr(pipeline, component).state_dict() for component in parts_of(family)}
