"""Settings for the hardware: precision of matrix products, kernel caches and memory."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from pathlib import Path

import torch

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}  # values of train.precision
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -2, -3, -4  # malloc.h
CACHES = (
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
    "LRU_CACHE_CAPACITY",
)  # oneDNN, ideep
KERNELS = "64"  # kernels kept by each cache; its default is 1024


def computes_bf16(device: torch.device) -> bool:
    """Return True if the device computes bf16 products in hardware."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    if device.type != "cpu":
        return False
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, name, lambda: False)() for name in names)


def processor() -> str:
    """Return a text that identifies the kind of CPU and the kernels that torch selects for it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").partition("\n\n")[0].splitlines()
    except OSError:  # not Linux
        lines = []
    fields = ("vendor_id", "cpu family", "model", "model name", "CPU part")  # the last: on ARM
    found = [line for line in lines if line.partition(":")[0].strip() in fields]
    kernels = torch.backends.cpu.get_cpu_capability()
    return " ".join("\n".join([platform.machine(), platform.processor(), kernels, *found]).split())


def limit_kernel_caches() -> None:
    """Limit the number of compiled kernels that oneDNN caches.

    In bf16, oneDNN compiles a kernel of about 1 MB for each shape, and batches rarely have the same
    shape. A thousand kernels take most of the memory of a small model, and reusing them saves no
    measurable time. Both caches read the environment when they are first used.
    """
    for name in CACHES:
        os.environ.setdefault(name, KERNELS)


def retain_freed_memory(*, divided: bool = False) -> None:
    """Configure glibc to keep large freed blocks for the next training step.

    The tensors of a step take megabytes, which is above malloc's threshold for mmap. By default
    they are unmapped and mapped again at each step, and every page causes a page fault. Do nothing
    on systems without glibc.

    divided: return large blocks instead, because the gathered parameters of a divided model exist
    for a short time only; smaller tensors would take parts of their freed blocks, and the next ones
    would need new memory.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    if divided:
        mallopt(M_MMAP_THRESHOLD, 2**20)
        return
    mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(M_TOP_PAD, 2**26)
