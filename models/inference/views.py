"""Several views of an image in one memory, to which the decoder attends as to one image.

    memory = the cells of view 1, the cells of view 2, ...

The decoder's first state is computed from the mean of all these cells. The search takes hardly more
time than with one view. Sources: Krizhevsky, Sutskever, Hinton 2012, section 4.1 (several parts of
a test image); Touvron et al. 2019 (a test image in a larger size than in training).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.base.types import Memory


class ViewFeatures(NamedTuple):
    """Features of one view of several images."""

    features: Tensor  # (N, S, V)
    present: Tensor  # (N,) False for inputs without this view: pixels and features have only one


def joined(memories: Sequence[Memory], present: Sequence[Tensor]) -> Memory:
    """Return the cells of several memories of the same images as one memory.

    present: (N,) for each memory, False for images without this view. A single memory is returned
    unchanged.
    """
    if len(memories) == 1:
        return memories[0]
    masks = [
        memory.mask & here.unsqueeze(1) for memory, here in zip(memories, present, strict=True)
    ]
    finals = [memory.final for memory in memories if memory.final is not None]
    return memories[0]._replace(
        values=torch.cat([memory.values for memory in memories], 1),
        mask=torch.cat(masks, 1),
        final=weighted_mean(finals, masks) if finals else None,
        grid=None,
    )


def weighted_mean(means: Sequence[Tensor], masks: Sequence[Tensor]) -> Tensor:
    """Return the mean (N, F) over all cells, given the means (N, F) and masks (N, S) of parts."""
    counts = torch.stack([mask.sum(1) for mask in masks]).unsqueeze(2)  # (M, N, 1)
    total: Tensor = (torch.stack(list(means)) * counts).sum(0) / counts.sum(0)
    return total
