"""Sizes and time of a run without training; a few updates are timed and dropped."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import torch

from attncli.terminal.messages import counted, rounded_time
from attncli.training.interfaces import Data, Progress, Stepped
from attncli.training.run.fit import batches_of, fit, short_run
from attncli.training.run.run import fresh_state
from attncli.training.settings.config import RunConfig, TrainConfig
from attncli.training.sources import training_source
from attncli.training.storage.state import State
from attncli.training.updates.precision import DTYPES, chosen_precision
from models.bundle import sizes_of

TIMED = 2  # updates, after a first one, which is slower
ENOUGH = 30.0  # seconds of updates after which no further one is computed


class Estimate(NamedTuple):
    """Sizes of a run, and the time of its updates."""

    parameters: int
    vocabulary: str  # sizes, as text
    pairs: int
    unit: str  # plural name of the examples: "sentence pairs"
    left_out: int
    dev: int  # examples for evaluation
    warnings: tuple[str, ...]
    batches: int  # of an epoch
    target_tokens: int  # of an epoch
    seconds: tuple[float, ...]  # of the timed updates

    def time_needed(self, config: TrainConfig, runs: int = 1) -> str:
        """Return the time of some runs as text, by the limits of their training."""
        update = sum(self.seconds) / len(self.seconds)
        updates = min(filter(None, (config.steps, config.epochs * self.batches)), default=0)
        seconds = min(filter(None, (updates * update, 60 * config.minutes)), default=0.0)
        if not seconds:
            return f"{update:.2g} seconds for each update, without a limit"
        stops_early = config.minutes or (config.patience and self.dev)
        evaluations = ", and evaluations" if self.dev and not config.minutes else ""
        timed = counted(len(self.seconds), "update")
        return (
            f"{'at most' if stops_early else 'about'} {rounded_time(runs * seconds)} on this "
            f"machine ({timed} timed){evaluations}"
        )


def estimate(config: RunConfig, device: torch.device, progress: Progress) -> Estimate:
    """Return the sizes and the time of a run; nothing is kept."""
    with tempfile.TemporaryDirectory(prefix="attn-dry-run-") as name:
        source = training_source(config.model.family)
        data = source.load(config, Path(name), progress)
        sizes = sizes_of(data.tokenizer, config.model.family)
        state = fresh_state(config, data, device)
        return Estimate(
            parameters=state.model.parameter_count(),
            vocabulary=source.describe_vocabulary(sizes),
            pairs=data.examples.count,
            unit=source.unit,
            left_out=sum(data.dropped),
            dev=len(data.dev) if data.dev else 0,
            warnings=data.notes + short_run(data.examples, config.train),
            batches=len(batches_of(data.examples, config.train)),
            target_tokens=int(data.examples.lengths[1].sum()),
            seconds=timed_updates(state, data, config),
        )


def timed_updates(state: State, data: Data, config: RunConfig) -> tuple[float, ...]:
    """Return the seconds of the first updates of a run, if possible without the very first."""
    device = next(state.model.parameters()).device
    dtype = DTYPES[chosen_precision(config.model, config.train, device)]
    seconds: list[float] = []
    for event in fit(state, data.examples, None, config.train, dtype, data.reward_loss):
        if isinstance(event, Stepped):
            seconds.append(event.seconds)
        if len(seconds) > TIMED or sum(seconds) > ENOUGH:
            break
    return tuple(seconds[1:] or seconds)
