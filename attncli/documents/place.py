"""Tags of a line in its translation: their positions, and their insertion."""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from attncli.documents.tags import count
from attncli.faithful.pieces import Segment, TaggedLine
from attncli.faithful.spans import WordWeights, words
from models.core.types import Span

TOUCHING = re.compile(r"\S*(?:\s[!?:;»]+(?!\S))?")  # punctuation behind a word, as in « oui » ?
ROOT = -1  # parent of the tags that no element contains
SIGNS = re.compile(r"[&<>]")  # characters that tags consist of
LEAST = 0.1  # least share of the attention that counts as an alignment
NEAR = 30  # source words on each side of a cut that are considered


class PlacedTag(NamedTuple):
    """An element, or a single tag, with its position in the translation."""

    parent: int  # index of the element that contains it, or ROOT
    opening: Segment
    closing: Segment | None
    start: int = 0
    end: int = 0


class _Placing:
    """Positions of the tags of a line in its translation."""

    def __init__(self, tagged: TaggedLine, target: str, weights: WordWeights) -> None:
        self.source, self.target, self.seen = tagged.text, target, WeightIndex(weights)
        self.words, self.target_words = words(tagged.text), words(target)
        self.items = _items(tagged.tags)
        self.taken: dict[int, list[Span]] = {}  # parent: target words that its elements cover
        self.elements: dict[int, list[tuple[int, int, int]]] = {}  # start, end, index
        self.own = {ROOT: (0, len(self.words))}  # element: its source words
        self.covered = {ROOT: (0, len(self.target_words))}  # element: target words
        self.spans = {ROOT: (0, len(target))}  # element: target characters

    def result(self) -> list[PlacedTag]:
        """Return elements and single tags in source order, with their positions.

        Elements are placed first, parents before children; then single tags.
        """
        for number, item in enumerate(self.items):
            if item.closing:
                self._place_element(number, item, item.closing)
        for number, item in enumerate(self.items):
            if not item.closing:  # a tag without words
                tag = item.opening
                before = bisect_left(self.words, tag.at, key=lambda word: word[0])
                word = self.seen.cut(before, self.own[item.parent], self.covered[item.parent])
                at = self._gap(word, item.parent, next_to_it=tag.before and not tag.after)
                self.spans[number] = self._apart(number, at, at)
        return [
            item._replace(start=self.spans[number][0], end=self.spans[number][1])
            for number, item in enumerate(self.items)
        ]

    def _place_element(self, number: int, item: PlacedTag, closing: Segment) -> None:
        taken = self.taken.setdefault(item.parent, [])
        start, end = item.opening.at, closing.at
        first = bisect_right(self.words, start, key=lambda word: word[1])  # also a divided word
        last = max(first, bisect_left(self.words, end, key=lambda word: word[0]))
        own = self.own[number] = (first, last)
        within = self.covered[item.parent]
        covered = self.covered[number] = self.seen.span(own, len(self.words), within, taken)
        found = self._characters(covered, item, self.source[start:end])
        self.spans[number] = self._apart(number, *found)
        insort(self.elements.setdefault(item.parent, []), (*self.spans[number], number))
        if covered[0] < covered[1]:
            insort(taken, covered)

    def _characters(self, covered: Span, item: PlacedTag, text: str) -> Span:
        """Return the span of some words, with the punctuation at its edges if the source has it.

        A block includes all punctuation of its words.
        """
        first, last = covered
        if first == last:
            return (self._gap(first, item.parent),) * 2
        start, end = self.target_words[first][0], self.target_words[last - 1][1]
        inner = words(text)
        if item.opening.block or text[: inner[0][0]].strip():
            start = self._start(first)
        if item.opening.block or text[inner[-1][1] :].strip():
            end = self._end(last - 1)
        return start, end

    def _apart(self, number: int, start: int, end: int) -> Span:
        """Return the part of a span that is inside its parent and outside the parent's elements."""
        parent = self.items[number].parent
        low, high = self.spans[parent]
        start, end = min(max(start, low), high), min(max(end, low), high)
        siblings = self.elements.get(parent, [])
        for first, last, sibling in siblings[bisect_right(siblings, start, key=lambda s: s[1]) :]:
            if end <= first:
                break
            behind = sibling < number if start == end else first < start
            if last <= start:
                continue
            if behind:
                start, end = last, max(end, last)
            else:
                start, end = min(start, first), first
        return start, end

    def _gap(self, word: int, parent: int, *, next_to_it: bool = False) -> int:
        """Return the position before a target word and after the previous word's punctuation."""
        first, last = self.covered[parent]
        if word <= first:
            return self.spans[parent][0]
        if word >= last:
            return self.spans[parent][1]
        return self._start(word) if next_to_it else self._end(word - 1)

    def _end(self, word: int) -> int:
        """Return the end of a target word, including the punctuation that touches it."""
        end = self.target_words[word][1]
        last = word + 1 == len(self.target_words)
        gap = self.target[end : None if last else self.target_words[word + 1][0]]
        return end + len(TOUCHING.match(gap)[0])  # type: ignore[index]

    def _start(self, word: int) -> int:
        """Return the start of a target word, including punctuation that touches only this word."""
        start = self.target_words[word][0]
        gap = self.target[self.target_words[word - 1][1] if word else 0 : start]
        glued = len(re.split(r"\s", gap)[-1])
        return start if word and glued == len(gap) else start - glued


