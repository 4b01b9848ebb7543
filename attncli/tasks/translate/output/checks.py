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
        self._copied = self._others = 0  # lines without letters that were copied; lines of text

    def messages(self, outcomes: Iterable[TranslatedLine]) -> Iterator[str]:
        """Yield a message for each of the first suspicious outputs, with its line number."""
        for outcome in outcomes:
            if text := outcome.line.text.strip():
                copied = not outcome.parts and not any(map(str.isalpha, text))
                self._copied += copied
                self._others += not copied
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
            raised = "(search.max_ratio and search.max_extra raise the limit)"
            yield TRUNCATED, f"the output was cut at its length limit, after {tokens} {raised}"
        expected = self._references[outcome.line.number - 1] if self._references else ()
        if found := repetition(best.text, outcome.line.text, *expected):
            times = f"{found.times:,} times in a row (score {best.score:.2f})"
            yield LOOPS, f"the output repeats {found.phrase!r} {times}"

    def copied(self) -> str:
        """Return a remark if every line with text was copied for lack of letters; "" otherwise."""
        if self._others or not self._copied:
            return ""
        return f"{counted(self._copied, 'line')} without letters copied; --verbatim translates them"

    def totals(self, above: int = 0) -> Iterator[str]:
        """Yield the totals of the kinds with more lines than a number."""
        for kind, count in self._counts.items():
            if count > above:
                yield f"{kind}: {count:,}"
