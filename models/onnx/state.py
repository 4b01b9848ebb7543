"""Tensors inside a decoder's state or prepared memory, by name.

Both are NamedTuples of tensors, of tuples, and of further NamedTuples. The name of a tensor is the
path to it: "recurrent", "layers.0.keys". A part that is None or a flag has no tensor, and is the
same at every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from models.base.errors import ConfigurationError


def named_tensors(structure: Any, prefix: str) -> dict[str, Tensor]:
    """Return the tensors of a structure; their names begin with a prefix.

    Raises ConfigurationError if a part is not a tensor.
    """
    return dict(_walk(structure, prefix))


def with_tensors(structure: Any, tensors: Iterator[Tensor]) -> Any:
    """Return a copy of a structure whose tensors are replaced, in the order of `named_tensors`."""
    if structure is None or isinstance(structure, bool):
        return structure
    if isinstance(structure, Tensor):
        return next(tensors)
    parts = [with_tensors(part, tensors) for part in structure]
    return structure._make(parts) if hasattr(structure, "_make") else tuple(parts)


def _walk(structure: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    if isinstance(structure, Tensor):
        yield path, structure
    elif isinstance(structure, tuple):
        names = getattr(structure, "_fields", range(len(structure)))
        for name, part in zip(names, structure, strict=True):
            yield from _walk(part, f"{path}.{name}")
    elif structure is not None and not isinstance(structure, bool):
        raise ConfigurationError(
            f"{path} of type {type(structure).__name__} in the decoder", "tensors in its state"
        )
