"""A training at the terminal: its display, its faults and its end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import typer

from attncli.options.settings import Options
from attncli.terminal import console
from attncli.terminal.messages import ShowProgress, counted
from attncli.train.events import (
    AlreadyFinished,
    Ended,
    Evaluated,
    FinalModel,
    Interrupted,
    RunEvent,
    Started,
    Stepped,
)
from attncli.training.config import RunConfig, TrainConfig
from attncli.training.dev import described, value_of
from attncli.training.interfaces import ALONE, METRICS, Compared, World
from models.core.annexes import find_part, need_part
from models.core.errors import exhausted, is_exhausted

EVERY = 0.2  # seconds between two updates of the bar
RECENT = 0.8  # decay of tokens and seconds in the moving average of the speed


class Display:
    """A run on stderr: permanent lines, and on a terminal a bar of preparation, then of updates."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.stack = ExitStack()
        self.label, self.metric = "", ""
        self.advance: ShowProgress = lambda done, note="": None
        self.forget()

    def forget(self) -> None:
        """Reset the display for the next run of a comparison."""
        self.done, self.note, self.dev = 0.0, "", ""
        self.tokens, self.seconds, self.shown = 0.0, 0.0, 0.0

    def __enter__(self) -> Display:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.break_off() if kind else self.close()

    def close(self) -> None:
        """End the bar that is shown."""
        self.stack.close()
        self.label = ""

    def break_off(self) -> None:
        """End the bar of work that was interrupted; it stays where it was."""
        self.stack.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
        self.label = ""

    def begin(self, label: str, total: float | None) -> None:
        """Start a progress bar for another part of the work."""
        if label != self.label:
            self.close()
            self.label = label
            self.advance = self.stack.enter_context(console.progress(label, total=total))

    def progress(self, label: str, done: float, total: float) -> None:
        """Show the progress of a part of the work; that of an evaluation as a note on the bar."""
        if self.label == "training":
            self.advance(self.done, f"{self.note}  {label} {100 * done / total:.0f} %")
        else:
            self.begin(label, total or None)
            self.advance(done)

    def take(self, event: RunEvent) -> None:
        """Show one event of the training."""
        match event:
            case Started():
                self.close()
                self.forget()
                self.metric = event.metric
                started(event)
            case Stepped():
                self.stepped(event)
            case Evaluated():
                self.evaluated(event)
            case Ended():
                self.close()
                console.say(f"ended after {ended(event.step, event.reason)}")
            case FinalModel():
                self.close()
                console.say(f"kept: {_kept(event, self.config)}")
            case Compared():
                self.close()
                compared(event)
            case AlreadyFinished():
                console.say(
                    f"finished before, after {ended(event.step, event.reason)}; "
                    f"kept: {_kept(event.kept, self.config)}"
                )

    def stepped(self, event: Stepped) -> None:
        """Show epoch, loss, speed and the last dev score, at most five times per second."""
        limits, epoch = self.config, event.epoch + event.progress
        shares = (
            (event.step, limits.steps),
            (epoch, limits.epochs),
            (event.elapsed / 60, limits.minutes),
        )
        ends = [done / limit for done, limit in shares if limit]
        self.begin("training", 1.0 if ends else None)
        self.tokens, self.seconds = self.tokens + event.tokens, self.seconds + event.seconds
        if time.monotonic() - self.shown < EVERY:
            return
        speed = self.tokens / max(self.seconds, 1e-9)
        self.tokens, self.seconds = self.tokens * RECENT, self.seconds * RECENT
        self.shown = time.monotonic()
        self.done = min(1.0, max(ends, default=0.0))  # of the limit that ends the run first
        self.note = f"epoch {event.epoch + 1}  loss {event.loss:.3f}  {speed:,.0f} tok/s{self.dev}"
        self.advance(self.done, self.note)

    def evaluated(self, event: Evaluated) -> None:
        """Print the scores as a line, and show the first of them on the bar."""
        known = [name for name in METRICS if getattr(event.scores, name) is not None]
        order = sorted(known, key=lambda name: name != self.metric)
        scores = [described(value_of(event.scores, name), name) for name in order]
        best = " (best)" if event.gained else ""
        self.dev = f"  dev {scores[0]}{best}"
        console.say(
            f"update {event.step:,}  epoch {event.epoch + 1}  dev {'  '.join(scores)}{best}"
        )
        if event.scores.directions:
            directions = event.scores.directions.items()
            shown = "  ".join(f"{name} {score:.2f}" for name, score in directions)
            console.say(f"    BLEU by direction: {shown}")


def ended(step: int, reason: str) -> str:
    """Return the number of updates, and why they ended unless that number was the limit."""
    updates = counted(step, "update")
    return updates if reason == f"{updates} done" else f"{updates}: {reason}"


