"""An update of the weights."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, autograd, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from attncli.train._precision import grow, loss_scale
from attncli.train._schedule import done_share, learning_rate
from attncli.train._state import State
from attncli.train.events import Stepped
from attncli.training.config import TrainConfig
from attncli.training.examples import Examples
from attncli.training.interfaces import ALONE, RewardLoss, World
from models.core.errors import ModelError, is_exhausted
from models.core.types import Batch, to_device
from models.networks.losses import AttentionLoss, divergence, sequence_loss
from models.signals.imagenet import with_swaps


class UpdateBatch(NamedTuple):
    """The batch of one update, or a part of it."""

    examples: Examples
    numbers: np.ndarray  # of its examples
    reward_loss: RewardLoss | None = None  # self-critical training; None: likelihood


class UpdateSums(NamedTuple):
    """Sums over the target tokens of an update, or of a part of it."""

    loss: float
    nll: float
    tokens: float
    rewards: float = 0.0  # self-critical training: sum over the examples
    examples: float = 0.0


class UpdateLoss(nn.Module):
    """The loss of a part of an update as a module, whose gradients several processes add up."""

    def __init__(self, stepper: Stepper) -> None:
        super().__init__()
        self.model, self.stepper = stepper.state.model, stepper

    def forward(self, update: UpdateBatch) -> tuple[Tensor, UpdateSums]:
        """Return the loss to minimise, summed over the target tokens, and the sums to report."""
        return self.stepper.loss(update)


class Stepper:
    """Updates of the weights: forward, backward, clip, optimiser, moving average.

    world: the processes that compute the updates together.
    """

    def __init__(
        self,
        state: State,
        config: TrainConfig,
        dtype: torch.dtype,
        world: World = ALONE,
    ) -> None:
        self.state, self.config, self.dtype, self.world = state, config, dtype, world
        self.clock = time.monotonic()
        self.parameters: list[Tensor] = list(state.learned.values())
        self.device = self.parameters[0].device
        self.attention_loss = AttentionLoss(config.attention, state.model)
        self.scale = 1.0  # factor on the loss, which the gradients are divided by
        self.has_baseline = False  # True once a pass has given a REINFORCE baseline
        self.module, self.trained = nn.Module(), -1  # of `UpdateLoss`, for so many parameters

    def train_on(self, update: UpdateBatch, progress: float) -> Stepped:
        """Update the weights once. progress: share of the epoch that is done then."""
        started, counters = time.perf_counter(), self.state.counters
        before = progress * counters.batch / (counters.batch + 1)  # of this epoch
        done = done_share(counters.elapsed, counters.epoch + before, self.config)
        rate = learning_rate(counters.step + 1, counters.cuts, self.config, done)
        if update.reward_loss:
            # the schedule's rate is relative to train.lr
            rate *= self.config.self_critical_lr / self.config.lr
        sums, norm = self.compute(update, rate)
        seconds = time.perf_counter() - started
        counters.tokens += int(sums.tokens)
        counters.seconds += seconds
        return Stepped(
            step=counters.step,
            epoch=counters.epoch,
            progress=progress,
            loss=sums.loss / sums.tokens,
            nll=sums.nll / sums.tokens,
            lr=rate,
            norm=norm,
            reward=sums.rewards / sums.examples if update.reward_loss else None,
            tokens=int(sums.tokens),
            seconds=seconds,
        )

    def count_time(self) -> None:
        """Add the time since the last call to the training time of the run."""
        now, counters = time.monotonic(), self.state.counters
        # the clock of process 0 for all, so that all reach train.minutes after the same update
        counters.elapsed = self.world.first(counters.elapsed + now - self.clock)
        self.clock = now

    def compute(self, update: UpdateBatch, rate: float) -> tuple[UpdateSums, float]:
        """Compute an update at a learning rate; return its sums and the norm of its gradient.

        If another process is lost, the weights and the counters are as before the update.
        """
        counters, size = self.state.counters, self.world.size
        if size > 1:  # so that a run continues with the same numbers from any checkpoint
            torch.manual_seed(seed_of(self.config.seed, counters.step + 1, self.world.number))
        self.scale = loss_scale(counters, self.dtype)
        pieces = max(1, self.config.shards)
        # one of several processes cannot repeat its part, because the others wait for its gradients
        own_sums = self.add_pieces(update, pieces, may_retry=size == 1)
        if not own_sums:  # the memory was exhausted: once more, in halves
            self.state.optimiser.zero_grad(set_to_none=True)
            if self.device.type == "cuda":
                # blocks of the failed attempt may have sizes that the halves cannot use
                torch.cuda.empty_cache()
            own_sums = self.add_pieces(update, 2 * pieces)
        sums = UpdateSums(*self.world.total(own_sums))
        divisor = self.scale * sums.tokens / size  # gradients of several processes are means
        for parameter in self.parameters:
            if parameter.grad is not None:
                # by the tokens of the whole update, so that a run in pieces or processes has the
                # gradient of one batch
                parameter.grad.div_(divisor)
        counters.step += 1
        if self.has_baseline:  # it decays once per update
            mean = -sums.nll / sums.tokens
            counters.baseline = self.attention_loss.next_baseline(mean, counters.baseline)
        return sums, self.apply(rate)

    def add_pieces(
        self, update: UpdateBatch, pieces: int, *, may_retry: bool = False
    ) -> list[float]:
        """Add the gradients of this process's examples, in pieces; return their sums.

        may_retry: return no sums if the memory is exhausted.
        """
        number, size, shared = self.world.number, self.world.size, update.examples.shared
        # examples of one image stay together, so that its network is computed once
        own = split(update.numbers, size * pieces, shared)[number * pieces : (number + 1) * pieces]
        found = []
        try:
            for count, numbers in enumerate(own, 1):
                found.append(self.add_gradients(update, numbers, is_last=count == pieces))
        except (RuntimeError, MemoryError) as error:
            if not (may_retry and is_exhausted(error)):
                raise
            return []
        return [sum(column) for column in zip(*found, strict=True)]

    def add_gradients(
        self, update: UpdateBatch, numbers: np.ndarray, *, is_last: bool = True
    ) -> UpdateSums:
        """Add the gradients of some examples of an update; return their sums.

        The processes exchange gradients with the last examples. Without examples, they are 0.
        """
        self.state.model.train()
        # a process without examples exchanges the gradients of one of them, times 0
        part = update._replace(numbers=numbers if len(numbers) else update.numbers[:1])
        with self.world.losses():
            module = self.added()
            if isinstance(module, nn.parallel.DistributedDataParallel):
                module.require_backward_grad_sync = is_last  # as its no_sync does
            total, sums = module(part)
            autograd.backward(total * (self.scale if len(numbers) else 0.0))
        return sums if len(numbers) else UpdateSums(0.0, 0.0, 0)

    def added(self) -> nn.Module:
        """Return the loss whose gradients are added up for the parameters that are not frozen."""
        trained = sum(parameter.requires_grad for parameter in self.parameters)
        # torch's wrapper counts the parameters when it is built, and unfreezing adds some
        if trained != self.trained:
            self.module, self.trained = self.world.adding(UpdateLoss(self)), trained
        return self.module

    def loss(self, update: UpdateBatch) -> tuple[Tensor, UpdateSums]:
        """Return the loss to minimise of a part of an update, and its sums.

        Source of the reward loss: Rennie et al. 2017.
        """
        batch = update.examples.batch(update.numbers)
        batch = batch.map(lambda part: to_device(part, self.device))
        if update.reward_loss:
            with self.autocast():
                found = update.reward_loss(self.state.model, batch, update.numbers)
            count = len(update.numbers)
            reported = float(found.loss.detach()), found.nll, found.tokens
            return found.loss, UpdateSums(*reported, found.reward * count, count)
        total, loss, nll = self.likelihood(batch)
        tokens = int(batch.target_mask.sum())
        return total, UpdateSums(float(loss.detach()), float(nll.sum()), tokens)

    def likelihood(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss to minimise, its part without terms on attention, and the NLL (N,)."""
        with self.autocast():
            features, loss, nll, more = self.forward(batch)
            total = loss + more
            if self.config.r_drop:
                again, second, _, more = self.forward(batch)
                output = self.state.model.output
                difference = divergence(features, again, output.weight, output.bias)
                # half of both, so that train.lr means the same with and without R-Drop
                total = (total + second + more) / 2 + self.config.r_drop / 2 * difference
        return total, loss, nll

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor | float]:
        """Return features (N, D), loss, negative log-likelihood (N,) and loss terms on attention.

        N are the target tokens of the batch; the loss and the terms are sums over them.
        """
        model, counters = self.state.model, self.state.counters
        memory = model.encode_batch(batch)
        batch, memory = with_swaps(model, batch, memory, self.config.noun_swap)
        batch = batch._replace(memory_mask=memory.mask)  # an encoder may join inputs to a slot
        forced = model.teacher_force(
            batch,
            memory=memory,
            want_weights=self.attention_loss.wants_weights,
            want_heads=self.attention_loss.want_heads,
        )
        smoothing = self.config.label_smoothing
        features, loss, nll = sequence_loss(forced, batch, model.output, smoothing)
        more, after = self.attention_loss(forced, batch, nll, counters.baseline)
        self.has_baseline = after is not None
        return features, loss, nll, more

    def autocast(self) -> torch.autocast:
        """Compute matrix products in the type of the run while the block runs."""
        return torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32)

    def apply(self, rate: float) -> float:
        """Clip the gradient, update weights and moving average; return the norm before clipping."""
        state = self.state
        limit = self.config.clip or math.inf
        # with an infinite limit too, because the norm tells an update that is not finite
        norm = float(nn.utils.clip_grad_norm_(self.parameters, limit, foreach=True))
        # one such update would make all weights NaN
        if not math.isfinite(norm):
            self.skip(norm)
            return norm
        if self.dtype == torch.float16:
            grow(state.counters)
        for group in state.optimiser.param_groups:
            # a pretrained encoder has a rate of its own, in a fixed proportion
            group["lr"] = rate * group["share"]
        state.optimiser.step()
        state.optimiser.zero_grad(set_to_none=True)
        if state.average is not None:
            # lower at first, as in TensorFlow, or the average stays near the initial weights
            decay = min(self.config.ema, (1 + state.counters.step) / (10 + state.counters.step))
            move_towards = get_ema_multi_avg_fn(decay)
            move_towards(list(state.average.values()), self.parameters, None)
        return norm

    def skip(self, norm: float) -> None:
        """Leave out an update whose gradient is not finite.

        In fp16, the loss scale is halved. Otherwise training ends, and the best weights are kept;
        ModelError if there are none.
        """
        counters = self.state.counters
        self.state.optimiser.zero_grad(set_to_none=True)
        if self.dtype == torch.float16 and counters.scale > 1:
            counters.scale, counters.unscaled = counters.scale / 2, 0
            return
        found = f"the gradient's norm is {norm} at update {counters.step}"
        if counters.best is None:
            hint = "lower train.lr or raise train.warmup; the last checkpoint is intact"
            raise ModelError(found, "finite gradients", hint)
        counters.ended = f"diverged: {found} (lower train.lr)"


def seed_of(seed: int, update: int, number: int) -> int:
    """Return the seed of the random numbers of a process in an update."""
    # mixed, because seed + update + number would give two updates the same numbers
    return int(np.random.SeedSequence([seed, update, number]).generate_state(1, np.uint64)[0] >> 1)


def split(numbers: np.ndarray, parts: int, shared: np.ndarray | None) -> list[np.ndarray]:
    """Divide a batch, given as example numbers, into parts; some may be empty.

    shared: group id of each example of the data. Examples of one group, which are consecutive in a
    batch, are given to the same part.
    """
    if shared is None:
        return np.array_split(numbers, parts)
    groups = shared[numbers]
    starts = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    cuts = np.append(np.insert(starts, 0, 0), len(numbers))  # of G groups, (G + 1,)
    bounds = [cuts[(len(cuts) - 1) * part // parts] for part in range(parts + 1)]
    return [numbers[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
