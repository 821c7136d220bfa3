#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corpus.py: writes tests/fuzz/corpus/{safetensors,index,rules,yaml,config,detect} anew: small files by
hand, one for each thing that is worth starting from."""
import json
import pathlib
import struct

ROOT = pathlib.Path(__file__).resolve().parent / "corpus"


def entry(dtype, shape, begin, end, **more):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


def file(header, data=b"", length=None):
    if not isinstance(header, (str, bytes)):
        header = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    header = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(header) if length is None else length) + header + data


BASE = {"a": entry("F32", [4], 0, 16)}
TAGS = """BOOL U8 I8 F8_E4M3 F8_E5M2 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ U16 I16 F16 BF16 U32 I32 F32
U64 I64 F64 C64 F4 F6_E2M3 F6_E3M2""".split()
BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BF16": 16, "C64": 64}


def bits(tag):
    return BITS.get(tag) or 8 * (int(tag[1:].split("_")[0]) // 8)


def zoo():
    header, at = {}, 0
    for tag in TAGS:
        nbytes = bits(tag) * 8 // 8
        header["t." + tag] = entry(tag, [2, 4], at, at + nbytes)
        at += nbytes
    return file(header, bytes(at))


def quantised():
    comfy = b'{"format":"int8_tensorwise","convrot":true}'
    parts = {
        "l.weight": ("I8", [2, 2], 4), "l.weight_scale": ("F32", [], 4),
        "l.comfy_quant": ("U8", [len(comfy)], len(comfy)), "m.weight": ("F8_E4M3", [2, 2], 4),
        "m.scale_weight": ("F32", [], 4), "scaled_fp8": ("F8_E4M3", [0], 0),
        "n.qweight": ("I32", [8, 8], 256), "n.scales": ("F16", [1, 8], 16),
        "n.qzeros": ("I32", [1, 1], 4), "o.weight_scale": ("F32", [], 4),
    }
    header, data = {"__metadata__": {"_quantization_metadata": json.dumps(
        {"layers": {"m": {"format": "float8_e4m3fn"}, "x": {}}})}}, b""
    for name, (dtype, shape, nbytes) in parts.items():
        header[name] = entry(dtype, shape, len(data), len(data) + nbytes)
        data += comfy if name.endswith("comfy_quant") else bytes(nbytes)
    return file(header, data)


SAFETENSORS = {
    "base": file(BASE, bytes(16)),
    "empty": file("{}"),
    "padded": file(" \n{}      "),
    "zoo": zoo(),
    "quantised": quantised(),
    "metadata": file({"__metadata__": {"format": "pt", "é\n": "\u65e5\0"}, **BASE}, bytes(16)),
    "metadata-odd": file({"__metadata__": {"n": {"a": [1, None]}}, **BASE}, bytes(16)),
    "metadata-null": file({"__metadata__": None, **BASE}, bytes(16)),
    "scalar-and-empty": file({"s": entry("I64", [], 0, 8), "e": entry("F32", [3, 0], 8, 8)},
                             bytes(8)),
    "unordered": file({"b": entry("U8", [4], 4, 8), "a": entry("U8", [4], 0, 4)}, bytes(8)),
    "more-fields": file({"a": entry("U8", [1], 0, 1, x={"y": [1, "z", True]})}, b"1"),
    "escapes": file('{"\\u0061\\ud83d\\ude00":{"dt\\u0079pe":"U8","shape":[1],"data_offsets":[0,1]}}',
                    b"1"),
    "truncated": file(BASE, bytes(7)),
    "trailing": file(BASE, bytes(20)),
    "cut-header": file(BASE)[:30],
    "long-header": file("{}", length=2**40),
    "huge-header": file("{}", length=2**63),
    "overlap": file({"a": entry("U8", [4], 0, 4), "b": entry("U8", [4], 2, 6)}, bytes(6)),
    "alias": file({"a": entry("U8", [4], 0, 4), "b": entry("U8", [4], 0, 4)}, bytes(4)),
    "hole": file({"a": entry("U8", [4], 4, 8)}, bytes(8)),
    "twice": file('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                  '"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', b"12"),
    "unknown-dtype": file({"a": entry("F6_X", [8], 0, 6), "b": entry("U8", [1], 6, 7)}, bytes(7)),
    "lying-shape": file({"a": entry("U8", [2**32, 2**32], 0, 0)}),
    "minus": file({"a": entry("U8", [-1], 0, 1)}, b"1"),
    "old-writer": file('{},"__metadata__":{"format":"pt"}}'),
    "no-object": file("[]"),
    "deep": file('{"a":{"x":' + "[" * 130 + "]" * 130 + "}}"),
    "none-good": file({"a": entry("U8", [8], 0, 4), "b": entry("U8", [4], 2, 3)}, bytes(6)),
    "fault-after-unordered": file('{"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},'
                                  '"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},x', b"12"),
    "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64
           + b"\nsize 4265146304\n",
    "html": b"<!DOCTYPE html><html><head><title>404</title></head></html>",
    "json": b'{"error":"Repository not found"}',
    "gguf": b"GGUF" + struct.pack("<IQQ", 3, 0, 0),
    "zip": b"PK\3\4" + bytes(26) + b"archive/data.pkl",
    "pickle": bytes.fromhex("80028a0a6cfc9c46f9206aa850192e"),
    "gzip": bytes.fromhex("1f8b0800000000000003"),
    "zeros": bytes(100),
}


def index(**weight_map):
    return json.dumps({"metadata": {"total_size": 8}, "weight_map": weight_map}).encode()


INDEX = {
    "good": index(a="a.safetensors"),
    "model": index(a="model.safetensors"),
    "two": index(a="a.safetensors", b="b.safetensors"),
    "missing": index(a="a.safetensors", c="c.safetensors"),
    "up": index(a="../vae/model.safetensors"),
    "absolute": index(a="/etc/hostname"),
    "dots": index(a="..", b="."),
    "nul": index(a="a\0b"),
    "itself": index(a="model.safetensors.index.json"),
    "folder": index(a="unet"),
    "no-metadata": b'{"weight_map":{"a":"a.safetensors"}}',
    "no-map": b'{"metadata":{"total_size":1.5}}',
    "twice": b'{"weight_map":{"a":"a.safetensors","a":"b.safetensors"}}',
    "number": b'{"weight_map":{"a":7}}',
    "array": b'{"weight_map":[]}',
    "cut": b'{"weight_map":{"a":"a.saf',
    "config": b'{"_class_name":"UNet2DConditionModel","quantization_config":'
              b'{"quant_method":"bitsandbytes"}}',
    "architectures": b'{"architectures":["CLIPTextModel"],"model_type":"clip"}',
    "pipeline": b'{"_class_name":"X","unet":["diffusers","UNet2DConditionModel"],"vae":'
                b'["diffusers","AutoencoderKL"],"gone":["a","b"],"none":[null,null],"flag":true}',
    "pipeline-up": b'{"../unet":["diffusers","X"],"vae/..":["a","b"],"":["a","b"],"vae":["a","b"]}',
    "all": json.dumps({"weight_map": {"a": "a.safetensors"}, "vae": ["d", "A"], "unet": ["d", "U"],
                       "_class_name": "U"}).encode(),
}


def rules(tensors, text):
    return (tensors.replace("; ", "\n") + "\n==\n" + text.replace("; ", "\n")).encode()


RULES = {
    "empty": b"",
    "rename": rules("a.0.weight 2,2; a.1.bias 2", "a.{i}.{p} => b.{i}.{p}"),
    "split": rules("in.w 2,3; x.qkv.w 8,2; x.qkv.b 8",
                   "let H = in.w[0] | y.w[0]; in.{p} => y.{p}; "
                   "split x.qkv.{p} => x.{q,k,v}.{p} sizes=H,H,*"),
    "swap": rules("final.w 4,2; t 2,3; f 12",
                  "swap final.{p} => out.{p}; transpose t => t.weight; reshape f => g sizes=6,*"),
    "heads": rules("q.w 12,2; q.b 12", "let D = 2; heads q.{p} => {x,y,z}.{p} sizes=D"),
    "squeeze": rules("a.w 2,2,1,1; b 1,3,1,1",
                     "a.{p} => c.{p} squeeze=1 rank=4; b => d squeeze=2 rank=1C11"),
    "unet": rules("input_blocks.1.0.w 1; input_blocks.3.0.op.w 1; output_blocks.2.1.conv.w 1",
                  "let S = <input_blocks.{i}.0.op.w | #down.0.resnets.+1; "
                  "input_blocks.{S+b*S}.0.op.{p} => down.{b}.op.{p}; "
                  "input_blocks.{1+b*S+r}.0.{p} => down.{b}.resnets.{r}.{p}; "
                  "output_blocks.{S-1+b*S}.1.conv.{p} => up.{b}.conv.{p} back_if=!up.{b}.a"),
    "features": rules("k 1,8; e.w 1", "when x k[-1]=8; when x !k; when y $m=1; "
                      "e.{p} => f.{p} need=x deny=y; k => k"),
    "drop": rules("n.w 1; pos 1", "drop n.{*} note=unused; drop pos back=needed"),
    "words": rules("{a:|x|xx}.{p} 1; xx.w 1; x{^}.{4*b+r} 1",
                   "{a:x|xx}{b:z|yz} => {a:1|2}.{b:1|2}; {^}.t.{*} => {^}.{*}"),
    "mistakes": rules("a 1", "a.{i => b"),
}


LDM = b"""model:
  params:
    image_size: 64
    scale_factor: 0.18215
    unet_config:
      params: {in_channels: 4, out_channels: 4, model_channels: 320, channel_mult: [1, 2, 4, 4],
        attention_resolutions: [4, 2, 1], num_res_blocks: 2, num_heads: 8, transformer_depth: 1,
        context_dim: 768}
    control_stage_config: {params: {hint_channels: 3}}
    first_stage_config:
      params:
        ddconfig: {ch: 128, ch_mult: [1, 2, 4, 4], in_channels: 3, out_ch: 3, z_channels: 4,
          num_res_blocks: 2}
    cond_stage_config: {target: ldm.modules.encoders.modules.FrozenCLIPEmbedder}
