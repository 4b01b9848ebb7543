"""Descriptions of rows of numbers, and their rows of output. Every door works with this class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from attncli.describe.rows import numbers_in
from attncli.faithful.result import Line, text_line
from attncli.options import loading
from attncli.options.settings import Options
from attncli.render.rows import InputCells, OutputCells, RowRunner
from attncli.task.runner import JsonObject, Models
from models.core.errors import InputError
from models.storage.installed import find_model

if TYPE_CHECKING:
    from models.engines.describer import Describer


class DescribedLine(NamedTuple):
    """A line with its text."""

    line: Line
    text: str | None  # None: the line holds no row, `note` says why; "" for an empty line
    note: str = ""


@dataclass(frozen=True)
class DescribeOptions(Options):
    """Options of a description; `-s` changes those of the tables."""

    TABLES = "search"


class DescribeRunner(RowRunner[Line, DescribedLine, "Describer", DescribeOptions]):
    """A model that describes rows of numbers. `run` is the only way to texts."""

    task = shipped = "describe"
    doing, unit, into, options_of = "describing", "row", "text", DescribeOptions
    item = staticmethod(text_line)

    @staticmethod
    def load(models: Models, options: DescribeOptions) -> Describer:
        """Read a model; raise ModelError for a model of another kind of input."""
        from models.engines.describer import Describer  # imports torch

        [folder] = loading.as_folders(models)
        device = loading.open_device(options)
        return Describer.read(loading.readable(find_model(folder)), device=device)

    @classmethod
    def of(cls, model: Describer, options: DescribeOptions) -> DescribeRunner:
        """Return the runner of a model, with the search of the options."""
        return cls(loading.configured(model, options), options)

    def run(
        self, chunks: Iterable[Sequence[Line]], *, weights: bool = False
    ) -> Iterator[list[DescribedLine]]:
        """Describe chunks of lines; yield the results of each chunk. weights: unused."""
        for lines in chunks:
            read = [_read(line) for line in lines]
            given = [numbers for numbers, _ in read if numbers]
            texts = iter(self.model.describe(given) if given else [])
            yield [
                DescribedLine(line, next(texts) if numbers else None if note else "", note)
                for line, (numbers, note) in zip(lines, read, strict=True)
            ]

    def cells(self, result: DescribedLine) -> InputCells:
        """Return a row of numbers and its text."""
        return InputCells(result.line.text, [OutputCells(result.text or "")], result.line.number)

    def record(self, result: DescribedLine) -> JsonObject:
        """Return a row with its text, or with an error."""
        found = {"error": result.note} if result.text is None else {"text": result.text}
        return {"numbers": result.line.text, **found}

    def heat_map(self, result: DescribedLine) -> str:
        """Return nothing: the weights are not drawn."""
        return ""

    def text(self, result: DescribedLine) -> str | None:
        """Return the text of a row."""
        return result.text


def _read(line: Line) -> tuple[list[float], str]:
    """Return the numbers of a line, none of an empty one, and what is wrong with it."""
    try:
        return (numbers_in(line.text, f"line {line.number}") if line.text.strip() else []), ""
    except InputError as error:
        return [], str(error)