def _items(tags: tuple[Segment, ...]) -> list[PlacedTag]:
    """Return elements and single tags in the order of their first tag."""
    items: list[PlacedTag] = []
    inside = [ROOT]
    for tag in tags:
        if tag.kind == "close":
            number = inside.pop()
            items[number] = items[number]._replace(closing=tag)
            continue
        items.append(PlacedTag(inside[-1], tag, None))
        if tag.kind == "open":
            inside.append(len(items) - 1)
    return items


def project_tags(tagged: TaggedLine, target: str, weights: WordWeights) -> str:
    """Return a translation of ``tagged.text`` with the tags of the line.

    Where the translation is the text itself, the result is the line. Entities are used if the
    source used them. If the model writes text that would be read as a tag, its signs become spaces.

    weights: for each word of the translation, its attention weights on the words of the text (words
    as in `attncli.faithful.spans`). An empty dict means that the alignment of the word is unknown.
    """
    if target == tagged.text:
        return tagged.line
    placed = _Placing(tagged, target, weights).result()
    wanted = Counter(tag.raw for tag in tagged.tags)
    for escaped in (tagged.escaped, True):
        written = _Writer(escaped=escaped).line(placed, target)
        if count(written) == wanted:
            return written
    return _Writer(loose=True).line(placed, SIGNS.sub(" ", target))


class _Writer:
    """Writer of a translation with its tags.

    Spaces follow the source: none between a word and a tag that touched it, one space otherwise.
    escaped: True writes the characters of tags as entities. loose: True puts a space around each
    tag, so that no text can join it.
    """

    def __init__(self, *, escaped: bool = False, loose: bool = False) -> None:
        self.written: list[str] = []
        self.escaped, self.loose = escaped, loose
        self.last = ""  # last character written that is not part of a tag
        self.joined = False  # True if the next text is written without its leading spaces
        self.spaced = False  # True if the next word is written after a space

    def line(self, placed: list[PlacedTag], target: str) -> str:
        """Return a translation with its tags."""
        at = 0
        for position, tag in _in_order(placed):
            self.text(target[at:position])
            self.tag(tag)
            at = position
        self.text(target[at:])
        return "".join(self.written)

    def text(self, text: str) -> None:
        """Write part of the translation."""
        if self.joined:
            text = text.lstrip()
        if not text:
            return
        if self.spaced and (text[0].isalnum() or (self.loose and not text[0].isspace())):
            self.written.append(" ")
        self.written.append(html.escape(text, quote=False) if self.escaped else text)
        self.last, self.joined, self.spaced = text[-1], False, False

    def tag(self, tag: Segment) -> None:
        """Write a tag, with the spaces that belong to it."""
        if tag.breaking and not (tag.before or tag.after or self.loose):
            self.written[-1:] = [text.rstrip() for text in self.written[-1:]]
            self.joined, self.spaced = True, False  # the line break replaces the space next to it
        elif tag.kind == "void":
            if self.last and not self.last.isspace() and (tag.before or self.loose or self.spaced):
                self.written.append(" ")
            self.last, self.spaced = tag.raw[-1], tag.after or self.loose
        self.written.append(tag.raw)


