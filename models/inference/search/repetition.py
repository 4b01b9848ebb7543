"""Detection of repetition loops in outputs, a common fault of neural decoders.

repetition("the dog and the dog and the dog and the dog and") == ("the dog and", 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LONGEST = 20  # units of a repeated phrase, at most
TIMES = 4  # repetitions, at least
UNITS = 6  # units of the whole loop, at least


class Repetition(NamedTuple):
    """A phrase that an output repeats several times in a row."""

    phrase: str
    times: int


def repetition(text: str, *others: str) -> Repetition | None:
    """Return the longest loop of a text, None if there is none.

    others: the source, and references if they are known. A loop does not count if one of them
    repeats a phrase as often. Units are words, or characters in a text without spaces.
    """
    words = text.split()
    units, join = (words, " ") if len(words) > 1 else (list(text.strip()), "")
    start, period, length = _longest_run(units)
    count = length // period if period else 0
    if count < TIMES or length < UNITS:
        return None
    if any((own := repetition(other)) and own.times >= count - 1 for other in others):
        return None
    return Repetition(join.join(units[start : start + period]), count)


def _longest_run(units: Sequence[str]) -> tuple[int, int, int]:
    """Return start, period and length of the longest run that repeats TIMES times or more."""
    best = (0, 0, 0)
    for period in range(1, min(LONGEST, len(units) // TIMES) + 1):
        run = 0
        for index in range(period, len(units)):
            run = run + 1 if units[index] == units[index - period] else 0
            if run + period > best[2] and (run + period) // period >= TIMES:
                best = (index - run - period + 1, period, run + period)
    return best
