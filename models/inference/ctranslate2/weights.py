"""Files of weights without torch: those of a bundle are read, model.bin of CTranslate2 is written.

See models/storage/weights.py for the former. The latter has version 6 of its format:

    version u32, name, revision u32
    count u32, then for each variable: name, rank u8, sizes u32, type u8, bytes u32, data
    count u32, then for each alias: name, name of the variable

A name is its length with the final zero byte, u16, and its bytes. Little-endian.
ctranslate2.specs writes the same file, but imports torch.
Source: ModelSpec._serialize in ctranslate2/specs/model_spec.py.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from models.base.errors import DamagedError, intact

Array = NDArray[numpy.generic]
Weights = dict[str, NDArray[numpy.float32]]
SCALE = ".scale"  # NAME is int8, NAME.scale its scale; see models/storage/precision.py
STORED = {"F32": "<f4", "F16": "<f2", "I8": "i1", "BF16": "<u2"}  # bfloat16 as its bits
VERSION = 6  # of the format of model.bin
TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")  # a type is its index


def read_weights(path: Path) -> Weights:
    """Return the weights in a safetensors file by name, restored to fp32 and checked to be finite.

    Raises DamagedError if the file cannot be read.
    """
    with intact(path, "weights written by `attn train`", "", SafetensorError):
        stored = dict(deserialize(path.read_bytes()))  # type: ignore[no-untyped-call]
        arrays = {name: _array(tensor) for name, tensor in stored.items()}
        weights = {name: _restored(name, arrays) for name in arrays if not _is_scale(name, arrays)}
    for name, array in weights.items():
        if not numpy.isfinite(array).all():
            raise DamagedError(
                f"{path} has weights that are infinite or not numbers (first at {name})",
                "finite weights",
                "train again with a lower learning rate, or get the model again",
            )
    return weights


def _array(tensor: dict[str, Any]) -> Array:
    """Return a stored tensor as an array; bfloat16 becomes fp32."""
    kind = str(tensor["dtype"])
    array: Array = numpy.frombuffer(tensor["data"], STORED[kind])
    if kind == "BF16":  # the upper half of the bits of fp32
        array = (array.astype(numpy.uint32) << 16).view(numpy.float32)
    return array.reshape(tensor["shape"])


def _is_scale(name: str, arrays: dict[str, Array]) -> bool:
    of = arrays.get(name.removesuffix(SCALE))
    return name.endswith(SCALE) and of is not None and of.dtype == numpy.int8


def _restored(name: str, arrays: dict[str, Array]) -> NDArray[numpy.float32]:
    array = arrays[name]
    if array.dtype != numpy.int8:
        return array.astype(numpy.float32)
    scale = arrays[name + SCALE].astype(numpy.float32)
    if scale.shape != array.shape[:1]:
        raise ValueError(f"{name} is int8 without a scale per row")
    return array.astype(numpy.float32) * scale.reshape(-1, *[1] * (array.ndim - 1))


def to_bytes(
    name: str, revision: int, variables: Mapping[str, Array], aliases: Mapping[str, str]
) -> bytes:
    """Return the content of model.bin. aliases: names that stand for the variable of another name.

    name, revision: kind of model, such as TransformerSpec, and version of its variables.
    """
    parts = [struct.pack("<I", VERSION), _text(name), struct.pack("<II", revision, len(variables))]
    for key, array in sorted(variables.items()):
        sizes = struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
        kind = struct.pack("<BI", TYPES.index(array.dtype.name), array.nbytes)
        parts += [_text(key), sizes, kind, array.tobytes()]
    parts.append(struct.pack("<I", len(aliases)))
    for alias, key in sorted(aliases.items()):
        parts += [_text(alias), _text(key)]
    return b"".join(parts)


def _text(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"
