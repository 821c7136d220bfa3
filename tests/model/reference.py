# SPDX-License-Identifier: Apache-2.0
"""Skeletons of the real classes: instantiates them on the meta device and lists what they hold."""
import importlib
import re

LIBRARIES = ("diffusers", "transformers")
# Classes that their library does not export.
ELSEWHERE = {
    "LTX2LatentUpsamplerModel": ("diffusers", "diffusers.pipelines.ltx2.latent_upsampler"),
    "LTX2TextConnectors": ("diffusers", "diffusers.pipelines.ltx2.connectors"),
    "LTXLatentUpsamplerModel": ("diffusers", "diffusers.pipelines.ltx.modeling_latent_upsampler"),
    "T5GemmaEncoder": ("transformers", "transformers.models.t5gemma.modeling_t5gemma"),
    "PaellaVQModel": ("diffusers", "diffusers.pipelines.deprecated.wuerstchen"),
}


def find_class(name):
    if name in ELSEWHERE:
        library, module = ELSEWHERE[name]
        return library, getattr(importlib.import_module(module), name)
    for library in LIBRARIES:
        found = getattr(importlib.import_module(library), name, None)
        if found is not None:
            return library, found
    raise LookupError(f"neither {LIBRARIES} has {name}")


def instantiate(name, config):
    """The model of class `name` on the meta device; raises what the class raises."""
    import torch
    library, cls = find_class(name)
    config = {k: v for k, v in config.items() if not k.startswith("_")}
    with torch.device("meta"):
        if library == "diffusers":
            return cls.from_config(config)
        config_class = cls.config_class
        return cls(config_class.from_dict(config))


def listing(model):
    """Lines as tests/model/skeleton.c prints them, in module-tree order."""
    lines, first = [], {}
    for path, module in model.named_modules(remove_duplicate=False):
        at = path + "." if path else ""
        rows = [(n, p, "parameter") for n, p in module._parameters.items() if p is not None]
        rows += [(n, b, "scratch" if n in module._non_persistent_buffers_set else "buffer")
                 for n, b in module._buffers.items() if b is not None]
        for name, tensor, kind in rows:
            shape = ",".join(map(str, tensor.shape))
            tied = first.setdefault(id(tensor), at + name)
            line = f"{at}{name} {kind} {dtype_word(tensor, kind)} [{shape}]"
            lines.append(line if tied == at + name else f"{line} {tied}")
    no_split = set(getattr(model, "_no_split_modules", None) or [])
    lines += [f"@block {path}" for path, module in model.named_modules()
              if path and type(module).__name__ in no_split]
    lines += [f"@fp32 {name}" for name in (getattr(model, "_keep_in_fp32_modules", None) or [])]
    return lines


def dtype_word(tensor, kind):
    """Only integers and booleans are fixed by a class; floating tensors follow the dtype asked for."""
    import torch
    words = {torch.int64: "I64", torch.int32: "I32", torch.uint8: "U8", torch.bool: "BOOL"}
    return words.get(tensor.dtype, "AUTO")


def plain(lines):
    """A listing without non-persistent buffers: what checkpoints are about. Order as it is."""
    return [line for line in lines if not re.match(r"\S+ scratch ", line)]
