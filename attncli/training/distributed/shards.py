"""Virtual shards: the fixed number of parts into which the examples of an update are divided.

The number K of shards is a setting of the run (train.shards). Process r of W computes consecutive
shards. Random numbers depend on seed, update and shard, so the gradient of a shard does not depend
on the process that computes it. Gradients of shards are added in the order of a binary tree:

    s_0 ... s_3:   (s_0 + s_1) + (s_2 + s_3)

Floating-point addition is not associative, so sums in different orders differ in their last bits.
Here the order depends on the number of shards alone. A process adds up the complete subtrees of its
own shards. Then every process receives one slice of all subtrees, adds them up to the root, and
sends the result to all. With N numbers and W processes that each hold one subtree, a process sends
2 N (W - 1) / W numbers, as in a ring all-reduce.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attncli.training.distributed.world import World
from attncli.training.settings.config import TrainConfig
from models.base.errors import ConfigurationError

LEAST = 4  # shards of a run of several processes, unless it names fewer


def divided(config: TrainConfig, processes: int) -> TrainConfig:
    """Return the settings with a number of shards, if several processes compute a run.

    By default it is a power of two. Raises ConfigurationError if a process would get no shard.
    """
    if processes == 1:
        return config
    usual = max(LEAST, 1 << (processes - 1).bit_length())
    shards = config.shards or usual
    if shards < processes:
        raise ConfigurationError(
            f"{processes} processes for train.shards={shards}",
            f"at most {shards} processes",
            f"to use more, start another run with -s train.shards={usual}",
        )
    return replace(config, shards=shards)


def blocks(shards: int, processes: int) -> list[range]:
    """Return the shards of each process; their numbers differ by at most 1."""
    bounds = [shards * number // processes for number in range(processes + 1)]
    return [range(start, end) for start, end in zip(bounds, bounds[1:], strict=False)]


def seed_of(seed: int, update: int, shard: int) -> int:
    """Return the seed of the random numbers of one shard of an update."""
    return int(np.random.SeedSequence([seed, update, shard]).generate_state(1, np.uint64)[0] >> 1)


def split(numbers: np.ndarray, shards: int, shared: np.ndarray | None) -> list[np.ndarray]:
    """Divide a batch, given as example numbers, among the shards; some may get none.

    shared: group id of each example of the data. Examples of one group, which are consecutive in a
    batch, are given to the same shard.
    """
    if shared is None:
        return np.array_split(numbers, shards)
    groups = shared[numbers]
    starts = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    cuts = np.append(np.insert(starts, 0, 0), len(numbers))  # of G groups, (G + 1,)
    bounds = [cuts[(len(cuts) - 1) * shard // shards] for shard in range(shards + 1)]
    return [numbers[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]


class Subtree(NamedTuple):
    """Sum of the 2^level shards from position * 2^level on; the last ones may be missing."""

    level: int
    position: int
    values: Tensor  # (N,)


class TreeSum:
    """Sum of consecutive shards, added in their order."""

    def __init__(self) -> None:
        self.subtrees: list[Subtree] = []

    def add(self, subtree: Subtree) -> None:
        """Add the next subtree, and join it with the one before if both have the same parent.

        The values of the subtree before are overwritten.
        """
        while self.subtrees and subtree.position % 2 and self.subtrees[-1].level == subtree.level:
            values = self.subtrees.pop().values.add_(subtree.values)
            subtree = Subtree(subtree.level + 1, subtree.position // 2, values)
        self.subtrees.append(subtree)

    def total(self) -> Tensor:
        """Return the sum of all shards, (N,), once the last one is added."""
        values = self.subtrees[-1].values
        for subtree in self.subtrees[-2::-1]:
            values = subtree.values.add_(values)
        return values


def sum_in_order(own: TreeSum, shards: int, world: World) -> Tensor:
    """Return the sum (N,) of all shards of all processes; N is a multiple of their number.

    own: the shards of this process.
    """
    held = [subtrees_of(block) for block in blocks(shards, world.size)]
    width = own.subtrees[0].values.numel() // world.size
    slices = torch.stack([tree.values.view(world.size, width) for tree in own.subtrees], 1)
    received = world.exchange(slices.flatten(), [len(trees) * width for trees in held])
    whole = TreeSum()
    for tree, values in zip(chain(*held), received.view(-1, width), strict=True):
        whole.add(tree._replace(values=values))
    return world.collect(whole.total())


def subtrees_of(block: range) -> list[Subtree]:
    """Return the subtrees, without values, that a process has of its shards."""
    tree = TreeSum()
    for shard in block:
        tree.add(Subtree(0, shard, torch.empty(0)))
    return tree.subtrees