def _in_order(placed: list[PlacedTag]) -> Iterator[tuple[int, Segment]]:
    """Yield all tags with their positions, from left to right, correctly nested."""
    inside: dict[int, list[int]] = {}
    for number, one in enumerate(placed):
        inside.setdefault(one.parent, []).append(number)
    for children in inside.values():
        children.sort(
            key=lambda number: (placed[number].start, placed[number].end, number), reverse=True
        )
    waiting = inside.get(ROOT, [])
    while waiting:
        number = waiting.pop()
        if number < 0:
            closing = placed[~number].closing
            assert closing
            yield placed[~number].end, closing
            continue
        one = placed[number]
        yield one.start, one.opening
        if one.closing:
            waiting.append(~number)
            waiting += inside.get(number, [])


class WeightIndex:
    """Normalised weights of the target words, indexed by source word."""

    def __init__(self, weights: WordWeights) -> None:
        totals = (sum(row.values()) for row in weights)
        self.shares = [
            {word: part / total for word, part in row.items() if part > 0}
            for row, total in zip(weights, totals, strict=True)
        ]
        self.by_source: dict[int, list[int]] = {}
        for word, row in enumerate(self.shares):
            for source in row:
                self.by_source.setdefault(source, []).append(word)

    def span(self, own: Span, total: int, within: Span, taken: Sequence[Span]) -> Span:
        """Return the target words for the source words ``own`` of ``total``; empty if none is free.

        taken: spans, in order, that are not free.
        """
        first, last = self._window(range(*own), within)
        shares = [self._share(word, *own) for word in range(first, last)]
        best = max(
            (_best(shares, *free, first) for free in _free((first, last), taken)), default=None
        )
        if best and best[0] > 0:
            return -best[2], best[1] - best[2]
        if within[0] == within[1]:
            return within
        most = max(shares, default=0.0)
        if most >= LEAST:
            word = first + shares.index(most)
        else:  # at the relative position of the middle of the source words
            middle = (own[0] + own[1]) / (2 * max(1, total))
            word = min(within[1] - 1, within[0] + int(middle * (within[1] - within[0])))
        near = bisect_right(taken, word, key=lambda one: one[0]) - 1
        if near >= 0 and word < taken[near][1]:
            return taken[near][1], taken[near][1]
        return word, word + 1

    def cut(self, at: int, own: Span, within: Span) -> int:
        """Return the target word to cut before, for a cut before word ``at`` of the source."""
        if at <= own[0] or within[0] == within[1]:
            return within[0]
        if at >= own[1]:
            return within[1]
        guess = within[0] + (at - own[0]) / (own[1] - own[0]) * (within[1] - within[0])
        near = range(max(own[0], at - NEAR), min(own[1], at + NEAR))
        first, last = self._window(near, within)
        if first == last:
            return round(guess)
        gains = [0.0]
        for word in range(first, last):
            known = bool(self.shares[word])
            gains.append(gains[-1] + (2 * self._share(word, 0, at) - 1 if known else 0.0))
        return first + max(
            range(len(gains)), key=lambda word: (round(gains[word], 6), -abs(first + word - guess))
        )

    def _window(self, source: Iterable[int], within: Span) -> Span:
        """Return the span of the target words with attention on some source words."""
        words = [word for one in source for word in self.by_source.get(one, ())]
        inside = [word for word in words if within[0] <= word < within[1]]
        return (min(inside), max(inside) + 1) if inside else (within[0], within[0])

    def _share(self, word: int, first: int, last: int) -> float:
        """Return the share of a target word's attention on a span of source words."""
        return sum(part for one, part in self.shares[word].items() if first <= one < last)


def _free(within: Span, taken: Sequence[Span]) -> Iterator[Span]:
    start, end = within
    for first, last in taken[max(0, bisect_right(taken, start, key=lambda one: one[0]) - 1) :]:
        if first >= end:
            break
        if start < first:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


def _best(shares: list[float], start: int, end: int, origin: int) -> tuple[float, int, int]:
    """Return (gain, length, -start) of the best run of words: of equals the longest, first."""
    best = (0.0, 0, -start)
    gain, first = 0.0, start
    for word in range(start, end):
        if gain < 0:
            gain, first = 0.0, word
        gain += shares[word - origin] - 0.5
        best = max(best, (round(gain, 6), word + 1 - first, -first))
    return best
