"""Training: a run folder from data to a bundle, going on where an earlier run was broken off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from attncli.training import estimate, keep, machine
from attncli.training.buildable import check_buildable
from attncli.training.config import RunConfig
from attncli.training.evaluation import dev_scores, using
from attncli.training.events import (
    Ended,
    Evaluated,
    Event,
    Finished,
    Interrupted,
    RunEvent,
    Scores,
    Stepped,
)
from attncli.training.folder import RunFolder, claim, with_stored_order
from attncli.training.lock import locked
from attncli.training.loop import Evaluate, fit
from attncli.training.material import Heartbeat, Show
from attncli.training.prepare import fingerprints, load_data
from attncli.training.run import Run, open_run, started
from attncli.training.state import State, read_counters
from models.errors import ModelError

Stop = Callable[[], bool]  # whether to save and stop


def train(
    config: RunConfig,
    path: Path,
    *,
    device: str,
    show: Show,
    stop: Stop = lambda: False,
) -> Iterator[RunEvent]:
    """Train in a folder and yield what happens; afterwards the folder is a bundle.

    Raises Interrupted, with everything saved, once `stop()` is true. It is not asked while the data
    is prepared: until then there is nothing to save.
    """
    check_buildable(config)
    if config.start_from and Path(config.start_from).resolve() == path.resolve():
        raise ModelError(f"{path} is the model to begin with", "a new folder", "choose another -o")
    folder = RunFolder(path)
    with locked(path):
        claim(folder, config, fingerprints(config))
        config = with_stored_order(folder, config)
        if finished := finished_before(folder):
            yield finished
            return
        data = load_data(config, path, show)
        machine.keep_memory()
        machine.keep_fewer_kernels()
        run = open_run(folder, config, data, torch.device(device))
        yield started(run)
        yield from events(run, show, stop)


def dry_run(config: RunConfig, *, device: str, show: Show) -> estimate.Estimate:
    """Parameters, vocabulary, batches of an epoch and memory; nothing is trained."""
    check_buildable(config)
    return estimate.estimate(config, torch.device(device), show)


def finished_before(folder: RunFolder) -> Finished | None:
    """What an earlier process left, if it came to the end."""
    if not folder.checkpoint.exists():
        return None
    counters = read_counters(folder.checkpoint)
    return counters.kept and Finished(counters.step, counters.ended, counters.kept)


def events(run: Run, show: Show, stop: Stop) -> Iterator[RunEvent]:
    """Train to the end and settle for the best weights, with everything saved at any end."""
    beat = heartbeat(show, stop)
    try:
        yield from updates(run, beat, stop)
        yield keep.finish(run, beat)
    except Interrupted:
        keep.save(run)
        keep.draw(run)
        raise


def updates(run: Run, beat: Heartbeat, stop: Stop) -> Iterator[Event]:
    """The loop's events, each taken into account before it is yielded."""
    config, data, saved = run.config.train, run.data.prepared, time.monotonic()
    evaluate = evaluator(run, beat)
    for event in fit(run.state, data.examples, evaluate, config, run.dtype, data.critic):
        match event:
            case Stepped():
                log_step(run, event)
            case Evaluated():
                log_scores(run, event)
                keep.keep(run, event)
        late = time.monotonic() - saved > 60 * config.checkpoint_minutes
        if late or isinstance(event, Ended):
            keep.save(run)
        if late or isinstance(event, Evaluated):
            saved = time.monotonic()
        yield event
        if stop():
            raise Interrupted


def evaluator(run: Run, beat: Heartbeat) -> Evaluate | None:
    """The function that scores the current weights, if there is a dev set."""
    dev, tokenizer = run.data.dev, run.data.prepared.tokenizer
    if dev is None:
        return None

    def evaluate(state: State) -> Scores:
        with using(state.model, state.weights()):
            return dev_scores(state.model, tokenizer, dev, run.config, beat)

    return evaluate


def log_step(run: Run, event: Stepped) -> None:
    """Log every so many updates."""
    if event.step % run.config.train.log_every == 0:
        speed = event.tokens / max(event.seconds, 1e-9)
        known = {name: value for name, value in event._asdict().items() if value is not None}
        run.log.write("train", {**known, "tokens_per_second": speed})


def log_scores(run: Run, event: Evaluated) -> None:
    """Log an evaluation."""
    record = {"step": event.step, "epoch": event.epoch, **event.scores._asdict()}
    seconds = run.state.counters.seconds
    run.log.write("dev", {**record, "gained": event.gained, "seconds": seconds})


def heartbeat(show: Show, stop: Stop) -> Heartbeat:
    """What an evaluation calls between its parts, so that it can be watched and interrupted."""

    def beat(share: float) -> None:
        show("evaluating", share, 1)
        if stop():
            raise Interrupted

    return beat
