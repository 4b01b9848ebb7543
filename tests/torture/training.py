"""Attacks on `attn train`: kills and full disks in the cycles of one run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from models.core.errors import DamagedError, ModelError
from tests.attncli.training.small import Texts, outcome, run, small_config, write_texts
from tests.torture.power import power_failures
from tests.torture.worker import Result, Workers
from tests.torture.writes import Job, count_calls, fail_at

CYCLES = 40  # of one run, at most
CHANGES = (
    *("train.steps=6", "train.evaluate_every=2", "train.average=2", "train.ema=0.9"),
    *("train.checkpoint_minutes=0", "train.metric=loss"),
)


class Training:
    """A tiny run in a folder, and the same run without interruptions beside it."""

    def __init__(self, place: Path, workers: Workers) -> None:
        self.place, self.workers = place, workers
        self.folder, self.reference = place / "run", place / "unbroken"

    def attack(self, random: Random, runs: int) -> Iterator[Result]:
        """Interrupt runs again and again until they end; compare them with the unbroken one."""
        self.prepare()
        for how in ("kill", "full"):
            result = Result(f"attn train, {'killed' if how == 'kill' else 'disk full'} and resumed")
            for number in range(runs):
                result.add(f"run {number}", self._broken_run(how, random))
            yield result
        job = Job("attn train", self.begin, lambda: self.train(self.folder), self.check)
        yield power_failures(job, self.folder, self.workers, random, runs)

    def prepare(self) -> None:
        """Write the data and the unbroken run."""
        self.place.mkdir()
        write_texts(self.place)
        self.calls = count_calls(lambda: self.train(self.reference), self.workers)

    def train(self, folder: Path) -> None:
        """Start or continue the run in a folder, to its end."""
        import torch

        torch.set_num_threads(1)
        texts = Texts(self.place / "train.tsv", self.place / "dev.tsv")
        run(small_config(texts, *CHANGES), folder)

    def begin(self) -> None:
        """Make an empty folder for the run."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()

    def check(self) -> str:
        """Load the model that is there; continue the run; compare it with the unbroken one."""
        fault = self.workers.attempt(lambda: _load(self.folder))
        fault = fault or self.workers.attempt(lambda: self.train(self.folder))
        return fault or self._difference()

    def _broken_run(self, how: str, random: Random) -> str:
        shutil.rmtree(self.folder, ignore_errors=True)
        for cycle in range(CYCLES):
            number = random.randrange(1, self.calls) if cycle < CYCLES - 1 else 0

            def work(number: int = number) -> None:
                fail_at(number, how)
                try:
                    self.train(self.folder)
                except ModelError as error:  # the disk is full
                    if isinstance(error, DamagedError):
                        raise

            if fault := self.workers.attempt(work):
                return f"cycle {cycle}: {fault}"
            if self._has_ended():
                break
        return self._difference()

    def _has_ended(self) -> bool:
        from attncli.train.folder import RunFolder, finished_run

        return finished_run(RunFolder(self.folder)) is not None

    def _difference(self) -> str:
        """Return the first part in which the two runs differ."""
        found, expected = outcome(self.folder), self._expected
        return next((f"other {name}" for name in expected if found[name] != expected[name]), "")

    @cached_property
    def _expected(self) -> dict[str, Any]:
        return outcome(self.reference)


def _load(folder: Path) -> None:
    """Load the model of a run folder, if there is one."""
    from models.networks.bundle import read
    from models.storage.installed import is_bundle

    if is_bundle(folder):
        read(folder)
