"""The training loop: a generator of events. The job decides which of them to log, save and show.

for event in fit(state, data, evaluate, config):
    ...

A finished run whose limits are raised continues (train.steps, epochs, minutes, patience). The kept
weights stay the best ones until an evaluation improves on them, also if they are the average of
several evaluations. Training time counts from the first update, over all processes of a run, and
includes evaluations and checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch

from attncli.terminal.messages import counted
from attncli.train._schedule import warm_up
from attncli.train._state import State
from attncli.train._stepper import Stepper, UpdateBatch
from attncli.train.events import Ended, Evaluated, Event, Stepped
from attncli.train.folder import Counters, is_over, limit_reached
from attncli.training.config import TrainConfig
from attncli.training.dev import improves, value_of
from attncli.training.examples import Examples, epoch_plan
from attncli.training.interfaces import ALONE, RewardLoss, Scores, World
from models.networks.image_encoder import pretrained_encoder

Evaluate = Callable[[State], Scores]
DIVERGENCE = 3.0  # factor on the lowest loss at which training stops
# epochs of few updates would spend more time on evaluations than on updates
GAP = 100  # updates: the most that an evaluation waits for in a run that train.steps limits
SHORT_GAP = 10  # in other runs: an evaluation of a tiny model takes as long
# single batches vary too much to tell a divergence
RECENT = 0.05  # weight of an update in the moving average of the loss


def fit(
    state: State,
    examples: Examples,
    evaluate: Evaluate | None,
    config: TrainConfig,
    dtype: torch.dtype,
    reward_loss: RewardLoss | None = None,
    world: World = ALONE,
) -> Iterator[Event]:
    """Train from the given state until a limit or early stopping; yield the events.

    world: the processes that compute the updates; each runs this loop.
    """
    counters = state.counters
    stepper = Stepper(state, config, dtype, world)
    while not counters.ended:
        if config.encoder_from and (encoder := pretrained_encoder(state.model)):
            is_frozen = counters.epoch + 1 < config.encoder_from
            # in every epoch, because a run may continue at any of them
            encoder.freeze() if is_frozen else encoder.unfreeze()
        own = examples.at(counters.epoch)
        plan = batches_of(own, config, counters.epoch)
        yield from fit_epoch(stepper, own, plan, evaluate, reward_loss)
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
    """Train on the batches of an epoch that are left; yield the events.

    plan: the batches, as arrays of example numbers. A run can be resumed at any point of the loop,
    also before an evaluation that is due.
    """
    state, config = stepper.state, stepper.config
    counters = state.counters
    while True:
        if evaluate and due(counters, len(plan), config):
            yield judged(state, evaluate(state), config)
        if counters.ended or counters.batch >= len(plan) or limit_reached(counters, config):
            return
        numbers = plan[counters.batch]
        progress = (counters.batch + 1) / len(plan)
        stepper.count_time()
        event = stepper.train_on(UpdateBatch(examples, numbers, reward_loss), progress)
        stepper.count_time()
        counters.batch += 1
        watch(counters, event)
        yield event._replace(elapsed=counters.elapsed)


def watch(counters: Counters, event: Stepped) -> None:
    """End the updates if the loss has risen above its lowest by DIVERGENCE and by 1 nat."""
    # the loss of rewards can have any sign; an update that is not finite is left out by the stepper
    if event.reward is not None or not math.isfinite(event.loss):
        return
    level = event.loss if counters.level is None else counters.level
    level = counters.level = level + RECENT * (event.loss - level)
    counters.lowest = level if counters.lowest is None else min(level, counters.lowest)
    if level > max(DIVERGENCE * counters.lowest, counters.lowest + 1):
        found = f"{level:.2f}, and was {counters.lowest:.2f}"
        counters.ended = f"diverged: the loss is {found} (lower train.lr)"


def due(counters: Counters, batches: int, config: TrainConfig) -> bool:
    """Return True if an evaluation is due: at the configured interval, and once at the end.

    A run that diverged is evaluated only if there is no model yet.
    A run that starts from a trained model evaluates it first (see `open_run`). Of epochs of a few
    updates not each one is evaluated; see `evaluation_interval`.
    """
    # a run that continues here has been evaluated already
    if counters.evaluated == counters.step:
        return False
    diverged = counters.ended and counters.best is None
    if not counters.step or diverged or limit_reached(counters, config):
        return True
    over = counters.batch >= batches
    if over and 0 < config.epochs <= counters.epoch + 1:
        return True
    if over and not config.evaluate_every:
        return counters.step - max(0, counters.evaluated) >= evaluation_interval(config, batches)
    return config.evaluate_every > 0 and counters.step % config.evaluate_every == 0


def evaluation_interval(config: TrainConfig, batches: int) -> int:
    """Return the updates between two evaluations: train.evaluate_every, or those of whole epochs.

    The epochs have at least a tenth of the updates of the run, up to GAP or SHORT_GAP, because
    evaluations of few updates each take more time than these. batches: of an epoch.
    """
    if config.evaluate_every:
        return config.evaluate_every
    updates, most = (config.steps, GAP) if config.steps else (config.epochs * batches, SHORT_GAP)
    return batches * max(1, math.ceil(min(most, updates // 10) / batches))


def judged(state: State, scores: Scores, config: TrainConfig) -> Evaluated:
    """Update best score, plateau and early stopping after an evaluation.

    Of equal scores, the one with the lower dev loss is better, because BLEU can stay 0 for long.
    A run does not end within its warm-up: a small data set has many evaluations before the learning
    rate is high enough to gain.
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
    if 0 < config.patience <= counters.waits:
        if counters.step <= warm_up(config):
            counters.waits = 0
        else:
            counters.ended = f"no gain in {counted(counters.waits, 'evaluation')}"
    return Evaluated(counters.step, counters.epoch, scores, gained)


def reopen(counters: Counters, config: TrainConfig) -> None:
    """Let a finished run continue, unless it has reached its limits."""
    if not counters.ended or is_over(counters, config):
        return
    # later evaluations must exceed the average that was kept, not the best single one
    if counters.kept and counters.kept.score is not None and counters.kept.which != "best":
        counters.best, counters.best_loss = counters.kept.score, None
        counters.best_step = counters.kept.step
    # or the first update after a lower rate was set would end the run again
    if counters.ended.startswith("diverged"):
        counters.level = counters.lowest = None
    counters.ended, counters.kept = "", None


def batches_of(examples: Examples, config: TrainConfig, number: int = 0) -> list[np.ndarray]:
    """Return the batches of an epoch, as arrays of example numbers, in training order."""
    return epoch_plan(examples, config.batch_tokens, seed=config.seed, epoch=number)
