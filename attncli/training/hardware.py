"""What the machine does well: its precision, and how it hands out memory."""

from __future__ import annotations

import ctypes
import os
import sys

import torch

from attncli.training.config import TrainConfig

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # malloc.h
CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")  # oneDNN's, and ideep's over it
KERNELS = "64"  # that each keeps, instead of 1024


def precision(config: TrainConfig, device: torch.device) -> torch.dtype:
    """The type of matrix products: bf16 where asked for, or where the processor gains from it."""
    if config.precision == "auto":
        return torch.bfloat16 if gains_from_bf16(device) else torch.float32
    return {"fp32": torch.float32, "bf16": torch.bfloat16}[config.precision]


def gains_from_bf16(device: torch.device) -> bool:
    """Whether bf16 products are done in hardware."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    if device.type != "cpu":
        return False
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, name, lambda: False)() for name in names)


def limit_kernel_caches() -> None:
    """Have oneDNN forget kernels of shapes that will hardly come back.

    In bf16 it compiles one for each shape, about a megabyte, and hardly two batches have one shape:
    a thousand of them took most of a small model's memory, and their reuse saved no time. Both
    caches ask the environment when they are first used.
    """
    for name in CACHES:
        os.environ.setdefault(name, KERNELS)


def retain_freed_memory() -> None:
    """Have glibc keep large blocks instead of giving them back at every step.

    Blocks of a training step are megabytes, above malloc's threshold for mmap: freed and mapped
    again at each step, every page faults anew. Does nothing where there is no glibc.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(M_TOP_PAD, 2**26)
