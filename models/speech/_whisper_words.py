"""Times of the words in Whisper's outputs, and outputs over silence that nobody spoke.

Attention moves from a word to the next only where the next one begins, so a word before or behind a
pause would contain it. Such words are cut to twice the median duration. A part of an output is
invented if its words are improbable, very short or very long, and silence is around it.
Source: whisper/timing.py and whisper/transcribe.py of Radford et al. 2022
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from statistics import median
from typing import NamedTuple

from models.speech.recordings import Floats
from models.speech.transcripts import Word
from models.text.tokenizer import Tokenizer

UNSPACED = ("zh", "ja", "th", "lo", "my", "yue", "km", "bo")  # languages without spaces
BROKEN = "\ufffd"  # in a text of some bytes of a character
PREPENDED, APPENDED = "\"'“¿([{-「『（", "\"'.。,，!！?？:：”)]}、」』）"  # marks
ENDS = ".。!！?？"
MEDIAN = 0.7  # longest median duration of a word, in seconds
SLACK = 0.5  # seconds that a word may exceed its part
IMPROBABLE, SHORT, LONG = 0.15, 0.133, 2.0  # probability and seconds of unusual words
LOUD = 0.1  # deviation of a sound over the largest of its word
PER_SECOND = 50  # slots, and timestamps
SILENCE = 2.0  # seconds around an invented part


class TimedPart(NamedTuple):
    """A part of an output between two timestamps, which it includes; seconds in its window."""

    start: float
    end: float
    ids: tuple[int, ...]
    words: tuple[Word, ...] = ()

    def of(self, samples: Floats, rate: int) -> Floats:
        """Return its samples, given those (N,) of the window."""
        return samples[round(self.start * rate) : round(self.end * rate)]

    @property
    def is_anomalous(self) -> bool:
        """True if its first words are improbable, or have unusual durations."""
        marks = PREPENDED + APPENDED
        # the first eight, as in the published program
        scores = [anomaly(word) for word in self.words if word.text.strip() not in marks][:8]
        return bool(self.words) and (sum(scores) >= 3 or sum(scores) + 0.01 >= len(scores))

    def aloud(self, samples: Floats, rate: int) -> TimedPart:
        """Return the part from where its first word is loud; attention moves to it before."""
        if not self.words:
            return self
        first, frame = self.words[0], rate // PER_SECOND
        heard = samples[round(first.start * rate) : round(first.end * rate)]
        loud = heard[: len(heard) // frame * frame].reshape(-1, frame).std(1)
        delay = max(0, int((loud > LOUD * loud.max(initial=0)).argmax()) - 1) if len(loud) else 0
        words = (first._replace(start=first.start + delay / PER_SECOND), *self.words[1:])
        return self._replace(start=words[0].start, words=words)

    def between(self, first: float, last: float) -> TimedPart:
        """Return the part with all times between two others."""

        def near(time: float) -> float:
            return min(max(time, first), last)

        words = (w._replace(start=near(w.start), end=near(w.end)) for w in self.words)
        return TimedPart(near(self.start), near(self.end), self.ids, (*words,))


def anomaly(word: Word) -> float:
    """Return a score of a word that is improbable, or has an unusual duration."""
    short, long = max(0, SHORT - word.seconds), max(0, word.seconds - LONG)
    return (word.probability < IMPROBABLE) + 15 * short + long


def with_words(
    parts: Sequence[TimedPart], words: Iterable[list[Word]], last: float, most: float
) -> list[TimedPart]:
    """Return parts with their words, and with the times of these.

    last: end of the part before them. most: start of the next window; both from that of theirs.
    """
    words = [*words]
    known = [word.seconds for word in chain.from_iterable(words) if word.seconds > 0]
    # bounded as in the published program: a window of few words has no usual duration
    usual, found, before = min(MEDIAN, median(known or [0.0])), list[TimedPart](), ""
    for part, own in zip(parts, words, strict=True):
        for place, word in enumerate(own):
            if before[-1:] in ENDS and before and word.seconds > 2 * usual:
                own[place] = word._replace(start=word.end - 2 * usual)
            before = word.text
        part = repaired(part, own, usual, last) if own else part
        found.append(part.between(found[-1].end if found else 0.0, most))
        last = found[-1].end
    return found


def words_of(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    starts: Sequence[float],
    probabilities: Sequence[float],
    *,
    spaced: bool,
) -> list[Word]:
    """Return the words of tokens, with the spaces before them.

    What follows without a space is part of a word; marks do not change the times.
    starts: seconds at which each token begins, and that at which the last one ends.
    """
    runs = list[tuple[int, int, str]]()  # first token of a word, its end without marks, and text
    for first, end, text in characters(tokenizer, ids):
        begin, last, word = runs[-1] if runs else (0, 0, "")
        is_mark, is_opened = not text.strip(APPENDED + " "), not word.strip(PREPENDED + " ")
        if not runs or (text.startswith(" ") if spaced else not (is_mark or is_opened)):
            runs.append((first, end, text))
        elif is_opened:
            runs[-1] = (first, end, word + text)
        else:
            runs[-1] = (begin, last if is_mark else end, word + text)
    return [
        Word(text, starts[first], starts[end], sum(probabilities[first:end]) / (end - first))
        for first, end, text in runs
    ]


def characters(tokenizer: Tokenizer, ids: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """Yield first token, end and text of the shortest runs of tokens with whole characters."""
    first = 0
    for end in range(1, len(ids) + 1):
        text = tokenizer.decode(list(ids[first:end]))
        if BROKEN not in text or end == len(ids):
            yield first, end, text
            first = end


def repaired(part: TimedPart, words: list[Word], usual: float, last: float) -> TimedPart:
    """Return a part with words that contain no pause before or behind them."""
    longest, first = 2 * usual, words[0]
    second = words[1] if len(words) > 1 else None
    both = second is not None and second.end - first.start > 2 * longest
    if first.end - last > 4 * usual and (first.seconds > longest or both):
        if second and second.seconds > longest:
            middle = max(second.end / 2, second.end - longest)
            first, words[1] = first._replace(end=middle), second._replace(start=middle)
        first = first._replace(start=max(0.0, first.end - longest))
    if part.start < first.end and part.start - SLACK > first.start:
        first = first._replace(start=max(0.0, min(first.end - usual, part.start)))
    words[0], final = first, words[-1] if len(words) > 1 else first
    if part.end > final.start and part.end + SLACK < final.end:
        words[-1] = final._replace(end=max(final.start + usual, part.end))
    return TimedPart(words[0].start, words[-1].end, part.ids, (*words,))


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
        if quiet[number] and part.is_anomalous:
            next_start = after.start if after else end
            ahead = next_start - part.end > SILENCE or whole - part.end < SILENCE
            is_behind = part.start - last > SILENCE or part.start < SILENCE
            is_first = number == spoken[0] and part.start > SILENCE
            if is_first or (is_behind and (ahead or (after is not None and after.is_anomalous))):
                return number
        last = part.end
    return None
