# SPDX-License-Identifier: Apache-2.0
"""Values through every layout, against diffusers' own converters.

A small model of each class, every bit random, is named as its publisher would (netweight, to
original), named back by diffusers' converter, and by netweight: all three ways every byte is the
same. What a converter does wrong is not asked of it: see SKIP_REFERENCE.
"""
import inspect
import json

import pytest
import torch
from real import assert_same, construct, find_class, netweight, random_tensors
from safetensors.torch import load_file, save_file

import small


def random_state(name, config):
    """The class's state dict with random bits in F16, made without its initialisers, and its whole
    config."""
    with torch.device("meta"):
        model = construct(name, config)
    state = random_tensors({key: tensor.shape for key, tensor in model.state_dict().items()}, seed=1)
    full = model.config.to_dict() if hasattr(model.config, "to_dict") else dict(model.config)
    return state, full


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

    netweight("convert", folder, original, "--layout", "original", "--prefix", prefix)
    named = load_file(str(original))
    assert set(named) != set(state) or name in small.SAME_NAMES

    netweight("convert", original, back, "--layout", "diffusers", "--config", folder / "config.json")
    assert_same(load_file(str(back)), state, "back")

    skip = small.SKIP_BARE if bare else small.SKIP_PREFIX
    if {name, (name, number)} & set(small.SKIP_REFERENCE) or name in skip:
        return
    theirs = reference(name, named, full)
    assert_same({k: v for k, v in theirs.items() if v is not None}, state, "the reference")


# ---- Sana: its files hold constants that the class has not, so there is no way back ----

SANA = {"num_attention_heads": 4, "attention_head_dim": 8, "num_layers": 2, "num_cross_attention_heads": 2,
        "cross_attention_head_dim": 16, "cross_attention_dim": 32, "caption_channels": 24, "in_channels": 4,
        "out_channels": 4, "sample_size": 4}
SANA_NAMES = [("patch_embed", "x_embedder"), ("caption_projection.linear_", "y_embedder.y_proj.fc"),
              ("caption_norm", "attention_y_norm"), ("time_embed.linear", "t_block.1"),
              ("guidance_embedder.linear_1", "cfg_embedder.mlp.0"),
              ("guidance_embedder.linear_2", "cfg_embedder.mlp.2"),
              ("timestep_embedder.linear_1", "t_embedder.mlp.0"), ("timestep_embedder.linear_2", "t_embedder.mlp.2"),
              ("time_embed.", ""), ("emb.", ""), ("transformer_blocks", "blocks"), ("attn1", "attn"),
              ("attn2", "cross_attn"), ("to_out.0", "proj"), ("cross_attn.to_q", "cross_attn.q_linear"),
              ("norm_q", "q_norm"), ("norm_k", "k_norm"), ("proj_out", "final_layer.linear")]


def sana_original(state):
    """The state dict under the names of the publisher, joined as there."""
    out, joined = {}, {}
    for key, tensor in state.items():
        name = "final_layer.scale_shift_table" if key == "scale_shift_table" else key
        for ours, theirs in SANA_NAMES:
            name = name.replace(ours, theirs)
        for kind in ("inverted", "depth", "point"):
            name = name.replace(f"ff.conv_{kind}", f"mlp.{kind}_conv.conv")
        head, dot, leaf = name.rpartition(".to_")
        if dot:
            joined.setdefault((head, leaf[2:]), {})[leaf[0]] = tensor
        else:
            out[name] = tensor
    for (head, leaf), parts in joined.items():
        order = ("q", "k", "v") if "q" in parts else ("k", "v")
        name = "qkv." if "q" in parts else "kv_linear."
        out[f"{head}.{name}{leaf}"] = torch.cat([parts[k] for k in order])
    out["pos_embed"] = torch.zeros(1, 16, 32, dtype=torch.float16)
    out["y_embedder.y_embedding"] = torch.zeros(3, 24, dtype=torch.float16)
    return out


@pytest.mark.parametrize("more", [{}, {"qk_norm": "rms_norm_across_heads"},
                                  {"qk_norm": "rms_norm_across_heads", "guidance_embeds": True}])
def test_sana(tmp_path, more):
    state, full = random_state("SanaTransformer2DModel", {**SANA, **more})
    named = sana_original(state)
    original, out = tmp_path / "original.safetensors", tmp_path / "out"
    save_file(named, str(original))
    netweight("convert", original, f"{out}/", "--layout", "diffusers")
    assert_same(load_file(str(out / "diffusion_pytorch_model.safetensors")), state, "there")
    config = json.loads((out / "config.json").read_text())
    assert config.get("qk_norm") == more.get("qk_norm")
    assert config.get("guidance_embeds", False) == more.get("guidance_embeds", False)
    assert config.get("timestep_scale", 1.0) == (1000.0 if "guidance_embeds" in more else 1.0)
    if not more:  # the reference leaves the norms out, and does not know Sprint
        assert_same(reference("SanaTransformer2DModel", named, full), state, "the reference")
    document = netweight("convert", out, tmp_path / "back.safetensors", "--layout", "original", status=1)
    assert document["error"]["code"] == "UNSUPPORTED"
