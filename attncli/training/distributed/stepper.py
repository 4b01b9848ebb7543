"""Updates of the weights by the sum of the gradients of all shards of an update.

Process 0 announces an update; every process computes the gradients of its shards, receives the sum
over all of them, and updates its copy of the weights. The sum has a fixed order (`tree`). Its
division by the number of target tokens comes last, because that number is known only then.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import torch
from torch import Tensor, autograd

from attncli.data.batching import gather
from attncli.training.distributed.order import UPDATE, Order
from attncli.training.distributed.shards import blocks, seed_of, split
from attncli.training.distributed.tree import Subtree, TreeSum, sum_in_order
from attncli.training.distributed.world import ALONE, World
from attncli.training.events import Stepped
from attncli.training.interfaces import UpdateBatch
from attncli.training.settings.config import TrainConfig
from attncli.training.settings.schedule import learning_rate
from attncli.training.storage.state import State, content, fill
from attncli.training.storage.tensor_file import from_bytes
from attncli.training.updates.clock import time_share
from attncli.training.updates.stepper import Stepper


class ShardSums(NamedTuple):
    """Sums over the examples of a shard, or of all shards."""

    loss: float = 0.0
    nll: float = 0.0
    tokens: float = 0.0
    reward: float = 0.0
    examples: float = 0.0


class ShardedStepper(Stepper):
    """Updates whose gradient is the sum over the shards, computed by the processes of a run."""

    def __init__(
        self, state: State, config: TrainConfig, dtype: torch.dtype, world: World = ALONE
    ) -> None:
        super().__init__(state, config, dtype)
        self.world = world
        self.block = blocks(config.shards, world.size)[world.number]

    def train_on(self, update: UpdateBatch, progress: float) -> Stepped:
        """Announce an update and compute it; see `Stepper`. The counters change at the end."""
        started, counters = time.perf_counter(), self.state.counters
        share = self.config.self_critical_lr / self.config.lr if update.reward_loss else 1.0
        elapsed = time_share(counters.elapsed, self.config)
        order = Order(
            kind=UPDATE,
            step=counters.step + 1,
            epoch=counters.epoch,
            batch=counters.batch,
            rate=learning_rate(counters.step + 1, counters.cuts, self.config, elapsed) * share,
            baseline=counters.baseline,
            by_reward=update.reward_loss is not None,
        )
        self.world.announce(order)
        sums, norm = self.execute(order, update)
        seconds = time.perf_counter() - started
        counters.tokens += int(sums.tokens)
        counters.seconds += seconds
        return Stepped(
            order.step,
            order.epoch,
            progress,
            sums.loss / sums.tokens,
            sums.nll / sums.tokens,
            order.rate,
            norm,
            sums.reward / sums.examples if update.reward_loss else None,
            int(sums.tokens),
            seconds,
        )

    def execute(self, order: Order, update: UpdateBatch) -> tuple[ShardSums, float]:
        """Compute an update together with the other processes; return its sums and the norm.

        If another process is lost, the weights and the counters are as before the update.
        """
        counters = self.state.counters
        counters.baseline = order.baseline
        sums = self.add_gradients(order, update)
        counters.step = order.step
        if self.baselines:
            mean = -sums.nll / sums.tokens
            counters.baseline = self.attention_loss.next_baseline(mean, order.baseline)
            self.baselines.clear()
        return sums, self.apply(order.rate)

    def add_gradients(self, order: Order, update: UpdateBatch) -> ShardSums:
        """Give each parameter its mean gradient; return the sums over all shards."""
        sums, gradient = self.sum_shards(order, update)
        self.set_gradient(gradient.div_(sums.tokens))
        return sums

    def sum_shards(self, order: Order, update: UpdateBatch) -> tuple[ShardSums, Tensor]:
        """Return the sums over all shards of all processes, and their gradient as one vector."""
        shards, seed = self.config.shards, self.config.seed
        parts = split(update.numbers, shards, update.examples.shared)
        own = TreeSum()
        table = torch.zeros(shards, len(ShardSums._fields), dtype=torch.float64)
        for shard in self.block:
            torch.manual_seed(seed_of(seed, order.step, shard))
            if len(parts[shard]):
                sums = self.shard_sums(update._replace(numbers=parts[shard]))
                table[shard] = torch.tensor(sums, dtype=torch.float64)
            own.add(Subtree(0, shard, self.take_gradient()))
        torch.manual_seed(seed_of(seed, order.step, shards))  # what follows is the same everywhere
        gradient = sum_in_order(own, shards, self.world)
        table = self.world.add(table)  # exact: of each entry, all numbers but one are 0
        return ShardSums(*table.sum(0).tolist()), gradient

    def shard_sums(self, shard: UpdateBatch) -> ShardSums:
        """Add the gradients of a shard; return its sums."""
        self.state.model.train()
        numbers = shard.numbers
        batch = gather(shard.examples, numbers, self.device)
        if shard.reward_loss is None:
            tokens = int(batch.target_mask.sum())
            loss, nll = self.gradients(batch, tokens=1)
            return ShardSums(loss, nll, tokens, 0.0, len(numbers))
        with self.autocast():
            found = shard.reward_loss(self.state.model, batch, numbers)
        autograd.backward(found.loss)
        reward = found.reward * len(numbers)
        loss = float(found.loss.detach())
        return ShardSums(loss, found.nll, found.tokens, reward, len(numbers))

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
        fill(state, from_bytes(found))
