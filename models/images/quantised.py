"""Layers of an image network in an npz file, with 8 bits: weight = (q - zero) scale."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy
import torch
from torch import Tensor

from models.base.errors import DamagedError


def read_layers(path: Path, names: Iterable[str]) -> dict[str, Tensor]:
    """Return NAME.weight and NAME.bias of each named layer. path: the file, or its folder.

    Raises DamagedError if the file cannot be read or has no such layer.
    """
    path = next(iter(sorted(path.glob("*.npz"))), path)
    found: dict[str, Tensor] = {}
    try:
        with numpy.load(path, allow_pickle=False) as stored:
            for name in names:
                q, zero, scale, bias = (
                    torch.from_numpy(stored[f"{name}.{part}"])
                    for part in ("weight_q", "zero", "scale", "bias")
                )
                shape = -1, *[1] * (q.dim() - 1)
                found[f"{name}.weight"] = (q.float() - zero.float().view(shape)) * scale.view(shape)
                found[f"{name}.bias"] = bias
    except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise DamagedError(
            f"{path} cannot be read as weights of mobilenet-edgetpu ({error})",
            "mobilenet_edgetpu_uint8.npz, or its folder",
        ) from None
    return found
