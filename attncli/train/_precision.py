"""Precision of matrix products in training, and the loss scale of fp16.

`train.precision = "auto"` chooses by hardware and size. Hardware that computes bf16 products
computes large ones several times as fast as fp32 products. On a CPU, casts and the compilation of a
kernel for each shape cost more than small products save. One thread of an AMD EPYC with
AVX512-bf16, an update in fp32 over one in bf16, by `products`:

    2^22  transformer-nano, batches of 512      0.9      2^25  transformer-nano        1.3
    2^23  transformer-nano, batches of 1,024    1.1      2^27  transformer-tiny        2.3
    2^24  rnnsearch-nano                        0.9      2^28  rnnsearch-small         1.2
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch

from attncli.train.folder import Counters
from attncli.training.config import TrainConfig
from models.core.config import ModelConfig

# too large at first: the first overflows halve it, and each costs one update
FIRST_SCALE, GROW = 2.0**16, 2000  # loss scale of fp16, and updates until it is doubled
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}  # of the setting
CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")  # oneDNN, ideep
# in bf16, oneDNN compiles a kernel of about 1 MB for each shape; a thousand of them save no time
KERNELS = "64"  # kernels kept by each cache; its default is 1024
LARGE = 2**25  # multiplications from which on bf16 is used on a CPU


def chosen_precision(model: ModelConfig, train: TrainConfig, device: torch.device) -> str:
    """Return fp32, bf16 or fp16: that of the settings; for auto, by hardware and size.

    A GPU's compute capability says what it computes itself: bf16 from 8.0, fp16 from 7.0. Older
    ones emulate both, and `torch.cuda.is_bf16_supported` is true of emulation, too.
    """
    if train.precision != "auto":
        return train.precision
    positions = train.batch_tokens // max(1, train.shards)
    products = positions * model.embedding * model.hidden  # of a layer from one size to the other
    # on a CPU, casts and compiled kernels cost more than small products save: 0.9 of fp32's speed
    # at 2^22
    is_large = device.type != "cpu" or products >= LARGE
    if is_large and computes_bf16(device):
        return "bf16"
    # older GPUs emulate fp16
    return "fp16" if capability(device) == 7 else "fp32"


def capability(device: torch.device) -> int:
    """Return the compute capability of a GPU of NVIDIA, such as 8 for 8.0 and 8.6; else 0."""
    return torch.cuda.get_device_properties(device).major if device.type == "cuda" else 0


def computes_bf16(device: torch.device) -> bool:
    """Return True if the device computes bf16 products in hardware."""
    if device.type != "cpu":
        return capability(device) >= 8
    # a torch without this function cannot tell, and trains in fp32
    features: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(features.get("avx512_bf16") or features.get("amx_tile"))


def limit_kernel_caches() -> None:
    """Limit the number of compiled kernels that oneDNN caches.

    In bf16, oneDNN compiles a kernel of about 1 MB for each shape, and batches rarely have the same
    shape. A thousand kernels take most of the memory of a small model, and reusing them saves no
    measurable time. Both caches read the environment when they are first used.
    """
    for name in CACHES:
        os.environ.setdefault(name, KERNELS)


def loss_scale(counters: Counters, dtype: torch.dtype) -> float:
    """Return the factor on the loss; fp16 has one, so that small gradients do not become 0.

    Source: Micikevicius et al. 2018, section 3.2.
    """
    if dtype != torch.float16:
        return 1.0
    counters.scale = counters.scale or FIRST_SCALE
    return counters.scale


def grow(counters: Counters) -> None:
    """Count an update without overflow; double the loss scale after GROW of them."""
    counters.unscaled += 1
    if counters.unscaled >= GROW:
        counters.scale, counters.unscaled = 2 * counters.scale, 0
