"""Concatenation of structures of tensors along their rows: states, prepared memories, outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def join(parts: Sequence[Any]) -> Any:
    """Return one structure with the rows of all parts, which have the same fields.

    A part is a tensor whose first axis is its rows, a tuple of parts, or an object with a class
    method `joined`. Other axes are padded with zeros to the greatest size; masks are then False.
    Anything else, such as None or a flag, must be equal in all parts.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, Tensor):
        return torch.cat([_padded(part, _greatest(parts)) for part in parts])
    if hasattr(first, "joined"):
        return type(first).joined(parts)
    if isinstance(first, tuple):
        fields = [join(each) for each in zip(*parts, strict=True)]
        return first._make(fields) if hasattr(first, "_make") else tuple(fields)
    if any(part != first for part in parts):
        raise ValueError(f"{parts} are not equal, so their rows cannot be joined")
    return first


def _greatest(parts: Sequence[Tensor]) -> list[int]:
    """Return the greatest size of each axis but the first."""
    return [max(sizes) for sizes in zip(*(part.shape[1:] for part in parts), strict=True)]


def _padded(part: Tensor, sizes: Sequence[int]) -> Tensor:
    """Pad all axes but the first with zeros."""
    missing = [(0, size - own) for size, own in zip(sizes, part.shape[1:], strict=True)]
    if not any(more for _, more in missing):
        return part
    return torch.nn.functional.pad(part, [n for pair in reversed(missing) for n in pair])
