"""Updates of a model that is divided among the processes: train.shard_model.

The examples and random numbers of the shards of an update are those of an undivided model. Only
the order of sums differs, so the weights are nearly the same.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from attncli.data.batching import gather
from attncli.training.distributed.divided_model import whole
from attncli.training.distributed.order import Order
from attncli.training.distributed.shards import blocks, seed_of, split
from attncli.training.distributed.stepper import ShardedStepper, ShardSums
from attncli.training.distributed.world import World
from attncli.training.interfaces import UpdateBatches
from attncli.training.settings.config import TrainConfig
from attncli.training.storage.state import State
from models.base.types import Batch


class DividedModelStepper(ShardedStepper):
    """Updates whose passes all processes compute together, each with other examples."""

    def execute(self, order: Order, update: UpdateBatches) -> tuple[ShardSums, float]:
        """Compute an update together with the other processes; return its sums and the norm.

        If another process is lost, its part of the weights is lost with it.
        """
        with self.world.losses(computing=True):
            return super().execute(order, update)

    def add_gradients(self, order: Order, update: UpdateBatches) -> ShardSums:
        """Give each parameter its mean gradient; return the sums over all shards.

        Every process computes as many passes as the one with the most shards, because the
        parameters are gathered by all of them. A pass without examples adds a gradient of zero.
        """
        shards, seed = self.config.shards, self.config.seed
        parts = [split(batch, shards, update.examples.shared) for batch in update.group]
        table = torch.zeros(shards, len(ShardSums._fields), dtype=torch.float64)
        self.state.model.train()
        for number in range(max(map(len, blocks(shards, self.world.size)))):
            shard = self.block[number] if number < len(self.block) else shards  # none of this one
            torch.manual_seed(seed_of(seed, order.step, shard))
            sums = ShardSums()
            for batch, part in zip(update.group, parts, strict=True):
                if shard < shards and len(part[shard]):
                    sums = sums.plus(*self.batch_sums(update, part[shard]))
                else:
                    self.add_zeros(gather(update.examples, batch[:1], self.device))
            if shard < shards:
                table[shard] = torch.tensor(sums, dtype=torch.float64)
        torch.manual_seed(seed_of(seed, order.step, shards))  # what follows is the same everywhere
        found = ShardSums(*self.world.add(table).sum(0).tolist())
        gradients = [parameter.grad for parameter in self.trained() if parameter.grad is not None]
        torch._foreach_div_(gradients, found.tokens)
        return found

    def add_zeros(self, batch: Batch) -> None:
        """Compute both passes of a batch without a gradient of it, and without random numbers."""
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            self.gradients(batch, math.inf)

    def clip(self) -> float:
        """Clip the gradient; return its norm before."""
        limit = self.config.clip or math.inf
        return float(whole(nn.utils.clip_grad_norm_(self.parameters, limit, foreach=True)))


def sharded_stepper(
    state: State, config: TrainConfig, dtype: torch.dtype, world: World
) -> ShardedStepper:
    """Return the stepper of a run whose updates are divided into shards."""
    kind = DividedModelStepper if state.is_divided else ShardedStepper
    return kind(state, config, dtype, world)
