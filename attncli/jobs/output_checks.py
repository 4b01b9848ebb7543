"""Reports about suspicious outputs: cut at their length limit, caught in a repetition loop, or of
a line with characters that the model does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attncli.data.lines import TranslatedLine
from attncli.plurals import counted
from models.inference.repetition import repetition

UNKNOWN = "lines with characters that the model does not know"
REPORTED = 5  # lines of each kind that are reported one by one; the others are counted


class OutputReport:
    """Messages about the best output of each line, and a summary if there are many.

    references: a list for each line, from line 1. A loop that a reference repeats as often is not
    reported.
    """

    def __init__(self, references: Sequence[Sequence[str]] = ()) -> None:
        self._references = references
        self._truncated = self._loops = self._unknown = 0

    def messages(self, outcomes: Iterable[TranslatedLine]) -> Iterator[str]:
        """Yield a message for each of the first suspicious outputs, with its line number."""
        for outcome in outcomes:
            if outcome.translation is None:
                continue
            best, number = outcome.translation.hypotheses[0], outcome.line.number
            if outcome.unknown:
                self._unknown += 1
                if self._unknown <= REPORTED:
                    yield f"line {number}: the model does not know {outcome.unknown!r}"
            if best.truncated:
                self._truncated += 1
                if self._truncated <= REPORTED:
                    yield (
                        f"line {number}: the output was cut at its length limit, after "
                        f"{counted(len(best.ids), 'token')} "
                        "(--max-ratio and --max-extra raise the limit)"
                    )
            if found := repetition(best.text, outcome.line.text, *self._expected(number)):
                self._loops += 1
                if self._loops <= REPORTED:
                    yield (
                        f"line {number}: the output repeats {found.phrase!r} {found.times:,} times "
                        f"in a row (score {best.score:.2f})"
                    )

    def _expected(self, number: int) -> Sequence[str]:
        """Return the references of a line."""
        return self._references[number - 1] if self._references else ()

    def summary(self) -> Iterator[str]:
        """Yield the totals of the kinds with more lines than were reported one by one."""
        if self._unknown > REPORTED:
            yield f"{UNKNOWN}: {self._unknown:,} in all"
        if self._truncated > REPORTED:
            yield f"outputs cut at their length limit: {self._truncated:,} in all"
        if self._loops > REPORTED:
            yield f"outputs with a repetition loop: {self._loops:,} in all"

    def totals(self) -> Iterator[str]:
        """Yield the totals of each kind, where there are any."""
        if self._unknown:
            yield f"{UNKNOWN}: {self._unknown:,}"
        if self._truncated:
            yield f"outputs cut at their length limit: {self._truncated:,}"
        if self._loops:
            yield f"outputs with a repetition loop: {self._loops:,}"
