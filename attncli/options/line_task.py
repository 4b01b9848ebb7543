"""A task whose inputs are lines, each with one text: its options, runner and command.

A task states how it reads a line and what its model computes; the rest is written here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import typer

from attncli.data.streams import check_output
from attncli.faithful.result import Line, text_line
from attncli.options import line_streams, shared
from attncli.options.loading import LoadedRunner
from attncli.options.settings import Options
from attncli.render.rows import InputCells, OutputCells
from attncli.task.runner import JsonObject
from attncli.task.table import find_runner
from models.core.errors import InputError


@dataclass(frozen=True)
class LineOptions(Options):
    """Options of such a task; `-s` changes the search."""

    TABLES = "search"


class OutputLine(NamedTuple):
    """A line with its text."""

    line: Line
    text: str | None  # None: the line cannot be read, `note` says why; "" for an empty line
    note: str = ""


class LineRunner(LoadedRunner[Line, OutputLine, Any, Any]):
    """A model that computes a text for each line."""

    options_of, item = LineOptions, staticmethod(text_line)

    @abstractmethod
    def read(self, text: str, place: str) -> Any:
        """Return the input that a line has; raise InputError if it has none.

        place: the number of the line, for the message.
        """

    @abstractmethod
    def compute(self, inputs: list[Any]) -> Sequence[str]:
        """Return the text of each input."""

    def run(
        self, chunks: Iterable[Sequence[Line]], *, weights: bool = False
    ) -> Iterator[list[OutputLine]]:
        """Compute chunks of lines; yield the results of each chunk. weights: unused.

        An empty line has an empty text, and the model is not called.
        """
        for lines in chunks:
            read = [self._read(line) for line in lines]
            inputs = [one for found, _ in read for one in found]
            texts = iter(self.compute(inputs) if inputs else ())
            yield [
                OutputLine(line, next(texts) if found else None if note else "", note)
                for line, (found, note) in zip(lines, read, strict=True)
            ]

    def _read(self, line: Line) -> tuple[list[Any], str]:
        """Return the input of a line, none of an empty one, and why it cannot be read."""
        place = f"line {line.number}"
        if line.fault:
            return [], f"{place} is {line.fault}"
        try:
            return ([self.read(line.text, place)] if line.text.strip() else []), ""
        except InputError as error:
            return [], str(error)

    def cells(self, result: OutputLine) -> InputCells:
        """Return a line and its text."""
        return InputCells(result.line.text, [OutputCells(result.text or "")], result.line.number)

    def record(self, result: OutputLine) -> JsonObject:
        """Return a line with its text, or with an error."""
        found = {"error": result.note} if result.text is None else {self.into: result.text}
        return {self.unit: result.line.text, **found}

    def text(self, result: OutputLine) -> str | None:
        """Return the text of a line."""
        return result.text


@dataclass(frozen=True)
class LineCommand(LineOptions):
    """The command of such a task; its docstring is the help page."""

    task: ClassVar[str]  # its row in attncli.task.table

    inputs: Annotated[
        tuple[str, ...],
        list[str] | None,
        typer.Argument(help="Inputs. Default: the lines of the input."),
    ] = ()
    model: shared.OneModel = None
    input_file: line_streams.Input = None
    output_file: line_streams.Output = None
    format: shared.Format = "text"

    def run(self) -> None:
        """Compute and write a text for each line."""
        check_output(self.output_file, self.input_file)
        undrawn = line_streams.Picture(line_streams.Drawing())
        with line_streams.open_source(self.inputs, self.input_file) as stream:
            runner = find_runner(self.task).open(self.model, self)
            complete = line_streams.write_lines(
                runner, stream, self.output_file, undrawn, weights=False, show=False
            )
        raise typer.Exit(not complete)
