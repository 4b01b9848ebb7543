"""The file model.bin of CTranslate2, version 6 of its format, written without its Python package.

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

import numpy
from numpy.typing import NDArray

VERSION = 6
TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")  # a type is its index

Variables = Mapping[str, NDArray[numpy.generic]]


def to_bytes(name: str, revision: int, variables: Variables, aliases: Mapping[str, str]) -> bytes:
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
