# SPDX-License-Identifier: Apache-2.0
"""What people do today, timed in a process of its own:
reference.py FILE WARM_BYTES [DTYPE]."""
import json
import sys
import time

import torch
from safetensors.torch import load_file

import reference_memory

DTYPES = {"fp8_e4m3": torch.float8_e4m3fn, "bf16": torch.bfloat16, "fp16": torch.float16}


reference_memory.warm(int(sys.argv[2]))
begin = time.perf_counter()
tensors = load_file(sys.argv[1])
if len(sys.argv) > 3:
    tensors = {name: tensor.to(DTYPES[sys.argv[3]]) for name, tensor in tensors.items()}
print(json.dumps({"run_seconds": time.perf_counter() - begin, "tensors": len(tensors)}))