"""
XL = b"""model:
  params:
    scale_factor: 1.3025e-1
    network_config:
      params: {adm_in_channels: 2816, num_classes: sequential, in_channels: 4, out_channels: 4,
        model_channels: 320, attention_resolutions: [4, 2], num_res_blocks: 2,
        channel_mult: [1, 2, 4], num_head_channels: 64, use_linear_in_transformer: True,
        disable_self_attentions: [True, False, no], transformer_depth: [1, 2, 10],
        context_dim: [2048]}
    conditioner_config:
      params: {emb_models: [{target: sgm.x.FrozenOpenCLIPEmbedder2}, {target: null}]}
"""

YAML = {
    "empty": b"",
    "ldm": LDM,
    "xl": XL,
    "wrong-types": LDM.replace(b"320", b"[a]").replace(b"768", b"{}").replace(b"128", b"-1"),
    "large": LDM.replace(b"320", b"1048577").replace(b"768", b"-99999999999999999999"),
    "scalars": b"- [~, null, '', yes, NO, +1, -0.5, .5, 1., 1e-4, 010, 0x1f, 1_0, .inf, \"\\0\", |\n  x\n]",
    "block": b"a: |\n  text\n  more\nb: >-\n  folded\n  text\nc:\n- 1\n-\n  - 2\n",
    "laughs": b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "alias": b"a: *b\n",
    "tag": b"a: !!python/object:os.system {}\n",
    "deep": b"[" * 70 + b"]" * 70,
    "deep-block": b"- " * 70 + b"x",
    "twice": b"a: 1\nb: 2\na: 3\n",
    "key": b"? [a]\n: b\n",
    "two": b"a: 1\n---\nb: 2\n",
    "bom": b"\xef\xbb\xbfa: 1\n",
    "utf16": "\ufeffa: 1\n".encode("utf-16-le"),
    "tabs": b"a:\n\t- b\n",
    "cut": LDM[:200],
    "directive": b"%YAML 1.2\n%TAG ! tag:x,2000:\n---\na: !b c\n",
}

MODELS = pathlib.Path(__file__).resolve().parent.parent / "model" / "configs"


def config(klass, which):
    """The `which`-th config that the skeletons of a class are tested with."""
    chosen = json.loads((MODELS / f"{klass}.json").read_text())[which]
    return f"{klass}\n{json.dumps(chosen)}".encode()


CONFIG = {
    "empty": b"",
    "defaults": b"UNet2DConditionModel",
    "named": b'-\n{"_class_name":"AutoencoderKL","act_fn":"silu","more":[1,{"a":null}]}',
    "architectures": b'-\n{"architectures":["T5EncoderModel"],"num_layers":1}',
    "model-type": b'-\n{"model_type":"clip_text_model","num_hidden_layers":1}',
    "deep": b"FluxTransformer2DModel\n" + b'{"num_layers":4096,"num_single_layers":4097}',
    "negative": b'AutoencoderKL\n{"block_out_channels":[0,-1,1048577,1e300]}',
    "no-object": b"LlamaModel\n[]",
    **{klass: config(klass, which) for klass, which in (
        ("AutoencoderDC", 1), ("AutoencoderKL", 3), ("AutoencoderKLLTXVideo", 1),
        ("AutoencoderKLWan", 1), ("CLIPModel", 0), ("ControlNetModel", 0),
        ("CosmosTransformer3DModel", 0), ("FluxTransformer2DModel", 0),
        ("Gemma3ForConditionalGeneration", 0), ("HunyuanVideoTransformer3DModel", 0),
        ("LTX2VideoTransformer3DModel", 0), ("MotionAdapter", 0),
        ("Qwen2_5_VLForConditionalGeneration", 0), ("SD3Transformer2DModel", 0),
        ("SiglipVisionModel", 0), ("StableCascadeUNet", 0), ("T5EncoderModel", 0),
        ("UNet2DConditionModel", 1), ("WanTransformer3DModel", 0))},
}

FAMILIES = [line[4:-1] for line in (pathlib.Path(__file__).resolve().parents[2] / "src" / "layout"
                                    / "family_list.h").read_text().splitlines()
            if line.startswith("ROW(")]


def model(family, original=True, prefix=None):
    """A step of scene.h: the model of a family, by default under the family's own prefix."""
    return bytes([0, FAMILIES.index(family), 2 * (127 if prefix is None else prefix) + original])


