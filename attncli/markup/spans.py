"""Which words of a translation belong to some words of its source, and where a cut goes.

With m(t), the share of target word t's look that falls on the source words in question, the span
covers the words a to b, all of them free, that maximise

    sum over t from a to b of m(t) - 1/2

so a word between two of its own is covered, and a straggler far away is not. A cut goes to the
boundary with most of what was before it before it, and most of what was behind it behind it.
Where nothing is aligned, relative position decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attncli.markup.words import Span

Looks = Sequence[dict[int, float]]  # of each target word: how much at which source words

LEAST = 0.1  # the share of a look that says something, where there is no greater one


def span(looks: Looks, own: Span, total: int, within: Span, taken: Sequence[Span]) -> Span:
    """The words for the source words ``own`` of ``total``; empty where none is free."""
    shares = [_share(look, *own) for look in looks[within[0] : within[1]]]
    best = max((_best(shares, *free, within[0]) for free in _free(within, taken)), default=None)
    if best and best[0] > 0:
        return -best[2], best[1] - best[2]
    if not shares:
        return within[0], within[0]
    at = max(range(len(shares)), key=lambda t: shares[t])
    word = within[0] + at if shares[at] >= LEAST else relative(own, total, within)
    inside = next((one for one in taken if one[0] <= word < one[1]), None)
    return (inside[1], inside[1]) if inside else (word, word + 1)


def cut(looks: Looks, at: int, own: Span, within: Span) -> int:
    """The target word before which to cut, for a cut before word ``at`` of the source's ``own``."""
    first, last = within
    if at <= own[0] or first >= last:
        return first
    if at >= own[1]:
        return last
    guess = first + (at - own[0]) / (own[1] - own[0]) * (last - first)
    gains = [0.0]
    for look in looks[first:last]:
        gains.append(gains[-1] + (2 * _share(look, 0, at) - 1 if look else 0.0))
    return first + max(
        range(len(gains)), key=lambda word: (round(gains[word], 6), -abs(first + word - guess))
    )


def relative(own: Span, total: int, within: Span) -> int:
    """The target word at the relative position of the middle of some source words."""
    first, last = within
    middle = (own[0] + own[1]) / (2 * max(1, total))
    return min(last - 1, first + int(middle * (last - first)))


def strongest(looks: Looks, own: int, within: Span) -> int | None:
    """The target word that looks most at a source word, if any does to speak of."""
    shares = [_share(looks[word], own, own + 1) for word in range(*within)]
    most = max(shares, default=0.0)
    return within[0] + shares.index(most) if most >= LEAST else None


def _share(look: dict[int, float], first: int, last: int) -> float:
    """What part of a look falls on these source words."""
    whole = sum(look.values())
    return sum(part for word, part in look.items() if first <= word < last) / whole if whole else 0


def _free(within: Span, taken: Sequence[Span]) -> Iterator[Span]:
    start, end = within
    for first, last in sorted(taken):
        if start < first:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


def _best(shares: list[float], start: int, end: int, origin: int) -> tuple[float, int, int]:
    """Gain, length and minus the start of the best run of words; the longest, then the first."""
    best = (0.0, 0, -start)
    gain, first = 0.0, start
    for word in range(start, end):
        if gain < 0:
            gain, first = 0.0, word
        gain += shares[word - origin] - 0.5
        best = max(best, (round(gain, 6), word + 1 - first, -first))
    return best
