"""Updates of the weights: gradients of a batch, clipping, optimiser, moving average."""

from __future__ import annotations

import math
import time

import numpy as np
import torch
from torch import Tensor, autograd, nn

from attncli.data.batching import gather
from attncli.training.events import Stepped
from attncli.training.interfaces import RewardLoss, UpdateBatch
from attncli.training.settings.config import TrainConfig
from attncli.training.settings.schedule import learning_rate
from attncli.training.storage.state import State
from attncli.training.updates.clock import Clock, time_share
from models.base.errors import ModelError
from models.base.types import Batch
from models.images.noun_swap import with_swaps
from models.losses.losses import AttentionLoss, LossSum
from models.losses.r_drop import divergence


class Stepper:
    """Updates of the weights: forward, backward, clip, optimiser, moving average."""

    def __init__(self, state: State, config: TrainConfig, dtype: torch.dtype) -> None:
        self.state, self.config, self.dtype = state, config, dtype
        self.clock = Clock(state.counters)
        self.parameters: list[Tensor] = list(state.learned.values())
        self.device = self.parameters[0].device
        self.loss = LossSum(config.label_smoothing)
        self.attention_loss = AttentionLoss(config.attention, state.model)
        self.baselines: list[float] = []  # of the REINFORCE baseline, after each pass

    def train_on(self, update: UpdateBatch, progress: float) -> Stepped:
        """Update the weights once. progress: share of the epoch that is done then."""
        examples, numbers, reward_loss = update
        batch = gather(examples, numbers, self.device)
        if reward_loss:
            return self.update_by_reward(reward_loss, batch, numbers, progress)
        return self.update(batch, progress)

    def update(self, batch: Batch, progress: float) -> Stepped:
        """Update the weights by the gradients of a batch."""
        started = time.perf_counter()
        counters = self.state.counters
        counters.step += 1
        self.state.model.train()
        tokens = int(batch.target_mask.sum())
        loss, nll = self.gradients(batch, tokens)
        return self.stepped(started, progress, loss, nll, tokens)

    def update_by_reward(
        self, reward_loss: RewardLoss, batch: Batch, numbers: np.ndarray, progress: float
    ) -> Stepped:
        """Update the weights by the reward loss of a batch. Source: Rennie et al. 2017."""
        started = time.perf_counter()
        self.state.counters.step += 1
        with self.autocast():
            found = reward_loss(self.state.model, batch, numbers)
        autograd.backward(found.loss / found.tokens)
        loss, nll = float(found.loss.detach()) / found.tokens, found.nll / found.tokens
        share = self.config.self_critical_lr / self.config.lr
        return self.stepped(
            started, progress, loss, nll, found.tokens, reward=found.reward, share=share
        )

    def stepped(
        self,
        started: float,
        progress: float,
        loss: float,
        nll: float,
        tokens: int,
        *,
        reward: float | None = None,
        share: float = 1.0,
    ) -> Stepped:
        """Apply the gradients and count the update.

        share: factor on the scheduled learning rate.
        """
        counters = self.state.counters
        elapsed = time_share(counters.elapsed, self.config)
        rate = learning_rate(counters.step, counters.cuts, self.config, elapsed) * share
        norm = self.apply(rate)
        if self.baselines:  # one per pass: the baseline decays once per update
            counters.baseline = sum(self.baselines) / len(self.baselines)
            self.baselines.clear()
        seconds = time.perf_counter() - started
        counters.tokens += tokens
        counters.seconds += seconds
        where = counters.step, counters.epoch, progress
        return Stepped(*where, loss, nll, rate, norm, reward, tokens, seconds)

    def gradients(self, batch: Batch, tokens: float) -> tuple[float, float]:
        """Add the gradients of a batch; return its loss and NLL, divided by a number of tokens.

        tokens: target tokens of the batch, or 1 for sums.
        """
        with self.autocast():
            features, loss, nll, more = self.forward(batch)
            total = loss + more
            if self.config.r_drop:
                again, second, _, more = self.forward(batch)
                output = self.state.model.output
                difference = divergence(features, again, output.weight, output.bias)
                total = (total + second + more) / 2 + self.config.r_drop / 2 * difference
        autograd.backward(total / tokens)
        return float(loss.detach()) / tokens, float(nll.sum()) / tokens

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
        features, loss, nll = self.loss.of_batch(forced, batch, model.output)
        more, after = self.attention_loss(forced, batch, nll, counters.baseline)
        if after is not None:
            self.baselines.append(after)
        return features, loss, nll, more

    def autocast(self) -> torch.autocast:
        """Compute matrix products in the type of the run while the block runs."""
        return torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32)

    def clip(self) -> float:
        """Clip the gradient; return its norm before."""
        limit = self.config.clip or float("inf")
        return float(nn.utils.clip_grad_norm_(self.parameters, limit, foreach=True))

    def apply(self, rate: float) -> float:
        """Clip the gradient, update weights and moving average; return the norm before clipping."""
        state = self.state
        norm = self.clip()
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
