"""Sum over shards in the order of a binary tree, however the shards are divided among processes.

    s_0 ... s_3:   (s_0 + s_1) + (s_2 + s_3)

Floating-point addition is not associative, so sums in different orders differ in their last bits.
Here the order depends on the number of shards alone. A process adds up the complete subtrees of its
own shards. Then every process receives one slice of all subtrees, adds them up to the root, and
sends the result to all. With N numbers and W processes that each hold one subtree, a process sends
2 N (W - 1) / W numbers, as in a ring all-reduce.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from attncli.training.distributed.shards import blocks
from attncli.training.distributed.world import World


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
