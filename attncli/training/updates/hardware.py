"""Settings for the hardware: precision of matrix products and kernel caches."""

from __future__ import annotations

import os

import torch

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}  # values of train.precision
CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")  # oneDNN, ideep
KERNELS = "64"  # kernels kept by each cache; its default is 1024


def computes_bf16(device: torch.device) -> bool:
    """Return True if the device computes bf16 products in hardware."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    if device.type != "cpu":
        return False
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, name, lambda: False)() for name in names)


def limit_kernel_caches() -> None:
    """Limit the number of compiled kernels that oneDNN caches.

    In bf16, oneDNN compiles a kernel of about 1 MB for each shape, and batches rarely have the same
    shape. A thousand kernels take most of the memory of a small model, and reusing them saves no
    measurable time. Both caches read the environment when they are first used.
    """
    for name in CACHES:
        os.environ.setdefault(name, KERNELS)
