"""Test sets and their scores: `attn evaluate`, written once for every task.

A task has a subclass of `Evaluation`, which is its command: fields are options, the docstring is
the help page. It reads a test set, scores outputs for it, and names what is written of the scores.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

import typer

from attncli.data.lines import CHUNK_LINES, open_text
from attncli.data.named_files import NamedFile, find_images, open_images
from attncli.data.streams import as_json, check_output, open_output, write_stdout
from attncli.options.fields import signed
from attncli.options.loading import model_names
from attncli.options.settings import Options
from attncli.options.shared import MODEL, Device, Json, Threads
from attncli.render.plots import check_picture
from attncli.render.rows import columns
from attncli.scoring.score import MetricScore, System
from attncli.task.runner import AnyRunner
from attncli.task.table import TASKS, find_runner
from attncli.terminal import console
from attncli.terminal.messages import ShowProgress, counted, one_line
from models.core.errors import ModelError, NotFoundError
from models.search.batching import windows
from models.storage.installed import default_model, find_model
from models.storage.settings import task_of
from models.text.normalise import nfc

Metric = Callable[[Sequence[str], list[list[str]]], float]  # of outputs and references
MODEL_NAME = "{model}"  # placeholder in the name of a file of outputs

Command = TypeVar("Command", bound="type[Evaluation]")


class ModelOutputs(NamedTuple):
    """A model with its outputs for a test set."""

    system: System  # still without scores
    runner: AnyRunner
    results: list[Any]  # of the runner


@dataclass(kw_only=True)
class Evaluation(ABC):
    """A test set and the options of its scores; see the top of this file."""

    task: ClassVar[str]  # whose runner computes the outputs
    unit: ClassVar[str]  # noun of an input
    options_of: ClassVar[type[Options]]
    metrics: ClassVar[Mapping[str, Metric]] = {}  # of `scored`, by name
    EXAMPLE: ClassVar[str] = ""  # a setting
    options: Any = field(init=False)
    items: Sequence[Any] = field(init=False)  # inputs of the runner
    names: Sequence[str] = field(init=False, default=())  # written before the saved outputs
    counts: Mapping[str, object] = field(init=False)  # sizes of the test set: first, of outputs
    head: str = field(init=False, default="")  # above the tables; "": the counts
    references: list[list[str]] = field(init=False)  # of each input
    failed: bool = field(init=False, default=False)  # True ends the command with status 1
    model: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            "-m",
            help="Model to score: its name (`attn models` lists them) or the folder of a run or "
            f"bundle; without it, the shipped one. May be repeated. [env: {MODEL}]",
        ),
    ] = None
    hypotheses: Annotated[
        list[Path] | None,
        typer.Option(help="Outputs of another program, a line for each input. May be repeated."),
    ] = None
    save: Annotated[
        Path | None,
        typer.Option(help="Write the outputs of the model to this file; {model} is its name."),
    ] = None
    json: Json = False
    device: Device = "auto"
    threads: Threads = 0
    set: list[str] | None = None  # settings

    @classmethod
    def of_command(cls, **values: Any) -> Evaluation:
        """Return the evaluation that a command line describes."""
        return cls(**values)

    @abstractmethod
    def read(self, folders: Sequence[Path]) -> None:
        """Read the test set, with its inputs if there are models; set `items` and `counts`."""

    def watch(self, result: Any) -> None:  # noqa: B027
        """Report or refuse a result as soon as it is there."""

    def of_model(self, outputs: ModelOutputs) -> System:
        """Return the outputs of a model with what is known of them alone."""
        return outputs.system

    def of_file(self, path: Path) -> System:
        """Return the outputs of another program."""
        count = next(iter(self.counts.values()))
        with open_text(path) as lines:
            outputs = list(lines)
        if len(outputs) != count:
            found = f"{path} has {counted(len(outputs), 'line')}"
            raise ModelError(found, f"{count:,}, one for each of the test set")
        return System(path.name, outputs)

    def scored(self, systems: list[System]) -> list[System]:
        """Return the systems with their scores; with `metrics`, those of the references."""
        if not self.metrics:
            return systems
        scored = []
        for one in systems:
            outputs = one.hypotheses
            values = [(name, of(outputs, self.references)) for name, of in self.metrics.items()]
            scores = tuple(MetricScore(*each) for each in values)
            scored.append(one._replace(scores=scores))
        return scored

    def tables(self, systems: Sequence[System]) -> list[str]:
        """Return the tables below the scores."""
        return []

    def draw(self, path: Path, systems: Sequence[System]) -> None:
        """Draw the scores, for a command with the option --plot."""
        raise NotImplementedError

    def run(self) -> None:
        """Score the models and the outputs of other programs; write the scores."""
        folders = self._folders()
        several = len(folders) > 1
        self.options = self.options_of.of_values(vars(self), mixed=several, messages=console)
        if self.save and not folders:
            raise typer.BadParameter("needs --model", param_hint="'--save'")
        if several and self.save and MODEL_NAME not in str(self.save):
            raise typer.BadParameter(
                f"one file for several models; put {MODEL_NAME} into its name",
                param_hint="'--save'",
            )
        check_output(self.save)
        plot: Path | None = getattr(self, "plot", None)
        if plot:
            check_picture(plot)
            check_output(plot)
        for folder in folders:
            self._check_task(folder)
        self.read(folders)
        others = [self.of_file(path) for path in self.hypotheses or ()]  # before torch is imported
        names = zip(model_names(folders), folders, strict=True) if folders else ()
        systems = self.scored([*(self._outputs(*each) for each in names), *others])
        if self.json:
            text = scores_as_json(self.counts, systems, f"{self.unit}s")
        else:
            head = self.head or ", ".join(f"{n:,} {name}" for name, n in self.counts.items())
            text = scores_as_text(head, systems, f"{self.unit}s", self.tables(systems))
        write_stdout(text)
        if plot:
            self.draw(plot, systems)
        if self.failed:
            raise typer.Exit(1)

    def _folders(self) -> list[Path]:
        """Return the models; without outputs to score, that of the environment or of the box."""
        if self.model or self.hypotheses:
            return self.model or []
        named = os.environ.get(MODEL, "") if self.task != "classify" else ""
        return [*map(Path, filter(None, named.split(os.pathsep)))] or [default_model(self.task)]

    def _check_task(self, folder: Path) -> None:
        """Raise ModelError for a model of another task, and name its evaluation."""
        with suppress(NotFoundError):  # which is reported when it is opened
            folder = find_model(folder)
        task, wanted = task_of(folder), find_runner(self.task).shipped
        if task not in ("", wanted):
            hints = [f"use `attn {n}`" for n in TASKS[task].commands if n.startswith("evaluate")]
            found, expected = (f"a model for `attn {one}`" for one in (task, wanted))
            raise ModelError(f"{folder} is {found}", expected, *hints)

    def _outputs(self, name: str, folder: Path) -> System:
        """Compute and save the outputs of a model, before the next one is opened."""
        runner, start = find_runner(self.task).open(folder, self.options), time.perf_counter()
        label = f"{runner.doing}, {name}"
        with self.options.messages.progress(label, total=len(self.items)) as advance:
            results = self._results(runner, advance)
        seconds = time.perf_counter() - start
        outputs = [nfc(one_line(runner.text(each) or "")) for each in results]  # as references
        if self.save:
            heads = [f"{name}\t" for name in self.names] or [""] * len(outputs)
            rows = (f"{head}{text}\n" for head, text in zip(heads, outputs, strict=True))
            with open_output(Path(str(self.save).replace(MODEL_NAME, name))) as write:
                write("".join(rows).encode("utf-8", "replace"))
        read = getattr(runner.model, "read_mode", "")
        system = System(name, outputs, seconds, read=read)
        return self.of_model(ModelOutputs(system, runner, results))

    def _results(self, runner: AnyRunner, advance: ShowProgress) -> list[Any]:
        """Return the result of each input; show how many are done."""
        results, start = list[object](), time.perf_counter()

        def show(done: int, total: int = 0) -> None:
            count = len(results) + done
            rate = count / (time.perf_counter() - start)
            advance(count, f"{counted(count, runner.unit)}, {rate:,.1f}/s")

        runner.on_batch = show
        for found in runner.run(windows(self.items, CHUNK_LINES)):
            results += found
            for each in found:
                self.watch(each)
            show(0)
        return results


def command(kind: Command) -> Command:
    """Give an evaluation the signature of its command: the options of all, then its own."""
    return signed(kind, kind.__mro__[::-1], kind.options_of)


def files_of(names: Sequence[str], place: Path | None, option: str, where: str) -> list[NamedFile]:
    """Return the files of a test set in the folder or archive of an option."""
    if not place:
        raise typer.BadParameter("a model needs them", param_hint=f"'{option}'")
    return find_images(names, open_images(place), where)


def scores_as_text(
    head: str, systems: Sequence[System], unit: str, tables: Sequence[str] = ()
) -> str:
    """Return the scores of systems as a table, then further tables, and the signatures.

    unit: plural name of the outputs: "sentences".
    """
    signatures = [(score.name, score.signature) for score in systems[0].scores if score.signature]
    parts = [
        f"{head}\n",
        _table(systems, unit),
        *tables,
        columns(signatures, left=2),
        "".join(
            f"{system.name}: hard attention, read by {system.read.partition(' ')[2]}\n"
            for system in systems
            if system.read.startswith("hard")
        ),
    ]
    return "\n".join(part for part in parts if part)


def scores_as_json(counts: Mapping[str, object], systems: Sequence[System], unit: str) -> str:
    """Return an object with one entry for each system. counts: sizes of the test set."""
    return as_json({**counts, "systems": [_record(system, unit) for system in systems]})


def _table(systems: Sequence[System], unit: str) -> str:
    timed = any(system.seconds for system in systems)
    rows = [["", *(score.name for score in systems[0].scores)]]
    rows[0] += ["seconds", f"{unit}/s"] * timed
    for system in systems:
        count, seconds = len(system.hypotheses), system.seconds
        speed = [f"{seconds:.1f}", f"{count / seconds:.1f}"] if seconds else ["", ""]
        rows.append([system.name, *map(str, system.scores), *speed * timed])
    return columns(rows)


def _record(system: System, unit: str) -> dict[str, object]:
    record: dict[str, object] = {
        "name": system.name,
        "scores": {score.name: score.record for score in system.scores},
    }
    if system.read:
        record["read"] = system.read
    if system.seconds:
        record["seconds"] = round(system.seconds, 3)
        record[f"{unit}_per_second"] = round(len(system.hypotheses) / system.seconds, 3)
    return {**record, **system.facts}
