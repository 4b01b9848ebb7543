"""Training in a run folder, from data to a bundle; interrupted runs are resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch

from attncli.train import estimate
from attncli.train._fit import Evaluate, fit
from attncli.train._precision import DTYPES, chosen_precision, limit_kernel_caches
from attncli.train._state import State
from attncli.train.events import (
    AlreadyFinished,
    Ended,
    Evaluated,
    Event,
    Interrupted,
    RunEvent,
    Stepped,
    add_update,
    check_listeners,
    interval_record,
)
from attncli.train.folder import (
    START,
    RunFolder,
    can_continue,
    check_claim,
    check_schedule,
    claim,
    finished_run,
    released,
    schedule_changes,
    store_train,
    with_stored_choices,
)
from attncli.train.run import Run, completed, open_run, started, stored_state
from attncli.train.saving import (
    draw_curves,
    finish,
    save_checkpoint,
    save_evaluated,
    save_samples,
)
from attncli.training.config import DataConfig, RunConfig, TrainConfig
from attncli.training.dev import DevSet, evaluate
from attncli.training.interfaces import ALONE, ProcessLost, Progress, Report, Scores, World
from attncli.training.sources import source_of_run, training_source
from attncli.training.start import start_of
from models.core.config import ModelConfig
from models.core.errors import ConfigurationError, ModelError
from models.core.files import locked
from models.core.types import VocabularySizes
from models.core.use_config import SearchConfig
from models.networks.bundle import Bundle, build
from models.networks.losses import AttentionLoss
from models.storage.digests import weights_hash

StopRequested = Callable[[], bool]  # returns True to save and stop
TOKENS = 1000  # any vocabulary size: checks of a model do not depend on it
FIRST_CHECKPOINT = 1.0  # minutes of training; later ones follow after train.checkpoint_minutes


def train(
    config: RunConfig,
    path: Path,
    *,
    device: str,
    progress: Progress,
    stop_requested: StopRequested = lambda: False,
    world: World = ALONE,
) -> Iterator[RunEvent]:
    """Train in a folder and yield the events; at the end the folder is a bundle.

    world: seen from process 0. Raises Interrupted, with everything saved, once `stop_requested()`
    returns True. It is not called while the data are prepared, because there is nothing to save
    yet. Raises ProcessLost if another process ends, with everything saved.
    """
    folder, home = RunFolder(path), torch.device(device)
    if config.start_from and Path(config.start_from).resolve() == path.resolve():
        raise ModelError(f"{path} is the initial model", "a new folder", "choose another -o")
    check_buildable(config)
    with locked(path):
        config = replace(config, train=with_stored_choices(folder, config.train))
        changes = schedule_changes(folder, config.train)
        is_new, finished = claimed(folder, config)
        if finished:
            yield finished
            return
        with released(folder, is_new):
            data = source_of_run(config).loaded(path, progress)
        limit_kernel_caches()
        precision = chosen_precision(config.model, config.train, home)
        config = replace(config, train=replace(config.train, precision=precision))
        store_train(folder, config.train)  # so that a resumed run keeps it on any machine
        with released(folder, is_new):
            run = open_run(folder, config, data, home)
        if changes:
            run.log.write("changed", {"step": run.state.counters.step, "settings": changes})
        world.begin(path)
        yield started(run, world.size, changes)
        yield from events(run, progress, stop_requested, world)


def claimed(folder: RunFolder, config: RunConfig) -> tuple[bool, AlreadyFinished | None]:
    """Claim the folder; return True if it was new, and the event of a run without updates left.

    Raise ModelError, before anything is written, if the folder holds another run, or if no update
    is left to use another learning rate.
    """
    inputs = fingerprints(config.data, config.model, config.start_from)
    check_claim(folder, config, inputs)
    finished = finished_run(folder)
    if finished and (
        can_continue(folder, config.train)
        or not start_of(config.start_from).is_compared(folder.path, finished.kept.step)
    ):
        finished = None
    if finished:
        check_schedule(folder, config.train)
    return claim(folder, config, inputs), finished


def dry_run(config: RunConfig, *, device: str, progress: Progress) -> estimate.Estimate:
    """Return parameters, vocabulary, batches of an epoch and time; nothing is kept."""
    check_buildable(config)
    return estimate.estimate(config, torch.device(device), progress)


def check_buildable(config: RunConfig) -> None:
    """Raise the ModelError that building the model and loss would raise; allocate no weights."""
    train = config.train
    if train.schedule == "linear" and not (train.minutes or train.steps or train.epochs):
        raise ConfigurationError(
            "train.schedule=linear", "train.minutes, train.steps or train.epochs with it"
        )
    check_listeners(train.loggers)
    with torch.device("meta"):
        model = build(config.model, VocabularySizes(TOKENS, TOKENS, config.tokenizer.joint))
    AttentionLoss(train.attention, model)
    if config.start_from and config.model.vectors:
        found = f"model.vectors with the initial model {config.start_from}"
        raise ConfigurationError(found, "one of them")
    start_of(config.start_from).check(config)


def fingerprints(data: DataConfig, model: ModelConfig, start_from: str) -> dict[str, str]:
    """Return a hash of each input of a run: its files, and the initial model."""
    source = training_source(model.family)
    found = source.fingerprints(data)
    if start_from:
        return {**found, START: weights_hash(Path(start_from))}
    return {**found, **source.shipped_weights(model)}


def events(
    run: Run, progress: Progress, stop_requested: StopRequested, world: World
) -> Iterator[RunEvent]:
    """Train to the end and select the final weights; save the state also when interrupted."""
    show = stoppable(progress, stop_requested)

    def report(share: float) -> None:
        show("evaluating", share, 1)

    try:
        yield from updates(run, report, stop_requested, world)
        yield run.state.counters.kept or finish(run, report)
        if comparison := start_of(run.config.start_from).compared(run, report):
            yield comparison
    except (Interrupted, ProcessLost):
        save_checkpoint(run)
        draw_curves(run)
        raise
    finally:
        run.log.close()


def updates(
    run: Run, report: Report, stop_requested: StopRequested, world: World
) -> Iterator[Event]:
    """Yield the events of the loop; log and save each before it is yielded."""
    config, data, saved = run.config.train, run.data, time.monotonic()
    bundle, dev = run.bundle(run.state.model), run.data.dev
    score = evaluator(bundle, dev, config, world, report)
    for event in fit(
        run.state,
        data.examples,
        score,
        config,
        run.dtype,
        reward_loss=data.reward_loss,
        world=world,
    ):
        match event:
            case Stepped():
                log_step(run, event)
            case Evaluated():
                record = {"step": event.step, "epoch": event.epoch, **event.scores.as_record()}
                record |= {"gained": event.gained, "seconds": run.state.counters.seconds}
                run.log.write("dev", record)
                save_samples(run, event)
                save_evaluated(run, event)
        pause = config.checkpoint_minutes
        if not run.folder.checkpoint.exists():
            pause = min(pause, FIRST_CHECKPOINT)
        late = time.monotonic() - saved > 60 * pause
        if late or isinstance(event, Ended):
            save_checkpoint(run)
        if late or isinstance(event, Evaluated):
            saved = time.monotonic()
        yield event
        # process 0 decides, so that all stop after the same update
        if world.first(stop_requested()):
            raise Interrupted


def train_along(world: World, config: RunConfig, path: Path, device: str) -> None:
    """Train to the end of a run in another process; process 0 prepares and saves it."""
    limit_kernel_caches()
    data = source_of_run(config).loaded(path, lambda label, done, total: None)
    config = completed(config, data)
    state = stored_state(RunFolder(path), source_of_run(config), data, torch.device(device))
    tables = (data.tokenizer, config.tokenizer, SearchConfig(**vars(config.search)))
    bundle = Bundle(state.model, *tables, prepare=data.prepare)
    score = evaluator(bundle, data.dev, config.train, world)
    dtype = DTYPES[config.train.precision]
    for _ in fit(state, data.examples, score, config.train, dtype, data.reward_loss, world=world):
        if world.first(False):
            return


def evaluator(
    bundle: Bundle,
    dev: DevSet | None,
    config: TrainConfig,
    world: World,
    report: Report = lambda share: None,
) -> Evaluate | None:
    """Return the function that scores the current weights of a bundle; None without a dev set."""
    if dev is None:
        return None

    def score(state: State) -> Scores:
        with state.evaluated():
            return evaluate(bundle, dev, config, report, world)

    return score


def log_step(run: Run, event: Stepped) -> None:
    """Log the means over the last updates every train.log_every updates."""
    sums = run.state.counters.interval
    add_update(sums, event)
    if event.step % run.config.train.log_every == 0:
        run.log.write("train", interval_record(sums, event))
        sums.clear()


def stoppable(progress: Progress, stop_requested: StopRequested) -> Progress:
    """Return a progress display that raises Interrupted on request."""

    def show(label: str, done: float, total: float) -> None:
        progress(label, done, total)
        if stop_requested():
            raise Interrupted

    return show
