"""Runs of several processes, forked from the tests, and what goes wrong in them."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from attncli.commands.train_run import follow, joined
from attncli.jobs.train import train
from attncli.options.settings import Options
from attncli.training.interfaces import Interrupted
from attncli.training.processes import Processes, Rank
from attncli.training.settings.config import RunConfig
from attncli.training.stepper import Stepper
from models.core.errors import ModelError
from tests.attncli.training import processes

FEW = ("train.steps=6", "train.evaluate_every=3", "train.metric=loss")
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
    compute, updates = Stepper.compute, [0]

    def watched(self: Stepper, *others: Any) -> Any:
        updates.append(self.state.counters.step + 1)
        before(self.processes.number, updates[-1])
        return compute(self, *others)

    def lead(group: Processes) -> None:
        for _ in train(
            config,
            folder,
            device="cpu",
            progress=lambda *progress: None,
            stop_requested=lambda: 0 < stop_at <= updates[-1],
            processes=group,
        ):
            pass

    def work(number: int) -> int:
        Stepper.compute = watched  # type: ignore[assignment, method-assign]
        try:
            if number:
                follow(Rank(number, size), Options("cpu", 1))
            else:
                with joined(Rank(number, size)) as group:
                    lead(group)
        except Interrupted:
            return 3
        except typer.Exit as end:  # another process tells why
            return end.exit_code
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
