"""Messages about suspicious outputs, one by one or counted, and the table of doubtful lines.

A line is doubtful if its confidence is below the threshold of the model; see
models.engines._confidence. The table is for a person who reads these lines again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from attncli.data.streams import Write, open_output
from attncli.faithful.checks import LOOP, NAMES
from attncli.faithful.result import TranslatedLine
from attncli.task.runner import EqualOutputs
from attncli.terminal.messages import counted, one_cell
from models.core.errors import ConfigurationError
from models.search.repeats import repetition

TAG = re.compile(r"</?[A-Za-z][^<>]*>")  # of a text that was read without --keep-tags


FOREIGN = "lines copied, because the model knows none of their letters"
LOST = "outputs without a character that the model does not know"
TRUNCATED = "outputs cut at their length limit"
LOOPS = "outputs with a repetition loop"
TAGS = "lines whose tags the model placed; --keep-tags places them by alignment"
REPORTED = 5  # lines of each kind that are reported one by one; the others are counted
Named = Callable[[int], str]  # what messages call the line with a number
COLUMNS = ("line", "confidence", "reason", "source", "output")


class OutputReport:
    """Messages about the best output of each line, and a summary if there are many.

    references: a list for each line, from line 1. A loop that a reference repeats as often is not
    reported. name: how messages call the line with a number. doubts: counts doubtful lines.
    """

    def __init__(
        self,
        references: Sequence[Sequence[str]] = (),
        *,
        name: Callable[[int], str] = "line {}".format,
        doubts: Doubts | None = None,
    ) -> None:
        self.doubts = doubts or Doubts()
        self._references, self._name = references, name
        self._counts: Counter[str] = Counter()
        self._equal = EqualOutputs()
        self._copied = self._others = 0  # lines without letters that were copied; lines of text

    def messages(self, outcomes: Iterable[TranslatedLine]) -> Iterator[str]:
        """Yield a message for each of the first suspicious outputs, with the name of its line."""
        for outcome in outcomes:
            self.doubts.add(outcome)
            if outcome.parts:  # a model computed it
                self._equal.count(outcome.line.text, outcome.text)
            if text := outcome.line.text.strip():
                copied = not outcome.parts and not any(map(str.isalpha, text))
                self._copied += copied
                self._others += not copied
            for kind, message in self._suspicions(outcome):
                self._counts[kind] += 1
                if self._counts[kind] <= REPORTED:
                    yield f"{self._name(outcome.line.number)}: {message}"

    def _suspicions(self, outcome: TranslatedLine) -> Iterator[tuple[str, str]]:
        """Yield the kind and the message of all that is suspicious about an output."""
        if outcome.translation is None:
            return
        best = outcome.translation.hypotheses[0]
        if outcome.foreign:
            yield FOREIGN, "copied, because the model knows none of its letters"
        if outcome.lost:
            yield LOST, f"the output lacks {outcome.lost!r}, which the model does not know"
        replaced = (raw for part in outcome.stand_ins for _, raw, _ in part)
        if not self._counts[TAGS] and any(TAG.fullmatch(raw) for raw in replaced):
            yield TAGS, "the model placed the tags; --keep-tags places them by alignment"
        if best.truncated:
            tokens = counted(len(best.ids), "token")
            raised = "(search.max_ratio and search.max_extra raise the limit)"
            yield TRUNCATED, f"the output was cut at its length limit, after {tokens} {raised}"
        expected = self._references[outcome.line.number - 1] if self._references else ()
        if found := repetition(best.text, outcome.line.text, *expected):
            times = f"{found.times:,} times in a row (score {best.score:.2f})"
            yield LOOPS, f"the output repeats {found.phrase!r} {times}"
        loops = found or not expected or repetition(best.text, *expected, times=LOOP)
        told = {"repetition": bool(found) or not loops, "length": best.truncated}
        told |= {"characters": bool(outcome.lost)}
        for check in outcome.checks:
            if not told.get(check.name):
                yield f"outputs with {NAMES[check.name]}", f"{NAMES[check.name]}: {check.found}"

    def copied(self) -> str:
        """Return a remark if every line with text was copied for lack of letters; "" otherwise."""
        if self._others or not self._copied:
            return ""
        return f"{counted(self._copied, 'line')} without letters copied; --verbatim translates them"

    def totals(self, above: int = 0) -> Iterator[str]:
        """Yield the totals of the kinds with more lines than a number, and equal outputs."""
        if note := self._equal.note("lines", "output"):
            yield note
        for kind, count in self._counts.items():
            if count > above:
                yield f"{kind}: {count:,}"


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


def check_judges(directions: Sequence[str]) -> None:
    """Raise ConfigurationError for a review by a model without calibration."""
    if not directions:
        raise ConfigurationError(
            "--review with a model that does not know how certain it is (training "
            "changes the probabilities that a calibration was fitted on)",
            "a model with a calibration, such as everyday with --memory and --glossary",
            "leave it out; --strict and --back find some wrong lines, too",
        )
