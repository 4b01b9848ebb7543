"""Device and number of threads."""

from __future__ import annotations

from models.base.errors import ModelError


def choose_device(name: str) -> str:
    """Return the device for a name; ``auto`` selects a GPU if there is one. Imports torch."""
    import torch

    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return next(device for device, usable in there.items() if usable)
    if not there.get(name):
        usable = ", ".join(device for device, usable in there.items() if usable)
        raise ModelError(f"device '{name}', which this machine does not have", f"auto or {usable}")
    return name


def use_threads(count: int) -> None:
    """Set the number of processor threads; 0 keeps the default of torch."""
    import torch

    if count:
        torch.set_num_threads(count)
