"""GPUs of this machine, counted without torch."""

from __future__ import annotations

import os
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"


def gpus(device: str) -> list[str]:
    """Return the names of the NVIDIA GPUs that a device (auto, cuda) may be; none for others."""
    if device not in ("auto", "cuda"):
        return []
    listed = os.environ.get(VISIBLE)
    if listed is not None:
        return [name for name in listed.split(",") if name.strip() not in ("", "-1")]
    found = (path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*"))
    return sorted(found, key=int)
