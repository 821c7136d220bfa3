# SPDX-License-Identifier: Apache-2.0
"""Values of text encoders as all-in-one files hold them, against diffusers' own converters."""
import pytest
import torch
from real import assert_same, find_class, netweight, random_tensors
from safetensors.torch import load_file, save_file


def open_clip(prefix, width, projected):
    shapes = {"positional_embedding": (77, width), "token_embedding.weight": (8, width), "ln_final.weight": (width,),
              "ln_final.bias": (width,), "text_projection": (width, projected), "logit_scale": ()}
    for layer in range(2):
        block = f"transformer.resblocks.{layer}."
        for name, shape in (("attn.in_proj_", (3 * width, width)), ("attn.out_proj.", (width, width)),
                            ("mlp.c_fc.", (4 * width, width)), ("mlp.c_proj.", (width, 4 * width))):
            shapes |= {f"{block}{name}weight": shape, f"{block}{name}bias": shape[:1]}
        shapes |= {f"{block}ln_{i}.{leaf}": (width,) for i in (1, 2) for leaf in ("weight", "bias")}
    return random_tensors({prefix + name: shape for name, shape in shapes.items()}, seed=2)


def convert(tmp_path, tensors, *args):
    source, result = tmp_path / "original.safetensors", tmp_path / "result"
    save_file(tensors, str(source))
    netweight("convert", source, result, "--layout", "diffusers", *args)
    return load_file(str(result)) if result.is_file() else {
        name: tensor for path in sorted(result.glob("*.safetensors")) for name, tensor in load_file(str(path)).items()}


def model_of(name, width, projected, heads):
    config = find_class("CLIPTextConfig")(
        hidden_size=width, intermediate_size=4 * width, num_hidden_layers=2, num_attention_heads=heads, vocab_size=8,
        projection_dim=projected)
    with torch.device("meta"):
        return find_class(name)(config)


@pytest.mark.parametrize("prefix,name,width,heads", [
    ("cond_stage_model.model.", "CLIPTextModel", 1024, 16),
    ("conditioner.embedders.1.model.", "CLIPTextModelWithProjection", 640, 20),
    ("conditioner.embedders.0.model.", "CLIPTextModelWithProjection", 640, 20),
])
def test_open_clip(tmp_path, prefix, name, width, heads):
    from diffusers.loaders.single_file_utils import convert_open_clip_checkpoint
    tensors = open_clip(prefix, width, width)
    model = model_of(name, width, width, heads)
    theirs = convert_open_clip_checkpoint(model, dict(tensors), prefix=prefix)
    ours = convert(tmp_path, tensors)
    assert sorted(ours) == sorted(k for k in model.state_dict() if not k.endswith("position_ids"))
    # Where this transformers has no "text_model.", diffusers takes it away behind the converter.
    renamed = {k if k in ours else k.removeprefix("text_model."): v for k, v in theirs.items()}
    assert_same(ours, {k: v for k, v in renamed.items() if k in ours}, "the reference")


@pytest.mark.parametrize("prefix", ["cond_stage_model.transformer.", "conditioner.embedders.0.transformer.",
                                    "text_encoders.clip_l.transformer.", ""])
def test_clip(tmp_path, prefix):
    model = model_of("CLIPTextModel", 96, 96, 12)
    state = random_tensors({k: v.shape for k, v in model.state_dict().items() if not k.endswith("position_ids")}, seed=2)
    tensors = {f"{prefix}text_model.{k}": v for k, v in state.items()}
    tensors[prefix + "text_model.embeddings.position_ids"] = torch.zeros(1, 77, dtype=torch.float16)
    assert_same(convert(tmp_path, tensors), state, "there")
