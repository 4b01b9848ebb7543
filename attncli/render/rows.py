"""Rows of results and of scores, for a person and as JSON for a program."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from attncli.data.streams import as_json_line
from attncli.task.runner import Item, Result, Runner, TaskOptions
from attncli.terminal.messages import one_cell, one_line, padded, width

if TYPE_CHECKING:
    from models.core.types import Hypothesis
    from models.core.use_config import SearchConfig


class _Searched(Protocol):
    search: SearchConfig


SearchedModel = TypeVar("SearchedModel", bound=_Searched)


class OutputCells(NamedTuple):
    """One output of an input."""

    text: str = ""
    score: str = ""
    columns: tuple[str, ...] = ()  # further columns of TSV
    suffix: str = ""  # of a row of text


class InputCells(NamedTuple):
    """An input with its outputs, best first; an empty one if there is none."""

    text: str
    outputs: Sequence[OutputCells]
    number: int = 0  # of a line, from 1: for n-best lists


class RowRunner(Runner[Item, Result, SearchedModel, TaskOptions]):
    """A runner whose results are rows of text, TSV or JSON lines: each has cells and a record."""

    @property
    def several(self) -> bool:
        """True if an input may have several outputs."""
        return bool(self.model.search.nbest > 1)

    @abstractmethod
    def cells(self, result: Result) -> InputCells:
        """Return the cells of an input and of its outputs."""

    def lines(self, result: Result) -> Iterable[str]:
        """Return the rows of a result, without line ends."""
        if self.options.format == "jsonl":
            return [as_json_line(self.record(result))]
        cells = self.cells(result)
        if self.options.format == "text":
            return text_rows(cells, nbest=self.several, scores=self.options.with_scores)
        return [
            "\t".join((one_cell(cells.text), one_cell(text), score, *columns))
            for text, score, columns, _ in cells.outputs
        ]

    def rows(self, results: Sequence[Any]) -> bytes:
        """Return the rows of some lines as UTF-8, each with the line ending of its source."""
        rows = (row + each.line.ending for each in results for row in self.lines(each))
        return "".join(rows).encode("utf-8", "replace")


def text_rows(cells: InputCells, *, nbest: bool, scores: bool) -> Iterator[str]:
    """Yield the best output; all outputs with index and score for n-best lists."""
    if nbest:
        for text, score, _, suffix in cells.outputs:
            yield f"{cells.number - 1} ||| {one_line(text)} ||| {score}{suffix}"
        return
    best = cells.outputs[0]
    score = f"{best.score if cells.text.strip() else ''}\t" if scores else ""
    yield f"{score}{one_line(best.text)}{best.suffix}"


def hypothesis_record(hypothesis: Hypothesis) -> dict[str, object]:
    """Return an output of a search as written to JSON."""
    return {
        "text": hypothesis.text,
        "score": hypothesis.score,
        "log_prob": hypothesis.log_prob,
        "tokens": hypothesis.tokens,
        "truncated": hypothesis.truncated,
    }


def columns(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table as lines of text; all but the first ``left`` columns are right-aligned."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            padded(cell, room, right=number >= left)
            for number, (cell, room) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "".join(f"{line}\n" for line in lines)


def size(count: int) -> str:
    """Return a number of bytes in kB or MB (powers of 1000)."""
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"
