"""The training loop: a generator of events. The job decides which of them to log, save and show.

for event in fit(state, data, evaluate, config):
    ...
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor, autograd, nn

from attncli.data.batching import Examples, epoch_plan, gather
from attncli.training.clock import Clock, time_share
from attncli.training.config import TrainConfig
from attncli.training.data import RewardLoss
from attncli.training.events import Ended, Evaluated, Event, Scores, Stepped
from attncli.training.metrics import improves, value_of
from attncli.training.schedule import learning_rate
from attncli.training.state import Counters, State
from models.encoders.pretrained import pretrained_encoder
from models.errors import ModelError
from models.loss import AttentionLoss, LossSum
from models.model import EncoderDecoder
from models.r_drop import divergence
from models.types import Batch

Evaluate = Callable[[State], Scores]


def fit(
    state: State,
    examples: Examples,
    evaluate: Evaluate | None,
    config: TrainConfig,
    dtype: torch.dtype,
    reward_loss: RewardLoss | None = None,
) -> Iterator[Event]:
    """Train from the given state until a limit or early stopping; yield the events."""
    counters = state.counters
    stepper = Stepper(state, config, dtype)
    while not counters.ended:
        set_encoder_frozen(state.model, counters.epoch, config)
        seen = examples.at(counters.epoch)
        plan = epoch_plan(
            seen,
            config.batch_tokens,
            seed=config.seed,
            epoch=counters.epoch,
            both_sides=config.sort == "both_sides",
        )
        yield from fit_epoch(stepper, seen, plan, evaluate, reward_loss)
        if counters.batch >= len(plan):
            counters.epoch, counters.batch = counters.epoch + 1, 0
        counters.ended = counters.ended or limit_reached(counters, config)
    yield Ended(counters.step, counters.ended)


def fit_epoch(
    stepper: Stepper,
    examples: Examples,
    plan: list[np.ndarray],
    evaluate: Evaluate | None,
    reward_loss: RewardLoss | None,
) -> Iterator[Event]:
    """Train on the batches of the plan that are left; yield the events.

    A run can be resumed at any point of the loop, also before an evaluation that is due.
    """
    state, config = stepper.state, stepper.config
    counters = state.counters
    while True:
        if evaluate and due(counters, len(plan), config):
            yield judged(state, evaluate(state), config)
        if counters.ended or stops_here(counters, len(plan), config):
            return
        group = plan[counters.batch : counters.batch + config.accumulate]
        counters.batch += len(group)
        batches = [gather(examples, numbers, stepper.device) for numbers in group]
        progress = counters.batch / len(plan)
        stepper.clock.read()
        if reward_loss and counters.epoch + 1 >= config.self_critical_from:
            numbered = list(zip(batches, group, strict=True))
            event = stepper.update_by_reward(reward_loss, numbered, progress)
        else:
            event = stepper.update(batches, progress)
        stepper.clock.read()
        yield event._replace(elapsed=counters.elapsed)


def set_encoder_frozen(model: EncoderDecoder, epoch: int, config: TrainConfig) -> None:
    """Unfreeze a pretrained encoder from epoch train.encoder_from on; freeze it before."""
    if config.encoder_from and (encoder := pretrained_encoder(model)):
        if epoch + 1 >= config.encoder_from:
            encoder.unfreeze()
        else:
            encoder.freeze()


def stops_here(counters: Counters, batches: int, config: TrainConfig) -> bool:
    """Return True if this epoch is complete or the last update is done."""
    return counters.batch >= batches or is_last(counters, config)


def is_last(counters: Counters, config: TrainConfig) -> bool:
    """Return True if train.steps are done, or train.minutes have elapsed."""
    is_over = time_share(counters.elapsed, config) >= 1
    return is_over or 0 < config.steps <= counters.step


def due(counters: Counters, batches: int, config: TrainConfig) -> bool:
    """Return True if an evaluation is due: at the configured interval, and once at the end."""
    if counters.evaluated == counters.step:
        return False
    if is_last(counters, config):
        return True
    over = counters.batch >= batches
    if over and (not config.evaluate_every or 0 < config.epochs <= counters.epoch + 1):
        return True
    return config.evaluate_every > 0 and counters.step % config.evaluate_every == 0


class Stepper:
    """Updates of the weights: forward, backward, clip, optimiser, moving average."""

    def __init__(self, state: State, config: TrainConfig, dtype: torch.dtype) -> None:
        self.state, self.config, self.dtype = state, config, dtype
        self.clock = Clock(state.counters)
        self.parameters: list[Tensor] = list(state.learned.values())
        self.device = self.parameters[0].device
        self.loss = LossSum(config.label_smoothing)
        self.attention_loss = AttentionLoss(config.attention, state.model)
        self.baselines: list[float] = []  # of the REINFORCE baseline, after each batch

    def update(self, batches: list[Batch], progress: float) -> Stepped:
        """Update the weights by the summed gradients of some batches."""
        started = time.perf_counter()
        counters = self.state.counters
        counters.step += 1
        self.state.model.train()
        tokens = sum(int(batch.target_mask.sum()) for batch in batches)
        loss = nll = 0.0
        for batch in batches:
            batch_loss, batch_nll = self.gradients(batch, tokens)
            loss, nll = loss + batch_loss, nll + batch_nll
        return self.stepped(started, progress, loss, nll, tokens)

    def update_by_reward(
        self, reward_loss: RewardLoss, batches: list[tuple[Batch, np.ndarray]], progress: float
    ) -> Stepped:
        """Update the weights by the reward loss of some batches. Source: Rennie et al. 2017."""
        started = time.perf_counter()
        self.state.counters.step += 1
        found = []
        for batch, numbers in batches:
            with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
                found.append(reward_loss(self.state.model, batch, numbers))
            autograd.backward(found[-1].loss / (found[-1].tokens * len(batches)))
        tokens = sum(part.tokens for part in found)
        loss, nll = sum(float(p.loss.detach()) for p in found), sum(part.nll for part in found)
        reward = sum(part.reward for part in found) / len(found)
        share = self.config.self_critical_lr / self.config.lr
        return self.stepped(
            started, progress, loss / tokens, nll / tokens, tokens, reward=reward, share=share
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
        if self.baselines:  # one per batch of the update: the baseline decays once per update
            counters.baseline = sum(self.baselines) / len(self.baselines)
            self.baselines.clear()
        seconds = time.perf_counter() - started
        counters.tokens += tokens
        counters.seconds += seconds
        where = counters.step, counters.epoch, progress
        return Stepped(*where, loss, nll, rate, norm, reward, tokens, seconds)

    def gradients(self, batch: Batch, tokens: int) -> tuple[float, float]:
        """Add the gradients of a batch; return its parts of the mean loss and mean NLL.

        tokens: target tokens of all batches of the update.
        """
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
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
        output, counters = self.state.model.output, self.state.counters
        forced = self.state.model.teacher_force(
            batch,
            want_weights=self.attention_loss.wants_weights,
            want_heads=self.attention_loss.want_heads(batch),
        )
        features = forced.features[batch.target_mask]  # (N, D)
        target = batch.target_out[batch.target_mask]  # (N,)
        loss, nll = self.loss.by_token(features, target, output.weight, output.bias)
        more, after = self.attention_loss(forced, batch, nll, counters.baseline)
        if after is not None:
            self.baselines.append(after)
        return features, loss, nll, more

    def apply(self, rate: float) -> float:
        """Clip the gradient, update weights and moving average; return the norm before clipping."""
        state = self.state
        limit = self.config.clip or float("inf")
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


def judged(state: State, scores: Scores, config: TrainConfig) -> Evaluated:
    """Update best score, plateau and early stopping after an evaluation.

    Of equal scores, the one with the lower dev loss is better, because BLEU can stay 0 for long.
    """
    counters = state.counters
    counters.evaluated = counters.step
    value = value_of(scores, config.metric)
    gained = improves(value, scores.loss, counters.best, counters.best_loss)
    if gained:
        counters.best, counters.best_loss = value, scores.loss
        counters.best_step = counters.step
        counters.waits = counters.plateau_waits = 0
    else:
        counters.waits += 1
        counters.plateau_waits += 1
        if config.schedule == "plateau" and counters.plateau_waits >= config.plateau_patience:
            counters.cuts, counters.plateau_waits = counters.cuts + 1, 0
    if config.patience and counters.waits >= config.patience:
        counters.ended = f"no gain in {counters.waits} evaluations"
    return Evaluated(counters.step, counters.epoch, scores, gained)


def limit_reached(counters: Counters, config: TrainConfig) -> str:
    """Return why the run must end now, or ""."""
    if 0 < config.steps <= counters.step:
        return f"{config.steps} updates done"
    if 0 < config.epochs <= counters.epoch:
        return f"{config.epochs} epochs done"
    if time_share(counters.elapsed, config) >= 1:
        return f"{config.minutes:g} minutes of training done"
    return ""
