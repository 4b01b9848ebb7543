"""Updates of the weights: gradients of a batch, clipping, optimiser, moving average."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import torch
from torch import Tensor, autograd, nn

from attncli.data.batching import gather
from attncli.training.events import Stepped
from attncli.training.interfaces import UpdateBatch
from attncli.training.settings.config import TrainConfig
from attncli.training.settings.schedule import learning_rate, time_share
from attncli.training.storage.state import State
from models.base.errors import ModelError
from models.base.types import Batch
from models.images.noun_swap import with_swaps
from models.losses.losses import AttentionLoss, sequence_loss
from models.losses.r_drop import divergence


class UpdateSums(NamedTuple):
    """Sums over the target tokens of an update, or of a part of it."""

    loss: float
    nll: float
    tokens: int
    reward: float | None = None  # self-critical training: mean over the samples


class Stepper:
    """Updates of the weights: forward, backward, clip, optimiser, moving average."""

    def __init__(self, state: State, config: TrainConfig, dtype: torch.dtype) -> None:
        self.state, self.config, self.dtype = state, config, dtype
        self.clock = time.monotonic()
        self.parameters: list[Tensor] = list(state.learned.values())
        self.device = self.parameters[0].device
        self.attention_loss = AttentionLoss(config.attention, state.model)
        self.baselines: list[float] = []  # of the REINFORCE baseline, after each pass

    def train_on(self, update: UpdateBatch, progress: float) -> Stepped:
        """Update the weights once. progress: share of the epoch that is done then."""
        started, counters = time.perf_counter(), self.state.counters
        elapsed = time_share(counters.elapsed, self.config)
        rate = learning_rate(counters.step + 1, counters.cuts, self.config, elapsed)
        if update.reward_loss:
            rate *= self.config.self_critical_lr / self.config.lr
        sums, norm = self.compute(update, rate)
        seconds = time.perf_counter() - started
        counters.tokens += sums.tokens
        counters.seconds += seconds
        return Stepped(
            counters.step,
            counters.epoch,
            progress,
            sums.loss / sums.tokens,
            sums.nll / sums.tokens,
            rate,
            norm,
            sums.reward,
            sums.tokens,
            seconds,
        )

    def count_time(self) -> None:
        """Add the time since the last call to the training time of the run."""
        now = time.monotonic()
        self.state.counters.elapsed += now - self.clock
        self.clock = now

    def compute(self, update: UpdateBatch, rate: float) -> tuple[UpdateSums, float]:
        """Compute an update at a learning rate; return its sums and the norm of its gradient."""
        sums = self.add_gradients(update)
        counters = self.state.counters
        counters.step += 1
        if self.baselines:  # one per pass: the baseline decays once per update
            counters.baseline = sum(self.baselines) / len(self.baselines)
            self.baselines.clear()
        return sums, self.apply(rate)

    def add_gradients(self, update: UpdateBatch, *, divide: bool = True) -> UpdateSums:
        """Add the gradients of a batch, divided by its target tokens or not; return its sums.

        Source of the reward loss: Rennie et al. 2017.
        """
        self.state.model.train()
        batch = gather(update.examples, update.numbers, self.device)
        if update.reward_loss:
            with self.autocast():
                found = update.reward_loss(self.state.model, batch, update.numbers)
            total = found.loss
            sums = UpdateSums(float(total.detach()), found.nll, found.tokens, found.reward)
        else:
            total, loss, nll = self.likelihood(batch)
            tokens = int(batch.target_mask.sum())
            sums = UpdateSums(float(loss.detach()), float(nll.sum()), tokens)
        autograd.backward(total / sums.tokens if divide else total)
        return sums

    def likelihood(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss to minimise, its part without terms on attention, and the NLL (N,)."""
        with self.autocast():
            features, loss, nll, more = self.forward(batch)
            total = loss + more
            if self.config.r_drop:
                again, second, _, more = self.forward(batch)
                output = self.state.model.output
                difference = divergence(features, again, output.weight, output.bias)
                total = (total + second + more) / 2 + self.config.r_drop / 2 * difference
        return total, loss, nll

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor | float]:
        """Return features (N, D), loss, negative log-likelihood (N,) and loss terms on attention.

        N are the target tokens of the batch; the loss and the terms are sums over them.
        """
        model, counters = self.state.model, self.state.counters
        memory = model.encode_batch(batch)
        batch, memory = with_swaps(model, batch, memory, self.config.noun_swap)
        forced = model.teacher_force(
            batch,
            memory=memory,
            want_weights=self.attention_loss.wants_weights,
            want_heads=self.attention_loss.want_heads,
        )
        smoothing = self.config.label_smoothing
        features, loss, nll = sequence_loss(forced, batch, model.output, smoothing)
        more, after = self.attention_loss(forced, batch, nll, counters.baseline)
        if after is not None:
            self.baselines.append(after)
        return features, loss, nll, more

    def autocast(self) -> torch.autocast:
        """Compute matrix products in the type of the run while the block runs."""
        return torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32)

    def apply(self, rate: float) -> float:
        """Clip the gradient, update weights and moving average; return the norm before clipping."""
        state = self.state
        limit = self.config.clip or math.inf
        norm = float(nn.utils.clip_grad_norm_(self.parameters, limit, foreach=True))
        if not math.isfinite(norm):
            raise ModelError(
                f"the gradient's norm is {norm} at update {state.counters.step}",
                "finite gradients",
                "lower train.lr or raise train.warmup; the last checkpoint is intact",
            )
        for group in state.optimiser.param_groups:
            group["lr"] = rate * group["share"]
        state.optimiser.step()
        state.optimiser.zero_grad(set_to_none=True)
        if state.average is not None:
            decay = min(self.config.ema, (1 + state.counters.step) / (10 + state.counters.step))
            with torch.no_grad():
                torch._foreach_lerp_(list(state.average.values()), self.parameters, 1 - decay)
        return norm
