"""Reports about suspicious outputs: cut at their length limit, caught in a repetition loop, or
without a character of their line that the model does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attncli.data.lines import TranslatedLine
from attncli.terminal.plurals import counted
from models.inference.search.repetition import repetition

LOST = "outputs without a character that the model does not know"
TRUNCATED = "outputs cut at their length limit"
LOOPS = "outputs with a repetition loop"
REPORTED = 5  # lines of each kind that are reported one by one; the others are counted


class OutputReport:
    """Messages about the best output of each line, and a summary if there are many.

    references: a list for each line, from line 1. A loop that a reference repeats as often is not
    reported.
    """

    def __init__(self, references: Sequence[Sequence[str]] = ()) -> None:
        self._references = references
        self._counts = dict.fromkeys((LOST, TRUNCATED, LOOPS), 0)

    def messages(self, outcomes: Iterable[TranslatedLine]) -> Iterator[str]:
        """Yield a message for each of the first suspicious outputs, with its line number."""
        for outcome in outcomes:
            for kind, message in self._suspicions(outcome):
                self._counts[kind] += 1
                if self._counts[kind] <= REPORTED:
                    yield f"line {outcome.line.number}: {message}"

    def _suspicions(self, outcome: TranslatedLine) -> Iterator[tuple[str, str]]:
        """Yield the kind and the message of all that is suspicious about an output."""
        if outcome.translation is None:
            return
        best = outcome.translation.hypotheses[0]
        if outcome.lost:
            yield LOST, f"the output lacks {outcome.lost!r}, which the model does not know"
        if best.truncated:
            tokens = counted(len(best.ids), "token")
            yield (
                TRUNCATED,
                f"the output was cut at its length limit, after {tokens} "
                "(search.max_ratio and search.max_extra raise the limit)",
            )
        expected = self._expected(outcome.line.number)
        if found := repetition(best.text, outcome.line.text, *expected):
            yield (
                LOOPS,
                f"the output repeats {found.phrase!r} {found.times:,} times in a row "
                f"(score {best.score:.2f})",
            )

    def _expected(self, number: int) -> Sequence[str]:
        """Return the references of a line."""
        return self._references[number - 1] if self._references else ()

    def summary(self) -> Iterator[str]:
        """Yield the totals of the kinds with more lines than were reported one by one."""
        for kind, count in self._counts.items():
            if count > REPORTED:
                yield f"{kind}: {count:,} in all"

    def totals(self) -> Iterator[str]:
        """Yield the totals of each kind, where there are any."""
        for kind, count in self._counts.items():
            if count:
                yield f"{kind}: {count:,}"
