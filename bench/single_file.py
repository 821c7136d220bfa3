# SPDX-License-Identifier: Apache-2.0
"""What people do today with a single file: diffusers' from_single_file, timed in a process of its
own: single_file.py FILE WARM_BYTES DTYPE. The time is that of the weights: the skeleton is made
and thrown away once before."""
import json
import os
import sys
import tempfile
import time

import torch
from diffusers import UNet2DConditionModel

import reference_memory

CONFIG = {"_class_name": "UNet2DConditionModel", "cross_attention_dim": 768, "sample_size": 64,
          "attention_head_dim": 8}
DTYPES = {"fp8_e4m3": torch.float8_e4m3fn, "bf16": torch.bfloat16}

path, size, dtype = sys.argv[1], int(sys.argv[2]), DTYPES[sys.argv[3]]
with tempfile.TemporaryDirectory() as folder:
    os.mkdir(os.path.join(folder, "unet"))
    with torch.device("meta"):
        begin = time.perf_counter()
        made = UNet2DConditionModel.from_config(CONFIG)
        skeleton = time.perf_counter() - begin
    with open(os.path.join(folder, "unet", "config.json"), "w") as f:
        json.dump(dict(made.config), f)  # every key: the converter reads more than was said
    reference_memory.warm(size)
    begin = time.perf_counter()
    model = UNet2DConditionModel.from_single_file(path, config=folder, subfolder="unet",
                                                  torch_dtype=dtype, local_files_only=True)
    seconds = time.perf_counter() - begin
print(json.dumps({"run_seconds": max(seconds - skeleton, 1e-3),
                  "tensors": len(model.state_dict())}))
