"""Weights of a bundle as numpy arrays, read without torch. See models/storage/weights.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from models.base.errors import DamagedError

Weights = dict[str, NDArray[numpy.float32]]
SCALE = ".scale"  # NAME is int8, NAME.scale its scale; see models/storage/precision.py
TYPES = {"F32": "<f4", "F16": "<f2", "I8": "i1", "BF16": "<u2"}  # bfloat16 as its bits


def read_weights(path: Path) -> Weights:
    """Return the weights in a safetensors file by name, restored to fp32 and checked to be finite.

    Raises DamagedError if the file cannot be read.
    """
    try:
        stored = dict(deserialize(path.read_bytes()))  # type: ignore[no-untyped-call]
        arrays = {name: _array(tensor) for name, tensor in stored.items()}
        weights = {name: _restored(name, arrays) for name in arrays if not _is_scale(name, arrays)}
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise DamagedError(
            f"{path} is missing or damaged ({error})", "weights written by `attn train`"
        ) from None
    for name, array in weights.items():
        if not numpy.isfinite(array).all():
            raise DamagedError(
                f"{path} has weights that are infinite or not numbers (first at {name})",
                "finite weights",
                "train again with a lower learning rate, or get the model again",
            )
    return weights


def _array(tensor: dict[str, Any]) -> NDArray[numpy.generic]:
    """Return a stored tensor as an array; bfloat16 becomes fp32."""
    kind = str(tensor["dtype"])
    array: NDArray[numpy.generic] = numpy.frombuffer(tensor["data"], TYPES[kind])
    if kind == "BF16":  # the upper half of the bits of fp32
        array = (array.astype(numpy.uint32) << 16).view(numpy.float32)
    return array.reshape(tensor["shape"])


def _is_scale(name: str, arrays: dict[str, NDArray[numpy.generic]]) -> bool:
    of = arrays.get(name.removesuffix(SCALE))
    return name.endswith(SCALE) and of is not None and of.dtype == numpy.int8


def _restored(name: str, arrays: dict[str, NDArray[numpy.generic]]) -> NDArray[numpy.float32]:
    array = arrays[name]
    if array.dtype != numpy.int8:
        return array.astype(numpy.float32)
    scale = arrays[name + SCALE].astype(numpy.float32)
    if scale.shape != array.shape[:1]:
        raise ValueError(f"{name} is int8 without a scale per row")
    return array.astype(numpy.float32) * scale.reshape(-1, *[1] * (array.ndim - 1))
