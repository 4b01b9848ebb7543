"""The protocol between a task and the doors: command, service, Python, bulk job, evaluation.

    runner = TranslateRunner.open(models, options)
    for results in runner.run(chunks): ...

A runner has the models of a task and its options. Every door is written once over this class, for
all tasks, and calls nothing below it; so an input has the same output behind every door.
`EqualOutputs` checks all outputs together: a model that does not read its inputs repeats one.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from models.core.errors import InputError
from models.core.types import CopiedByValues

if TYPE_CHECKING:
    from typing_extensions import Self

    from models.core.types import Hypothesis


Item = TypeVar("Item")
Model = TypeVar("Model")
TaskOptions = TypeVar("TaskOptions", bound="_Options")
Models = Path | Sequence[Path] | None  # folders or names
JsonObject: TypeAlias = dict[str, object]
MIN_INPUTS = 10  # different ones, from which on equal outputs are reported
REMEMBERED = 1000  # inputs, and outputs, that are counted


class Task(NamedTuple):
    """Places of a task, as module:name; empty for a part that it does not have."""

    commands: Mapping[str, str]  # by name: classes; see attncli.options.fields
    training: Mapping[str, str] = {}  # TrainingSource, by kind of input (models/core/sources)
    runner: str = ""  # Runner, with which every door works
    loaded: str = ""  # class that `attncli.load` returns; without one, that of `models.load`


class _Options(Protocol):  # those of every task that say how results are written
    @property
    def format(self) -> str: ...
    @property
    def with_scores(self) -> bool: ...
    @property
    def alone(self) -> bool: ...


class Noted(Protocol):
    """A result of an input."""

    @property
    def note(self) -> str:
        """A message for the user about the result; "" if there is none."""


Result = TypeVar("Result", bound=Noted)


class Runner(ABC, Generic[Item, Result, Model, TaskOptions]):
    """Opened models of a task, with options. `run` is the only way from inputs to results."""

    task: ClassVar[str]  # its row in attncli.task.table
    shipped: ClassVar[str]  # task of the model in the box that is used without another
    doing: ClassVar[str]  # label of the progress: "translating"
    unit: ClassVar[str]  # noun of an input: "sentence"
    into: ClassVar[str]  # name of a result in tables and JSON: "translation"
    options_of: ClassVar[Any]  # class of the options
    files: ClassVar[Any] = None  # kind of files in folders and archives (FileKind); None: lines
    fields: ClassVar[int] = 1  # texts of an input; 0: it is a file
    formats: ClassVar[Sequence[str]] = ("text", "tsv", "jsonl")  # that have rows for each input
    documents: ClassVar[str] = ""  # command for documents, whose lines are not inputs

    model: Model  # of models/engines; of an ensemble: all together
    options: TaskOptions
    folders: Sequence[Path] | None = None  # that were opened; (): the box; None: a model in memory
    # called after each batch of a chunk with the number of its texts that are done, and of all
    on_batch: Callable[[int, int], None] = staticmethod(lambda done, total: None)

    def __init__(self, model: Model, options: TaskOptions) -> None:
        """model: with the settings of the options, as `of` makes it."""
        self.model, self.options = model, options

    def __deepcopy__(self, memo: object) -> Self:
        """Return this runner: copies of a result, as `dataclasses.asdict` makes them, share it."""
        return self

    @staticmethod
    @abstractmethod
    def load(models: Models, options: TaskOptions, /) -> Any:
        """Read models, or the model in the box without any, by the engine of the options."""

    @staticmethod
    @abstractmethod
    def item(number: int, value: Any, /) -> Item:
        """Return an input: a text, a pair, or the path or bytes of a file. number: from 1."""

    @classmethod
    @abstractmethod
    def of(cls, model: Any, options: TaskOptions) -> Self:
        """Return the runner of a model that is in memory, with the settings of the options.

        Raises ModelError for a model that does not suit the options.
        """

    @classmethod
    def open(cls, models: Models, options: TaskOptions) -> Self:
        """Return the runner of models, or of the model in the box without any."""
        runner = cls.of(cls.load(models, options), options)
        runner.folders = [models] if isinstance(models, Path) else [*(models or ())]
        return runner

    @abstractmethod
    def run(
        self, chunks: Iterable[Sequence[Item]], *, weights: bool = False
    ) -> Iterator[list[Result]]:
        """Compute chunks of inputs; yield results, in order, as soon as some are done.

        An input that cannot be computed has a result with a note. weights: True adds attention
        weights, which never changes the other parts of a result.
        """

    @abstractmethod
    def rows(self, results: Sequence[Result]) -> bytes:
        """Return the rows of results in the format of the options."""

    @abstractmethod
    def record(self, result: Result) -> JsonObject:
        """Return a result as written to JSON."""

    def heat_map(self, result: Result) -> str:
        """Return the attention weights of a result, drawn for a terminal; "" if it has none."""
        return ""

    def page(self, result: Result) -> tuple[bytes, int] | None:
        """Return the attention weights of a result as HTML, and its height in pixels, if any."""
        return None

    def weighed(self, result: Result) -> Result:
        """Return a result of `run` with the attention weights that it was asked to leave out."""
        return result

    def drawn(self, result: Result) -> Sequence[Any]:
        """Return what a picture of several lines shows of a result; see attncli.task.panels."""
        return ()

    @abstractmethod
    def text(self, result: Result) -> str | None:
        """Return the best output as one text; None if the input could not be computed."""

    def notes(self, result: Result) -> Iterable[str]:
        """Return the messages for the user about a result; "" is none."""
        return [result.note]


AnyRunner: TypeAlias = Runner[Any, Any, Any, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class ShownResult(CopiedByValues):
    """A result that shows itself, in a terminal and in a notebook.

    Copies share its runner. One that was pickled has none, and raises InputError for a picture.
    A result with weights, which are arrays, equals only itself (eq=False).
    """

    by: AnyRunner | None = field(default=None, compare=False, repr=False)  # that computed it

    def __getstate__(self) -> dict[str, object]:
        """Return the values without the runner, so that a result can be sent to a process."""
        return {name: value for name, value in vars(self).items() if name not in ("by", "weighed")}

    @property
    def runner(self) -> AnyRunner:
        """The runner that computed this result; raise InputError without one."""
        if self.by is None:
            raise InputError(
                "a result without its model, which pickle leaves out",
                "a result that its model computed in this process",
                "run the model on the input again",
            )
        return self.by

    @cached_property
    def weighed(self) -> Self:
        """This result with its attention weights, which are computed when they are needed."""
        found: Self = self.runner.weighed(self)
        return found

    @property
    def picture(self) -> str:
        """The attention weights, drawn for a terminal."""
        return self.runner.heat_map(self.weighed)

    def _repr_html_(self) -> str | None:
        """Return the attention weights that can be pointed at, for a notebook.

        The page is in a frame: its scripts and styles do not affect the notebook.
        """
        found = self.runner.page(self.weighed)
        if not found:
            return None
        content, height = html.escape(found[0].decode("utf-8")), found[1]
        return (
            f'<iframe srcdoc="{content}" sandbox="allow-scripts" height="{height}" '
            'style="width: 100%; border: 0; background: #fff"></iframe>'
        )


class _Ranked(Protocol):
    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]: ...


class RankedOutputs:
    """A result whose `hypotheses` are the outputs for one input, best first."""

    @property
    def score(self: _Ranked) -> float:
        """Score of the best output: its log-probability over the length penalty."""
        return self.hypotheses[0].score

    @property
    def alternatives(self: _Ranked) -> tuple[str, ...]:
        """Texts of the other outputs; `nbest` of the search says how many there are."""
        return tuple(hypothesis.text for hypothesis in self.hypotheses[1:])


class EqualOutputs:
    """Count of the outputs of different inputs.

    share: of the outputs; more equal ones are reported.
    """

    def __init__(self, share: float = 0.8) -> None:
        self._share = share
        self._inputs: set[object] = set()
        self._outputs: Counter[str] = Counter()
        self._count = 0

    def count(self, given: object, output: str) -> None:
        """Count an output, unless it is empty or its input has been counted."""
        if not output or given in self._inputs:
            return
        self._count += 1
        if len(self._inputs) < REMEMBERED:
            self._inputs.add(given)
        known = output in self._outputs or len(self._outputs) < REMEMBERED
        self._outputs.update([output] if known else [])

    def note(self, inputs: str, outputs: str) -> str:
        """Return a warning, or "". inputs, outputs: what they are called."""
        [(output, count)] = self._outputs.most_common(1) or [("", 0)]
        if self._count < MIN_INPUTS or count <= self._share * self._count:
            return ""
        return f"{count:,} of {self._count:,} {inputs} have the same {outputs}, {output!r}"
