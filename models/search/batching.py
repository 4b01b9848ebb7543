"""Length batching and padding for inference.

Examples of similar length share a batch, so that little of the batch is padding. Training has its
own plan, which is shuffled per epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from models.core.types import Batch
from models.text.tokenizer import PAD, START

if TYPE_CHECKING:
    import torch
    from torch import Tensor

T = TypeVar("T")


def length_batches(
    lengths: Sequence[int],
    *,
    max_tokens: int | None = None,
    max_count: int | None = None,
    longest_first: bool = False,
) -> list[list[int]]:
    """Group the indices of examples by length; examples of length 0 are left out.

    max_tokens: limit of a batch's padded size, examples x longest, in tokens; one example may
    exceed it alone. max_count: limit of the examples in a batch. longest_first: return the batch of
    the longest examples first, so that a lack of memory shows at once; and fill the batches from
    the longest example on, so that the one that is not full has the shortest examples.
    """
    batches: list[list[int]] = []
    batch: list[int] = []
    known = (index for index, length in enumerate(lengths) if length)
    for index in sorted(known, key=lambda i: -lengths[i] if longest_first else lengths[i]):
        longest = max(lengths[index], lengths[batch[0]] if batch else 0)
        too_large = max_tokens is not None and (len(batch) + 1) * longest > max_tokens
        if batch and (too_large or len(batch) == max_count):
            batches.append(batch)
            batch = []
        batch.append(index)
    return [*batches, batch] if batch else batches


def windows(examples: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield consecutive groups of `size` examples, reading no further ahead than one group."""
    iterator = iter(examples)
    while group := list(islice(iterator, size)):
        yield group


def in_order(finished: Iterable[tuple[int, T]]) -> Iterator[T]:
    """Yield results by their index, from 0, each as soon as all before it are there."""
    waiting: dict[int, T] = {}
    following = 0
    for index, result in finished:
        waiting[index] = result
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def pad(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return ids (B, S) padded to the longest sequence, and their mask (B, S)."""
    import torch

    longest = max(len(ids) for ids in sequences)
    ids = torch.tensor([[*s, *[PAD] * (longest - len(s))] for s in sequences], device=device)
    lengths = torch.tensor([len(s) for s in sequences], device=device)
    return ids, torch.arange(longest, device=device) < lengths[:, None]


def pad_pairs(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], device: torch.device
) -> Batch:
    """Return a batch for teacher forcing from ids of sources and targets, end marks included."""
    return teacher_forcing_batch(*pad(sources, device), *pad(targets, device))


def teacher_forcing_batch(
    source: Tensor, source_mask: Tensor, target: Tensor, target_mask: Tensor
) -> Batch:
    """Return a batch whose decoder input is the target (B, T) after a start mark."""
    import torch

    start = torch.full_like(target[:, :1], START)
    target_in = torch.cat([start, target[:, :-1]], 1)
    return Batch(source, source_mask, target_in, target, target_mask)
