"""Files of word links of sentence pairs, written by other programs or by people.

- Pharaoh, one line for each pair: `0-0 1-2`, source first. `-` is a sure link, `p` or `?` a
  possible one, `:0.93` after a link its probability. Programs (fast_align, eflomal, Moses) count
  from 0; the gold of awesome-align and others (`.talp`) looks the same and counts from 1.
- NAACL, one line for each link: sentence, source word, target word, then S or P, or nothing for
  a sure link. All three count from 1.

Confusing the two turns an error rate of 4.07 into 43.7, so the first index is never guessed: an
index of 0 proves 0, an index equal to the length of a sentence proves 1, and where neither occurs
the user must give it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from attncli.data.text.text_files import open_text
from attncli.terminal.messages import counted
from models.base.errors import ModelError
from models.base.limits import DIGITS, SENTENCES
from models.base.types import Link

Lengths = tuple[float, float]  # words of a source and of its target; infinite if unknown
Index = Literal["0", "1"]

NUMBER = rf"\d{{1,{DIGITS}}}"
PROBABILITY = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
PHARAOH = re.compile(rf"({NUMBER})([-p?])({NUMBER})(?::{PROBABILITY})?", re.ASCII)
NAACL = re.compile(
    rf"\s*({NUMBER})\s+({NUMBER})\s+({NUMBER})(?:\s+([SP]))?(?:\s+{PROBABILITY})?\s*", re.ASCII
)
UNKNOWN: Lengths = (math.inf, math.inf)
SIDES = ("source", "target")
GOLD_INDEX = "give --gold-index 0 or --gold-index 1"


class PairLinks(NamedTuple):
    """The links of a sentence pair."""

    sure: frozenset[Link]
    possible: frozenset[Link] = frozenset()  # the sure ones too


class LinkFile(NamedTuple):
    """The links of a file, a row for each sentence pair, and how it was read."""

    rows: tuple[PairLinks, ...]
    base: int  # index of the first word: 0 or 1
    reason: str  # how that is known

    @property
    def note(self) -> str:
        """Index of the first word, and how it is known."""
        return f"counts from {self.base} ({self.reason})"


class RawLink(NamedTuple):
    """A link as written in a file."""

    line: int  # from 1
    pair: int  # from 0
    text: str
    link: Link
    sure: bool = True


def read_links(
    path: Path,
    lengths: Sequence[Lengths] | None = None,
    *,
    index: Index | None = None,
    hint: str = GOLD_INDEX,
) -> LinkFile:
    """Return the links of a file.

    lengths: number of words on both sides of each pair, if the texts are known. index: index of the
    first word in the file, if the user gave it. hint: advice if it is needed. Raises ModelError for
    text that is not a link, for a link to a word that does not exist, for a wrong number of lines,
    and if the first index is ambiguous.
    """
    with open_text(path) as lines:
        texts = list(lines)
    is_naacl = NAACL.fullmatch(next(filter(str.strip, texts), "")) is not None
    links = list((_naacl if is_naacl else _pharaoh)(path, texts))
    pairs = max((link.pair + 1 for link in links), default=0) if is_naacl else len(texts)
    _check_number(path, pairs, None if lengths is None else len(lengths), fewer=is_naacl)
    sizes = [UNKNOWN] * pairs if lengths is None else lengths
    if index is not None:
        base, reason = int(index), f"--gold-index {index}"
    elif is_naacl:
        base, reason = 1, "NAACL files do"
    else:
        base, reason = _counted_from(path, links, sizes, hint)
    for written in links:
        if fault := _fault(written, sizes[written.pair], base):
            raise ModelError(
                f"{path}, line {written.line}: {written.text} has {fault}",
                "links between existing words",
                f"it was read as counting from {base} ({reason})",
            )
    return LinkFile(_rows(links, len(sizes), base), base, reason)


def _check_number(path: Path, pairs: int, expected: int | None, *, fewer: bool) -> None:
    """Raise ModelError for another number of pairs. fewer: the last ones may have no links."""
    if pairs > SENTENCES:
        raise ModelError(
            f"{path} has a link of sentence pair {pairs:,}", f"at most {SENTENCES:,} pairs"
        )
    if expected is not None and (pairs > expected or (pairs < expected and not fewer)):
        raise ModelError(
            f"{path} has links of {counted(pairs, 'sentence pair')}", f"{expected:,} of them"
        )


def parse_pharaoh(text: str, where: str) -> Iterator[tuple[str, Link, bool]]:
    """Yield the links of a line: text, indices, True if sure.

    Raises ModelError, which names the place `where`, for text that is not a link.
    """
    for word in text.split():
        match = PHARAOH.fullmatch(word)
        if not match:
            raise ModelError(
                f"{where}: {word[:40]!r} is not a link",
                "links such as 0-0, 1p2, 1?2 or 0-0:0.93, or NAACL's `1 1 2 S`",
            )
        yield word, (int(match[1]), int(match[3])), match[2] == "-"


def _pharaoh(path: Path, texts: Sequence[str]) -> Iterator[RawLink]:
    for number, text in enumerate(texts, 1):
        for word, link, sure in parse_pharaoh(text, f"{path}, line {number}"):
            yield RawLink(number, number - 1, word, link, sure)


def _naacl(path: Path, texts: Sequence[str]) -> Iterator[RawLink]:
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        match = NAACL.fullmatch(text)
        if not match or int(match[1]) < 1:
            raise ModelError(
                f"{path}, line {number}: {text[:40]!r} is not a link",
                "sentence (from 1), source word, target word, and S or P",
            )
        link = int(match[2]), int(match[3])
        yield RawLink(number, int(match[1]) - 1, " ".join(text.split()), link, match[4] != "P")


def _counted_from(
    path: Path, links: Sequence[RawLink], lengths: Sequence[Lengths], hint: str
) -> tuple[int, str]:
    """Return the first index of a file, and how it is known; a ModelError if it is not known."""
    for written in links:
        if 0 in written.link:
            return 0, f"line {written.line} has {written.text}"
    for written in links:
        for side, number, size in zip(SIDES, written.link, lengths[written.pair], strict=True):
            if number == size:
                words = counted(number, f"{side} word")
                return 1, f"line {written.line} has {written.text}, and {words}"
    if not links:
        return 0, "it has no links"
    raise ModelError(
        f"{path} may count words from 0 or from 1", "an index of 0, or of a pair's last word", hint
    )


def _fault(written: RawLink, lengths: Lengths, base: int) -> str:
    """Return the word of a link that does not exist; empty if both exist."""
    for side, number, size in zip(SIDES, written.link, lengths, strict=True):
        if number < base:
            return f"{side} word {number}"
        if number - base >= size:
            return f"{side} word {number} of {size}"
    return ""


def _rows(links: Sequence[RawLink], pairs: int, base: int) -> tuple[PairLinks, ...]:
    """Return the links of each pair, counted from 0."""
    sure: list[set[Link]] = [set() for _ in range(pairs)]
    possible: list[set[Link]] = [set() for _ in range(pairs)]
    for written in links:
        link = written.link[0] - base, written.link[1] - base
        possible[written.pair].add(link)
        if written.sure:
            sure[written.pair].add(link)
    return tuple(map(PairLinks, map(frozenset, sure), map(frozenset, possible)))
