"""Runs of several processes, forked from the tests, and what goes wrong in them."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attncli.jobs.train import train
from attncli.training.distributed.rank import Rank
from attncli.training.distributed.stepper import ShardedStepper
from attncli.training.events import Interrupted
from attncli.training.run.follower import follow
from attncli.training.settings.config import RunConfig
from models.base.errors import ModelError
from tests.attncli.training import processes

FEW = ("train.steps=6", "train.evaluate_every=3", "train.metric=loss", "train.shards=4")
Before = Callable[[int, int], None]  # is called with process and update before each update


def train_in(
    size: int,
    config: RunConfig,
    folder: Path,
    *,
    stop_at: int = 0,
    before: Before = lambda number, update: None,
) -> list[int]:
    """Train in several processes; return their exit codes: 1 for a ModelError, 3 if interrupted.

    stop_at: update after which process 0 is asked to stop; 0: never. before: is called in each
    process before each update.
    """
    execute, updates = ShardedStepper.execute, [0]

    def watched(self: ShardedStepper, order: Any, *others: Any) -> Any:
        updates.append(order.step)
        before(self.world.number, order.step)
        return execute(self, order, *others)

    def lead() -> None:
        for _ in train(
            config,
            folder,
            device="cpu",
            progress=lambda *progress: None,
            stop_requested=lambda: 0 < stop_at <= updates[-1],
            rank=Rank(0, size),
        ):
            pass

    def work(number: int) -> int:
        ShardedStepper.execute = watched  # type: ignore[method-assign, assignment]
        try:
            if number:
                return 0 if follow(Rank(number, size), lambda: "cpu") else 1
            lead()
        except Interrupted:
            return 3
        except ModelError as error:
            sys.stderr.write(f"{number}: {error}\n")
            return 1
        return 0

    return processes.run(size, work, errors(folder))


def errors(folder: Path) -> Path:
    """Return the file of what the processes of a run wrote to stderr."""
    return folder.with_suffix(".errors")


def said(folder: Path) -> str:
    """Return what the processes of a run wrote, without warnings of torch's C++ code."""
    lines = errors(folder).read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if re.match(r"\d: |Traceback|\w*Error", line))


def at(number: int, update: int, action: Callable[[], None]) -> Before:
    """Return a function that acts in one process before one update."""
    return lambda process, step: action() if (process, step) == (number, update) else None


def signal_self(number: signal.Signals) -> Callable[[], None]:
    """Return a function that sends a signal to the process that calls it."""
    return lambda: os.kill(os.getpid(), number)
