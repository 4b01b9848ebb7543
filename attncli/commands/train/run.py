"""A run on the command line: trained with progress; Ctrl-C saves it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from attncli.commands.train.display import Display
from attncli.commands.train.processes import joined, open_device
from attncli.jobs.loading import OpenOptions
from attncli.terminal import console
from attncli.training.events import Interrupted, RunEvent
from attncli.training.rank import Rank
from attncli.training.settings.config import RunConfig, TrainConfig
from attncli.training.storage.folder import RunFolder, read_config
from models.base.errors import exhausted, is_exhausted


def train_shown(
    config: RunConfig, folder: Path, device: str, rank: Rank | None = None
) -> RunEvent | None:
    """Train with progress and return the last event; exit if the run is interrupted.

    rank: of this process.
    """
    from attncli.jobs import train as job  # imports torch

    event = None
    with joined(rank or Rank()) as processes, stoppable(config.train, folder) as (stop, display):
        for event in job.train(
            config,
            folder,
            device=device,
            progress=display.progress,
            stop_requested=stop,
            processes=processes,
        ):
            display.take(event)
    return event


def follow(rank: Rank, options: OpenOptions) -> None:
    """Do the work of a process other than number 0, which stops and saves the run."""
    from attncli.jobs import train as job  # imports torch

    console.be_quiet()  # process 0 writes the remarks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with joined(rank) as group:
        device = open_device(rank, options)
        if folder := group.wait():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            config = read_config(RunFolder(folder))
            with memory_advice(config.train):
                job.follow(group, config, folder, device)


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
