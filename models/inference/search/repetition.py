"""Detection of repetition loops in outputs, a common fault of neural decoders.

repetition("the dog and the dog and the dog and the dog and") == ("the dog and", 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LONGEST = 20  # units of a repeated phrase, at most
TIMES = 4  # repetitions, at least
UNITS = 6  # units of the whole loop, at least
LEAST_EQUAL = 4  # units of a loop that another unit equals, at least


class Repetition(NamedTuple):
    """A phrase that an output repeats several times in a row."""

    phrase: str
    times: int


def repetition(text: str, *others: str, times: int = TIMES) -> Repetition | None:
    """Return the longest loop of a text, None if there is none.

    others: the source, and references if they are known. A loop does not count if one of them
    repeats a phrase as often. Units are words, or characters in a text without spaces. times:
    repetitions, at least.
    """
    words = text.split()
    units, join = (words, " ") if len(words) > 1 else (list(text.strip()), "")
    if len(units) - len({*units}) < LEAST_EQUAL:
        return None
    start, period, length = _longest_run(units, times)
    count = length // period if period else 0
    if count < times or length < UNITS:
        return None
    if any((own := repetition(other, times=times)) and own.times >= count - 1 for other in others):
        return None
    return Repetition(join.join(units[start : start + period]), count)


def _longest_run(units: Sequence[str], times: int) -> tuple[int, int, int]:
    """Return start, period and length of the longest run that repeats some times or more."""
    best = (0, 0, 0)
    for period in range(1, min(LONGEST, len(units) // times) + 1):
        run = 0
        for index in range(period, len(units)):
            run = run + 1 if units[index] == units[index - period] else 0
            if run + period > best[2] and (run + period) // period >= times:
                best = (index - run - period + 1, period, run + period)
    return best