def started(event: Started) -> None:
    """Print what is trained on which data, and warnings about the data."""
    examples = counted(event.pairs, event.unit.removesuffix("s"))
    console.say(
        f"{event.preset}: {event.parameters:,} parameters, {event.vocabulary}, "
        f"{examples}, {event.dev:,} for dev; {event.device}, {event.precision}"
        + (f", {event.processes} processes" if event.processes > 1 else "")
    )
    if event.metric and event.metric_is_auto:
        why = "most dev targets are short" if event.metric == "exact" else "the default"
        console.say(f"metric: {METRICS[event.metric].label} ({why}; set train.metric to change)")
    if event.empty or event.long:
        console.warn(
            f"{event.unit} excluded: {event.empty:,} with an empty side, "
            f"{event.long:,} longer than {event.length_limits}"
        )
    if event.dev_long:
        console.warn(
            "dev sentences longer than model.max_source, which are translated in parts: "
            f"{event.dev_long:,}"
        )
    for note in event.notes:
        console.warn(note)
    for remark in () if event.step else event.remarks:
        console.say(remark)
    if not event.dev and not event.step:
        console.say(
            "no dev set: nothing is scored, and the last weights are the model; name one with "
            f"{event.dev_option}"
        )
    if event.step:
        console.say(f"continuing after update {event.step:,}")


def compared(event: Compared) -> None:
    """Print what the run learned and forgot."""
    if event.dev:
        before, after = (described(value, event.metric) for value in event.dev)
        console.say(f"own data:      before {before}, after {after}")
    if event.replay:
        before, after = (described(value, "bleu") for value in event.replay)
        console.say(f"old knowledge: before {before}, after {after}")
    if event.replay and event.step:
        console.say(f"kept: {event.share:.0%} of what was learned, to keep the old knowledge")
    if event.dev and not event.step:
        console.warn("no update was better on the dev set, so the model is the initial one")
    elif not event.replay:
        console.say("the initial model has no replay set, so what it forgot is not measured")


def _kept(kept: FinalModel, config: TrainConfig) -> str:
    if kept.score is None:
        return f"{kept.which}, of update {kept.step:,}"
    chosen = "bleu" if config.metric == "auto" else config.metric  # runs that recorded no metric
    score = described(kept.score, kept.metric or chosen)
    return f"{kept.which}, dev {score}, of update {kept.step:,}"


def train_shown(
    config: RunConfig, folder: Path, device: str, world: World = ALONE
) -> RunEvent | None:
    """Train with progress and return the last event; exit if the run is interrupted."""
    from attncli.train import job  # imports torch

    event, train = None, config.train
    if config.start_from:
        name, length = Path(config.start_from).name, counted(train.epochs, "epoch")
        length = counted(train.steps, "update") if train.steps else length
        console.say(f"from {name}: lr {train.lr:g}, schedule {train.schedule}, {length}")
    with world, stoppable(config.train, folder) as (stop, display):
        for event in job.train(
            config,
            folder,
            device=device,
            progress=display.progress,
            stop_requested=stop,
            world=world,
        ):
            display.take(event)
    return event


@contextmanager
def stoppable(config: TrainConfig, folder: Path) -> Iterator[tuple[Stop, Display]]:
    """Give the request to stop and the display to training in a `with` block.

    Ctrl-C and SIGTERM end the program once the work is saved in the folder. Exhausted memory is a
    ModelError that names the settings to change.
    """
    with stopping() as stop, Display(config) as display, memory_advice(config):
        try:
            yield stop, display
        except (Interrupted, KeyboardInterrupt) as interruption:
            display.break_off()
            said = f"saved in {folder}; " if isinstance(interruption, Interrupted) else ""
            console.say(f"stopped; {said}the same command continues from here")
            raise typer.Exit(stop.status or 130) from None


@contextmanager
def memory_advice(config: TrainConfig) -> Iterator[None]:
    """Raise a ModelError that names the settings to change if memory is exhausted."""
    try:
        yield
    except (RuntimeError, MemoryError, OSError) as error:
        if not is_exhausted(error):
            raise
        raise exhausted(
            f"lower train.batch_tokens (now {config.batch_tokens}), or raise train.shards (now "
            f"{config.shards}), which computes an update in parts; and choose another -o"
        ) from None


class Stop:
    """Request of a signal to stop the run, with the exit status."""

    def __init__(self) -> None:
        self.status = 0
        self.is_polled = False  # True once a run can be saved; until then it ends at once
        self.said = False

    def __call__(self) -> bool:
        """Return True once a signal was received."""
        self.is_polled = True
        if self.status and not self.said:
            self.said = True
            console.say("saving before stopping; press again to stop at once")
        return self.status != 0

    def ask(self, number: int, frame: object) -> None:
        """Handle a signal; end the program at once if it is the second or nothing needs saving."""
        again, self.status = self.status != 0, 128 + number
        if again or not self.is_polled:
            raise KeyboardInterrupt


@contextmanager
def stopping() -> Iterator[Stop]:
    """Turn Ctrl-C and SIGTERM into a request to save and stop."""
    stop = Stop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stop.ask) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def open_world(processes: int, options: Options, *, dry_run: bool) -> World:
    """Return the world of this process; a process other than number 0 works here to the end.

    processes: number given on the command line. It is the size of the world once they are launched.
    """
    several = find_part("world", "several")
    if several is None and processes == 1:
        return ALONE
    several = need_part("world", "several", f"--processes {processes}")
    found: World = several(processes, options, dry_run=dry_run)
    return found


def launch(processes: int, arguments: Sequence[str]) -> int:
    """Run `attn ARGUMENTS` in several processes; return the exit status of process 0."""
    return int(find_part("world", "launch")(processes, arguments))
