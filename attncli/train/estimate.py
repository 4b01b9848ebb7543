"""Sizes and time of a run without training; a few updates and outputs are timed and dropped."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from attncli.task.panels import spread
from attncli.terminal.messages import counted, rounded_time
from attncli.train._fit import batches_of, evaluation_interval, fit
from attncli.train._precision import DTYPES, chosen_precision
from attncli.train._state import State
from attncli.train.events import Stepped
from attncli.train.run import check_end, completed, fresh_state
from attncli.training.config import RunConfig, TrainConfig
from attncli.training.dev import Data, evaluate
from attncli.training.interfaces import Progress
from attncli.training.sources import source_of_run
from attncli.training.start import start_of
from models.core.use_config import SearchConfig
from models.networks.bundle import Bundle, sizes_of

# the first update compiles kernels and allocates memory
TIMED = 2  # updates, after a first one, which is slower
ENOUGH = 30.0  # seconds of updates after which no further one is computed
SCORED = (8, 64)  # dev examples of the timed evaluations; the first evaluation is slower
LONG = 5.0  # seconds of an evaluation after which no larger one is timed


class RunTime(NamedTuple):
    """Estimated time of a run."""

    seconds: float  # infinite without a limit
    limit: str  # what ends the run
    may_stop_early: bool = False

    def __str__(self) -> str:
        if math.isinf(self.seconds):
            return self.limit
        about = "up to about" if self.may_stop_early else "about"
        return f"{about} {rounded_time(self.seconds)} on this machine: {self.limit}"


class Estimate(NamedTuple):
    """Sizes of a run, and the time of its parts."""

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
    scoring: float = 0.0  # seconds to decode and score an example of the dev set
    preparation: float = 0.0  # seconds that reading and tokenising the data took
    comparison: float = 0.0  # seconds of the scores of the initial and of the final model

    def interval(self, config: TrainConfig) -> int:
        """Return the updates between two evaluations."""
        return evaluation_interval(config, self.batches)

    def time_needed(self, config: TrainConfig) -> RunTime:
        """Return the time of data, updates and evaluations, and what ends the run."""
        update = sum(self.seconds) / len(self.seconds)
        updates = min(filter(None, (config.steps, config.epochs * self.batches)), default=0)
        averaged = config.average > 1  # the average of the last weights is scored, too
        count = math.ceil(updates / self.interval(config))
        count = count + (averaged and count > 1) + bool(self.comparison) if self.dev else 0
        evaluation, others = self.dev * self.scoring, self.preparation + self.comparison
        training = updates * update + count * evaluation
        timed = 60 * config.minutes
        if timed and not 0 < training < timed:
            last = (1 + averaged) * evaluation
            limit = f"train.minutes = {config.minutes:g}, then the choice of the weights"
            return RunTime(timed + last + others, limit)
        if not updates:
            return RunTime(math.inf, f"{update:.2g} seconds for each update, without a limit")
        by_epochs = f" (train.epochs = {config.epochs})" if updates != config.steps else ""
        limit = f"{counted(updates, 'update')}{by_epochs}, {counted(count, 'evaluation')}"
        early = config.patience > 0 and self.dev > 0
        return RunTime(training + others, limit, early)


def estimate(config: RunConfig, device: torch.device, progress: Progress) -> Estimate:
    """Return the sizes and the time of a run; nothing is kept."""
    with tempfile.TemporaryDirectory(prefix="attn-dry-run-") as name:
        source, started = source_of_run(config), time.perf_counter()
        data = source.loaded(Path(name), progress)
        preparation = time.perf_counter() - started
        check_end(config.train, data.dev)
        sizes = sizes_of(data.tokenizer, config.model.family)
        state, epoch = fresh_state(source, data, device), data.examples.at(0)
        dtype = DTYPES[chosen_precision(config.model, config.train, device)]
        seconds = timed_updates(state, data, config.train, dtype)
        decoding = timed_scoring(state, data, config, decoded=True) if config.start_from else 0.0
        tested, replay = (len(part) if part else 0 for part in (data.dev, data.replay))
        return Estimate(
            parameters=state.model.parameter_count(),
            vocabulary=source.describe_vocabulary(sizes),
            pairs=data.pairs or data.examples.count,
            unit=source.unit,
            left_out=sum(data.dropped),
            dev=tested,
            warnings=data.notes,
            batches=len(batches_of(epoch, config.train)),
            target_tokens=int(epoch.lengths[1].sum()),
            seconds=seconds,
            scoring=timed_scoring(state, data, config),
            preparation=preparation,
            comparison=decoding * start_of(config.start_from).compared_outputs(tested, replay),
        )


def timed_updates(
    state: State, data: Data, config: TrainConfig, dtype: torch.dtype
) -> tuple[float, ...]:
    """Return the seconds of the first updates of a run, if possible without the very first."""
    seconds: list[float] = []
    for event in fit(state, data.examples, None, config, dtype, data.reward_loss):
        if isinstance(event, Stepped):
            seconds.append(event.seconds)
        if len(seconds) > TIMED or sum(seconds) > ENOUGH:
            break
    return tuple(seconds[1:] or seconds)


def timed_scoring(state: State, data: Data, config: RunConfig, *, decoded: bool = False) -> float:
    """Return the seconds to score an example of the dev set; 0 without one.

    decoded: as the final comparison does, also if the metric of the run is the loss.
    Weights that are hardly trained do not end an output, and fail the checks after which a text is
    translated again. The outputs are therefore at most as long as the mean target of the training
    data, and not checked.
    """
    if data.dev is None:
        return 0.0
    config, longest = completed(config, data), math.ceil(data.examples.lengths[1].mean())
    if decoded and config.train.metric == "loss":
        train = replace(config.train, metric=data.dev.default_metric())
        config = replace(config, train=train)
    # weights that are hardly trained rarely end an output
    limits = {"max_ratio": 0.0, "max_extra": longest, "max_caption": longest}
    search = SearchConfig(**{**vars(config.search), **limits})
    # such outputs fail the checks, and a text that fails is translated again: five times the time
    prepare = replace(data.prepare, parts=False)
    seconds = 0.0
    for count in SCORED:
        part = data.dev.some(spread(len(data.dev), count))
        started = time.perf_counter()
        with state.evaluated() as model:
            bundle = Bundle(model, data.tokenizer, config.tokenizer, search, prepare=prepare)
            evaluate(bundle, part, config.train)
        taken = time.perf_counter() - started
        seconds = taken / len(part)
        if taken > LONG:
            break
    return seconds
