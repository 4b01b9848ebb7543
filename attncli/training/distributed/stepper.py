"""Updates of the weights by the sum of the gradients of all shards of an update.

Process 0 announces an update; every process computes the gradients of its shards, receives the sum
over all of them, and updates its copy of the weights. The sum has a fixed order (`tree`). Its
division by the number of target tokens comes last, because that number is known only then.
"""

from __future__ import annotations

import torch
from safetensors.torch import load
from torch import Tensor

from attncli.training.distributed.shards import (
    Subtree,
    TreeSum,
    blocks,
    seed_of,
    split,
    sum_in_order,
)
from attncli.training.distributed.world import ALONE, UPDATE, Order, World
from attncli.training.interfaces import UpdateBatch
from attncli.training.settings.config import TrainConfig
from attncli.training.storage.state import State, content, fill
from attncli.training.updates.stepper import Stepper, UpdateSums


class ShardedStepper(Stepper):
    """Updates whose gradient is the sum over the shards, computed by the processes of a run."""

    def __init__(
        self, state: State, config: TrainConfig, dtype: torch.dtype, world: World = ALONE
    ) -> None:
        super().__init__(state, config, dtype)
        self.world = world
        self.block = blocks(config.shards, world.size)[world.number]

    def compute(self, update: UpdateBatch, rate: float) -> tuple[UpdateSums, float]:
        """Announce an update and compute it; see `Stepper`."""
        counters, by_reward = self.state.counters, update.reward_loss is not None
        where = counters.step + 1, counters.epoch, counters.batch
        order = Order(UPDATE, *where, rate, counters.baseline, by_reward)
        self.world.announce(order)
        return self.execute(order, update)

    def execute(self, order: Order, update: UpdateBatch) -> tuple[UpdateSums, float]:
        """Compute an update together with the other processes; return its sums and the norm.

        If another process is lost, the weights and the counters are as before the update.
        """
        counters = self.state.counters
        counters.baseline = order.baseline
        sums, gradient = self.sum_shards(order, update)
        self.set_gradient(gradient.div_(sums.tokens))
        counters.step = order.step
        if self.baselines:
            mean = -sums.nll / sums.tokens
            counters.baseline = self.attention_loss.next_baseline(mean, order.baseline)
            self.baselines.clear()
        return sums, self.apply(order.rate)

    def sum_shards(self, order: Order, update: UpdateBatch) -> tuple[UpdateSums, Tensor]:
        """Return the sums over all shards of all processes, and their gradient as one vector."""
        shards, seed = self.config.shards, self.config.seed
        parts = split(update.numbers, shards, update.examples.shared)
        own = TreeSum()
        table = torch.zeros(shards, 5, dtype=torch.float64)  # loss, nll, tokens, reward, examples
        for shard in self.block:
            torch.manual_seed(seed_of(seed, order.step, shard))
            if count := len(parts[shard]):
                found = self.add_gradients(update._replace(numbers=parts[shard]), divide=False)
                reward = (found.reward or 0.0) * count
                row = found.loss, found.nll, found.tokens, reward, count
                table[shard] = torch.tensor(row, dtype=torch.float64)
            own.add(Subtree(0, shard, self.take_gradient()))
        torch.manual_seed(seed_of(seed, order.step, shards))  # what follows is the same everywhere
        gradient = sum_in_order(own, shards, self.world)
        tables = self.world.collect(table.flatten()).view(-1, shards, 5)  # each has its own rows
        loss, nll, tokens, reward, examples = tables.sum(0).sum(0).tolist()
        mean = reward / examples if update.reward_loss else None
        return UpdateSums(loss, nll, int(tokens), mean), gradient

    def trained(self) -> list[Tensor]:
        """Return the parameters that have a gradient now: a frozen encoder has none."""
        return [parameter for parameter in self.parameters if parameter.requires_grad]

    def take_gradient(self) -> Tensor:
        """Return the gradient of all parameters as one vector, and reset it.

        Its length is a multiple of the number of processes.
        """
        trained = self.trained()
        length = sum(parameter.numel() for parameter in trained)
        found = torch.zeros(length + -length % self.world.size, device=self.device)
        start = 0
        for parameter in trained:
            if parameter.grad is not None:
                found[start : start + parameter.numel()] = parameter.grad.flatten()
            parameter.grad = None
            start += parameter.numel()
        return found

    def set_gradient(self, gradient: Tensor) -> None:
        """Give each parameter its part of the gradient."""
        start = 0
        for parameter in self.trained():
            end = start + parameter.numel()
            parameter.grad = gradient[start:end].view_as(parameter)
            start = end


def share_state(state: State, world: World) -> None:
    """Give every process the state of process 0; all processes call this."""
    if world.size == 1:
        return
    found = world.share(None if world.number else content(state))
    if world.number:
        fill(state, load(found))
