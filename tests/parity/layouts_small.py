# SPDX-License-Identifier: Apache-2.0
"""Small configs of every class that diffusers converts from single files, for layouts_test.py."""

# Classes whose converters have a width built in (3072) need that width: few layers then.
CONFIGS = {
    "FluxTransformer2DModel": [
        {"num_layers": 1, "num_single_layers": 1, "guidance_embeds": True, "joint_attention_dim": 8,
         "pooled_projection_dim": 8},
    ],
}

# The original names are the class's own.
SAME_NAMES = {"QwenImageTransformer2DModel", "MotifVideoTransformer3DModel", "HiDreamImageTransformer2DModel",
              "ErnieImageTransformer2DModel"}

# The reference's converter is wrong here; what is right is said in layouts.md, and held by the way back.
SKIP_REFERENCE = {}

# Its converter is wrong with the prefix only.
SKIP_PREFIX = {}