def detect(*steps, part=0, klass=255):
    """`part`: its number and how it is asked for, 1 leniently, 2 by component, 4 by class."""
    return bytes([part, klass]) + b"".join(steps)


DETECT = {
    "empty": detect(),
    "single": detect(bytes([1, 2, 0, 28, 107, 2, 10, 4, 4])),
    "list": detect(bytes([2, 20, 1, 28, 47, 1, 69, 107, 2, 10, 20, 20])),
    "sd1": detect(model("sd1_unet"), model("autoencoder_kl"), model("clip_l")),
    "sdxl": detect(model("sdxl_unet"), model("autoencoder_kl_sdxl"), model("openclip_g"), part=2 + 8),
    "sd3": detect(model("sd3_transformer"), model("autoencoder_kl_sd3"), model("t5"), part=4 + 16),
    "sd3-cut": detect(model("sd3_transformer"), bytes([3, 0, 40, 8])),
    "flux-module": detect(model("flux_transformer", prefix=2)),
    "flux-resized": detect(model("flux_transformer"), bytes([4, 0, 9, 0, 5])),
    "flux-renamed": detect(model("flux_transformer", False), bytes([5, 0, 0, 127, 70, 75])),
    "two": detect(model("wan_transformer"), model("mochi_transformer")),
    **{f"{name}-{'original' if original else 'class'}": detect(model(name, original), part=1)
       for original in (True, False) for name in (
           "svd_unet", "controlnet", "controlnet_union", "clip_vision", "llama", "hidream_transformer",
           "chroma_radiance", "auraflow_transformer", "qwen_image_transformer", "z_image_controlnet",
           "hunyuan_dit_transformer", "cogvideox_transformer", "ltx2_transformer", "wan_vae",
           "wan_animate_transformer", "hunyuan_video_transformer", "cascade_prior", "cosmos_vae",
           "animatediff_adapter", "autoencoder_dc")},
}


def main():
    total = 0
    families = (("safetensors", SAFETENSORS), ("index", INDEX), ("rules", RULES), ("yaml", YAML),
                ("config", CONFIG), ("detect", DETECT))
    for folder, inputs in families:
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (ROOT / folder / name).write_bytes(data)
            total += len(data)
    print(f"{sum(len(inputs) for _, inputs in families)} inputs, {total} bytes")


if __name__ == "__main__":
    main()
