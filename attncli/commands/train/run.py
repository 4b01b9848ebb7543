"""A run on the command line: trained with progress; Ctrl-C saves it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from attncli.commands.train.display import Display
from attncli.commands.train.stop import stopping
from attncli.terminal import console
from attncli.training.distributed.rank import Rank
from attncli.training.events import Interrupted, RunEvent
from attncli.training.settings.config import RunConfig, TrainConfig
from models.base.errors import ModelError

EXHAUSTED = ("out of memory", "can't allocate memory", "not enough memory")  # in a RuntimeError


def train_shown(
    config: RunConfig, folder: Path, device: str, rank: Rank | None = None, *, saved: str = ""
) -> RunEvent | None:
    """Train with progress and return the last event; exit if the run is interrupted.

    rank: of this process. saved: part of the message of an interruption, if the run is saved.
    """
    from attncli.jobs import train as job  # imports torch

    event = None
    with stopping() as stop, Display(config.train) as display, memory_advice(config.train):
        try:
            for event in job.train(
                config,
                folder,
                device=device,
                progress=display.progress,
                stop_requested=stop,
                rank=rank or Rank(),
            ):
                display.take(event)
        except (Interrupted, KeyboardInterrupt) as interruption:
            display.break_off()
            said = saved if isinstance(interruption, Interrupted) else ""
            console.say(f"stopped; {said}the same command continues from here")
            raise typer.Exit(stop.status or 130) from None
    return event


@contextmanager
def memory_advice(config: TrainConfig) -> Iterator[None]:
    """Raise a ModelError that names the settings to change if memory is exhausted."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        said = str(error).lower()
        if not isinstance(error, MemoryError) and not any(sign in said for sign in EXHAUSTED):
            raise
        raise ModelError(
            "the memory is exhausted",
            "smaller batches",
            f"lower train.batch_tokens (now {config.batch_tokens}), or raise train.shards (now "
            f"{config.shards}), which computes an update in parts; and choose another -o",
        ) from None
