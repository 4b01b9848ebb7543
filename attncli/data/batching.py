"""Batches by tokens: sentences of like length together, in an order that each epoch draws anew.

The order depends on the seed and the epoch alone, so that a resumed run finds its place again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from attncli.data.tokens import Side, TokenPairs
from models.tokenizer import PAD, START
from models.types import Batch

POOL = 2**20  # pairs sorted by length at a time


def epoch_plan(pairs: TokenPairs, batch_tokens: int, *, seed: int, epoch: int) -> list[np.ndarray]:
    """The batches of one epoch, as arrays of pair numbers, in the order of training."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(pairs.count)
    sources, targets = pairs.source.lengths, pairs.target.lengths
    plan: list[np.ndarray] = []
    for start in range(0, len(order), POOL):
        pool = order[start : start + POOL]
        pool = pool[np.lexsort((sources[pool], targets[pool]))]
        batches = list(cut(pool, np.maximum(sources[pool], targets[pool]), batch_tokens))
        plan.extend(batches[i] for i in random.permutation(len(batches)))
    return plan


def cut(pool: np.ndarray, lengths: np.ndarray, batch_tokens: int) -> Iterator[np.ndarray]:
    """Cut a sorted pool where (sentences x longest side) would pass the token budget."""
    start, longest = 0, 0
    for index, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if index > start and (index - start + 1) * longest > batch_tokens:
            yield pool[start:index]
            start, longest = index, length
    if start < len(pool):
        yield pool[start:]


def gather(pairs: TokenPairs, numbers: np.ndarray, device: torch.device) -> Batch:
    """The padded batch of some pairs."""
    source, source_mask = _padded(pairs.source, numbers)
    target, target_mask = _padded(pairs.target, numbers)
    begun = torch.full_like(target[:, :1], START)
    target_in = torch.cat([begun, target[:, :-1]], 1)
    batch = Batch(source, source_mask, target_in, target, target_mask)
    return Batch(*(part.to(device) for part in batch))


def _padded(side: Side, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
    lengths = side.offsets[numbers + 1] - side.offsets[numbers]
    ids = np.full((len(numbers), int(lengths.max())), PAD, np.int64)
    for row, number in enumerate(numbers):
        ids[row, : lengths[row]] = side[number]
    mask = np.arange(ids.shape[1]) < lengths[:, None]
    return torch.from_numpy(ids), torch.from_numpy(mask)
