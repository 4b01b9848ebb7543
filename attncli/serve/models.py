"""The models of the service, and the work that requests ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from attncli.task.table import find_runner
from attncli.terminal import console
from models.storage.archive import read_facts


class ServedModel:
    """A model of a folder, opened by the job that uses it first."""

    def __init__(self, folder: Path, device: str = "auto", threads: int = 0) -> None:
        self.folder, self.device, self.threads = folder, device, threads

    @cached_property
    def model(self) -> Any:
        """The model, without the settings that each job has."""
        runner = find_runner(read_facts(self.folder).task)
        options = runner.options_of(self.device, self.threads, messages=console)
        return runner.load(self.folder, options)


class Job(NamedTuple):
    """Work for a runner. Inputs of equal jobs are computed together."""

    task: str
    options: Any  # of the task, that the request gives
    weights: bool = False  # attention, which the answer contains
    words: int = 0  # of a list of words that a translation can go on with, in place of it

    @classmethod
    def of(
        cls, task: str, *, weights: bool = False, settings: Sequence[str] = (), **options: object
    ) -> Job:
        """Return the job of a request. settings, options: see `Options.read`."""
        return cls(task, find_runner(task).options_of.read(settings, **options), weights)

    @property
    def outputs(self) -> int:
        """Number of outputs of each input."""
        return getattr(getattr(self.options, "search", None), "nbest", 1)

    def in_direction(self, languages: tuple[str, str]) -> Job:
        """Return the job for a source and a target language; empty for a single direction."""
        source, to = languages
        return self._replace(options=replace(self.options, source=source, to=to))

    def run(self, served: ServedModel, inputs: Sequence[object]) -> list[Any]:
        """Return the result of each input, in order; see `Runner.item` and `Runner.run`.

        Raises ModelError for options that do not suit the model.
        """
        runner: Any = find_runner(self.task).of(served.model, self.options)
        if self.words:
            return [runner.alternatives(line, self.words) for line in inputs]
        items = [
            runner.item(number, one) if type(one) in (str, tuple) else one  # a line or a file
            for number, one in enumerate(inputs, 1)
        ]
        return [*chain.from_iterable(runner.run([items], weights=self.weights))]
