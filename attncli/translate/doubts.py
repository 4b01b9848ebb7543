"""Doubtful lines: why, how many, and a table of them for a person who reads them again.

Their confidence is below the threshold of the model; see models.engines._confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from attncli.data.streams import Write, open_output
from attncli.faithful.checks import NAMES
from attncli.faithful.result import TranslatedLine
from attncli.terminal.messages import counted, one_cell
from models.core.errors import ConfigurationError

Named = Callable[[int], str]  # what messages call the line with a number
LISTED = 20  # doubtful texts of a document that are named
COLUMNS = ("line", "confidence", "reason", "source", "output")


class Doubts:
    """Counts doubtful lines. write: writes a row of the table of each; None without a table."""

    def __init__(
        self, write: Write | None = None, path: Path | None = None, name: Named = str
    ) -> None:
        self._write, self._path, self._name = write, path, name
        self._judged = self._doubtful = 0
        if write:
            self._row(COLUMNS)

    def add(self, line: TranslatedLine) -> None:
        """Count a line, and write it if it is doubtful or fails a check."""
        self._judged += line.confidence is not None
        self._doubtful += bool(line.doubts)
        told = [line.doubt, *(f"{NAMES[one.name]}: {one.found}" for one in line.checks)]
        if self._write and any(told):
            value = f"{line.confidence.value:.2f}" if line.confidence else ""
            texts = ("; ".join(filter(None, told)), line.line.text, line.text)
            self._row((self._name(line.line.number), value, *texts))

    def _row(self, cells: Sequence[str]) -> None:
        if self._write:
            self._write(("\t".join(map(one_cell, cells)) + "\n").encode("utf-8", "replace"))

    def summary(self, noun: str = "line") -> str:
        """Return how many lines are doubtful; "" if none is."""
        if not self._doubtful:
            return ""
        where = f"{self._path} names" if self._path else "--review FILE names"
        several = "them" if self._doubtful > 1 else "it"
        return (
            f"{self._doubtful:,} of {counted(self._judged, noun)} may have another sense; "
            f"{where} {several}"
        )


@contextmanager
def review(path: Path | None, name: Named = str) -> Iterator[Doubts]:
    """Yield the counter of a translation. path: of the table that it writes, if any."""
    with open_output(path) if path else nullcontext() as write:
        yield Doubts(write, path, name)


def listed(lines: Sequence[TranslatedLine], name: Named) -> Iterator[str]:
    """Yield a message for each of the first doubtful lines, and the number of all."""
    doubtful = [one for one in lines if one.doubts]
    for one in doubtful[:LISTED]:
        yield f"{name(one.line.number)}: may have another sense; {one.doubt}"
    if len(doubtful) > LISTED:
        judged = sum(one.confidence is not None for one in lines)
        yield f"{len(doubtful):,} of {counted(judged, 'text')} may have another sense"


def check_judges(directions: Sequence[str]) -> None:
    """Raise ConfigurationError for a review by a model without calibration."""
    if not directions:
        raise ConfigurationError(
            "--review with a model that does not know how certain it is (training "
            "changes the probabilities that a calibration was fitted on)",
            "a model with a calibration, such as everyday with --memory and --glossary",
            "leave it out; --strict and --back find some wrong lines, too",
        )
