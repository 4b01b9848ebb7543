"""Times of the words in Whisper's outputs, and outputs over silence that nobody spoke.

Attention moves from a word to the next only where the next one begins, so a word before or behind a
pause would contain it. Such words are cut to twice the median duration. A part of an output is
invented if its words are improbable, very short or very long, and silence is around it.
Source: whisper/timing.py and whisper/transcribe.py of Radford et al. 2022
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from torch import Tensor

from models.text.tokenizer import Tokenizer

UNSPACED = ("zh", "ja", "th", "lo", "my", "yue", "km", "bo")  # languages without spaces
BROKEN = "\ufffd"  # in a text of some bytes of a character
PREPENDED, APPENDED, ENDS = "\"'“¿([{-", "\"'.。,，!！?？:：”)]}、", ".。!！?？"
MEDIAN = 0.7  # longest median duration of a word, in seconds
SLACK = 0.5  # seconds that a word may exceed its part
IMPROBABLE, SHORT, LONG = 0.15, 0.133, 2.0  # probability and seconds of unusual words
MARKS = PREPENDED + APPENDED
PER_SECOND = 50  # slots, and timestamps
SILENCE = 2.0  # seconds around an invented part


@dataclass
class HeardWord:
    """A word, from one token of a window to another."""

    text: str  # with the space before it
    token: int  # its first
    end_token: int
    start: float  # in seconds
    end: float
    probability: float  # mean of its tokens

    @property
    def seconds(self) -> float:
        """Duration."""
        return self.end - self.start

    @property
    def anomaly(self) -> float:
        """Score of a word that is improbable, or has an unusual duration."""
        short, long = max(0, SHORT - self.seconds), max(0, self.seconds - LONG)
        return (self.probability < IMPROBABLE) + 15 * short + long


class TimedPart(NamedTuple):
    """A part of an output between two timestamps, which it includes, and their slots."""

    first: float
    last: float
    ids: tuple[int, ...]
    words: tuple[HeardWord, ...] = ()

    @property
    def times(self) -> tuple[float, float]:
        """Start and end in seconds."""
        return self.first / PER_SECOND, self.last / PER_SECOND

    def of(self, samples: Tensor, rate: int) -> Tensor:
        """Return its samples, given those (N,) of the window."""
        start, end = (round(time * rate) for time in self.times)
        return samples[start:end]

    @property
    def is_anomalous(self) -> bool:
        """True if its first words are unusual."""
        scores = [one.anomaly for one in self.words if one.text.strip() not in MARKS][:8]
        return bool(self.words) and (sum(scores) >= 3 or sum(scores) + 0.01 >= len(scores))


def heard_words(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    starts: Sequence[float],
    probabilities: Sequence[float],
    *,
    spaced: bool,
    begins: Collection[int] = (),
) -> tuple[list[HeardWord], float]:
    """Return the words of tokens and their median duration.

    starts: seconds at which each token begins, and that at which the last one ends. begins: tokens
    that begin a word.
    """
    words = list[HeardWord]()
    for first, last, text in characters(tokenizer, ids):
        apart = text.startswith(" ") or text.strip() in string.punctuation or first in begins
        if apart or not spaced or not words:
            words.append(HeardWord("", first, first, starts[first], 0.0, 0.0))
        word = words[-1]
        word.text, word.end_token, word.end = word.text + text, last, starts[last]
    for word in words:
        some = probabilities[word.token : word.end_token]
        word.probability = sum(some) / len(some)
    usual = min(MEDIAN, median([one.seconds for one in words if one.seconds > 0] or [0.0]))
    for before, word in pairwise(words):
        if word.seconds > 2 * usual and word.text in ENDS:
            word.end = word.start + 2 * usual
        elif word.seconds > 2 * usual and before.text in ENDS:
            word.start = word.end - 2 * usual
    return merged(words, {*begins} if spaced else {*range(len(ids))}), usual


def characters(tokenizer: Tokenizer, ids: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """Yield first token, end and text of the shortest runs of tokens with whole characters."""
    first = 0
    for end in range(1, len(ids) + 1):
        text = tokenizer.decode(list(ids[first:end]))
        if BROKEN not in text or end == len(ids):
            yield first, end, text
            first = end


def merged(words: Sequence[HeardWord], begins: Collection[int]) -> list[HeardWord]:
    """Return words with what is written together; marks do not change the times of a word.

    begins: tokens that begin a word, even without a space or a mark.
    """
    found, kept = list[HeardWord](), list[HeardWord]()
    for word in reversed(words):
        if found and word.text[:1] == " " and word.text.strip() in PREPENDED:
            found[-1].text, found[-1].token = word.text + found[-1].text, word.token
        else:
            found.append(word)
    for word in reversed(found):
        is_mark = word.text in APPENDED
        if not kept or (word.token in begins and not is_mark) or word.text[:1] == " ":
            kept.append(word)
            continue
        kept[-1].text, kept[-1].end_token = kept[-1].text + word.text, word.end_token
        kept[-1].end = kept[-1].end if is_mark else word.end
    return kept


def with_words(
    parts: Sequence[TimedPart],
    words: Sequence[HeardWord],
    usual: float,
    last: float,
    most: int,
    times: int,
) -> list[TimedPart]:
    """Return parts with their words, and with the times of these.

    usual: median duration of a word. last: end of the part before them, in seconds.
    most: slot where the next window begins. times: first timestamp.
    """
    found, place, end = list[TimedPart](), 0, 0
    for part in parts:
        end += sum(number < times for number in part.ids)
        own = list[HeardWord]()
        while place < len(words) and words[place].token < end:
            own.append(words[place])
            place += 1
        part = _repaired(part, own, usual, last) if own else part
        floor = found[-1].last if found else 0.0
        found.append(_between(part, floor, most))
        last = found[-1].times[1]
    return found


def _between(part: TimedPart, first: float, last: float) -> TimedPart:
    """Return a part whose times, and those of its words, lie between two slots."""
    for word in part.words:
        word.start = min(max(word.start, first / PER_SECOND), last / PER_SECOND)
        word.end = min(max(word.end, first / PER_SECOND), last / PER_SECOND)
    start, end = (min(max(slot, first), last) for slot in part[:2])
    return part._replace(first=start, last=end)


def _repaired(part: TimedPart, words: list[HeardWord], usual: float, last: float) -> TimedPart:
    """Return a part with words that contain no pause before or behind them."""
    (start, end), longest = part.times, 2 * usual
    first, second = words[0], words[1] if len(words) > 1 else None
    both = second.end - first.start > 2 * longest if second else False
    if first.end - last > 4 * usual and (first.seconds > longest or both):
        if second and second.seconds > longest:
            first.end = second.start = max(second.end / 2, second.end - longest)
        first.start = max(0.0, first.end - longest)
    if start < first.end and start - SLACK > first.start:
        first.start = max(0.0, min(first.end - usual, start))
    if end > words[-1].start and end + SLACK < words[-1].end:
        words[-1].end = max(words[-1].start + usual, end)
    place = (first.start * PER_SECOND, words[-1].end * PER_SECOND)
    return TimedPart(*place, part.ids, (*words,))


def invented(
    parts: Sequence[TimedPart], quiet: Sequence[bool], last: float, end: float, whole: float
) -> int | None:
    """Return the number of the first part that nobody spoke; None if there is none.

    quiet: True for parts without loud sounds, which may be invented. last: end of the part before
    them, from the start of their window. end: of the sound in the window. whole: seconds of a
    window.
    """
    spoken = [number for number, part in enumerate(parts) if part.words]
    for number, following in zip(spoken, [*spoken[1:], None], strict=True):
        part, after = parts[number], None if following is None else parts[following]
        start, stop = part.times
        if quiet[number] and part.is_anomalous:
            ahead = (after.times[0] if after else end) - stop > SILENCE or whole - stop < SILENCE
            is_behind = start - last > SILENCE or start < SILENCE
            is_first = number == spoken[0] and start > SILENCE
            if is_first or (is_behind and (ahead or (after is not None and after.is_anomalous))):
                return number
        last = stop
    return None
